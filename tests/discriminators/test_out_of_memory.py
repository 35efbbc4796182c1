"""Batches that do not fit into memory: halved when a discriminator judges and trains."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pytorch_lightning import LightningModule, Trainer

from discriminators.discriminator import Discriminator
from discriminators.segments import Segments
from discriminators.texts import LabelledText
from discriminators.training import TrainingSettings, train_classifier

Builds = dict[str, Callable[..., Discriminator]]
SETTINGS = TrainingSettings(epochs=2, learning_rate=1e-2, token_budget=512, held_out=0.2)


def refuse_above(discriminator: Discriminator, tokens: int, training: bool) -> Discriminator:
    """The network has memory for this many padded tokens, when gradients are kept or when they are not."""
    forward = discriminator.network.forward

    def limited(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if ids.numel() > tokens and torch.is_grad_enabled() == training:
            raise torch.OutOfMemoryError("too large")
        return forward(ids, mask)

    discriminator.network.forward = limited
    return discriminator


def test_judging_halves_a_batch(builds: Builds, toy_texts: list[LabelledText]) -> None:
    texts = [t.segments for t in toy_texts[:20]]
    discriminator = builds["bilstm"](texts)
    expected, _ = discriminator.logits(texts)
    found, _ = refuse_above(discriminator, 60, training=False).logits(texts)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_training_reads_a_batch_in_parts(
    builds: Builds,
    toy_texts: list[LabelledText],
    make_trainer: Callable[..., Trainer],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def build(texts: Sequence[Segments]) -> Discriminator:
        return refuse_above(builds["bilstm"](texts), 200, training=True)

    trained = train_classifier(build, toy_texts, tmp_path, make_trainer, SETTINGS)
    assert trained.logits([("yes",)])[0] > trained.logits([("no",)])[0]
    assert "out of memory: from now on at most" in caplog.text
    assert "skipped" not in caplog.text


def test_a_batch_that_runs_out_of_memory_in_the_backward_pass_is_read_again_in_parts(
    builds: Builds,
    toy_texts: list[LabelledText],
    make_trainer: Callable[..., Trainer],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []

    def fail_once(self: LightningModule, loss: torch.Tensor, *args: Any, **kwargs: Any) -> None:
        calls.append(1)
        backward(self, loss, *args, **kwargs)
        if len(calls) == 2:
            raise torch.OutOfMemoryError("too large")

    backward = LightningModule.backward
    build = partial(builds["bilstm"], dropout=0.0)
    whole = train_classifier(build, toy_texts, tmp_path / "whole", make_trainer, SETTINGS)
    monkeypatch.setattr(LightningModule, "backward", fail_once)
    found = train_classifier(build, toy_texts, tmp_path / "parts", make_trainer, SETTINGS)
    texts = [text.segments for text in toy_texts[:9]]
    np.testing.assert_allclose(found.logits(texts)[0], whole.logits(texts)[0], atol=1e-3)
    assert "from now on at most" in caplog.text
    assert "skipped" not in caplog.text
