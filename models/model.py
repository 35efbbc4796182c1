"""LanguageModel: a model of transformers with its tokenizer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import torch
from torch import Tensor, nn
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from models.devices import check_device, check_memory
from models.identity import model_fingerprint, weights_fingerprint
from models.loading import load_pretrained

# These models number positions from pad_token_id + 1, so they read that many tokens fewer than they have positions.
OFFSET_POSITIONS = {
    "roberta",
    "xlm-roberta",
    "xlm-roberta-xl",
    "camembert",
    "roberta-prelayernorm",
    "longformer",
    "mpnet",
}
# LED numbers what its encoder and its decoder read apart.
POSITIONS = ("max_position_embeddings", "max_encoder_position_embeddings", "max_decoder_position_embeddings")
UNLIMITED = 10**6  # tokens: models without position embeddings state no limit, and tokenizers state 1e30
READ_AT_ONCE = 16_384  # tokens, at most: some models state 131,072 or 1e30, which no memory holds in one row


def plain_token_ids(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[int]]:
    """The ids of each text, not cut and without special tokens; text that spells one is read as plain text."""
    if not texts:
        return []
    encoded: Any = tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True, verbose=False)
    return encoded["input_ids"]


def special_frame(tokenizer: PreTrainedTokenizerBase) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The special tokens that the tokenizer puts before and after a text."""
    framed = list(tokenizer("a")["input_ids"])
    bare = list(tokenizer("a", add_special_tokens=False)["input_ids"])
    at = next(i for i in range(len(framed)) if framed[i : i + len(bare)] == bare)
    return tuple(framed[:at]), tuple(framed[at + len(bare) :])


def count_positions(config: Any) -> int:
    """The number of tokens, special ones included, that a model has positions for."""
    offset = config.pad_token_id + 1 if config.model_type in OFFSET_POSITIONS else 0
    stated = [getattr(config, name, None) or UNLIMITED for name in POSITIONS]  # T5 counts distances instead
    return min(stated) - offset


def readable_tokens(config: Any, tokenizer: PreTrainedTokenizerBase) -> int:
    """The number of tokens, special ones included, that a model reads, or writes, at once: at most READ_AT_ONCE."""
    return min(tokenizer.model_max_length, count_positions(config), READ_AT_ONCE)


class Float32Linear(nn.Linear):
    """A linear layer that multiplies in float32, whatever the precision of its weights and of what it reads."""

    def forward(self, input: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.float()
        return nn.functional.linear(input.float(), self.weight.float(), bias)


@dataclass(frozen=True)
class LanguageModel:
    """A model and its tokenizer; each kind of model names the class of transformers that loads it."""

    loader: ClassVar[Any]
    model: Any  # the classes of transformers share no useful base type
    tokenizer: PreTrainedTokenizerBase

    @classmethod
    def from_pretrained(cls, name: str | Path, device: str = "cpu", dtype: str = "float32") -> Self:
        """Loads a hub name or a folder. Its logits are float32 in any precision.

        Rounded to bfloat16, the largest logits are often equal, and the choice between them is arbitrary.

        Raises MissingModel where neither a folder nor a reachable hub has it, SettingFault for a device or a precision
        that this machine lacks and for weights that do not fit into memory.
        """
        check_device(device, dtype)
        check_memory(name, dtype, "cpu", device)  # weights are loaded by the CPU first
        tokenizer = load_pretrained(AutoTokenizer.from_pretrained, name)
        model = load_pretrained(cls.loader.from_pretrained, name, dtype=dtype)
        if model.dtype.itemsize < torch.float32.itemsize:
            model.get_output_embeddings().__class__ = Float32Linear  # the weights and their names stay as they are
        return cls(model.to(device).eval(), tokenizer)

    def save_pretrained(self, folder: Path) -> None:
        """Writes model and tokenizer in the Hugging Face form."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def dtype(self) -> str:
        """The precision of the weights, such as float32."""
        return str(self.model.dtype).removeprefix("torch.")

    @property
    def longest(self) -> int:
        """How many tokens the model reads, or writes, at once, special ones included."""
        return readable_tokens(self.model.config, self.tokenizer)

    @cached_property
    def weights(self) -> str:
        """A fingerprint of the weights, computed once: they must not change afterwards."""
        return weights_fingerprint(self.model)

    @property
    def identity(self) -> str:
        """A fingerprint of model and tokenizer for signatures, computed once: they must not change afterwards."""
        return self._identity

    @cached_property
    def _identity(self) -> str:
        return model_fingerprint(self.model, self.tokenizer)

    @property
    def parameters(self) -> int:
        """How many parameters the model has."""
        return sum(p.numel() for p in self.model.parameters())


LM = TypeVar("LM", bound=LanguageModel)


def add_tokens(lm: LM, additional: Sequence[str], seed: int) -> LM:
    """The model, changed in place: its tokenizer knows the special tokens, whose embeddings are new and random."""
    lm.tokenizer.add_special_tokens({"additional_special_tokens": list(additional)}, False)
    if len(lm.tokenizer) > lm.model.config.vocab_size:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            lm.model.resize_token_embeddings(len(lm.tokenizer))
    return lm
