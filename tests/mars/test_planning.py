"""Self-planning: the exact case by hand, gradients against autograd, the KL that is asked for, rows by themselves."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from mars.planning import FARTHEST, NO_WORD, TIE, is_settled, plan_states

THREE = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])


def divergence(logits: torch.Tensor, plain: torch.Tensor) -> torch.Tensor:
    """KL(planned || plain) of the next token in nats."""
    planned = logits.log_softmax(-1)
    return (planned.exp() * (planned - plain.log_softmax(-1))).sum(-1)


def random_case(seed: int, rows: int = 4, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, ...]:
    """Hidden states, embeddings of 11 words, and for each row another number of words."""
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(rows, 6, generator=generator, dtype=dtype)
    embeddings = torch.randn(11, 6, generator=generator, dtype=dtype)
    words = torch.randint(0, 11, (rows, 5), generator=generator)
    return hidden, embeddings, words.masked_fill(torch.arange(5) > torch.arange(rows)[:, None], NO_WORD)


def reward(hidden: torch.Tensor, embeddings: torch.Tensor, words: torch.Tensor, xi: float = 1.3) -> torch.Tensor:
    """Eq. 5: sum_w log softmax(h E^T / xi)[w]."""
    log_p = (hidden @ embeddings.T / xi).log_softmax(-1)
    return (log_p.gather(-1, words.clamp(min=0)) * (words != NO_WORD)).sum(-1)


def test_a_target_out_of_reach_moves_no_logit_without_bound() -> None:
    """Where the plain model already expects the word, certainty adds only -log p(word) < kl."""
    hidden, words = torch.tensor([[4.0, 0.0]]), torch.tensor([[0]])
    plain = hidden @ THREE.T
    planned, kl = plan_states(THREE, words, plain, kl=0.2)
    assert (planned - plain).abs().max() <= FARTHEST * (1 + 1e-5)
    probability = plain.softmax(-1)[0, 0]
    assert 0 < kl.item() < -probability.log().item() < 0.2
    torch.testing.assert_close(kl, divergence(planned, plain), rtol=1e-5, atol=0)


def test_without_words_it_is_the_plain_model() -> None:
    hidden, embeddings, words = random_case(4)
    plain = hidden @ embeddings.T
    planned, _ = plan_states(embeddings, torch.full_like(words, NO_WORD), plain)
    assert torch.equal(planned, plain)


@settings(deadline=None, max_examples=30)
@given(st.floats(0.0, 200.0))
def test_a_satisfied_reward_leaves_no_rounding_errors(certainty: float) -> None:
    """Where p is almost all on the word to come, float32 and float64 plan alike."""
    hidden, embeddings, _ = random_case(6, rows=1)
    words = torch.tensor([[3]])
    hidden = hidden + certainty * embeddings[3]
    moved: list[torch.Tensor] = []
    for dtype in (torch.float64, torch.float32):
        table = embeddings.to(dtype)
        plain = hidden.to(dtype) @ table.T
        moved.append((plan_states(table, words, plain)[0] - plain).double())
    torch.testing.assert_close(moved[0], moved[1], atol=2e-3, rtol=0)
    assert moved[1].isfinite().all()


@pytest.mark.parametrize("kl", [0.05, 0.2, 2.0])
def test_where_the_choice_is_settled_no_plan_changes_it(kl: float) -> None:
    """Also for words that pull away from the most probable token, and where some tokens may not be written."""
    generator = torch.Generator().manual_seed(0)
    hidden, embeddings, words = random_case(0, rows=400)
    allowed = torch.rand(400, 11, generator=generator) < 0.8
    plain = hidden @ embeddings.T
    settled = is_settled(plain, allowed, kl)
    planned, _ = plan_states(embeddings, words, plain, kl=kl)
    best, moved = (logits.masked_fill(~allowed, -math.inf).topk(2) for logits in (plain, planned))
    assert 0 < settled.sum() < 400
    assert torch.equal(best.indices[settled, 0], moved.indices[settled, 0])
    assert (moved.values[:, 0] - moved.values[:, 1])[settled].min() > TIE
    assert (best.indices[~settled, 0] != moved.indices[~settled, 0]).any()


@pytest.mark.parametrize("steps", [1, 3])
def test_plan_against_autograd_and_brent_where_another_token_is_nearly_certain(steps: int) -> None:
    """In many dimensions, in float32: the gradient is small and made of large terms, but far from satisfied."""
    generator = torch.Generator().manual_seed(0)
    embeddings = torch.randn(300, 48, generator=generator, dtype=torch.float64)
    hidden = 0.4 * embeddings[[7, 8]]
    words = torch.tensor([[1, 2, 3], [4, NO_WORD, NO_WORD]])
    assert (hidden @ embeddings.T / 1.3).softmax(-1).amax(-1).min() > 0.99
    table = embeddings.float()
    planned, _ = plan_states(table, words, hidden.float() @ table.T, steps)
    for i in range(2):
        expected = plan_slowly(hidden[i], embeddings, words[i], steps) @ embeddings.T
        torch.testing.assert_close(planned[i].double(), expected, atol=2e-3, rtol=1e-4)


def plan_slowly(
    hidden: torch.Tensor, embeddings: torch.Tensor, words: torch.Tensor, steps: int, kl: float = 0.2
) -> torch.Tensor:
    """Eq. 6 with gradients by autograd, a row alone; eta by Brent's method."""
    plain = (hidden @ embeddings.T).log_softmax(-1)
    moved = hidden
    for _ in range(steps):
        moved = moved.detach().requires_grad_()
        reward(moved[None], embeddings, words[None]).sum().backward()
        assert moved.grad is not None
        shift = moved.grad @ embeddings.T
        moved = moved + moved.grad / shift.abs().max()
    direction = (moved - hidden).detach()

    def excess(eta: float) -> float:
        logits = (hidden + eta * direction) @ embeddings.T
        return divergence(logits[None], plain[None]).item() - kl

    eta: Any = brentq(excess, 0, 20, xtol=1e-12)
    return hidden + eta * direction
