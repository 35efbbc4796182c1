"""Judging: how many tokens of a greedy fill to keep, by the perplexity of the fill and the text after the blank.

This is Algorithm 2 of MARS as it is meant. Let s be the text before the blank, t_1 t_2 ... a greedy fill and T the kept
text after it. Length m is judged by PPL(t_1 ... t_m T | s) under the model without planning. Shorter fills are
beginnings of longer ones, so one pass scores all lengths: the copies of T stand side by side in one row, and each copy
sees only its own part of the fill.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mars.planning import DOUBT, TIE, Embeddings
from mars.slots import Reading, Token, read_alone, read_on
from models.causal import CausalLM
from models.model import OutputHead, token_log_probabilities


def perplexity(log_probabilities: Sequence[float]) -> float:
    """Computes exp of the mean negative log-probability; lower is more fluent.

    >>> round(perplexity([math.log(0.025), math.log(0.9)]), 4)
    6.6667
    """
    mean = -sum(log_probabilities) / len(log_probabilities)
    return math.exp(min(mean, 700.0))  # exp of more overflows


def choose_length(perplexities: Sequence[float]) -> int:
    """Chooses the length (1 or more) with the lowest perplexity.

    Of lengths within `TIE` of the lowest, the shortest wins.

    >>> choose_length([6.6667, 1.1111, 2.7217, 2.2752]), choose_length([5.0, 5.0])
    (2, 1)
    """
    lowest = min(perplexities)
    return next(m for m, value in enumerate(perplexities, 1) if value <= lowest * math.exp(TIE))


def is_close_call(perplexities: Sequence[float]) -> bool:
    """Whether rounding errors could change `choose_length`."""
    lowest = math.log(min(perplexities))
    above = [math.log(value) - lowest for value in perplexities if math.isfinite(value)]
    return any(abs(difference - TIE) < DOUBT for difference in above)


def lay_out_branches(
    last: int,
    after: Sequence[int],
    length: int,
    filled: int,
    lengths: Sequence[int],
) -> Reading:
    """Prepares one pass over the last token of a fill, and over a copy of `after` for each of the `lengths`.

    The row already contains the `length` tokens before the fill, and the fill's `filled` tokens except the last.

    >>> last, copy = lay_out_branches(last=9, after=[5], length=2, filled=2, lengths=[1])
    >>> copy
    Token(id=5, slot=4, position=3, prefix=3, own=4)
    """
    reading = read_on([last], length + filled - 1)
    start = length + filled
    for m in lengths:
        end = length + m
        reading += [Token(token, start + j, end + j, end, start) for j, token in enumerate(after)]
        start += len(after)
    return reading


def score_tokens(
    embeddings: Embeddings,
    hidden: Float[Tensor, "tokens dim"],
    tokens: Sequence[int],
) -> list[float]:
    """Computes log P of each token, in nats, from the hidden state that predicts it."""
    return token_log_probabilities(OutputHead(embeddings), hidden, tokens).tolist()


def gather_following_states(
    fill: Float[Tensor, "lengths dim"],
    copies: Float[Tensor, "read dim"],
    words: int,
) -> Float[Tensor, "lengths words dim"]:
    """Gathers the states that predict the `words` tokens of T after each length of the fill.

    The first token of T is predicted by the fill's last state, each further token by the state of the token before it.
    """
    by_length = copies.reshape(len(fill), len(copies) // len(fill), fill.shape[-1])
    within = by_length[:, : max(0, words - 1)]
    return torch.cat([fill[:, None], within], dim=1)[:, :words]


def judge_lengths(
    fill: Sequence[float],
    following: Sequence[float],
    lengths: Sequence[int],
) -> list[float]:
    """Computes the perplexity of each length in `lengths` from log P (nats) of the fill and of T.

    Other lengths have an infinite perplexity.

    >>> [round(value, 4) for value in judge_lengths([math.log(0.5), math.log(0.25)], [0.0, 0.0], lengths=[1, 2])]
    [1.4142, 2.0]
    >>> [round(value, 4) for value in judge_lengths([math.log(0.5), math.log(0.25)], [math.log(0.5)], lengths=[1])]
    [2.0, inf]
    """
    words = len(following) // len(lengths)
    perplexities = [math.inf] * len(fill)
    for c, m in enumerate(lengths):
        after = following[c * words : (c + 1) * words]
        perplexities[m - 1] = perplexity([*fill[:m], *after])
    return perplexities


def judge_alone(
    lm: CausalLM,
    embeddings: Embeddings,
    before: Sequence[int],
    fill: Sequence[int],
    after: Sequence[int],
    lengths: Sequence[int],
) -> list[float]:
    """Computes PPL(t_1 ... t_m T | s) of each length m separately, each read from the beginning.

    This is slow, but does not depend on a batch. Lengths that are not in `lengths` have an infinite perplexity.
    """
    perplexities = [math.inf] * len(fill)
    for m in lengths:
        scored = [*fill[:m], *after]
        hidden = read_alone(lm, [*before, *scored[:-1]])[len(before) - 1 :]
        perplexities[m - 1] = perplexity(score_tokens(embeddings, hidden, scored))
    return perplexities
