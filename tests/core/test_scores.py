"""Scores: what they accept, count and refuse."""

from typing import Any

import numpy as np
import pytest

from core.scores import Scores

NAN = float("nan")


def scores(**changes: Any) -> Scores:
    whole: dict[str, Any] = {"values": {"a": [1.0, NAN, 3.0]}, "signature": "s", "reasons": (None, "too long", None)}
    return Scores(**{**whole, **changes})


def test_counts():
    values = {"a": [1.0, NAN, 3.0], "b": [NAN, NAN, 1.0]}
    made = scores(values=values, reasons=("b: x", "y", None), dropped_tokens=[0, 5, 1])
    assert (len(made), made.unscored, made.truncated) == (3, 2, 2)
    none = Scores({"a": np.zeros(0)}, "s")
    assert (len(none), none.unscored, none.truncated) == (0, 0, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": {}}, r"one length, but got \[\]"),
        ({"values": {"a": [1.0], "b": [1.0, 2.0]}}, r"one length, but got \[1, 2\]"),
        ({"reasons": (None,)}, r"reasons must have one entry per example \(3\), but has 1"),
        ({"dropped_tokens": (1, 2)}, r"dropped_tokens must have one entry per example \(3\), but has 2"),
        ({"explanations": ({},)}, r"explanations must have one entry per example \(3\), but has 1"),
        ({"reasons": ()}, "a NaN needs a reason, but a of example 1 has none"),
        ({"values": {"a": [1.0, NAN, -np.inf]}}, "must be finite, or NaN with a reason, but a of example 2 is not"),
        ({"values": {"a": np.zeros((3, 2))}}, r"one score per example, but a has the shape \(3, 2\)"),
    ],
)
def test_refuses(changes: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        scores(**changes)
