"""The equations of CDM on values worked by hand, and what is drawn from the degraded distribution."""

import numpy as np
import pytest
import torch

from cdm.infilling import Pair
from cdm.momentum import degraded_log_probabilities
from cdm.sampling import Sampling, sample_segments, warp_probabilities

AMATEUR = torch.tensor([[0.5, 0.25, 0.25]]).log()
EXPERT = torch.tensor([[0.25, 0.5, 0.25]]).log()


def test_gamma_moves_away_from_the_expert() -> None:
    """p_n is p_a (p_a / p_e)^gamma: with gamma = 1 it is 1, 1/8 and 1/4, with -1/2 the roots of p_a p_e."""
    once = torch.tensor([[1.0, 0.125, 0.25]]) / 1.375
    torch.testing.assert_close(degraded_log_probabilities(AMATEUR, EXPERT, 1.0).exp(), once)
    half = torch.tensor([[2**-1.5, 2**-1.5, 0.25]])
    torch.testing.assert_close(degraded_log_probabilities(AMATEUR, EXPERT, -0.5).exp(), half / half.sum())
    assert degraded_log_probabilities(AMATEUR, EXPERT, 0) is AMATEUR
    assert degraded_log_probabilities(AMATEUR, EXPERT, -1) is EXPERT
    torch.testing.assert_close(
        degraded_log_probabilities(AMATEUR, EXPERT, -1 + 1e-6),
        EXPERT,
        atol=1e-5,
        rtol=0,
    )


def test_temperature_and_top_p_by_hand() -> None:
    log_p = torch.tensor([[0.5, 0.3, 0.2]]).log()

    def probabilities(**settings: float) -> list[float]:
        return warp_probabilities(log_p, Sampling(**settings)).tolist()[0]  # pyright: ignore[reportArgumentType]

    assert probabilities() == pytest.approx([0.5, 0.3, 0.2])
    assert probabilities(temperature=0.5) == pytest.approx([0.25 / 0.38, 0.09 / 0.38, 0.04 / 0.38])
    assert probabilities(top_p=0.5) == pytest.approx([1, 0, 0])
    assert probabilities(top_p=0.51) == pytest.approx([0.625, 0.375, 0])


@pytest.fixture(scope="module")
def sources(pair: Pair, dialogues: list[tuple[str, ...]]) -> list[list[int]]:
    tasks = pair.tokenise(dialogues[:12]).tasks(seed=4)
    return [list(task.source) for task in tasks]


@pytest.mark.parametrize(("gamma", "unused"), [(0.0, "expert"), (-1.0, "amateur")])
def test_a_model_without_a_say_is_not_evaluated(
    pair: Pair,
    sources: list[list[int]],
    gamma: float,
    unused: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError(f"the {unused} has no say at gamma = {gamma}")

    monkeypatch.setattr(getattr(pair, unused).model, "forward", refuse)
    monkeypatch.setattr(getattr(pair, unused).model.get_encoder(), "forward", refuse)
    uniforms = np.random.default_rng(1).random((len(sources), 3))
    assert all(
        sample_segments(
            pair,
            sources,
            Sampling(gamma=gamma),
            uniforms,
        )
    )


def test_with_the_whole_constraint_only_the_likeliest_token_of_the_amateur_is_left(
    pair: Pair, sources: list[list[int]]
) -> None:
    uniforms = np.random.default_rng(1).random((len(sources), 6))
    only = Sampling(gamma=0.7, plausibility=0.999999)
    greedy = Sampling(gamma=0.0, top_p=1e-9)
    expected = sample_segments(
        pair,
        sources,
        greedy,
        uniforms,
    )
    ranks: list[int] = []
    assert (
        sample_segments(
            pair,
            sources,
            only,
            uniforms,
            ranks=ranks,
        )
        == expected
    )
    assert set(ranks) == {0}
    assert (
        sample_segments(
            pair,
            sources,
            Sampling(gamma=0.7),
            uniforms,
        )
        != expected
    )


@pytest.mark.parametrize("gamma", [-1.0, 0.0, 1.5])
def test_ranks_are_those_of_the_amateur_that_reads_what_was_drawn(
    pair: Pair, sources: list[list[int]], gamma: float
) -> None:
    uniforms, ranks = np.random.default_rng(5).random((1, 4)), []
    (found,) = sample_segments(
        pair,
        sources[:1],
        Sampling(gamma=gamma),
        uniforms,
        ranks=ranks,
    )
    reader, (end,) = pair.amateur.read(sources[:1], pair.infilling.opening), pair.infilling.closing
    expected: list[int] = []
    for step, token in enumerate([*found, end][:4]):
        before = None if step == 0 else torch.tensor([found[step - 1]])
        log_p = reader.next_log_probabilities(before)[0, : pair.vocabulary]
        allowed = set(range(pair.vocabulary)) - {*pair.never_drawn, *[end][: step == 0]}
        expected.append(sum(bool(log_p[other] > log_p[token]) for other in allowed))
    assert ranks == (expected if gamma != -1 else [])
