"""The equations of guided decoding by hand, and which row a beam continues."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oumg.guidance import add_to_scores, find_parents, fudge_scores, normalise_scores


def test_equation_5_by_hand() -> None:
    f = normalise_scores(torch.tensor([[1.0, 3.0, 2.0]]), alpha=2.0)
    after = add_to_scores(torch.tensor([[2.0, 1.0, 0.0]]), f)
    assert after.tolist() == [[2, 3, 1]]
    torch.testing.assert_close(after.softmax(-1), torch.tensor([[0.2447, 0.6652, 0.0900]]), atol=5e-5, rtol=0)


def test_scores_that_hardly_differ_say_nothing() -> None:
    assert normalise_scores(torch.tensor([[5.0, 5.0 + 4e-7], [0.0, 2e-6]]), alpha=4.0).tolist() == [[0, 0], [0, 4]]
    assert normalise_scores(torch.tensor([[7.0]]), alpha=4.0).tolist() == [[0]]  # k = 1


def test_impossible_candidates_have_no_part_in_the_range() -> None:
    among = torch.tensor([[True, True, False], [True, False, False]])
    f = normalise_scores(torch.tensor([[1.0, 2.0, 50.0], [3.0, 9.0, -9.0]]), alpha=1.0, among=among)
    assert f.tolist() == [[0, 1, 0], [0, 0, 0]]


def test_fudge_by_hand() -> None:
    found = fudge_scores(torch.tensor([0.0, 200.0, -200.0]), lam=2.0)
    torch.testing.assert_close(found, torch.tensor([-2 * math.log(2), 0.0, -400.0]))


@given(st.lists(st.floats(-50, 50, width=32), min_size=2, max_size=8), st.floats(0, 8), st.floats(-9, 9))
@settings(max_examples=50, deadline=None)
def test_equation_5_lies_between_0_and_alpha_and_knows_no_scale(
    values: list[float], alpha: float, shift: float
) -> None:
    s = torch.tensor([values], dtype=torch.float64)
    f = normalise_scores(s, alpha)
    assert 0 <= f.min() <= f.max() <= alpha + 1e-9
    if s.max() - s.min() > 1e-3:
        assert f.max() == pytest.approx(alpha)
        torch.testing.assert_close(normalise_scores(3 * s + shift, alpha), f)


def test_log_probabilities_stay_log_probabilities_and_logits_stay_logits() -> None:
    logits, f = torch.randn(4, 6) + 1.0, torch.rand(4, 6)
    torch.testing.assert_close(add_to_scores(logits, f), logits + f)
    found = add_to_scores(logits.log_softmax(-1), f)
    torch.testing.assert_close(found, (logits + f).log_softmax(-1))


def test_parents_are_found_wherever_rows_went() -> None:
    before = torch.tensor([[1, 2], [3, 4], [1, 2]])
    found = find_parents(before, torch.tensor([[3, 4, 9], [1, 2, 8]]))
    assert found is not None
    assert before[found].tolist() == [[3, 4], [1, 2]]
    assert find_parents(before, torch.tensor([[3, 4, 9], [2, 2, 8]])) is None  # a new text
    assert find_parents(before, torch.tensor([[3, 4]])) is None  # no longer than before
    assert find_parents(before, torch.tensor([[3]])) is None
