"""Guided decoding: a guide scores prefix + candidate and reweights the k likeliest tokens (OUMG, section 3.2).

A guide is a classifier of prefixes, which says how good a text with this beginning will be.

`Guidance` is a standard `LogitsProcessor` and works in any `generate()`: greedy, sampling, beams, batches with left
padding, several return sequences. Custom processors run before temperature and top-k, and sampling has top_k=50 by
default, so call `generate(..., top_k=0, logits_processor=LogitsProcessorList([Guidance(...)]))`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers import LogitsProcessor, PreTrainedTokenizerBase

from core.errors import SettingError
from core.settings import Count, NonNegative, check
from discriminators.architectures import Guide
from discriminators.discriminator import Discriminator

Scores = Float[Tensor, "rows vocabulary"]
OfCandidates = Float[Tensor, "rows k"]
GuidanceRule = Literal["normalised", "fudge"]
FLAT = 1e-6  # scores that differ by less count as equal


def normalise_scores(scores: OfCandidates, alpha: float, among: Bool[Tensor, "rows k"] | None = None) -> OfCandidates:
    """f(s_i) = alpha (s_i - s_min) / (s_max - s_min) over the candidates of a row (OUMG, Eq. 5).

    f is 0 if the scores of a row differ by less than 1e-6. s_min and s_max are taken over the candidates in `among`.

    >>> normalise_scores(torch.tensor([[1.0, 3.0, 2.0], [5.0, 5.0, 5.0]]), alpha=2.0).tolist()
    [[0.0, 2.0, 1.0], [0.0, 0.0, 0.0]]
    """
    if among is None:
        among = torch.ones_like(scores, dtype=torch.bool)
    lowest = scores.masked_fill(~among, torch.inf).amin(dim=-1, keepdim=True)
    highest = scores.masked_fill(~among, -torch.inf).amax(dim=-1, keepdim=True)
    spread = highest - lowest
    flat = spread < FLAT
    raised = alpha * (scores - lowest) / spread.masked_fill(flat, 1.0)
    return raised.masked_fill(flat | ~among, 0.0)


def fudge_scores(scores: Float[Tensor, "*rows k"], lam: float) -> Float[Tensor, "*rows k"]:
    """FUDGE (Yang and Klein 2021): lambda log sigmoid(s), the weighted log-probability of the attribute, in nats.

    >>> fudge_scores(torch.tensor([0.0, 200.0]), lam=2.0).tolist()
    [-1.3862943649291992, 0.0]
    """
    return lam * F.logsigmoid(scores)


def add_to_scores(scores: OfCandidates, f: OfCandidates) -> OfCandidates:
    """Returns scores + f, renormalised if the scores can be log-probabilities (none is above 0).

    Beam search sums log-probabilities; without renormalising, it would prefer tokens only because they were raised
    most. Sampling takes a softmax of logits, which a constant does not change.

    >>> add_to_scores(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[0.0, 2.0, 1.0]])).tolist()
    [[2.0, 3.0, 1.0]]
    >>> add_to_scores(torch.tensor([[0.25, 0.25]]).log(), torch.tensor([[0.0, 0.0]])).exp().tolist()
    [[0.5, 0.5]]
    """
    after = scores + f
    are_logits = scores.amax(dim=-1, keepdim=True) > 0
    total = after.logsumexp(dim=-1, keepdim=True)
    return after - total.masked_fill(are_logits, 0.0)


def find_parents(before: Int[Tensor, "old time"], now: Int[Tensor, "new longer"]) -> Int[Tensor, " new"] | None:
    """Finds for each row of `now` the index of the row of `before` that is its prefix; None unless all rows have one.

    >>> find_parents(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[3, 4, 0], [3, 4, 1], [1, 2, 0]])).tolist()
    [1, 1, 0]
    """
    width = before.shape[1]
    if now.shape[1] <= width:
        return None
    if torch.equal(before, now[:, :width]):  # always, except in beam search
        return torch.arange(len(before), device=before.device)
    _, kind = torch.unique(torch.cat([before, now[:, :width]]), dim=0, return_inverse=True)
    of_kind = kind.new_full((len(kind),), -1)
    of_kind[kind[: len(before)]] = torch.arange(len(before), device=kind.device)
    parents = of_kind[kind[len(before) :]]
    return None if bool((parents < 0).any()) else parents


def adapt_guide(guide: Discriminator | Guide, tokenizer: PreTrainedTokenizerBase) -> Guide:
    """Makes a guide for the tokens of `tokenizer` from a trained classifier; another guide stays as it is.

    Raises SettingError if it reads other tokens.
    """
    if isinstance(guide, Discriminator):
        return guide.as_guide(tokenizer)
    return guide


@dataclass(frozen=True)
class GuidedStep:
    """One step of guided decoding, likeliest candidate first."""

    # token ids
    candidates: Int[Tensor, "rows k"]
    # the generator's scores
    before: OfCandidates
    # the guide's logits
    judged: OfCandidates
    # the scores under guidance
    after: OfCandidates


class Guidance(LogitsProcessor):
    """Keeps the k likeliest tokens of each row and adds the guide's f to their scores.

    `tokenizer` is the generator's; `strength` is alpha of Eq. 5 or lambda of FUDGE; `watch` is called with each step.
    Padding, start and end tokens are never read, only scored as candidates. An id that the tokenizer does not have (a
    padded vocabulary) is no candidate. Scores are compared and added in float32. With a strength of 0 the result is
    that of transformers' top-k among the tokenizer's tokens, and the guide is not called.

    The guide's state is kept from step to step. A row finds the state of its parent by its prefix, because a beam
    search moves rows. A row without a parent is read from its beginning.

    Raises SettingError for a strength that is negative or not finite, for k below 1 or above the vocabulary, for an
    unknown rule and for a guide with other tokens. While decoding, raises ValueError for a guide on another device.
    """

    def __init__(
        self,
        guide: Discriminator | Guide,
        tokenizer: PreTrainedTokenizerBase,
        strength: float,
        k: int = 32,
        rule: GuidanceRule = "normalised",
        watch: Callable[[GuidedStep], None] | None = None,
    ) -> None:
        check(NonNegative, strength=strength)
        check(Count, k=k)
        check(GuidanceRule, rule=rule)
        self.guide = adapt_guide(guide, tokenizer)
        self.strength = strength
        self.k = k
        self.rule = rule
        self.watch = watch
        special = [tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id]
        self._unread = torch.tensor([i for i in special if i is not None], dtype=torch.long)
        self._tokens = torch.tensor(sorted(tokenizer.get_vocab().values()), dtype=torch.long)
        self._ids: Tensor | None = None  # the columns read up to the last step, and the guide's state of each row
        self._state: Any = None

    @torch.no_grad()
    def __call__(self, input_ids: Int[Tensor, "rows time"], scores: Scores) -> Scores:  # pyright: ignore
        if self.k > scores.shape[1]:
            raise SettingError(f"k must be at most the {scores.shape[1]} tokens of the generator, but is {self.k}")
        scores = self._drop_unknown(scores.float())
        before, candidates = scores.topk(self.k)
        if self.strength == 0:
            return scores.masked_fill(scores < before[:, -1:], -torch.inf)
        self._read(input_ids)
        judged = self.guide.candidates(self._state, candidates).float()
        possible = before > -torch.inf
        if self.rule == "fudge":
            f = fudge_scores(judged, self.strength)
        else:
            f = normalise_scores(judged, self.strength, possible)
        after = add_to_scores(before, f)
        if self.watch is not None:
            self.watch(
                GuidedStep(
                    candidates,
                    before,
                    judged,
                    after,
                )
            )
        return torch.full_like(scores, -torch.inf).scatter_(1, candidates, after)

    def _drop_unknown(self, scores: Scores) -> Scores:
        """The scores, -inf for ids that the tokenizer does not have."""
        known = self._tokens[self._tokens < scores.shape[1]]
        is_unknown = torch.ones_like(scores[0], dtype=torch.bool)
        is_unknown[known.to(scores.device)] = False
        return scores.masked_fill(is_unknown, -torch.inf)

    def _read(self, ids: Int[Tensor, "rows time"]) -> None:
        index = None if self._ids is None else find_parents(self._ids, ids)
        if self._ids is None or index is None:
            if self.guide.device != ids.device:
                raise ValueError(
                    f"a guide must be on its generator's device, but it is on {self.guide.device} and the tokens on "
                    f'{ids.device}: load it there, as in CausalGuide.from_pretrained(folder, "{ids.device}")'
                )
            seen = 0
            state = self.guide.start(len(ids))
        else:
            seen = self._ids.shape[1]
            state = type(self._state)(*(value[index] for value in self._state))
        read = ~torch.isin(ids, self._unread.to(ids.device))
        for place in range(seen, ids.shape[1]):
            state = self.guide.advance(state, ids[:, place], read[:, place])
        self._ids = ids.clone()
        self._state = state
