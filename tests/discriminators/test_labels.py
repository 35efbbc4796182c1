"""One classifier of several labels: it learns them, is saved with them, and its metrics are worked by hand."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from pytorch_lightning import Trainer

from discriminators.discriminator import Discriminator, new_bert, new_bilstm
from discriminators.texts import LabelledText
from discriminators.training import TrainingSettings, discriminator_loss, held_out_metrics, train_classifier

LABELS = ("animals", "food", "sports")
WORDS = ("cat dog cow", "soup bread rice", "goal race team")
TEXTS = [
    LabelledText((" ".join(np.random.default_rng(i).permutation([*words.split(), "the", "a"])),), label, f"g{i}")
    for i in range(60)
    for label, words in enumerate(WORDS)
]
QUIET = partial(Trainer, accelerator="cpu", enable_progress_bar=False, enable_model_summary=False)


def test_loss_and_metrics_by_hand() -> None:
    logits = torch.tensor([[math.log(2), 0.0, 0.0], [0.0, 0.0, math.log(2)]])
    labels, weights = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.5])
    assert float(discriminator_loss(logits, labels, weights)) == pytest.approx(math.log(2) + 0.5 * math.log(4))
    found = held_out_metrics(torch.eye(3), torch.tensor([0.0, 1.0, 2.0]))
    assert found["accuracy"] == found["auc"] == 1.0
    assert found["loss"] == pytest.approx(math.log(math.e + 2) - 1)
    two = held_out_metrics(torch.tensor([[0.0, 1.0], [0.0, 2.0]]), torch.tensor([0.0, 1.0]))
    assert (two["accuracy"], two["auc"]) == (0.5, 1.0)


def test_one_classifier_learns_three_labels_and_keeps_their_names(tmp_path: Path) -> None:
    build = partial(new_bilstm, tokens="words", min_count=1, embedding_dim=16, hidden_dim=16, labels=LABELS)
    settings = TrainingSettings(epochs=8, learning_rate=1e-2, token_budget=128, held_out=0.2)
    trained = train_classifier(build, TEXTS, tmp_path, QUIET, settings)
    again = Discriminator.from_pretrained(tmp_path)
    assert again.labels == LABELS
    logits, _ = again.logits([("the cow a dog",), ("a team",), ("rice the soup",)])
    assert logits.argmax(axis=1).tolist() == [0, 2, 1]
    np.testing.assert_allclose(
        logits, trained.logits([("the cow a dog",), ("a team",), ("rice the soup",)])[0], atol=1e-6
    )


def test_a_bert_of_labels_is_saved_with_them(saved_bert: Callable[..., Path], tmp_path: Path) -> None:
    encoder = saved_bert(["cat", "dog"], 16, 1, 32)
    bert = new_bert(encoder=str(encoder), labels=LABELS)
    bert.save_pretrained(tmp_path)
    again = Discriminator.from_pretrained(tmp_path)
    bert.network.eval()
    np.testing.assert_allclose(again.logits([("cat",), ("dog cat",)])[0], bert.logits([("cat",), ("dog cat",)])[0])
    assert again.logits([("cat",)])[0].shape == (1, 3)


def test_a_label_without_a_logit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a classifier of 2 classes learns labels below 2, but a text has 2"):
        train_classifier(partial(new_bilstm, tokens="words", min_count=1), TEXTS, tmp_path, QUIET)
