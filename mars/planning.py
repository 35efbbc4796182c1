"""Self-planning: the hidden state that predicts the next token moves toward the words after the blank (MARS, 2.2).

Rows of a batch plan toward different words: `words` is a tensor of (rows, words), filled up with `NO_WORD`. What moves
is the last hidden state h, whose logits are h E^T; the gradient is in closed form, no backward pass is needed.

The paper samples an action and weighs a scalar reward with its probability (Eq. 4). Normalised, that gradient keeps
only the reward's sign and so does not depend on the words to come: the reward itself is differentiated instead.
"""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

Rule = Literal["log_probability", "cosine"]
NO_WORD = -1
SATISFIED = 1e-2  # below this share of its possible size a gradient is no longer scaled up
CERTAIN = 1e-8  # the same for `cosine` where one token has all the probability, so that no step changes the expectation


class Planned(NamedTuple):
    """Hidden states after planning, their logits, and the logits of the plain model."""

    hidden: Float[Tensor, "rows dim"]
    logits: Float[Tensor, "rows vocabulary"]
    plain: Float[Tensor, "rows vocabulary"]


def reward(
    hidden: Float[Tensor, "rows dim"],
    embeddings: Float[Tensor, "vocabulary dim"],
    words: Int[Tensor, "rows words"],
    xi: float = 1.3,
    rule: Rule = "log_probability",
) -> Float[Tensor, " rows"]:
    """Eq. 5: how close the next token comes to the words after the blank; higher is closer.

    As printed the dimensions of Eq. 5 do not match. `log_probability` reads it as sum_w log softmax(h E^T / xi)[w],
    `cosine` as sum_w cos(e, E_w) with the expected embedding e = softmax(h E^T / xi) E.
    """
    log_p = (hidden @ embeddings.T / xi).log_softmax(-1)
    match rule:
        case "log_probability":
            return (log_p.gather(-1, words.clamp(min=0)) * (words != NO_WORD)).sum(-1)
        case "cosine":
            expected = normalize(log_p.exp() @ embeddings, dim=-1)
            return (expected * normalize(_of(embeddings, words), dim=-1).sum(-2)).sum(-1)
    raise ValueError(f"rule must be log_probability or cosine, but is {rule!r}")


def gradient(
    logits: Float[Tensor, "rows vocabulary"],
    embeddings: Float[Tensor, "vocabulary dim"],
    words: Int[Tensor, "rows words"],
    xi: float = 1.3,
    rule: Rule = "log_probability",
) -> Float[Tensor, "rows dim"]:
    """xi times the gradient of `reward` by h, from the logits h E^T.

    With p = softmax(h E^T / xi) and e = p E it is sum_w E_w - |W| e for `log_probability`. For `cosine` it is
    sum_j p_j (E_j u) E_j, where u = (n - (n v) v) / |e| is the gradient by e, v = e / |e| and n = sum_w E_w / |E_w|.
    As e u = 0, it is taken as sum_j p_j (E_j u - e u) (E_j - e): where p is nearly certain no large terms cancel.
    """
    p = (logits / xi).softmax(-1).to(embeddings.dtype)
    expected = p @ embeddings
    match rule:
        case "log_probability":
            return _of(embeddings, words).sum(-2) - (words != NO_WORD).sum(-1, keepdim=True) * expected
        case "cosine":
            towards = _across(expected, embeddings, words) / _length(expected)
            along = towards @ embeddings.T
            weights = p * (along - (p * along).sum(-1, keepdim=True))
            return weights @ embeddings - weights.sum(-1, keepdim=True) * expected
    raise ValueError(f"rule must be log_probability or cosine, but is {rule!r}")


def plan(
    hidden: Float[Tensor, "rows dim"],
    embeddings: Float[Tensor, "vocabulary dim"],
    words: Int[Tensor, "rows words"],
    steps: int = 3,
    xi: float = 1.3,
    largest_shift: float = 1.0,
    eta: float | None = None,
    rule: Rule = "log_probability",
) -> Planned:
    """Eq. 6: `steps` steps of the hidden states up the reward's gradient.

    Each step is as long as moves the logit it moves most by `largest_shift`; with `eta` it has this length instead, as
    the paper writes it (its 0.02 moves no logit noticeably). Where the reward is nearly satisfied the gradient
    vanishes, and scaled up it would be rounding errors: below `SATISFIED` of its possible size (for `cosine`: of the
    sine between the expected embedding and the words) the step shrinks with it. Rows without words and `steps=0` are
    the plain model's.
    """
    exact = torch.promote_types(hidden.dtype, torch.float32)
    plain = (hidden @ embeddings.T).to(exact)
    logits, moved = plain, hidden
    for _ in range(steps if words.numel() else 0):
        g = gradient(logits, embeddings, words, xi, rule)
        shift = (g @ embeddings.T).to(exact)
        size = shift.abs().amax(-1) if eta is None else g.to(exact).norm(dim=-1)
        length = largest_shift if eta is None else eta
        floor = _floor(size, logits, embeddings, words, xi, rule, eta is None).to(exact)
        factor = torch.where(floor > 0, length / size.maximum(floor), 0)[:, None]
        moved = moved + (factor * g).to(hidden.dtype)
        logits = logits + factor * shift
    return Planned(moved, logits, plain)


def divergence(
    logits: Float[Tensor, "rows vocabulary"], plain: Float[Tensor, "rows vocabulary"]
) -> Float[Tensor, " rows"]:
    """KL(planned || plain) of the next token in nats: 0.1 to 0.3 on average is a healthy range.

    >>> divergence(torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 0.0]])).tolist()
    [0.0]
    """
    planned = logits.log_softmax(-1)
    return (planned.exp() * (planned - plain.log_softmax(-1))).sum(-1)


def _floor(
    size: Float[Tensor, " rows"],
    logits: Float[Tensor, "rows vocabulary"],
    embeddings: Float[Tensor, "vocabulary dim"],
    words: Int[Tensor, "rows words"],
    xi: float,
    rule: Rule,
    of_logits: bool,
) -> Float[Tensor, " rows"]:
    """The size below which a gradient, or what it moves a logit by, is not scaled up; 0 without words."""
    lengths = _of(embeddings, words).to(size.dtype).norm(dim=-1)
    if rule == "log_probability":
        return SATISFIED * (lengths.square() if of_logits else lengths).sum(-1)
    p = (logits / xi).softmax(-1).to(embeddings.dtype)
    expected = p @ embeddings
    wanted = normalize(_of(embeddings, words), dim=-1).sum(-2)
    across = _across(expected, embeddings, words)
    sine = across.norm(dim=-1) / _length(wanted)[:, 0]
    possible = (p @ embeddings.square().sum(-1)) * (wanted.norm(dim=-1) / _length(expected)[:, 0])
    least = CERTAIN * possible.to(size.dtype) * (lengths.amax(-1) if of_logits else 1.0)
    return (size * SATISFIED / sine.to(size.dtype).clamp(min=SATISFIED**3)).maximum(least)


def _across(
    expected: Float[Tensor, "rows dim"], embeddings: Float[Tensor, "vocabulary dim"], words: Int[Tensor, "rows words"]
) -> Float[Tensor, "rows dim"]:
    """The part of n = sum_w E_w / |E_w| at right angles to the expected embedding."""
    wanted = normalize(_of(embeddings, words), dim=-1).sum(-2)
    unit = expected / _length(expected)
    return wanted - (wanted * unit).sum(-1, keepdim=True) * unit


def _length(vectors: Float[Tensor, "rows dim"]) -> Float[Tensor, "rows 1"]:
    """Of each vector, above 0."""
    return vectors.norm(dim=-1, keepdim=True).clamp(min=torch.finfo(vectors.dtype).tiny)


def _of(
    embeddings: Float[Tensor, "vocabulary dim"], words: Int[Tensor, "rows words"]
) -> Float[Tensor, "rows words dim"]:
    """The embeddings of the words; zero where a row is filled up."""
    return embeddings[words.clamp(min=0)] * (words != NO_WORD)[..., None]
