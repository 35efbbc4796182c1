"""Guided decoding: a discriminator of prefix + candidate chooses among the generator's likeliest tokens (OUMG, Eq. 5).

A standard `LogitsProcessor`, so that `generate()` works with it as it is: greedy, sampling, beams, batches with left
padding, several return sequences. Custom processors run before temperature and top-k, and sampling cuts to 50 tokens
unless it is told otherwise: call `generate(..., top_k=0, logits_processor=LogitsProcessorList([Guidance(...)]))`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers import LogitsProcessor, PreTrainedTokenizerBase

from discriminators.bilstm import AttentionBiLSTM
from discriminators.discriminator import Discriminator
from discriminators.vocabulary import Vocabulary
from oumg.bilstm_guide import TO_DO, BiLSTMGuide, OtherTokens
from oumg.bridge import bridge as bridged
from oumg.bridge import written
from oumg.causal_guide import CausalGuide

Rule = Literal["normalised", "fudge"]
Reads = Literal["continuation", "text"]
FLAT = 1e-6  # scores that differ by less say nothing


def normalised(
    scores: Float[Tensor, "rows k"], alpha: float, among: Bool[Tensor, "rows k"] | None = None
) -> Float[Tensor, "rows k"]:
    """f(s_i) = alpha (s_i - s_min) / (s_max - s_min) over the candidates of a row (OUMG, Eq. 5).

    0 for a row whose scores differ by less than 1e-6: a constant changes nothing. Candidates that are not `among` the
    possible ones have no part in the lowest and highest score.

    >>> normalised(torch.tensor([[1.0, 3.0, 2.0], [5.0, 5.0, 5.0]]), alpha=2.0).tolist()
    [[0.0, 2.0, 1.0], [0.0, 0.0, 0.0]]
    """
    among = torch.ones_like(scores, dtype=torch.bool) if among is None else among
    lowest = scores.masked_fill(~among, torch.inf).amin(dim=-1, keepdim=True)
    highest = scores.masked_fill(~among, -torch.inf).amax(dim=-1, keepdim=True)
    spread = highest - lowest
    flat = spread < FLAT
    return (alpha * (scores - lowest) / spread.masked_fill(flat, 1.0)).masked_fill(flat | ~among, 0.0)


def fudge(scores: Float[Tensor, "rows k"], lam: float) -> Float[Tensor, "rows k"]:
    """lambda log sigmoid(s), in nats (FUDGE, Yang and Klein 2021): a candidate's log-probability of the attribute.

    >>> fudge(torch.tensor([0.0, 200.0]), lam=2.0).tolist()
    [-1.3862943649291992, 0.0]
    """
    return lam * F.logsigmoid(scores)


def renormalised(scores: Float[Tensor, "rows k"], f: Float[Tensor, "rows k"]) -> Float[Tensor, "rows k"]:
    """scores + f; where the scores may be log-probabilities (none is above 0), log-probabilities again.

    Beam search adds up what it gets, and would else prefer whatever was raised most. To the softmax of sampling, which
    is handed logits, a constant means nothing.

    >>> renormalised(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[0.0, 2.0, 1.0]])).tolist()
    [[2.0, 3.0, 1.0]]
    >>> renormalised(torch.tensor([[0.25, 0.25]]).log(), torch.tensor([[0.0, 0.0]])).exp().tolist()
    [[0.5, 0.5]]
    """
    after = scores + f
    return after - after.logsumexp(dim=-1, keepdim=True).masked_fill(scores.amax(dim=-1, keepdim=True) > 0, 0.0)


def parents(before: Int[Tensor, "old time"], now: Int[Tensor, "new longer"]) -> Int[Tensor, " new"] | None:
    """For each row of `now` the index of a row of `before` that it begins with; None unless each has one and is longer.

    >>> parents(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[3, 4, 0], [3, 4, 1], [1, 2, 0]])).tolist()
    [1, 1, 0]
    """
    width = before.shape[1]
    if now.shape[1] <= width:
        return None
    if torch.equal(before, now[:, :width]):  # all but beam searches
        return torch.arange(len(before), device=before.device)
    _, kind = torch.unique(torch.cat([before, now[:, :width]]), dim=0, return_inverse=True)
    of_kind = kind.new_full((len(kind),), -1)
    of_kind[kind[: len(before)]] = torch.arange(len(before), device=kind.device)
    found = of_kind[kind[len(before) :]]
    return None if bool((found < 0).any()) else found


def taken_back(before: Int[Tensor, "old time"], now: Int[Tensor, "new other"], prompt: int) -> bool:
    """Whether each row of `now` begins as one of `before` goes on behind the prompt; it is not one of its next steps.

    >>> before = torch.tensor([[1, 2, 3, 4]])
    >>> [taken_back(before, torch.tensor([now]), prompt=2) for now in ([1, 2, 3, 5], [1, 2, 5, 5], [1, 2])]
    [True, False, False]
    """
    return prompt < before.shape[1] and parents(before[:, : prompt + 1], now) is not None


class Guide(Protocol):
    """What judges every candidate behind a prefix that it has read; its states are its own affair.

    `CausalLSTM`, `BiLSTMGuide` and `TextBridge` are guides.
    """

    @property
    def device(self) -> torch.device | None:
        """Where it reads; None where it reads from anywhere."""
        ...

    def start(self, rows: int) -> Any:
        """The state before the first token. It has `select(index)`, the states of other rows."""
        ...

    def advance(self, state: Any, tokens: Int[Tensor, " rows"], read: Bool[Tensor, " rows"] | None = None) -> Any:
        """The state after one more token; where `read` is False the row stays as it is."""
        ...

    def candidates(self, state: Any, tokens: Int[Tensor, "rows k"]) -> Float[Tensor, "rows k"]:
        """The logit of each row's prefix with each of its candidates, higher is better."""
        ...

    def unknown(self, state: Any) -> int:
        """How many tokens of the rows the guide does not know."""
        ...


def reader(
    guide: CausalGuide | Discriminator | Guide, tokenizer: PreTrainedTokenizerBase, bridge: bool = False
) -> Guide:
    """What reads the tokens of `tokenizer` on behalf of a causal guide or of a discriminator.

    Raises ValueError where these read other tokens, unless `bridge` lets them read decoded text.
    """
    match guide:
        case CausalGuide():
            own, other = guide.tokenizer.get_vocab(), tokenizer.get_vocab()
            if own == other:
                return guide.network
            if not bridge:
                differing = sorted(token for token, i in other.items() if own.get(token) != i)
                raise OtherTokens(
                    f"a guide must read the tokens of its generator, but it was trained on {len(own)} tokens and of "
                    f"the generator's {len(other)} it has {len(differing)} not, or under another number"
                    + (f" (such as {differing[0]!r})" if differing else "")
                    + f": {TO_DO}"
                )
            return bridged(guide, written(tokenizer))
        case Discriminator(network=AttentionBiLSTM() as network, tokens=Vocabulary() as vocabulary):
            try:
                return BiLSTMGuide(network, vocabulary, tokenizer)
            except OtherTokens:
                if not bridge:
                    raise
            return bridged(guide, written(tokenizer))
        case Discriminator():
            if not bridge:
                raise OtherTokens(
                    f"a guide must read the tokens of its generator, but a discriminator of the kind "
                    f"{guide.settings['kind']} reads its own: {TO_DO}"
                )
            return bridged(guide, written(tokenizer))
        case _:
            return guide


@dataclass(frozen=True)
class Step:
    """One step of guided decoding, likeliest candidate first.

    Attributes:
        candidates: token ids.
        before: what the generator gives them.
        judged: the guide's logits.
        after: what is left for the choice.
    """

    candidates: Int[Tensor, "rows k"]
    before: Float[Tensor, "rows k"]
    judged: Float[Tensor, "rows k"]
    after: Float[Tensor, "rows k"]


@dataclass(frozen=True)
class _Read:
    """What was read at the last step: all columns, the guide's state of each row, and where the continuation begins."""

    ids: Int[Tensor, "rows time"]
    state: Any
    prompt: int


class Guidance(LogitsProcessor):
    """Leaves the k likeliest tokens of each row and adds what the guide says of them.

    State is kept from step to step: a row finds the state of its parent by its prefix, wherever a beam search has moved
    it. Where a row has no parent (a new `generate()`, or tokens taken back by assisted decoding) everything is read
    anew. Padding, and the tokens that begin and end a sequence, are never read, only judged as candidates. Of an
    encoder-decoder model the decoder's tokens are read.

    Where the prompt ends is known from the first step of a `generate()`, which a processor cannot tell from a later
    one of the last. With `reads="continuation"` give `prompt` for assisted decoding, and call `reset()` before a
    prompt that begins with all that was read for the last one.

    A strength of 0 is transformers' own top-k, to the bit, and asks no guide.

    Args:
        guide: a causal guide or a discriminator, to read the tokens of `tokenizer`; or anything that is a `Guide` of
            them already.
        tokenizer: the generator's.
        strength: alpha of Eq. 5 or lambda of FUDGE; at least 0.
        k: how many tokens of a row are judged and left.
        rule: `normalised` (Eq. 5) or `fudge`.
        reads: `continuation`, or `text`: the prompt too.
        prompt: columns in front of the continuation, left padding included (1 for an encoder-decoder model); where it
            is None, those of the first call.
        bridge: let a guide of other tokens read decoded text: exact and slow.
        watch: called with each `Step`.

    Raises ValueError for a strength that is negative or not finite, k below 1 or above the vocabulary, an unknown rule,
    a negative prompt, and for a guide of other tokens without `bridge`; while it decodes, for a guide on another device
    and where tokens that it has read are taken back without `prompt`.
    """

    def __init__(
        self,
        guide: CausalGuide | Discriminator | Guide,
        tokenizer: PreTrainedTokenizerBase,
        strength: float,
        k: int = 32,
        rule: Rule = "normalised",
        reads: Reads = "continuation",
        prompt: int | None = None,
        bridge: bool = False,
        watch: Callable[[Step], None] | None = None,
    ) -> None:
        if not (math.isfinite(strength) and strength >= 0):
            raise ValueError(f"the strength (alpha or lambda) must be finite and at least 0, but is {strength}")
        if k < 1:
            raise ValueError(f"k must leave at least 1 candidate, but is {k}")
        if prompt is not None and prompt < 0:
            raise ValueError(f"the prompt has at least 0 columns, but prompt is {prompt}")
        for name, value, allowed in (("rule", rule, Rule), ("reads", reads, Reads)):
            if value not in get_args(allowed):
                raise ValueError(f"{name} must be one of {', '.join(get_args(allowed))}, but is {value!r}")
        self.guide = reader(guide, tokenizer, bridge)
        self.strength = strength
        self.k = k
        self.rule = rule
        self.reads = reads
        self.prompt = prompt
        self.watch = watch
        special = [tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id]
        self._unread = torch.tensor([i for i in special if i is not None], dtype=torch.long)
        self._last: _Read | None = None

    def reset(self) -> Self:
        """Forgets what was read."""
        self._last = None
        return self

    @property
    def unknown(self) -> int:
        """How many tokens, of those read in the rows of the last step, the guide does not know."""
        return 0 if self._last is None else self.guide.unknown(self._last.state)

    @torch.no_grad()
    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, input_ids: Int[Tensor, "rows time"], scores: Float[Tensor, "rows vocabulary"]
    ) -> Float[Tensor, "rows vocabulary"]:
        if self.k > scores.shape[1]:
            raise ValueError(f"k must be at most the {scores.shape[1]} tokens of the generator, but is {self.k}")
        before, candidates = scores.topk(self.k)
        if self.strength == 0:
            return scores.masked_fill(scores < before[:, -1:], -torch.inf)
        self._last = self._read(input_ids)
        judged = self.guide.candidates(self._last.state, candidates).to(scores.dtype)
        after = renormalised(before, self._f(judged, before > -torch.inf))
        if self.watch is not None:
            self.watch(Step(candidates, before, judged, after))
        return torch.full_like(scores, -torch.inf).scatter_(1, candidates, after)

    def _f(self, judged: Float[Tensor, "rows k"], possible: Bool[Tensor, "rows k"]) -> Float[Tensor, "rows k"]:
        if self.rule == "fudge":
            return fudge(judged, self.strength)
        return normalised(judged, self.strength, possible)

    def _read(self, ids: Int[Tensor, "rows time"]) -> _Read:
        last = self._last
        index = None if last is None else parents(last.ids, ids)
        if last is None or index is None:
            self._check(ids)
            prompt, seen = ids.shape[1] if self.prompt is None else self.prompt, 0
            state = self.guide.start(len(ids))
        else:
            prompt, seen = last.prompt, last.ids.shape[1]
            state = last.state.select(index)
        first = max(seen, prompt) if self.reads == "continuation" else seen
        read = ~torch.isin(ids[:, first:], self._unread.to(ids.device))
        for column, said in zip(ids[:, first:].unbind(1), read.unbind(1), strict=True):
            state = self.guide.advance(state, column, said)
        return _Read(ids.clone(), state, prompt)

    def _check(self, ids: Int[Tensor, "rows time"]) -> None:
        """Raises ValueError where these rows cannot be read anew."""
        device, last = self.guide.device, self._last
        if device not in (None, ids.device):
            raise ValueError(
                f"a guide must be where its generator writes, but it is on {device} and the tokens on {ids.device}: "
                f'load it there, as in CausalGuide.from_pretrained(folder, "{ids.device}")'
            )
        guessed = self.prompt is None and self.reads == "continuation"
        if guessed and last is not None and taken_back(last.ids, ids, last.prompt):
            raise ValueError(
                f"it must be known where the prompt ends, but tokens that were read behind {last.prompt} columns have "
                "been taken back: for assisted decoding give `prompt`, the columns in front of the continuation; call "
                "reset() before a prompt that begins with what was written for the last one"
            )
