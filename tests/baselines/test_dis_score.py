"""DisScore: the logit of one discriminator and the probability of another, with the reasons of both."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.dis_score import DisScore
from core.example import Example
from core.faults import InputFaults
from discriminators.discriminator import new_bilstm
from discriminators.metric import DiscriminatorScore, LabelDiscriminatorScore

TEXTS = [("the food was good",), ("the film was bad",)]
EXAMPLES = [
    Example("a", text="the food", label="x"),
    Example("b", text="it was good", label="y"),
    Example("c", text="bad film"),
]


def test_three_aspects_come_from_two_discriminators(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"min_count": 1, "embedding_dim": 4, "hidden_dim": 4}
    new_bilstm(TEXTS, **sizes).save_pretrained(tmp_path / "quality")
    new_bilstm(TEXTS, labels=["x", "y"], **sizes).save_pretrained(tmp_path / "label")
    metric = DisScore.from_pretrained(tmp_path / "quality", tmp_path / "label")
    found = metric.score(EXAMPLES)
    quality = DiscriminatorScore.from_pretrained(tmp_path / "quality").score(EXAMPLES)
    label = LabelDiscriminatorScore.from_pretrained(tmp_path / "label").score(EXAMPLES)
    for aspect, expected in (("coherence", quality), ("consistency", quality), ("attribute_relevance", label)):
        np.testing.assert_array_equal(found.values[aspect], expected.values["quality"])
    assert [bool(reason) for reason in found.reasons] == [False, False, True]
    assert found.signature == metric.signature == f"{quality.signature} + {label.signature}"
    with pytest.raises(InputFaults, match="must be the folder of a trained discriminator"):
        DisScore.from_pretrained(tmp_path / "none", tmp_path / "label")
