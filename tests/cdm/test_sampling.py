"""What is drawn from the degraded distribution, and what is not."""

import itertools

import numpy as np
import pytest
import torch

from cdm.infilling import SEPARATOR, Pair
from cdm.momentum import degraded_log_probabilities
from cdm.sampling import Sampling, draw, sample_segments, warp_probabilities
from models.tiny import TinyT5


def test_the_more_degraded_the_less_of_what_the_expert_prefers() -> None:
    torch.manual_seed(0)
    amateur, expert = torch.randn(2, 50, 9).log_softmax(-1)
    gammas = (-1.0, -0.5, 0.0, 0.7, 2.0)
    expected = [(degraded_log_probabilities(amateur, expert, g).exp() * (expert - amateur)).sum(-1) for g in gammas]
    for less, more in itertools.pairwise(expected):
        assert (more <= less + 1e-5).all()


def test_temperature_top_k_and_top_p_by_hand() -> None:
    log_p = torch.tensor([[0.5, 0.3, 0.2]]).log()

    def probabilities(**settings: float) -> list[float]:
        return warp_probabilities(log_p, Sampling(**settings)).tolist()[0]  # pyright: ignore[reportArgumentType]

    assert probabilities() == pytest.approx([0.5, 0.3, 0.2])
    assert probabilities(temperature=0.5) == pytest.approx([0.25 / 0.38, 0.09 / 0.38, 0.04 / 0.38])
    assert probabilities(top_k=2) == pytest.approx([0.625, 0.375, 0])
    assert probabilities(top_p=0.5) == pytest.approx([1, 0, 0])
    assert probabilities(top_p=0.51) == pytest.approx([0.625, 0.375, 0])


def test_a_draw_is_where_the_cumulated_probability_passes() -> None:
    p = torch.tensor([[0.25, 0.0, 0.75]]).expand(4, 3)
    assert draw(p, torch.tensor([0.0, 0.2499, 0.25, 0.9999])).tolist() == [0, 0, 2, 2]


def test_draws_follow_the_probabilities() -> None:
    p = torch.tensor([[0.1, 0.6, 0.3]]).expand(20_000, 3)
    counts = torch.bincount(draw(p, torch.as_tensor(np.random.default_rng(0).random(20_000))), minlength=3)
    assert (counts / 20_000).tolist() == pytest.approx([0.1, 0.6, 0.3], abs=0.015)


@pytest.mark.parametrize("wrong", [{"gamma": np.nan}, {"temperature": 0}, {"top_k": -1}, {"top_p": 0}, {"longest": 0}])
def test_bad_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must be|need"):
        Sampling(**wrong)  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def sources(pair: Pair, dialogues: list[tuple[str, ...]]) -> list[list[int]]:
    tasks = pair.tokenise(dialogues[:12]).tasks(seed=4)
    return [list(task.source) for task in tasks]


@pytest.mark.parametrize(("gamma", "unused"), [(0.0, "expert"), (-1.0, "amateur")])
def test_a_model_without_a_say_is_not_evaluated(
    pair: Pair, sources: list[list[int]], gamma: float, unused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError(f"the {unused} has no say at gamma = {gamma}")

    monkeypatch.setattr(getattr(pair, unused).model, "forward", refuse)
    monkeypatch.setattr(getattr(pair, unused).model.get_encoder(), "forward", refuse)
    uniforms = np.random.default_rng(1).random((len(sources), 3))
    assert all(sample_segments(pair, sources, Sampling(gamma=gamma), uniforms, pair.never_drawn))


def test_with_the_whole_constraint_only_the_likeliest_token_of_the_amateur_is_left(
    pair: Pair, sources: list[list[int]]
) -> None:
    uniforms = np.random.default_rng(1).random((len(sources), 6))
    only = Sampling(gamma=0.7, plausibility=0.999999)
    greedy = Sampling(gamma=0.0, top_k=1)
    expected = sample_segments(pair, sources, greedy, uniforms, pair.never_drawn)
    assert sample_segments(pair, sources, only, uniforms, pair.never_drawn) == expected
    assert sample_segments(pair, sources, Sampling(gamma=0.7), uniforms, pair.never_drawn) != expected


def test_ids_without_a_token_are_never_drawn(dialogues: list[tuple[str, ...]]) -> None:
    lms = [TinyT5(400, 16, 32, 2, 1, 1).build(dialogues[0], (SEPARATOR,), seed) for seed in (1, 2)]
    tokens = len(lms[0].tokenizer)
    for lm in lms:
        lm.model.resize_token_embeddings(tokens + 27)  # as T5: 32128 ids for 32101 tokens
    pair = Pair(*lms, max_length=60)
    sources = [list(task.source) for task in pair.tokenise(dialogues[:20]).tasks(seed=4)]
    uniforms = np.random.default_rng(3).random((len(sources), 20))
    for gamma in (0.0, 0.5, -1.0):
        flat = Sampling(gamma=gamma, temperature=50.0, longest=20)  # every logit is about as likely
        drawn = {i for row in sample_segments(pair, sources, flat, uniforms, pair.never_drawn) for i in row}
        assert len(drawn) > 20
        assert max(drawn) < tokens


def test_forbidden_tokens_are_never_drawn_and_no_segment_is_empty(pair: Pair, sources: list[list[int]]) -> None:
    uniforms = np.random.default_rng(3).random((len(sources), 20))
    found = sample_segments(pair, sources, Sampling(temperature=5.0, longest=20), uniforms, list(range(3, 350)))
    assert all(found)
    assert not {token for segment in found for token in segment} & set(range(3, 350))
