"""Plans of language models: masked tasks by hand, and what is told where there is nothing to learn from."""

import random
from pathlib import Path

import pytest
from pytorch_lightning import Trainer

from core.faults import SettingFault
from core.stages import Stages
from experiments.runner.contracts import Run
from experiments.training.language_models import (
    CausalPlan,
    Corpus,
    MaskedPlan,
    Pretrained,
    _masked,
    causal_model,
    masked_model,
)
from language_models.tiny import TinyBert, TinyGPT2
from language_models.training import NOT_LEARNED, Schedule

SCHEDULE = Schedule(epochs=1, batch_size=2, learning_rate=1e-3)
CAUSAL = CausalPlan(TinyGPT2(300, 16, 2, 1, 32), SCHEDULE)
MASKED = MaskedPlan(TinyBert(300, 16, 2, 1, 32), SCHEDULE)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run("toy", tmp_path, Stages(tmp_path / "stages"), 0, Trainer, lambda name: [], lambda what, total: None)  # type: ignore[arg-type,return-value]


def test_a_pretrained_model_is_its_name_and_needs_no_text(run: Run) -> None:
    assert causal_model(run, Pretrained("gpt2"), Corpus([], [])) == "gpt2"
    assert masked_model(run, Pretrained("bert"), Corpus([], [])) == "bert"


@pytest.mark.parametrize(("corpus", "missing"), [(Corpus([], ["a"]), "training"), (Corpus(["a"], []), "held-out")])
def test_a_model_without_texts_to_learn_from_is_told(run: Run, corpus: Corpus, missing: str) -> None:
    with pytest.raises(SettingFault, match=f"{missing} texts are missing"):
        causal_model(run, CAUSAL, corpus)
    with pytest.raises(SettingFault, match=f"{missing} texts are missing"):
        masked_model(run, MASKED, corpus)


def test_a_masked_task_asks_for_what_it_hides_and_for_nothing_else() -> None:
    row = [1, *range(10, 30), 1]
    task = _masked(row, mask=3, share=0.25, rng=random.Random(0))
    hidden = [i for i, token in enumerate(task.source) if token == 3]
    assert len(hidden) == 5
    assert 0 not in hidden
    assert len(row) - 1 not in hidden
    assert all(task.target[i] == (row[i] if i in hidden else NOT_LEARNED) for i in range(len(row)))
    assert [t for i, t in enumerate(task.source) if i not in hidden] == [
        t for i, t in enumerate(row) if i not in hidden
    ]
