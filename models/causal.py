"""Causal language models: the source is a context, the target continues it.

No special tokens are added to a context: the caller adds those that the tokenizer puts in front of a text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedTokenizerBase

from models.batching import NOT_LEARNED, Batch, Task, batches_of_alike, distinct_rows, pad, pad_with_mask
from models.model import ConditionalLM, Reader, last_hidden_states
from models.shared_prefixes import LARGEST_TREE, Tree, can_branch, plant_trees, tree_inputs
from models.windows import Pair


def find_start(tokenizer: PreTrainedTokenizerBase) -> int:
    """Finds the token that a causal model starts from: bos, or else eos (GPT-2's `<|endoftext|>` is both).

    Raises ValueError for a tokenizer without either token.
    """
    start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    if not isinstance(start, int):
        raise ValueError(
            "a text without context starts from a bos or eos token, but "
            f"{type(tokenizer).__name__} of {tokenizer.name_or_path!r} has neither: give a context"
        )
    return start


@dataclass(frozen=True)
class CausalLM(ConditionalLM):
    """A model that predicts the next token, and its tokenizer."""

    loader = AutoModelForCausalLM
    unread = ("mask_token", "pad_token")

    @property
    def start(self) -> int:
        """The token that the model starts from without a context. Raises ValueError as `find_start` does."""
        return find_start(self.tokenizer)

    def read(self, sources: Sequence[Sequence[int]], before: Sequence[int]) -> "CausalReader":
        """Reads the sources, padded on the left; equal sources are read once."""
        unique, copies = distinct_rows([(*source, *before) for source in sources])
        padded = pad_with_mask([row[::-1] for row in unique], 0, self.device)
        ids = padded["input_ids"].flip(1)
        mask = padded["attention_mask"].flip(1)
        return CausalReader(
            self.model,
            ids,
            mask,
            torch.tensor(copies, device=self.device),
        )

    @torch.inference_mode()
    def predict(self, pairs: Sequence[Pair], given: Sequence[int]) -> list[Float[Tensor, "tokens dim"]]:
        """Returns the last hidden states that predict each target (see `ConditionalLM.predict`).

        Without a source the model begins with its start token.
        """
        sequences = [self._sequence(pair) for pair in pairs]
        trees = self._plant(sequences, LARGEST_TREE)
        inputs = tree_inputs(trees, self.model.dtype, self.device)
        hidden = last_hidden_states(self.model, **inputs, use_cache=False)
        states: dict[int, Tensor] = {}
        for row, tree in enumerate(trees):
            for i, path in tree.paths.items():
                _, target = pairs[i]
                first = len(sequences[i]) - len(target) - 1 + given[i]
                states[i] = hidden[row, path[first:]]
        return [states[i] for i in range(len(pairs))]

    def make_batches(self, pairs: Sequence[Pair], token_budget: int) -> list[list[int]]:
        """Puts the pairs into batches by their padded tokens; sequences that share a beginning stay in one tree.

        A tree (`models.shared_prefixes`) reads a common beginning once.
        """
        sequences = [self._sequence(pair) for pair in pairs]
        trees = self._plant(sequences, min(LARGEST_TREE, token_budget))
        batches: list[list[int]] = []
        for places in batches_of_alike([(len(tree.ids),) for tree in trees], token_budget):
            batch: list[int] = []
            for place in places:
                batch += trees[place].paths
            batches.append(batch)
        return batches

    def _sequence(self, pair: Pair) -> Sequence[int]:
        source, target = pair
        return (*(source or (self.start,)), *target)

    def _plant(self, sequences: Sequence[Sequence[int]], room: int) -> list[Tree]:
        longest = max(map(len, sequences), default=0)
        return plant_trees(sequences, room, can_branch(self.model.config, longest))

    def training_batch(self, tasks: Sequence[Task]) -> Batch:
        """Makes the batch: the label of each position is the next token.

        Every task needs a source of one token or more.
        """
        rows = [[*task.source, *task.target][:-1] for task in tasks]
        labels = [
            [
                *[NOT_LEARNED] * (len(task.source) - 1),
                *task.labels,
            ]
            for task in tasks
        ]
        return {
            **pad_with_mask(rows, self.model.config.pad_token_id),
            "labels": pad(labels, NOT_LEARNED),
        }

    def dummy_inputs(self) -> dict[str, Any]:
        return {
            "input_ids": torch.zeros(
                1,
                1,
                dtype=torch.long,
                device=self.device,
            )
        }


@dataclass
class CausalReader(Reader):
    """A causal model that has read distinct sources of at least one token each, and continues copies of them."""

    start: Int[Tensor, "sources time"]
    mask: Int[Tensor, "reading read"]  # of the sources, later of the rows
    copies: Int[Tensor, " rows"]

    def inputs(self, chosen: Int[Tensor, " rows"] | None) -> dict[str, Any]:
        if chosen is None:
            ids = self.start
            positions = (self.mask.cumsum(1) - 1).clamp(min=0)
        else:
            ids = chosen[:, None]
            positions = self.mask.sum(1, keepdim=True)
            self.mask = torch.cat([self.mask, torch.ones_like(ids)], dim=1)
        return {
            "input_ids": ids,
            "attention_mask": self.mask,
            "position_ids": positions,
            "logits_to_keep": 1,
        }

    def next_log_probabilities(self, chosen: Int[Tensor, " rows"] | None) -> Float[Tensor, "rows vocabulary"]:
        log_p = super().next_log_probabilities(chosen)
        if chosen is None:
            self.keep(self.copies)
            return log_p[self.copies]
        return log_p

    def keep(self, rows: Int[Tensor, " kept"]) -> None:
        self.mask = self.mask[rows]
        super().keep(rows)
