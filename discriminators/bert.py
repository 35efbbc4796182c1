"""BERT: any encoder of the transformers library with one logit, or one per label, on top."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from core.faults import SettingFault
from core.settings import check
from discriminators.segments import Layout
from models.encoders import mean_pool
from models.model import plain_token_ids

TokenPooling = Literal["mean", "cls"]


@dataclass(frozen=True)
class EncoderTokens:
    """The tokenizer of an encoder; text that spells a special token is read as plain text."""

    tokenizer: PreTrainedTokenizerBase
    max_tokens: int

    @property
    def layout(self) -> Layout:
        """[CLS] segment [SEP] segment [SEP], with the tokenizer's own special tokens."""
        ids = {name: getattr(self.tokenizer, f"{name}_token_id") for name in ("cls", "sep", "pad")}
        missing = [name for name, value in ids.items() if value is None]
        if missing:
            raise SettingFault(f"the tokenizer of an encoder needs cls, sep and pad tokens, but has no {missing}")
        return Layout((ids["cls"],), ids["sep"], (ids["sep"],), ids["pad"], self.max_tokens)

    def encode(self, segments: Sequence[str]) -> list[list[int]]:
        """The ids of each segment, without special tokens."""
        return plain_token_ids(self.tokenizer, segments)


class BertClassifier(nn.Module):
    """An encoder, the mean over real tokens or the first token's state, dropout, one logit or one per label.

    Args:
        encoder: a model that returns `last_hidden_state`.
        pooling: `mean` (what MiniLM was trained with) or `cls`.
        dropout: before the last layer.
        outputs: logits per row.
    """

    def __init__(
        self, encoder: PreTrainedModel, pooling: TokenPooling = "mean", dropout: float = 0.1, outputs: int = 1
    ):
        super().__init__()
        check(TokenPooling, pooling=pooling)
        self.encoder = encoder
        self.pooling: TokenPooling = pooling
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(encoder.config.hidden_size, outputs)
        for name, parameter in encoder.named_parameters():
            if name.startswith("pooler."):  # never read, and training in several processes refuses unused parameters
                parameter.requires_grad_(False)

    def forward(self, ids: Int[Tensor, "batch time"], mask: Bool[Tensor, "batch time"]) -> Float[Tensor, "batch ..."]:
        """One logit per row (higher means human or good), or one per label."""
        hidden = self.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        pooled = mean_pool(hidden, mask) if self.pooling == "mean" else hidden[:, 0]
        logits = self.head(self.dropout(pooled))
        return logits.squeeze(-1) if self.head.out_features == 1 else logits

    def freeze(self, embeddings: bool, layers: int) -> None:
        """Keep the word embeddings and the lowest `layers` layers as they are.

        Raises SettingFault when the encoder has fewer layers.
        """
        if embeddings:
            self.encoder.get_input_embeddings().requires_grad_(False)
        stack = _layers(self.encoder)
        if not 0 <= layers <= len(stack):
            raise SettingFault(
                f"freeze_layers must be between 0 and the {len(stack)} layers of the encoder, but is {layers}"
            )
        for layer in list(stack)[:layers]:
            layer.requires_grad_(False)


def keep_lowest_layers(encoder: PreTrainedModel, layers: int) -> None:
    """Removes all but the lowest `layers` layers of an encoder.

    Raises SettingFault when it has fewer.
    """
    stack = _layers(encoder)
    if not 1 <= layers <= len(stack):
        raise SettingFault(f"layers must be between 1 and the {len(stack)} layers of the encoder, but is {layers}")
    del stack[layers:]
    encoder.config.num_hidden_layers = layers


def _layers(encoder: PreTrainedModel) -> nn.ModuleList:
    depth = encoder.config.num_hidden_layers
    return next(m for m in encoder.modules() if isinstance(m, nn.ModuleList) and len(m) == depth)
