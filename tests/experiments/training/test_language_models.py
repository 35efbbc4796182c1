"""Plans of language models: masked tasks by hand, and the message where there is nothing to learn from."""

import random
from pathlib import Path

import pytest
from pytorch_lightning import Trainer

from core.faults import SettingFault
from core.stages import Stages
from experiments.contracts import Run
from experiments.training.language_models import (
    LanguageModelPlan,
    MaskedTokens,
    Pretrained,
    WholeTexts,
    find_or_train_language_model,
)
from experiments.training.trained import Trained
from models.tiny import TinyBert, TinyGPT2
from models.training import NOT_LEARNED, LanguageModelSchedule

SCHEDULE = LanguageModelSchedule(epochs=1, batch_size=2, learning_rate=1e-3)
CAUSAL = LanguageModelPlan(TinyGPT2(300, 16, 2, 1, 32), SCHEDULE, WholeTexts())
MASKED = LanguageModelPlan(TinyBert(300, 16, 2, 1, 32), SCHEDULE, MaskedTokens())


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run("toy", tmp_path, Stages(tmp_path / "stages"), 0, Trainer, lambda name: [], lambda what, total: None)  # type: ignore[arg-type,return-value]


def test_a_pretrained_model_is_its_name_and_needs_no_text(run: Run) -> None:
    assert find_or_train_language_model(run, "causal", Pretrained("gpt2"), [], []) == Trained("gpt2")


@pytest.mark.parametrize(("train", "held_out", "missing"), [([], ["a"], "training"), (["a"], [], "held-out")])
@pytest.mark.parametrize("plan", [CAUSAL, MASKED])
def test_a_model_without_training_texts_is_refused(
    run: Run, plan: LanguageModelPlan, train: list[str], held_out: list[str], missing: str
) -> None:
    with pytest.raises(SettingFault, match=f"these have no {missing} texts"):
        find_or_train_language_model(run, "toy", plan, train, held_out)


def test_a_masked_task_asks_for_what_it_hides_and_for_nothing_else() -> None:
    row = [1, *range(10, 30), 1]
    task = MaskedTokens(0.25).task(row, mask=3, rng=random.Random(0))
    hidden = [i for i, token in enumerate(task.source) if token == 3]
    assert len(hidden) == 5
    assert 0 not in hidden
    assert len(row) - 1 not in hidden
    assert all(task.target[i] == (row[i] if i in hidden else NOT_LEARNED) for i in range(len(row)))
    assert [t for i, t in enumerate(task.source) if i not in hidden] == [
        t for i, t in enumerate(row) if i not in hidden
    ]
