"""What every language model here is: a model of transformers with its tokenizer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

UNLIMITED = 10**6  # tokens; models without position embeddings state no limit, and tokenizers state 1e30


@dataclass(frozen=True)
class LanguageModel:
    """A model and its tokenizer; each kind of model adds how it is loaded and what it reads."""

    model: Any  # the classes of transformers share no useful base type
    tokenizer: PreTrainedTokenizerBase

    def save_pretrained(self, folder: Path) -> None:
        """Writes model and tokenizer in the Hugging Face form."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def longest(self) -> int:
        """How many tokens the model reads, or writes, at once."""
        positions = getattr(self.model.config, "max_position_embeddings", None)  # T5 counts distances instead
        return min(self.tokenizer.model_max_length, positions or UNLIMITED)

    @property
    def parameters(self) -> int:
        """How many parameters the model has."""
        return sum(p.numel() for p in self.model.parameters())
