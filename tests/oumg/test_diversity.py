"""Distinct-n: values counted by hand, and its limits."""

import math

from oumg.diversity import distinct_n


def test_values_counted_by_hand() -> None:
    texts = [["the", "cat", "saw", "the", "cat"], ["the", "dog"]]
    # the x3, cat x2, saw, dog: 4 of 7; the-cat x2, cat-saw, saw-the, the-dog: 4 of 5; 3 of 3
    assert [distinct_n(texts, n) for n in (1, 2, 3)] == [4 / 7, 4 / 5, 1.0]
    assert distinct_n([["a"], ["b"], ["a", "b"]], 2) == 1.0  # an n-gram ends with its text
    assert distinct_n([["a"] * 10], 2) == 1 / 9
    assert math.isnan(distinct_n([["a"], []], 2))
