"""Training: the loss by hand, batches, learning, resuming, several labels, and batches that do not fit into memory."""

import json
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pytorch_lightning import Trainer
from pytorch_lightning.loggers import CSVLogger
from sklearn.metrics import roc_auc_score

from discriminators.discriminator import Discriminator, new_bilstm
from discriminators.texts import LabelledText, split_by_group
from discriminators.training import (
    TrainingSettings,
    discriminator_loss,
    held_out_metrics,
    kept_point,
    order_by_auc,
    train_classifier,
)
from tests.toy_models import QUIET, kill_in

ROOT = Path(__file__).resolve().parents[2]
KINDS = ["bilstm", "bert"]
Builds = dict[str, Callable[..., Discriminator]]
SETTINGS = TrainingSettings(
    epochs=4,
    learning_rate=1e-2,
    token_budget=512,
    held_out=0.2,
)
Learn = Callable[..., Discriminator]
Curve = Callable[..., list[dict[str, float]]]


@pytest.fixture
def learn(builds: Builds, toy_texts: list[LabelledText], tmp_path: Path) -> Learn:
    """Trains a toy, or what `build` makes, on the toy texts unless others are given."""

    def train(
        build: Any = "bilstm",
        folder: str = "d",
        trainer: Callable[..., Trainer] = QUIET,
        **changes: Any,
    ) -> Any:
        data, made = changes.pop("data", toy_texts), builds[build] if isinstance(build, str) else build
        return train_classifier(
            made,
            data,
            tmp_path / folder,
            trainer,
            **{"settings": SETTINGS, **changes},
        )

    return train


@pytest.fixture
def curve(tmp_path: Path) -> Curve:
    """The points of a learning curve that a validation made."""
    return lambda folder="d": [p for p in json.loads((tmp_path / folder / "curve.json").read_text()) if "val/loss" in p]


def test_loss_by_hand():
    # -ln sigmoid(ln 3) = ln 4/3 for the human text, -ln(1 - sigmoid(0)) = ln 2 for the machine text of half a weight
    loss = discriminator_loss(torch.tensor([math.log(3), 0.0]), torch.tensor([1.0, 0.0]), torch.tensor([1.0, 0.5]))
    assert loss.item() == pytest.approx(math.log(4 / 3) + 0.5 * math.log(2))


@pytest.mark.parametrize("kind", KINDS)
def test_learns(
    kind: str,
    learn: Learn,
    curve: Curve,
    toy_texts: list[LabelledText],
    tmp_path: Path,
):
    logger = CSVLogger(tmp_path, name="log")
    trained = learn(
        kind,
        trainer=partial(QUIET, log_every_n_steps=5),
        loggers=[logger],
        seed=1,
    )
    _, held_out = split_by_group(toy_texts, SETTINGS.held_out, seed=1)
    logits, _ = trained.logits([t.segments for t in held_out])
    labels = np.array([t.label for t in held_out])
    assert np.mean((logits > 0) == labels) > 0.9
    points = curve()
    assert len(points) == 4  # one validation after each epoch
    best = kept_point(points, "auc")
    loss = np.mean(np.logaddexp(0, np.where(labels == 1, -logits, logits)))
    assert best["val/loss"] == pytest.approx(loss, abs=1e-5)  # the weights kept are those of the highest AUC
    assert best["val/auc"] > 0.95
    assert best["val/loss"] < points[0]["val/loss"] < np.log(2)
    kept = Discriminator.from_pretrained(tmp_path / "d")
    np.testing.assert_array_equal(kept.logits([t.segments for t in held_out])[0], logits)
    assert not (tmp_path / "d" / "checkpoints").exists()
    logged = (Path(logger.log_dir) / "metrics.csv").read_text()
    assert "val/auc" in logged
    assert "learning_rate" in logged


@pytest.mark.parametrize("kind", ["bilstm", "guide"])
def test_a_recurrent_network_learns_in_bfloat16_on_a_cpu(kind: str, learn: Learn, curve: Curve) -> None:
    learn(kind, trainer=partial(QUIET, precision="bf16-mixed"), settings=replace(SETTINGS, epochs=2))
    first, second = curve()
    assert second["val/loss"] < first["val/loss"]


def test_kept_point_by_hand():
    found = [(0.4, 0.7), (0.6, 0.8), (0.5, 0.801), (0.7, 0.802)]
    points = [{"step": 1, "train/loss": 0.1}]
    points += [{"step": i, "val/loss": a, "val/order": order_by_auc(b, a)} for i, (a, b) in enumerate(found, 2)]
    assert [kept_point(points, keep)["step"] for keep in ("loss", "auc")] == [2, 4]


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("bert", "guide")]


@pytest.mark.parametrize("kind", ["bilstm", *SLOW])
def test_killed_and_run_again_is_an_unbroken_run(
    kind: str,
    learn: Learn,
    curve: Curve,
    tmp_path: Path,
):
    again = partial(learn, kind, settings=replace(SETTINGS, epochs=4))
    unbroken = again("a")
    for epoch in (0, 2):
        with pytest.raises(RuntimeError, match="killed"):
            again("b", partial(kill_in, epoch))
        torch.rand(5)  # the next run does not start from the same random state
    resumed = again("b").network.state_dict()
    for name, tensor in unbroken.network.state_dict().items():
        torch.testing.assert_close(
            resumed[name],
            tensor,
            rtol=0,
            atol=1e-7,
        )
    curves = [json.loads((tmp_path / f / "curve.json").read_text()) for f in "ab"]
    assert curves[0] == curves[1]
    assert len(curve("a")) == 4


LABELS = ("animals", "food", "sports")
THREE = ("cat dog cow", "soup bread rice", "goal race team")
TEXTS = [
    LabelledText((" ".join(np.random.default_rng(i).permutation([*words.split(), "the", "a"])),), label, f"g{i}")
    for i in range(60)
    for label, words in enumerate(THREE)
]


def test_loss_and_metrics_of_several_labels_by_hand() -> None:
    logits = torch.tensor([[math.log(2), 0.0, 0.0], [0.0, 0.0, math.log(2)]])
    labels, weights = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.5])
    assert float(discriminator_loss(logits, labels, weights)) == pytest.approx(math.log(2) + 0.5 * math.log(4))
    found = held_out_metrics(torch.eye(3), torch.tensor([0.0, 1.0, 2.0]))
    assert found["accuracy"] == found["auc"] == 1.0
    assert found["loss"] == pytest.approx(math.log(math.e + 2) - 1)
    two = held_out_metrics(torch.tensor([[0.0, 1.0], [0.0, 2.0]]), torch.tensor([0.0, 1.0]))
    assert (two["accuracy"], two["auc"]) == (0.5, 1.0)


def test_one_classifier_learns_three_labels_and_keeps_their_names(learn: Learn, tmp_path: Path):
    build = partial(
        new_bilstm,
        tokens="words",
        min_count=1,
        embedding_dim=16,
        hidden_dim=16,
        labels=LABELS,
    )
    trained = learn(build, data=TEXTS, settings=replace(SETTINGS, epochs=8, token_budget=128))
    again = Discriminator.from_pretrained(tmp_path / "d")
    assert again.labels == LABELS
    asked = [("the cow a dog",), ("a team",), ("rice the soup",)]
    assert again.logits(asked)[0].argmax(axis=1).tolist() == [0, 2, 1]
    np.testing.assert_allclose(again.logits(asked)[0], trained.logits(asked)[0], atol=1e-6)


def test_a_label_without_a_logit_is_refused(learn: Learn):
    with pytest.raises(ValueError, match="a classifier of 2 classes learns labels below 2, but a text has 2"):
        learn(partial(new_bilstm, tokens="words", min_count=1), data=TEXTS)


def test_the_script_of_the_page_fine_tunes_a_discriminator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "train.md").read_text("utf-8"), re.DOTALL)
    (script,) = [block for block in blocks if "trainer.fit(module, data)" in block]
    rows = [(*text.segments, text.label, text.group) for text in TEXTS if text.label < 2]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"rows": rows}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's, on the machine
        exec(compile(script, "train.md", "exec"), names)
    logits, _ = Discriminator.from_pretrained("discriminator").logits([text.segments for text in names["held_out"]])
    labels = np.array([text.label for text in names["held_out"]])
    best = float(names["best"].best_model_score)
    assert best > 0.9
    assert roc_auc_score(labels, logits) == pytest.approx(best)
    assert "epoch 0: AUC" in capsys.readouterr().out  # the user's own callback
    curve = names["trainer"].callback_metrics
    assert {"train/loss", "val/loss", "val/accuracy", "val/auc"} <= set(curve)
