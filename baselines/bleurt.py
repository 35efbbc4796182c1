"""BLEURT (Sellam et al., ACL 2020) through transformers: a BERT with one output that was tuned on human ratings.

The authors' checkpoints are for TensorFlow. This reads checkpoints in the Hugging Face form, such as
`Elron/bleurt-base-128`, or one that was tuned on other ratings.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedTokenizerBase

from baselines.pairs import score_pairs, to_quality
from core.example import Example
from core.faults import SettingFault
from core.scores import Scores, fields_by_settings
from core.selection import references_of, score_complete
from core.settings import Count, checked_dataclass
from core.signature import MODEL_LIBRARIES, signature
from models.batching import pad, pad_with_mask, read_in_batches
from models.loading import check_tokens, load_pretrained, model_fingerprint
from models.model import readable_tokens
from models.windows import CutTruncation, refuse_cut


@checked_dataclass
class Bleurt:
    """The output of the model for (reference, text); higher is better. Of several references the mean counts.

    Attributes:
        network: a sequence classifier with one output.
        tokenizer: of that model.
        model: its name, for the signature.
        reference: the field that the text is compared with. CTRLEval's texts have no references; their prefix is there.
        truncation: a pair that is too long is cut, the longer side first (`warn`), or refused (`error`).
        token_budget: padded tokens in a batch.
    """

    requires = fields_by_settings(lambda reference="references": (reference,))
    network: Any
    tokenizer: PreTrainedTokenizerBase
    model: str
    reference: Literal["references", "prefix", "context"] = "references"
    truncation: CutTruncation = "warn"
    token_budget: Count = 16_384

    @classmethod
    def from_pretrained(
        cls, model: str = "Elron/bleurt-base-128", device: str = "cpu", dtype: str = "float32", **settings: Any
    ) -> "Bleurt":
        """Loads a hub name or a folder; `settings` are the attributes.

        Raises MissingModel for a missing model, SettingFault for a model with more than one output.
        """
        network = load_pretrained(
            AutoModelForSequenceClassification.from_pretrained, model, dtype=dtype, use_safetensors=True
        )
        if network.config.num_labels != 1:
            raise SettingFault(f"BLEURT has one output, but {model} has {network.config.num_labels}")
        tokenizer = load_pretrained(AutoTokenizer.from_pretrained, model)
        check_tokens(model, tokenizer, len(network.get_input_embeddings().weight))
        return cls(network.to(device).eval(), tokenizer, model, **settings)

    @cached_property
    def identity(self) -> str:
        """A fingerprint of model and tokenizer, for the signature."""
        return model_fingerprint(self.network, self.tokenizer)

    @property
    def signature(self) -> str:
        """One line: the metric, its settings, model and versions."""
        return signature(
            "bleurt",
            libraries=MODEL_LIBRARIES,
            model=self.model,
            identity=self.identity,
            reference=self.reference,
            truncation=self.truncation,
        )

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality`; NaN for a blank text and without the field.

        Raises ExampleFaults if no example has the field, and with `error` for all pairs that are too long.
        """
        return score_complete(examples, self.requires, "bleurt", self._score)

    def _score(self, examples: Sequence[Example]) -> Scores:
        values, dropped = score_pairs(examples, self._pairs, self._score_pairs)
        rule = f"the model reads {self.max_length} tokens at once, but a text with its {self.reference} has more"
        refuse_cut(self.truncation, rule, dropped)
        return to_quality(values, np.mean, self.signature, dropped)

    @property
    def max_length(self) -> int:
        """How many tokens of a pair the model reads at once, special ones included."""
        return readable_tokens(self.network.config, self.tokenizer)

    def _pairs(self, example: Example) -> list[tuple[str, str]]:
        """(reference, text); none for a blank text."""
        text = example.full_text
        several = references_of(example) if self.reference == "references" else [getattr(example, self.reference)]
        return [(reference, text) for reference in several if text.strip()]

    def _score_pairs(self, pairs: Sequence[tuple[str, str]]) -> tuple[NDArray[np.float64], list[int]]:
        """The model's output for each pair, and how many tokens of it were cut."""
        firsts, seconds = [first for first, _ in pairs], [second for _, second in pairs]
        plain: Any = {"split_special_tokens": True, "verbose": False}  # "[SEP]" in a text is plain text
        whole: Any = self.tokenizer(firsts, seconds, **plain)["input_ids"]
        rows: Any = self.tokenizer(firsts, seconds, truncation="longest_first", max_length=self.max_length, **plain)
        lost = [len(before) - len(after) for before, after in zip(whole, rows["input_ids"], strict=True)]
        return self._outputs(rows["input_ids"], rows["token_type_ids"]), lost

    @torch.inference_mode()
    def _outputs(self, ids: Sequence[list[int]], types: Sequence[list[int]]) -> NDArray[np.float64]:
        """The model's output for each row."""
        device = self.network.device

        def read(batch: list[int]) -> list[float]:
            inputs = pad_with_mask([ids[i] for i in batch], self.tokenizer.pad_token_id, device)  # pyright: ignore[reportArgumentType]
            inputs["token_type_ids"] = pad([types[i] for i in batch], 0, device)
            return self.network(**inputs).logits[:, 0].float().tolist()

        return np.array(read_in_batches([len(row) for row in ids], self.token_budget, read, "bleurt"))
