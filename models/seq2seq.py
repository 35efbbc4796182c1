"""Encoder-decoder language models: the source is encoded, the target is decoded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import AutoModelForSeq2SeqLM

from models.batching import NOT_LEARNED, Batch, Task, batches_of_alike, distinct_rows, pad, pad_with_mask
from models.model import ConditionalLM, Reader, last_hidden_states
from models.windows import Pair


@dataclass(frozen=True)
class Seq2SeqLM(ConditionalLM):
    """An encoder-decoder model and its tokenizer."""

    loader = AutoModelForSeq2SeqLM

    def read(self, sources: Sequence[Sequence[int]], before: Sequence[int]) -> "Seq2SeqReader":
        """Encodes the sources; equal sources are encoded once."""
        unique, copies = distinct_rows(sources)
        inputs = pad_with_mask(unique, self.model.config.pad_token_id, self.device)
        encoded = self.model.get_encoder()(**inputs).last_hidden_state
        start = torch.tensor([self.model.config.decoder_start_token_id, *before], device=self.device)
        return Seq2SeqReader(
            self.model,
            encoded=encoded[copies],
            mask=inputs["attention_mask"][copies],
            start=start.expand(len(sources), -1),
        )

    @torch.inference_mode()
    def predict(self, pairs: Sequence[Pair], given: Sequence[int]) -> list[Float[Tensor, "tokens dim"]]:
        """Returns the decoder's last hidden states that predict each target.

        Equal sources are encoded once; padding replaces an empty source.
        """
        pad_id = self.model.config.pad_token_id
        unique, copies = distinct_rows([source or (pad_id,) for source, _ in pairs])
        inputs = pad_with_mask(unique, pad_id, self.device)
        encoded = self.model.get_encoder()(**inputs)
        start = self.model.config.decoder_start_token_id
        hidden = last_hidden_states(
            self.model,
            encoder_outputs=(encoded.last_hidden_state[copies],),
            attention_mask=inputs["attention_mask"][copies],
            decoder_input_ids=pad([[start, *target] for _, target in pairs], pad_id, self.device),
            use_cache=False,
        )
        states: list[Tensor] = []
        for row, first, (_, target) in zip(hidden, given, pairs, strict=True):
            states.append(row[first : len(target) + 1].clone())
        return states

    def make_batches(self, pairs: Sequence[Pair], token_budget: int) -> list[list[int]]:
        """Groups pairs into batches whose sources and targets have about one length.

        All targets of a source count as long as its longest, so that they stay together.
        """
        longest: dict[Sequence[int], int] = {}
        for source, target in pairs:
            longest[source] = max(longest.get(source, 0), len(target) + 1)
        return batches_of_alike([(len(source), longest[source]) for source, _ in pairs], token_budget)

    def training_batch(self, tasks: Sequence[Task]) -> Batch:
        """Makes the batch: the decoder reads the targets shifted one position to the right, after its start token."""
        config = self.model.config
        targets = pad([task.target for task in tasks], config.pad_token_id)
        start = torch.full_like(targets[:, :1], config.decoder_start_token_id)
        return {
            **pad_with_mask([task.source for task in tasks], config.pad_token_id),
            "decoder_input_ids": torch.cat([start, targets[:, :-1]], dim=1),
            "labels": pad([task.labels for task in tasks], NOT_LEARNED),
        }

    def dummy_inputs(self) -> dict[str, Any]:
        width = self.model.get_encoder().config.hidden_size
        encoded = torch.zeros((1, 1, width), device=self.device, dtype=self.model.dtype)
        start = torch.tensor([[self.model.config.decoder_start_token_id]], device=self.device)
        return {
            "encoder_outputs": (encoded,),
            "decoder_input_ids": start,
        }


@dataclass
class Seq2SeqReader(Reader):
    """An encoder-decoder model that has encoded its sources."""

    encoded: Float[Tensor, "rows time dim"]
    mask: Int[Tensor, "rows time"]
    start: Int[Tensor, "rows given"]

    def inputs(self, chosen: Int[Tensor, " rows"] | None) -> dict[str, Any]:
        written = self.start if chosen is None else chosen[:, None]
        return {
            "encoder_outputs": (self.encoded,),
            "attention_mask": self.mask,
            "decoder_input_ids": written,
        }

    def keep(self, rows: Int[Tensor, " kept"]) -> None:
        self.encoded = self.encoded[rows]
        self.mask = self.mask[rows]
        super().keep(rows)
