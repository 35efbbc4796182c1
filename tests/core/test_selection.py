"""Selection: examples without a required field are NaN with a reason; where none has it, all are named."""

from collections.abc import Sequence

import numpy as np
import pytest

from core.example import Example
from core.faults import ExampleFaults
from core.scores import Scores
from core.selection import check_complete, score_complete

FULL = Example("a", text="t", context="c", references=("r",), turns=("u", "v"))
EXAMPLES = [Example("x", text="t", context=" "), FULL, Example("y", text="t", context="c", references=("", " "))]


def test_examples_without_a_field_have_a_reason() -> None:
    reasons = check_complete(EXAMPLES, ("context", "references"), "m")
    assert reasons == ["m needs context and references, found none", None, "m needs references, found none"]
    assert check_complete(EXAMPLES, (), "m") == [None] * 3
    assert check_complete([], ("context",), "m") == []


def test_where_no_example_has_the_field_all_are_named() -> None:
    with pytest.raises(ExampleFaults) as found:
        check_complete([EXAMPLES[0], EXAMPLES[2]], ("turns",), "m")
    assert found.value.at == (
        (0, "m needs two or more turns, found none"),
        (1, "m needs two or more turns, found none"),
    )


def test_scores_of_the_complete_examples_take_their_places() -> None:
    def score(chosen: Sequence[Example]) -> Scores:
        n = len(chosen)
        values = {"q": np.arange(n, dtype=np.float64) + 1}
        return Scores(values, "s", dropped_tokens=[7] * n, explanations=[{"id": e.id} for e in chosen])

    found = score_complete(EXAMPLES, ("context",), "m", score)
    np.testing.assert_array_equal(found.values["q"], [np.nan, 1.0, 2.0])
    assert found.reasons == ("m needs context, found none", None, None)
    assert found.dropped_tokens == (0, 7, 7)
    assert found.explanations == ({}, {"id": "a"}, {"id": "y"})


def test_faults_of_the_scoring_have_the_indices_of_all_examples() -> None:
    def refuse(chosen: Sequence[Example]) -> Scores:
        raise ExampleFaults((i, f"{example.id} is too long") for i, example in enumerate(chosen))

    with pytest.raises(ExampleFaults) as found:
        score_complete(EXAMPLES, ("references",), "m", refuse)
    assert found.value.at == ((1, "a is too long"),)
