"""Samples segments from the degraded distribution of two models, a batch at a time with caches (CDM, Eq. 4)."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopPLogitsWarper

from cdm.infilling import Pair
from cdm.momentum import OverVocabulary, degraded_log_probabilities, keep_plausible
from core.settings import Count, Number, Positive, Share, checked_dataclass
from models.batching import read_in_batches


@checked_dataclass
class Sampling:
    """How segments are drawn."""

    gamma: Number = 1.0  # degradation of Eq. 4; 0 is the amateur, -1 the expert, above 0 worse than the amateur.
    # in a contrast, keeps only tokens that the amateur finds at least this share as likely as its most likely one; 0
    # keeps all. At gamma 0 and -1 one model draws alone, and it has no effect.
    plausibility: Share = 0.0
    temperature: Positive = 1.0  # divides the degraded log-probabilities
    # keeps the most likely tokens that together reach this share; 1 keeps all
    top_p: Annotated[Positive, Field(le=1)] = 1.0
    longest: Count | None = None  # maximum tokens of a segment; None for the length of the longest turn in the data
    # the number of segments to draw for a gap; the one whose length is nearest to that of the removed segment stays. A
    # weak amateur cannot tell whether a word or an utterance is missing, so that with one candidate redrawn utterances
    # are too short.
    candidates: Count = 1


def warp_probabilities(log_probabilities: OverVocabulary, sampling: Sampling) -> OverVocabulary:
    """Applies temperature, then top-p, and renormalises."""
    warpers = LogitsProcessorList([TemperatureLogitsWarper(float(sampling.temperature))])
    if sampling.top_p < 1:
        warpers.append(TopPLogitsWarper(float(sampling.top_p)))
    return warpers(torch.LongTensor(), log_probabilities).softmax(-1)  # pyright: ignore[reportArgumentType]


def draw(probabilities: OverVocabulary, uniform: Float[Tensor, " rows"]) -> Int[Tensor, " rows"]:
    """Draws one token per row: the one at which the cumulative probability passes `uniform`, a number in [0, 1).

    The draw does not depend on the batch.

    >>> draw(torch.tensor([[0.25, 0.75]]), torch.tensor([0.3])).tolist()
    [1]
    """
    cumulated = probabilities.double().cumsum(-1)
    return torch.searchsorted(cumulated, (uniform * cumulated[:, -1])[:, None], right=True).squeeze(-1)


@torch.inference_mode()
def sample_segments(
    pair: Pair,
    sources: Sequence[Sequence[int]],
    sampling: Sampling,
    uniforms: Float[NDArray[np.float64], "rows longest"],
    ranks: list[int] | None = None,
    token_budget: int = 16_384,
) -> list[list[int]]:
    """Draws one segment for every source from the degraded distribution, without special tokens around it.

    Row i is drawn with `uniforms[i]`, numbers in [0, 1), so it does not depend on its batch. A segment has at least one
    token, and ends where the models close it or begin another turn (`Pair.ends`). A segment with as many tokens as
    `uniforms` has columns did not end: it is cut.

    If `ranks` is given, the amateur's rank of every drawn token, ends included, is added to it: the number of allowed
    tokens that the amateur finds likelier. Nothing is added if the amateur is not evaluated.
    """
    for lm in (pair.amateur, pair.expert):
        lm.model.eval()
    drawn = [] if ranks is None else ranks

    def draw_batch(rows: list[int]) -> list[list[int]]:
        return _sample_batch(
            pair,
            [sources[i] for i in rows],
            sampling=sampling,
            uniforms=uniforms[rows],
            ranks=drawn,
        )

    costs = [len(source) for source in sources]
    return read_in_batches(costs, token_budget, draw_batch)


def _sample_batch(
    pair: Pair,
    sources: Sequence[Sequence[int]],
    sampling: Sampling,
    uniforms: NDArray[np.float64],
    ranks: list[int],
) -> list[list[int]]:
    ends = pair.ends
    device, vocabulary = pair.amateur.device, pair.vocabulary
    # At gamma = 0 the distribution is the amateur's and at -1 the expert's: the other model is not evaluated.
    readers = {
        name: lm.read(sources, pair.infilling.opening)
        for name, lm, unused in (("amateur", pair.amateur, -1), ("expert", pair.expert, 0))
        if sampling.gamma != unused
    }
    draws = torch.as_tensor(uniforms, device=device)
    chosen: Tensor | None = None
    segments: list[list[int]] = [[] for _ in sources]
    alive = list(range(len(sources)))  # the row of `segments` that each row of the batch writes
    for step in range(uniforms.shape[1]):
        read = {name: reader.next_log_probabilities(chosen)[:, :vocabulary] for name, reader in readers.items()}
        never = [*pair.never_drawn, *ends] if step == 0 else pair.never_drawn
        amateur = read.get("amateur")
        if amateur is not None and len(read) == 2:
            log_p = degraded_log_probabilities(**read, gamma=sampling.gamma)
            amateur[:, never] = -torch.inf  # plausible is measured among the tokens that may be drawn
            log_p = keep_plausible(log_p, amateur, sampling.plausibility)
        else:
            (log_p,) = read.values()
        log_p[:, never] = -torch.inf
        chosen = draw(warp_probabilities(log_p, sampling), draws[alive, step])
        if amateur is not None:
            ranks += (amateur > amateur.gather(-1, chosen[:, None])).sum(-1).tolist()
        going: list[int] = []
        for row, token in enumerate(chosen.tolist()):
            if token not in ends:
                going.append(row)
            segments[alive[row]] += ends.get(token, (token,))
        if not going:
            break
        if len(going) < len(alive):
            rows = torch.tensor(going, device=device)
            for reader in readers.values():
                reader.keep(rows)
            chosen = chosen[rows]
            alive = [alive[r] for r in going]
    return [segment[: uniforms.shape[1]] for segment in segments]
