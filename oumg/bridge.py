"""A guide of other tokens than the generator's: prefix and candidate are decoded and judged as text. Exact and slow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from discriminators.bert import EncoderTokens
from discriminators.discriminator import Discriminator
from discriminators.segments import clean
from oumg.bilstm_guide import known_tokens
from oumg.causal_guide import CausalGuide, token_ids


@dataclass(frozen=True)
class TextState:
    """The generator's tokens of each prefix."""

    rows: tuple[tuple[int, ...], ...]

    def select(self, index: Int[Tensor, " rows"]) -> "TextState":
        """The states of other rows, in the order of `index`."""
        return TextState(tuple(self.rows[i] for i in index.tolist()))


@dataclass(frozen=True)
class TextBridge:
    """Whatever judges texts as a guide of any generator. Special tokens say nothing; a blank text has the logit 0.

    Attributes:
        judge: a logit for each text, higher means human or good; 0 for one of which it reads no token.
        count_unknown: how many tokens of these texts the judge does not know.
        decode: the text of the generator's tokens, without special ones.
    """

    judge: Callable[[Sequence[str]], NDArray[np.float64]]
    count_unknown: Callable[[Sequence[str]], int]
    decode: Callable[[Sequence[int]], str]

    @property
    def device(self) -> None:
        """It reads from anywhere."""
        return

    def start(self, rows: int) -> TextState:
        """The state before the first token."""
        return TextState(((),) * rows)

    def advance(
        self, state: TextState, tokens: Int[Tensor, " rows"], read: Bool[Tensor, " rows"] | None = None
    ) -> TextState:
        """The state after one more token; where `read` is False the row stays as it is."""
        taken = [True] * len(state.rows) if read is None else read.tolist()
        added = zip(state.rows, tokens.tolist(), taken, strict=True)
        return TextState(tuple((*row, token) if take else row for row, token, take in added))

    def candidates(self, state: TextState, tokens: Int[Tensor, "rows k"]) -> Float[Tensor, "rows k"]:
        """The logit of each row's prefix with each of its candidates."""
        texts = self._texts(
            [(*row, c) for row, chosen in zip(state.rows, tokens.tolist(), strict=True) for c in chosen]
        )
        spoken = [i for i, text in enumerate(texts) if text.strip()]
        logits = np.zeros(len(texts))
        if spoken:
            logits[spoken] = self.judge([texts[i] for i in spoken])
        return torch.from_numpy(logits).to(tokens.device, torch.float32).view(tokens.shape)

    def unknown(self, state: TextState) -> int:
        """How many tokens of the rows the judge does not know."""
        spoken = [text for text in self._texts(state.rows) if text.strip()]
        return self.count_unknown(spoken) if spoken else 0

    def _texts(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return [self.decode(row) for row in rows]


def written(tokenizer: PreTrainedTokenizerBase) -> Callable[[Sequence[int]], str]:
    """How a tokenizer of the transformers library spells tokens, without special ones."""
    return lambda ids: str(tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))


def bridge(judge: CausalGuide | Discriminator, decode: Callable[[Sequence[int]], str]) -> TextBridge:
    """A causal guide of another generator, or a discriminator of any kind, as a guide of a generator that `decode`s.

    A tokenizer's own way to decode is `written(tokenizer)`; `SongNet.decode` is one too.
    """
    if isinstance(judge, CausalGuide):
        return TextBridge(judge.logits, partial(unknown_tokens, judge), decode)

    def logits(texts: Sequence[str]) -> NDArray[np.float64]:
        # Half a character decodes to a replacement mark, which BERT's tokenizer drops.
        read = [i for i, ids in enumerate(judge.tokens.encode([clean(text) for text in texts])) if ids]
        found = np.zeros(len(texts))
        if read:
            found[read], _ = judge.logits([(texts[i],) for i in read])
        return found

    return TextBridge(logits, partial(unknown_tokens, judge), decode)


def unknown_tokens(judge: CausalGuide | Discriminator, texts: Sequence[str]) -> int:
    """How many tokens of the texts, as it reads them, a causal guide or a discriminator does not know."""
    if isinstance(judge, CausalGuide):
        known, encoded = judge.network.known, token_ids(texts, judge.tokenizer)
    else:
        encoded = judge.tokens.encode([clean(text) for text in texts])
        if isinstance(judge.tokens, EncoderTokens):
            unk: Any = judge.tokens.tokenizer.unk_token_id  # None where every text has tokens
            return sum(ids.count(unk) for ids in encoded)
        known = known_tokens(judge.network, judge.tokens)  # pyright: ignore[reportArgumentType]
    known = known.cpu()
    return sum(int((~known[torch.tensor(ids, dtype=torch.long)]).sum()) for ids in encoded)
