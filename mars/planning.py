"""Self-planning: moves the hidden state that predicts the next token toward the words after the blank (MARS, 2.2).

Each row of a batch plans toward its own words: `words` is a tensor of (rows, words), padded with `NO_WORD`. The last
hidden state h moves; its logits are h E^T. The gradient has a closed form, so no backward pass is needed.

The paper samples an action and weighs a scalar reward with its probability (Eq. 4). After normalisation that gradient
keeps only the sign of the reward, so it does not depend on the words to come. Here the reward itself is differentiated.
"""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

Rule = Literal["log_probability", "cosine"]
NO_WORD = -1
FARTHEST = 10.0  # no logit moves further, which matters where the target KL is out of reach
SATISFIED = 1e-2  # a gradient below this share of its possible size is not scaled up
CLOSE = 1e-3  # a share of the target KL; from there one more of Newton's steps is exact
CERTAIN = 1e-8  # the same for `cosine` where one token has all the probability and no step changes the expectation


class Planned(NamedTuple):
    """Hidden states after planning, their logits, and the logits of the plain model."""

    hidden: Float[Tensor, "rows dim"]
    logits: Float[Tensor, "rows vocabulary"]
    plain: Float[Tensor, "rows vocabulary"]


class Direction(NamedTuple):
    """The gradient of the reward, and the sizes below which it is not scaled up.

    Attributes:
        gradient: xi times the gradient by the hidden states.
        shrink: a step may be this much shorter because the reward is nearly satisfied; at least 1.
        least_shift: the largest logit shift of a gradient that is too small; 0 without words.
    """

    gradient: Float[Tensor, "rows dim"]
    shrink: Float[Tensor, " rows"]
    least_shift: Float[Tensor, " rows"]


def reward_gradient(
    logits: Float[Tensor, "rows vocabulary"],
    embeddings: Float[Tensor, "vocabulary dim"],
    words: Int[Tensor, "rows words"],
    xi: float = 1.3,
    rule: Rule = "log_probability",
) -> Direction:
    """The gradient of the reward (Eq. 5: how close the next token is to the words after the blank) at the logits h E^T.

    As printed the dimensions of Eq. 5 do not match. With p = softmax(h E^T / xi) and the expected embedding e = p E,
    `log_probability` reads it as sum_w log p_w, whose gradient is sum_w E_w - |W| e. `cosine` reads it as
    sum_w cos(e, E_w) with the gradient sum_j p_j (E_j u) E_j, where u = (n - (n v) v) / |e| is the gradient by e,
    v = e / |e| and n = sum_w E_w / |E_w|. As e u = 0, it is taken as sum_j p_j (E_j u - e u) (E_j - e), so that no
    large terms cancel where p is nearly certain.
    """
    p = (logits / xi).softmax(-1)
    expected = p @ embeddings
    targets = embeddings[words.clamp(min=0)] * (words != NO_WORD)[..., None]
    lengths = targets.norm(dim=-1)
    if rule == "log_probability":
        g = targets.sum(-2) - (words != NO_WORD).sum(-1, keepdim=True) * expected
        one = torch.ones_like(logits[:, 0])
        return Direction(g, one, SATISFIED * lengths.square().sum(-1))
    wanted, unit = normalize(targets, dim=-1).sum(-2), expected / _length(expected)
    across = wanted - (wanted * unit).sum(-1, keepdim=True) * unit
    along = (across / _length(expected)) @ embeddings.T
    weights = p * (along - (p * along).sum(-1, keepdim=True))
    sine = across.norm(dim=-1) / _length(wanted)[:, 0]
    possible = (p @ embeddings.square().sum(-1)) * (wanted.norm(dim=-1) / _length(expected)[:, 0])
    return Direction(
        weights @ embeddings - weights.sum(-1, keepdim=True) * expected,
        (SATISFIED / sine.clamp(min=SATISFIED**3)).clamp(min=1),
        CERTAIN * possible * lengths.amax(-1),
    )


def plan(
    hidden: Float[Tensor, "rows dim"],
    embeddings: Float[Tensor, "vocabulary dim"],
    words: Int[Tensor, "rows words"],
    steps: int = 3,
    xi: float = 1.3,
    kl: float = 0.2,
    rule: Rule = "log_probability",
) -> Planned:
    """Eq. 6: moves the hidden states by eta times the sum of `steps` scaled gradients of the reward.

    Each gradient is scaled so that it moves one logit by 1, and is taken where the ones before it lead. eta is then
    chosen for each row such that the next-token distribution has the KL divergence `kl` (nats) from the plain one; the
    paper's 0.02 moves no logit noticeably. Logits are linear in eta, so this needs no product with the vocabulary.

    No logit moves by more than `FARTHEST`, so the divergence is lower where the plain model already expects the words.
    Where the reward is nearly satisfied, the gradient vanishes, and scaling it up would amplify rounding errors. Below
    `SATISFIED` of its possible size (for `cosine`: of the sine between the expected embedding and the words) the scaled
    gradient and that bound therefore shrink with it. Rows without words and `steps=0` give the plain model.
    """
    plain = hidden @ embeddings.T
    if not steps or not words.numel():
        return Planned(hidden, plain, plain)
    logits, moved = plain, torch.zeros_like(hidden)
    for _ in range(steps):
        direction = reward_gradient(logits, embeddings, words, xi, rule)
        g = direction.gradient
        shift = g @ embeddings.T
        size = (shift.abs().amax(-1) * direction.shrink).maximum(direction.least_shift)[:, None]
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


def _length(vectors: Float[Tensor, "rows dim"]) -> Float[Tensor, "rows 1"]:
    """The length of each vector, at least a tiny positive number."""
    return vectors.norm(dim=-1, keepdim=True).clamp(min=torch.finfo(vectors.dtype).tiny)
