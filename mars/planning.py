"""Self-planning: moves the hidden state that predicts the next token toward the words after the blank (MARS, 2.2).

Each row of a batch plans toward its own words: `words` is a tensor of (rows, words), padded with `NO_WORD`. The last
hidden state h moves; its logits are h E^T. The gradient has a closed form, so no backward pass is needed.

The paper samples an action and weighs a scalar reward with its probability (Eq. 4). After normalisation that gradient
keeps only the sign of the reward, so it does not depend on the words to come. Here the reward itself is differentiated.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

NO_WORD = -1
FARTHEST = 10.0  # no logit moves further, which matters where the target KL is out of reach
SATISFIED = 1e-2  # a gradient below this share of its possible size is not scaled up
CLOSE = 1e-3  # a share of the target KL; from there one more of Newton's steps is exact


class Planned(NamedTuple):
    """Hidden states after planning, their logits, and the logits of the plain model."""

    hidden: Float[Tensor, "rows dim"]
    logits: Float[Tensor, "rows vocabulary"]
    plain: Float[Tensor, "rows vocabulary"]


def reward_gradient(
    logits: Float[Tensor, "rows vocabulary"],
    embeddings: Float[Tensor, "vocabulary dim"],
    words: Int[Tensor, "rows words"],
    xi: float = 1.3,
) -> Float[Tensor, "rows dim"]:
    """xi times the gradient by h of the reward at the logits h E^T.

    The reward (Eq. 5) is how close the next token is to the words after the blank. As printed its dimensions do not
    match; it is read as sum_w log p_w with p = softmax(h E^T / xi), whose gradient is (sum_w E_w - |W| p E) / xi.
    """
    expected = (logits / xi).softmax(-1) @ embeddings
    is_word = words != NO_WORD
    return (embeddings[words.clamp(min=0)] * is_word[..., None]).sum(-2) - is_word.sum(-1, keepdim=True) * expected


def plan_states(
    hidden: Float[Tensor, "rows dim"],
    embeddings: Float[Tensor, "vocabulary dim"],
    words: Int[Tensor, "rows words"],
    steps: int = 3,
    xi: float = 1.3,
    kl: float = 0.2,
) -> Planned:
    """Eq. 6: moves the hidden states by eta times the sum of `steps` scaled gradients of the reward.

    Each gradient is scaled so that it moves one logit by 1, and is taken where the ones before it lead. eta is then
    chosen for each row such that the next-token distribution has the KL divergence `kl` (nats) from the plain one; the
    paper's 0.02 moves no logit noticeably. Logits are linear in eta, so this needs no product with the vocabulary.

    No logit moves by more than `FARTHEST`, so the divergence is lower where the plain model already expects the words.
    Where the reward is nearly satisfied, the gradient vanishes, and scaling it up would amplify rounding errors. Below
    `SATISFIED` of its possible size the scaled gradient and that bound therefore shrink with it. Rows without words and
    `steps=0` give the plain model.
    """
    plain = hidden @ embeddings.T
    if not steps or not words.numel():
        return Planned(hidden, plain, plain)
    targets = embeddings[words.clamp(min=0)] * (words != NO_WORD)[..., None]
    least = SATISFIED * targets.norm(dim=-1).square().sum(-1)  # the largest logit shift of a gradient that is too small
    logits, moved = plain, torch.zeros_like(hidden)
    for _ in range(steps):
        g = reward_gradient(logits, embeddings, words, xi)
        shift = g @ embeddings.T
        size = shift.abs().amax(-1).maximum(least)[:, None]
        scale = torch.where(size > 0, 1 / size, 0)
        moved = moved + scale * g
        logits = torch.addcmul(logits, scale, shift)
    shift = logits - plain
    eta = choose_step(plain, shift, kl, FARTHEST / steps)
    return Planned(hidden + eta * moved, torch.addcmul(plain, eta, shift), plain)


def choose_step(
    plain: Float[Tensor, "rows vocabulary"], shift: Float[Tensor, "rows vocabulary"], kl: float, limit: float
) -> Float[Tensor, "rows 1"]:
    """eta in [0, limit] with KL(softmax(plain + eta shift) || softmax(plain)) = kl; the limit where that is too small.

    The divergence grows with eta: its derivative is eta times the variance of the shift. The root is found by bisection
    with Newton's steps on the square root of the divergence, which is nearly linear.

    >>> shift = torch.tensor([[1.0, -1.0]])
    >>> eta = choose_step(torch.zeros(1, 2), shift, kl=0.192745, limit=10.0)
    >>> round(eta.item(), 4)  # p = .8, so eta = ln(4) / 2
    0.6931
    """
    log_q = plain.log_softmax(-1)
    q = log_q.exp()
    shift = shift - (q * shift).sum(-1, keepdim=True)  # the same divergence with smaller rounding errors
    low, high = shift.new_zeros(len(shift), 1), shift.new_full((len(shift), 1), limit)
    eta = (2 * kl / (q * shift.square()).sum(-1, keepdim=True)).sqrt().clamp(max=limit)  # exact for small divergences
    too_far = done = torch.zeros_like(eta, dtype=torch.bool)
    while not bool(done.all()):
        weights = torch.addcmul(log_q, eta, shift).exp_()
        total = weights.sum(-1, keepdim=True)
        mean = weights.mul_(shift).sum(-1, keepdim=True) / total
        variance = weights.mul_(shift).sum(-1, keepdim=True) / total - mean**2
        found = (eta * mean - total.log()).clamp(min=0)
        above = found > kl
        low, high, too_far = torch.where(above, low, eta), torch.where(above, eta, high), too_far | above
        newton = eta - 2 * (found - (found * kl).sqrt()) / (eta * variance)
        middle = (low + high) / 2
        is_far = ((found - kl).abs() > CLOSE * kl) & (low < middle) & (middle < high)  # False for logits that are NaN
        otherwise = torch.where(is_far, torch.where(too_far, middle, high), eta)
        following = torch.where((low < newton) & (newton < high), newton, otherwise)
        eta = torch.where(done, eta, following)
        done = done | ~is_far
    return eta


def divergence(
    logits: Float[Tensor, "rows vocabulary"], plain: Float[Tensor, "rows vocabulary"]
) -> Float[Tensor, " rows"]:
    """KL(planned || plain) of the next token in nats.

    >>> divergence(torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 0.0]])).tolist()
    [0.0]
    """
    planned = logits.log_softmax(-1)
    return (planned.exp() * (planned - plain.log_softmax(-1))).sum(-1)
