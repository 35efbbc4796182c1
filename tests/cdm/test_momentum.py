"""The equations of CDM on values worked by hand."""

import torch

from cdm.momentum import degraded_log_probabilities, keep_plausible

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
    torch.testing.assert_close(degraded_log_probabilities(AMATEUR, EXPERT, -1 + 1e-6), EXPERT, atol=1e-5, rtol=0)


def test_the_contrast_with_a_flatter_amateur_draws_from_its_tail_unless_tokens_must_be_plausible() -> None:
    generator = torch.Generator().manual_seed(0)

    def predict(flatness: float) -> torch.Tensor:
        zipf = -flatness * torch.arange(1, 32_001).log() + 0.3 * torch.randn(8, 32_000, generator=generator)
        return zipf.log_softmax(-1)

    expert, amateur = predict(1.2), predict(1.0)
    unlikely = amateur.argsort(-1, descending=True).argsort(-1) >= 1000

    def share(gamma: float, plausibility: float) -> float:
        kept = keep_plausible(degraded_log_probabilities(amateur, expert, gamma), amateur, plausibility)
        return float((kept.softmax(-1) * unlikely).sum(-1).mean())

    assert 0.2 < share(0, 0) < 0.4 < share(1, 0)
    assert share(1, 0.1) == 0
