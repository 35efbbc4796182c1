"""A discriminator is trained once under its plan, its texts, its seed and the precision of the run."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pytorch_lightning import Trainer

from core.stages import Stages
from discriminators.discriminator import Discriminator, new_bilstm
from discriminators.texts import LabelledText
from discriminators.training import TrainingSettings
from experiments.contracts import Run
from experiments.training.discriminators import DiscriminatorPlan, find_or_train_discriminator
from experiments.training.trained import Trained

TEXTS = [LabelledText((word,), label, f"{word}{i}") for i in range(8) for label, word in enumerate(("bad", "good"))]
PLAN = DiscriminatorPlan(
    partial(new_bilstm, tokens="words", embedding_dim=4, hidden_dim=4), TrainingSettings(epochs=1, held_out=0.5)
)


def quiet(**settings: object) -> Trainer:
    return Trainer(accelerator="cpu", enable_progress_bar=False, enable_model_summary=False, **settings)  # type: ignore[arg-type]


def no_trainer(**_: object) -> Trainer:
    raise AssertionError("it trains again")


def test_a_limit_on_texts_keeps_whole_groups_of_both_classes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[list[LabelledText]] = []

    def train(build: object, texts: list[LabelledText], folder: Path, *_: object) -> None:
        learned.append(texts)
        folder.mkdir(exist_ok=True)
        (folder / "curve.json").write_text("[]", "utf-8")

    monkeypatch.setattr("experiments.training.discriminators.train_classifier", train)
    pairs = [LabelledText((f"{word}{i}",), label, str(i)) for i in range(20) for label, word in enumerate("ab")]
    for most, kept in ((None, 40), (100, 40), (10, 10), (11, 10)):
        find_or_train_discriminator(run, f"judge_{most}", replace(PLAN, texts=most), pairs, 0)
        assert len(learned[-1]) == kept
        assert sum(text.label for text in learned[-1]) == kept // 2
        assert learned[-1] == [text for text in pairs if text in learned[-1]]
    find_or_train_discriminator(run, "other_seed", replace(PLAN, texts=10), pairs, 1)
    assert learned[-1] != learned[-2]
    assert {text.group for text in learned[-2]} != {str(i) for i in range(5)}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run("toy", tmp_path, Stages(tmp_path / "stages"), 0, quiet, lambda name: [], lambda what, total: None)  # type: ignore[arg-type,return-value]


def test_a_discriminator_is_found_again_where_it_depends_on_the_same(run: Run) -> None:
    def trained(run: Run, texts: list[LabelledText] = TEXTS, plan: DiscriminatorPlan = PLAN, seed: int = 0) -> Trained:
        return find_or_train_discriminator(run, "judge", plan, texts, seed)

    first = trained(run)
    assert first.is_trained_here
    assert first.identity.startswith("judge-")
    assert {"step", "val/loss", "val/accuracy", "val/auc", "val/order"} == set(first.curve[-1])
    assert Discriminator.from_pretrained(first.source).logits([("good",)])[0].shape == (1,)
    idle = replace(run, trainer=no_trainer)
    assert trained(idle) == first
    assert trained(idle, plan=replace(PLAN, texts=100)) == first  # what it learns are the texts themselves
    for changed in (
        partial(trained, seed=1),
        partial(trained, texts=[*TEXTS, *TEXTS]),
        partial(trained, plan=replace(PLAN, training=replace(PLAN.training, epochs=2))),
        partial(trained, plan=replace(PLAN, build=partial(PLAN.build, hidden_dim=8))),
    ):
        with pytest.raises(AssertionError, match="trains again"):
            changed(idle)
    with pytest.raises(AssertionError, match="trains again"):
        trained(replace(idle, precision="bf16-mixed"))
