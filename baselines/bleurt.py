"""BLEURT (Sellam et al., ACL 2020) through transformers: a BERT with one output that was tuned on human ratings.

The authors' checkpoints are for TensorFlow. This module reads checkpoints in the Hugging Face form, such as
`Elron/bleurt-base-128`, or a model that was tuned on other ratings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification

from baselines.pairs import ModelMetric, PairMetric, Values
from core.errors import SettingError
from core.example import Example
from core.scores import fields_by_settings
from core.selection import references_of
from core.settings import checked_dataclass
from models.batching import pad, pad_with_mask, read_in_batches
from models.model import LanguageModel
from models.windows import CutTruncation


@dataclass(frozen=True)
class Regressor(LanguageModel):
    """A sequence classifier with one output."""

    loader = AutoModelForSequenceClassification

    @classmethod
    def from_pretrained(
        cls,
        name: str | Path,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> Self:
        """Loads a model. Raises SettingError for a model with several outputs, and errors as `LanguageModel` does."""
        regressor = super().from_pretrained(name, device, dtype)
        outputs = regressor.model.config.num_labels
        if outputs != 1:
            raise SettingError(f"BLEURT has one output, but {name} has {outputs}")
        return regressor


@checked_dataclass
class Bleurt(PairMetric, ModelMetric):
    """The output of the model for (reference, text); higher is better. With several references their mean counts."""

    name = "bleurt"
    requires = fields_by_settings(lambda reference="references": (reference,))
    loader = Regressor
    # the field that the text is compared with; CTRLEval's texts have no references but a prefix
    reference: Literal["references", "prefix", "context"] = "references"
    # a pair that is too long is cut, the longer side first (`warn`), or refused (`error`)
    truncation: CutTruncation = "warn"

    @property
    def too_long(self) -> str:
        return f"the model reads {self.lm.max_length} tokens at once, but a text with its {self.reference} has more"

    def list_pairs(self, example: Example) -> list[tuple[str, str]]:
        """Lists the pairs (reference, text) of an example."""
        text = example.full_text
        if not text.strip():
            return []
        if self.reference == "references":
            return [(reference, text) for reference in references_of(example)]
        return [(getattr(example, self.reference), text)]

    def rate_pairs(self, pairs: Sequence[tuple[str, str]]) -> tuple[Values, list[int]]:
        references = [reference for reference, _ in pairs]
        texts = [text for _, text in pairs]
        plain: Any = {"split_special_tokens": True, "verbose": False}  # "[SEP]" in a text is plain text
        tokenize: Any = partial(self.lm.tokenizer, references, texts, **plain)
        whole = tokenize()["input_ids"]
        read = tokenize(truncation="longest_first", max_length=self.lm.max_length)
        lost = [len(row) - len(kept) for row, kept in zip(whole, read["input_ids"], strict=True)]
        return self._outputs(read["input_ids"], read["token_type_ids"]), lost

    @torch.inference_mode()
    def _outputs(self, ids: Sequence[list[int]], types: Sequence[list[int]]) -> Values:
        padding: Any = self.lm.tokenizer.pad_token_id

        def read(batch: list[int]) -> list[float]:
            inputs = pad_with_mask([ids[place] for place in batch], padding, self.lm.device)
            inputs["token_type_ids"] = pad([types[place] for place in batch], 0, self.lm.device)
            return self.lm.model(**inputs).logits[:, 0].float().tolist()

        return np.array(read_in_batches([len(row) for row in ids], self.token_budget, read, "bleurt"))
