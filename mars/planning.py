"""Self-planning: moves the hidden state that predicts the next token toward the words after the blank (MARS, 2.2).

Each row of a batch plans toward its own words: `words` is a tensor of (rows, words), padded with `NO_WORD`. The last
hidden state h is moved; its logits are h E^T, with E the output embeddings. The gradient has a closed form, so no
backward pass is needed.

The paper samples an action and weighs a scalar reward with its probability (Eq. 4). After normalisation that gradient
keeps only the sign of the reward, so it does not depend on the words to come. Here the reward itself is differentiated.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Logits = Float[Tensor, "rows vocabulary"]
Hidden = Float[Tensor, "rows dim"]
Embeddings = Float[Tensor, "vocabulary dim"]

NO_WORD = -1
FARTHEST = 10.0  # no logit moves further, which matters where the target KL is out of reach
SATISFIED = 1e-2  # a gradient below this share of its possible size is not scaled up
HALVINGS = 22  # of the interval that holds eta
# Rows at a time where no product is computed, which stay in a processor's cache; other devices take all rows.
ROWS = 8
TIE = 1e-3
"""Perplexities closer than this share of themselves, and logits closer than this, count as equal."""


def project(hidden: Hidden, embeddings: Embeddings) -> Logits:
    """Computes the logits h E^T, as (E h^T)^T: for a few rows this takes a CPU two thirds of the time."""
    return (embeddings @ hidden.T).T.contiguous()


def is_settled(plain: Logits, allowed: Bool[Tensor, "rows vocabulary"], kl: float) -> Tensor:
    """Whether planning cannot change the greedy token of a row: no distribution within `kl` nats prefers another one.

    Let p be the plain distribution and q one in which the second allowed token comes within e^-d of the first, so that
    E_q f >= 0 for f = -m at the first, m e^d at the second, 0 elsewhere. Then KL(q || p) >= -log E_p e^f for any m
    (Donsker and Varadhan); with d = 0 and the best m the bound is -log(1 - (sqrt p_1 - sqrt p_2)^2). Any other allowed
    token is less probable than the second, so its bound is higher.
    """
    total = plain.logsumexp(-1)
    choices = plain.masked_fill(~allowed, -torch.inf)
    count = min(2, choices.shape[-1])
    best = choices.topk(count, dim=-1).values - total[:, None]
    first = best[:, 0]
    second = best[:, -1].clamp(min=-1e3)
    m = (first - second) / 2
    elsewhere = (1 - first.exp() - second.exp()).clamp(min=0)
    expected = (first - m).exp() + (second + m * math.exp(2 * TIE)).exp() + elsewhere
    return -expected.log() > kl


def reward_gradient(
    logits: Logits,
    embeddings: Embeddings,
    words: Int[Tensor, "rows words"],
    xi: float = 1.3,
) -> Hidden:
    """Computes xi times the gradient of the reward (Eq. 5) with respect to h, at the logits h E^T.

    The reward says how close the next token is to the words after the blank. As printed its dimensions do not match; it
    is read as sum_w log p_w with p = softmax(h E^T / xi), whose gradient is (sum_w E_w - |W| p E) / xi.
    """
    probabilities = torch.cat([(rows / xi).softmax(-1) for rows in split_rows(logits)])
    expected = probabilities @ embeddings
    sought = embed_words(embeddings, words).sum(-2)
    count = (words != NO_WORD).sum(-1, keepdim=True)
    return sought - count * expected


def embed_words(embeddings: Embeddings, words: Int[Tensor, "rows words"]) -> Float[Tensor, "rows words dim"]:
    """Returns the output embedding of each word; zeros for `NO_WORD`."""
    is_word = words != NO_WORD
    vectors = embeddings[words.clamp(min=0)]
    return vectors * is_word[..., None]


def split_rows(logits: Logits) -> Sequence[Tensor]:
    """Splits the rows into parts that are computed together: a few rows each on a CPU, all rows elsewhere."""
    rows = ROWS if logits.device.type == "cpu" else max(1, len(logits))
    return logits.split(rows)


def plan_states(
    embeddings: Embeddings,
    words: Int[Tensor, "rows words"],
    plain: Logits,
    steps: int = 3,
    xi: float = 1.3,
    kl: float = 0.2,
) -> tuple[Logits, Float[Tensor, " rows"]]:
    """Eq. 6: moves hidden states by eta times the sum of `steps` scaled gradients of the reward; returns their logits.

    `plain` are the logits h E^T before planning. Returns the planned logits and KL(planned || plain) in nats.

    Each gradient is scaled so that it moves one logit by 1, and is computed at the state that the previous gradients
    reach. eta is then chosen for each row such that the next-token distribution has the KL divergence `kl` (nats) from
    the plain distribution; the paper's 0.02 moves no logit noticeably. Logits are linear in eta, so this needs no
    product with the vocabulary. No logit moves by more than `FARTHEST`, so the divergence is lower if the plain model
    already expects the words.

    When the reward is nearly satisfied, the gradient vanishes, and scaling it up would amplify rounding errors. Below
    `SATISFIED` of its possible size, the scaled gradient and that bound therefore shrink with it. Rows without words
    keep the plain logits.
    """
    lengths = embed_words(embeddings, words).norm(dim=-1)
    least = SATISFIED * lengths.square().sum(-1)  # the largest logit shift of a gradient that is too small
    logits = plain.clone()
    for _ in range(steps):
        gradient = reward_gradient(logits, embeddings, words, xi)
        shift = project(gradient, embeddings)
        largest = shift.amax(-1).maximum(-shift.amin(-1))
        size = largest.maximum(least)[:, None]
        scale = torch.where(size > 0, 1 / size, 0)
        logits.addcmul_(scale, shift)
    shift = logits.sub_(plain)
    steps_of_rows: list[Tensor] = []
    divergences: list[Tensor] = []
    for plain_rows, shift_rows in zip(split_rows(plain), split_rows(shift), strict=True):
        eta, divergence = choose_step(plain_rows, shift_rows, kl, FARTHEST / steps)
        steps_of_rows.append(eta)
        divergences.append(divergence)
    planned = torch.addcmul(plain, torch.cat(steps_of_rows), shift)
    return planned, torch.cat(divergences)


def choose_step(
    plain: Logits,
    shift: Logits,
    kl: float,
    limit: float,
) -> tuple[Float[Tensor, "rows 1"], Float[Tensor, " rows"]]:
    """Finds eta in [0, limit] with KL(softmax(plain + eta shift) || softmax(plain)) = kl; returns eta and the KL.

    If the divergence stays below `kl`, eta is the limit. The divergence grows with eta (its derivative is eta times the
    variance of the shift), so that bisection finds the root.

    >>> shift = torch.tensor([[1.0, -1.0]])
    >>> eta, _ = choose_step(torch.zeros(1, 2), shift, kl=0.192745, limit=10.0)
    >>> round(eta.item(), 4)  # p = .8, so eta = ln(4) / 2
    0.6931
    """
    log_q = plain.log_softmax(-1)
    shift = shift - (log_q.exp() * shift).sum(-1, keepdim=True)  # the same divergence with smaller rounding errors

    def diverge(eta: Tensor) -> Tensor:
        """KL of the moved distribution from the plain one: eta E_p[shift] - log E_q[e^(eta shift)]."""
        weights = torch.addcmul(log_q, eta, shift).exp_()
        total = weights.sum(-1, keepdim=True)
        mean = weights.mul_(shift).sum(-1, keepdim=True) / total
        return eta * mean - total.log()

    low = shift.new_zeros(len(shift), 1)
    high = shift.new_full((len(shift), 1), limit)
    eta = high
    for _ in range(HALVINGS):
        is_above = diverge(eta) > kl
        low = torch.where(is_above, low, eta)
        high = torch.where(is_above, eta, high)
        eta = (low + high) / 2
    return eta, diverge(eta)[:, 0].clamp(min=0)
