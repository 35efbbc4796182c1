"""Guides that learn all prefixes of a text in one pass (ours), and the loading of guides of every kind.

A one-directional network reads the generator's tokens, so a text has a logit at each position. One pass over a text
trains all its prefixes, and a candidate costs one step from the state of its prefix. OUMG's guide is a discriminator
(`discriminators.architectures.bilstm`).
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from core.errors import InputError
from core.settings import Count, Share
from discriminators.architectures import PrefixNetwork
from discriminators.architectures.causal_lstm import CausalLSTM
from discriminators.discriminator import Discriminator
from discriminators.networks import Ids, Mask
from discriminators.segments import Segments, TokenRow, Tokens
from discriminators.texts import SHORTEST, LabelledText
from discriminators.vocabulary import GeneratorTokens
from models.loading import fetch_folder

log = logging.getLogger(__name__)


class CausalGuide(Discriminator):
    """A trained causal guide: a network that reads tokens left to right and scores the label of every prefix.

    It shares the tokenizer of the generator that it steers. `tokens.max_length` is that of a training text.
    """

    file = "guide.json"
    learns_prefixes = True

    def read_to_learn(self, texts: Sequence[LabelledText]) -> list[TokenRow]:
        """Encodes training texts (`encode_prefixes`); warns of those without a prefix and of those that are cut."""
        rows = encode_prefixes([text.segments for text in texts], self.tokens)
        limit = self.tokens.max_length
        cut = sum(len(row.ids) == limit for row in rows)
        if cut or len(rows) < len(texts):
            log.warning(
                "of %d texts %d have too few tokens for a prefix, %d reach the limit of %d tokens",
                len(texts),
                len(texts) - len(rows),
                cut,
                limit,
            )
        return rows

    def read(self, texts: Sequence[Segments], or_nan: bool = False) -> tuple[list[TokenRow], NDArray[np.int64]]:
        """Encodes texts whole, without an end token; a blank text has no tokens."""
        joined = ["".join(text) for text in texts]
        encoded = self.tokens.encode([text if text.strip() else "" for text in joined])
        if not or_nan and not all(encoded):
            raise ValueError(f"a text needs at least one token, but text {encoded.index([])} has none")
        rows = [TokenRow(np.array(ids), i, weight=1.0) for i, ids in enumerate(encoded) if ids]
        return rows, np.zeros(len(texts), np.int64)

    def judge(self, ids: Ids, mask: Mask) -> Tensor:
        """Computes the logit of each whole row, its longest prefix."""
        last = mask.sum(dim=1, keepdim=True) - 1
        return self.network(ids, mask).gather(1, last).squeeze(1)


def encode_prefixes(texts: Sequence[Segments], tokens: Tokens) -> list[TokenRow]:
    """Encodes training texts of at least two tokens as rows, each followed by the end token.

    Segments are joined without a separator, because a generator continues a prompt without one.
    """
    layout = tokens.layout
    rows: list[TokenRow] = []
    for i, ids in enumerate(tokens.encode(["".join(text) for text in texts])):
        row = [*ids, *layout.end]
        if len(row) >= SHORTEST:
            rows.append(TokenRow(np.array(row[: layout.max_length]), i, weight=1.0))
    return rows


def new_causal_guide(
    texts: Sequence[Segments],
    tokenizer: PreTrainedTokenizerBase,
    embedding_dim: Count = 128,
    hidden_dim: Count = 128,
    dropout: Share = 0.3,
    max_length: Count = 512,
) -> CausalGuide:
    """Builds an untrained causal LSTM guide for the generator of `tokenizer`; see `new_prefix_guide`."""
    arguments = {"embedding_dim": embedding_dim, "hidden_dim": hidden_dim, "dropout": dropout}
    return new_prefix_guide(CausalLSTM, texts, tokenizer, max_length, arguments)


def new_prefix_guide(
    make: Callable[..., PrefixNetwork],
    texts: Sequence[Segments],
    tokenizer: PreTrainedTokenizerBase,
    max_length: int,
    arguments: dict[str, Any],
) -> CausalGuide:
    """Builds an untrained guide of a network, `make(vocabulary_size=..., **arguments)`; weights depend on torch's seed.

    Tokens that are not in `texts` are unknown. A training text of more than `max_length` tokens is cut, and then has
    fewer prefixes to learn.
    """
    tokens = GeneratorTokens(tokenizer, max_length)
    network = make(vocabulary_size=len(tokens), **arguments)
    seen = torch.zeros(len(tokens), dtype=torch.bool)
    for row in encode_prefixes(texts, tokens):
        seen[row.ids] = True
    network.know_only(seen)
    return CausalGuide(network, tokens, arguments)


def score_texts(judge: Discriminator, texts: Sequence[str]) -> NDArray[np.float64]:
    """Computes the logit of each text: higher means human or good.

    The logit is 0 if the judge knows none of the tokens.
    """
    # Half a character decodes to a replacement mark, which BERT's tokenizer drops.
    logits, _ = judge.logits([(text,) for text in texts], or_nan=True)
    return np.nan_to_num(logits)


def load_guide(folder: Path | str, device: str = "cpu") -> Discriminator:
    """Loads a trained guide of either kind, by folder or hub name. Raises InputError if the folder has no guide."""
    place = fetch_folder(folder)
    for kind in (CausalGuide, Discriminator):
        if (place / kind.file).is_file():
            return kind.from_pretrained(place, device)
    rule = "must be the folder of a trained guide"
    raise InputError([f"{folder}: {rule}, with {CausalGuide.file} or {Discriminator.file}"])
