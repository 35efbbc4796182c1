"""The choice of G2: exact ranks, renormalised; forced marks stay; what is not possible is refused."""

import pytest
import torch
from transformers import TopKLogitsWarper

from oumg.form import Form
from oumg.form_scores import keeps_form
from oumg.poetry import ShiftedRanks, generate_poems
from oumg.songnet import SongNetPlan


def nothing(rows: int) -> torch.Tensor:
    return torch.zeros(rows, 0, dtype=torch.long)


def test_ranks_of_ten_tokens() -> None:
    order = torch.tensor([3, 9, 0, 7, 1, 4, 8, 2, 6, 5])  # likeliest first
    scores = torch.empty(1, 10).scatter_(1, order[None], torch.linspace(5.0, -4.0, 10)[None])
    after = ShiftedRanks(2)(nothing(1), scores)
    assert sorted(after[0].isfinite().nonzero().flatten().tolist()) == [5, 6]
    # One logit apart: e / (1 + e) and 1 / (1 + e).
    torch.testing.assert_close(after[0, [6, 5]].exp(), torch.tensor([0.7310586, 0.2689414]))


def test_a_forced_token_stays() -> None:
    scores = torch.zeros(2, 10)
    scores[0] = -torch.inf
    scores[0, 3] = 0.0
    after = ShiftedRanks(2)(nothing(2), scores)
    assert torch.equal(after[0], scores[0])
    assert int(after[1].isfinite().sum()) == 2
    assert torch.equal(ShiftedRanks(99)(nothing(1), scores[:1]), scores[:1])


def test_ranks_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match=r"with k = 3 need 15 possible tokens, but a row has 10: k can be at most 2"):
        ShiftedRanks(3)(nothing(2), torch.zeros(2, 10))
    with pytest.raises(ValueError, match="k must be greater than or equal to 1, but is 0"):
        ShiftedRanks(0)


def test_both_generators_keep_the_form_and_choose_other_characters() -> None:
    songnet = SongNetPlan(16, 1, 2, max_length=64).build(["春花秋月何时了往事知多少小楼昨夜"], seed=0)
    form = Form.of("春花秋，月何。")
    first: list[set[int]] = []
    for content in (ShiftedRanks(2), TopKLogitsWarper(2)):
        poems = generate_poems(songnet, [("花月", form)] * 6, lambda content=content: content, seed=0, batch_size=4)
        assert all(keeps_form(poem, form) for poem in poems)
        first.append({songnet.encode(poem)[0] for poem in poems})
    assert all(len(of_rank) <= 2 for of_rank in first)  # of two ranks after one prompt
    assert first[0].isdisjoint(first[1])
