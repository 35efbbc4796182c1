"""What sampling and scoring of segments need from a model, whatever its family: ConditionalLM."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from transformers import AutoConfig, PreTrainedTokenizerBase

from models.causal import CausalLM
from models.loading import load_pretrained
from models.seq2seq import Seq2SeqLM


class Reader(Protocol):
    """A model that has read some sources, and writes behind each of them one token at a time, with its caches."""

    def next_log_probabilities(self, chosen: Int[Tensor, " rows"] | None) -> Float[Tensor, "rows vocabulary"]:
        """Of the token after the chosen ones; `None` for the first token."""
        ...

    def keep(self, rows: Int[Tensor, " kept"]) -> None:
        """Goes on with these rows alone."""
        ...


class ConditionalLM(Protocol):
    """A model of targets given sources: Seq2SeqLM or CausalLM."""

    @property
    def model(self) -> Any:
        """A transformers model."""
        ...

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def dtype(self) -> str: ...

    @property
    def identity(self) -> str: ...

    @property
    def parameters(self) -> int: ...

    def save_pretrained(self, folder: Path) -> None:
        """Writes model and tokenizer in the Hugging Face form."""
        ...

    def log_probabilities(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], *, token_budget: int = 16_384
    ) -> list[NDArray[np.float32]]:
        """log P(target token | source, target tokens before it) of every (source, target) pair, in nats."""
        ...

    def read(self, sources: Sequence[Sequence[int]], before: Sequence[int]) -> Reader:
        """Reads the sources; every target begins with the tokens `before`."""
        ...


def load_conditional(name: str | Path, device: str = "cpu", dtype: str = "float32") -> ConditionalLM:
    """Loads an encoder-decoder or a causal model, as its configuration says.

    Raises MissingModel where neither a folder nor a reachable hub has it.
    """
    kind = Seq2SeqLM if load_pretrained(AutoConfig.from_pretrained, name).is_encoder_decoder else CausalLM
    return kind.from_pretrained(name, device, dtype)
