"""How many tokens of texts a guide or a discriminator does not know."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from discriminators.discriminator import Discriminator
from discriminators.guides import CausalGuide
from discriminators.segments import clean
from discriminators.vocabulary import BORROWED, SPECIAL, EncoderTokens
from models.model import plain_token_ids


def count_unknown_tokens(judge: CausalGuide | Discriminator, texts: Sequence[str]) -> int:
    """How many tokens of the texts, as the judge reads them, it does not know."""
    if isinstance(judge, CausalGuide):
        encoded, unknown = plain_token_ids(judge.tokenizer, texts), ~judge.network.known
    else:
        encoded, unknown = judge.tokens.encode([clean(text) for text in texts]), _unknown_tokens(judge)
    return int(unknown.cpu()[[i for ids in encoded for i in ids]].sum())


def _unknown_tokens(judge: Discriminator) -> Bool[Tensor, " vocabulary"]:
    """Which of its tokens stand for unknown text, or were not shown in training."""
    if isinstance(judge.tokens, EncoderTokens):
        unknown: Any = judge.tokens.tokenizer.unk_token_id  # None where every text has tokens
        return torch.arange(len(judge.tokens.tokenizer)) == (-1 if unknown is None else unknown)
    unknown = ~judge.network.embedding.weight.any(dim=1)  # pyright: ignore[reportAttributeAccessIssue, reportCallIssue]
    if judge.tokens.kind not in ("bpe", BORROWED):
        unknown[SPECIAL.index("<unk>")] = True
    return unknown
