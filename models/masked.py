"""Masked language models: loading, saving, and the most likely token at every mask, all masks at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Self

import torch
from transformers import AutoModelForMaskedLM

from core.errors import SettingError
from models.batching import NOT_LEARNED, Batch, Task, pad, pad_with_mask, read_in_batches
from models.loading import load_tokenizer
from models.model import LanguageModel, output_layer_given


@dataclass(frozen=True)
class MaskedLM(LanguageModel):
    """A model that predicts masked tokens from both sides, and its tokenizer."""

    loader = AutoModelForMaskedLM
    unread = ()

    @classmethod
    def from_pretrained(
        cls,
        name: str | Path,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> Self:
        """Loads a hub name or a folder. Raises SettingError for a tokenizer without mask, cls or sep token."""
        tokenizer = load_tokenizer(name)
        missing = [kind for kind in ("mask", "cls", "sep") if getattr(tokenizer, f"{kind}_token_id") is None]
        if missing:
            raise SettingError(f"a masked language model needs mask, cls and sep tokens, but {name} has no {missing}")
        return super().from_pretrained(name, device, dtype)

    def training_batch(self, tasks: Sequence[Task]) -> Batch:
        """Makes the batch: targets are as long as their sources, with NOT_LEARNED at positions without a mask."""
        return {
            **pad_with_mask([task.source for task in tasks], self.model.config.pad_token_id),
            "labels": pad([task.labels for task in tasks], NOT_LEARNED),
        }

    def framed(self, context: Sequence[int], text: Sequence[int]) -> list[int]:
        """Frames a pair as the tokenizer does, [CLS] context [SEP] text [SEP], or a lone text, [CLS] text [SEP]."""
        start = self.special("cls")
        end = self.special("sep")
        if not context:
            return [start, *text, end]
        between = [end] * self.separators
        return [start, *context, *between, *text, end]

    @property
    def separators(self) -> int:
        """The number of separators between the two texts of a pair: one for BERT, two for RoBERTa."""
        return max(1, self.tokenizer.num_special_tokens_to_add(pair=True) - 2)

    def special(self, name: str) -> int:
        """Returns the id of the special token `mask`, `cls` or `sep`."""
        return int(getattr(self.tokenizer, f"{name}_token_id"))


@torch.inference_mode()
def most_likely_at_masks(lm: MaskedLM, rows: Sequence[Sequence[int]], token_budget: int = 8192) -> list[list[int]]:
    """Returns the most likely token (never a special one) at each mask of each row; one pass reads all masks of a row.

    Logits that differ by less than 1e-4 count as equal, because the batch size changes logits by as much. Of equal
    tokens the one with the smallest id is taken.
    """
    mask = lm.special("mask")
    special = torch.tensor(sorted(set(lm.tokenizer.all_special_ids)), device=lm.device)
    lm.model.eval()

    def fill(batch: list[int]) -> list[list[int]]:
        inputs = pad_with_mask([rows[i] for i in batch], lm.model.config.pad_token_id, lm.device)
        is_mask = (inputs["input_ids"] == mask) & inputs["attention_mask"].bool()
        with output_layer_given(lm.model, lambda hidden: hidden[is_mask]):
            logits = lm.model(**inputs).logits.float()
        logits[:, special] = -torch.inf
        near = logits >= logits.max(dim=-1, keepdim=True).values - 1e-4
        chosen = iter(near.int().argmax(dim=-1).tolist())
        return [list(islice(chosen, count)) for count in is_mask.sum(dim=1).tolist()]

    masked = [i for i, row in enumerate(rows) if mask in row]
    costs = [len(rows[i]) for i in masked]
    tokens = read_in_batches(
        costs,
        token_budget,
        lambda batch: fill([masked[i] for i in batch]),
        "masks",
    )
    by_row = dict(zip(masked, tokens, strict=True))
    return [by_row.get(i, []) for i in range(len(rows))]
