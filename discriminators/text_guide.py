"""A guide with other tokens than the generator: it reads prefix and candidate as decoded text. Exact and slow."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from discriminators.causal_guide import CausalGuide
from discriminators.discriminator import Discriminator
from discriminators.segments import has_tokens
from models.tokens import decode_tokens


@dataclass(frozen=True)
class TextState:
    """The generator's tokens of each prefix."""

    rows: tuple[tuple[int, ...], ...]

    def select(self, index: Int[Tensor, " rows"]) -> "TextState":
        """The states of other rows, in the order of `index`."""
        return TextState(tuple(self.rows[i] for i in index.tolist()))


@dataclass(frozen=True)
class TextBridge:
    """A causal guide of another generator, or any discriminator, as a guide of the generator of `tokenizer`.

    Special tokens are not read. A text of which the judge reads no token has the logit 0.
    """

    judge: CausalGuide | Discriminator
    tokenizer: PreTrainedTokenizerBase

    @property
    def device(self) -> None:
        """None: the guide reads text, whatever the device of the tokens."""
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
        longer = [(*row, c) for row, chosen in zip(state.rows, tokens.tolist(), strict=True) for c in chosen]
        logits = score_texts(self.judge, [decode_tokens(self.tokenizer, ids) for ids in longer])
        return torch.from_numpy(logits).to(tokens.device, torch.float32).view(tokens.shape)


def score_texts(judge: CausalGuide | Discriminator, texts: Sequence[str]) -> NDArray[np.float64]:
    """A logit for each text, higher means human or good; 0 for a text of which the judge reads no token."""
    if isinstance(judge, CausalGuide):
        return judge.logits([text if text.strip() else "" for text in texts])
    # Half a character decodes to a replacement mark, which BERT's tokenizer drops.
    read = [i for i, is_read in enumerate(has_tokens([(text,) for text in texts], judge.tokens)) if is_read]
    logits = np.zeros(len(texts))
    if read:
        logits[read], _ = judge.logits([(texts[i],) for i in read])
    return logits
