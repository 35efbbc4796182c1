"""Causal language models: loading, saving, and the log-probabilities of continuations given a context.

Without a context the model starts from its beginning-of-sequence token. If it has none, it starts from its
end-of-sequence token (GPT-2's `<|endoftext|>` is both). A context is read as it is given: the caller adds the tokens
that the tokenizer puts in front of a text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm
from transformers import AutoModelForCausalLM

from models.batching import batches_by_budget, distinct_rows, halve_when_out_of_memory, pad
from models.model import LanguageModel, add_tokens
from models.seq2seq import chosen_log_probabilities, output_layer_only_at

Continuation = tuple[Sequence[int], Sequence[int]]  # context ids, continuation ids


@dataclass(frozen=True)
class CausalLM(LanguageModel):
    """A model that predicts the next token, and its tokenizer."""

    loader = AutoModelForCausalLM

    @property
    def start(self) -> int:
        """The token that the model starts from without a context.

        Raises ValueError for a tokenizer without beginning and end of sequence.
        """
        start = self.tokenizer.bos_token_id if self.tokenizer.bos_token_id is not None else self.tokenizer.eos_token_id
        if not isinstance(start, int):
            raise ValueError(
                "a text without context starts from a bos or eos token, but "
                f"{type(self.tokenizer).__name__} of {self.tokenizer.name_or_path!r} has neither: give a context"
            )
        return start

    def log_probabilities(
        self, pairs: Sequence[Continuation], *, token_budget: int = 16_384
    ) -> list[NDArray[np.float32]]:
        """`continuation_log_probabilities` of (source, target) pairs."""
        return continuation_log_probabilities(self, pairs, token_budget=token_budget)

    def read(self, sources: Sequence[Sequence[int]], before: Sequence[int]) -> "CausalReader":
        """The sources, equal ones once, padded on the left; every target begins with the tokens `before`."""
        unique, copies = distinct_rows([(*source, *before) for source in sources])
        ids, mask = (
            pad([row[::-1] for row in each], 0, self.device).flip(1)
            for each in (unique, [[1] * len(row) for row in unique])
        )
        return CausalReader(self.model, ids, mask, torch.tensor(copies, device=self.device))


@dataclass
class CausalReader:
    """A causal model that reads distinct sources, of at least one token each, and goes on with copies of them."""

    model: Any
    start: Int[Tensor, "sources time"]
    mask: Int[Tensor, "reading read"]  # of the sources, later of the rows
    copies: Int[Tensor, " rows"]
    cache: Any = None

    def next_log_probabilities(self, chosen: Int[Tensor, " rows"] | None) -> Float[Tensor, "rows vocabulary"]:
        """Of the token after the chosen ones; `None` for the first token."""
        if chosen is None:
            ids, positions = self.start, (self.mask.cumsum(1) - 1).clamp(min=0)
        else:
            ids, positions = chosen[:, None], self.mask.sum(1, keepdim=True)
            self.mask = torch.cat([self.mask, torch.ones_like(ids)], dim=1)
        output = self.model(
            input_ids=ids,
            attention_mask=self.mask,
            position_ids=positions,
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self.cache = output.past_key_values
        found = output.logits[:, -1].float().log_softmax(-1)
        if chosen is None:
            self.keep(self.copies)
            return found[self.copies]
        return found

    def keep(self, rows: Int[Tensor, " kept"]) -> None:
        """Goes on with these rows alone."""
        self.mask = self.mask[rows]
        self.cache.batch_select_indices(rows)


@dataclass(frozen=True)
class PretrainedCausal:
    """A causal model to build, by its hub name or folder."""

    name: str
    device: str = "cpu"
    dtype: str = "float32"

    def build(self, texts: Sequence[str], additional: tuple[str, ...], seed: int) -> CausalLM:
        """The model, with the `additional` special tokens added and their embeddings new; `texts` are not needed."""
        return add_tokens(CausalLM.from_pretrained(self.name, self.device, self.dtype), additional, seed)


def continuation_log_probabilities(
    lm: CausalLM,
    pairs: Sequence[Continuation],
    *,
    token_budget: int = 16_384,
    logit_budget: int = 2**27,
) -> list[NDArray[np.float32]]:
    """log P(token | context, tokens before it) for every token of every continuation, in nats.

    A batch holds at most `token_budget` padded tokens. Logits are computed only where a scored token is predicted, at
    most `logit_budget` of them at a time (a row that needs more is read once for each part of it). Batches that do not
    fit into memory are halved. Rows are padded on the right, whatever the tokenizer's `padding_side`. Dropout is off.

    Returns one float array per pair, in the order of the pairs, as long as its continuation. Nothing is cut: the
    caller fits pairs that are longer than the model reads (`fit_continuations`).
    """
    rows = [(list(context) or [lm.start], list(continuation)) for context, continuation in pairs]
    results = [np.zeros(len(continuation), np.float32) for _, continuation in rows]
    wanted = [i for i, (_, continuation) in enumerate(rows) if continuation]
    most = max(1, logit_budget // lm.model.config.vocab_size)
    costs = [len(rows[i][0]) + len(rows[i][1]) - 1 for i in wanted]
    batches = batches_by_budget(costs, token_budget)
    for batch in tqdm(batches, desc="log-probabilities", delay=3, leave=False, disable=None):
        scored = halve_when_out_of_memory(
            lambda chosen: _score(lm, [rows[wanted[i]] for i in chosen], most), list(batch)
        )
        for i, row in zip(batch, scored, strict=True):
            results[wanted[i]] = row
    return results


@torch.inference_mode()
def _score(lm: CausalLM, rows: Sequence[tuple[list[int], list[int]]], most: int) -> list[NDArray[np.float32]]:
    lm.model.eval()
    found = [np.zeros(len(continuation), np.float32) for _, continuation in rows]
    for part in logit_parts([len(continuation) for _, continuation in rows], most):
        # The token before a scored token predicts it. Tokens after the last scored one cannot change it.
        read = [[*rows[i][0], *rows[i][1][: stop - 1]] for i, _, stop in part]
        scored = [stop - start for _, start, stop in part]
        here = [[0] * (len(row) - count) + [1] * count for row, count in zip(read, scored, strict=True)]
        with output_layer_only_at(lm.model, pad(here, 0, lm.device).bool()):
            logits = lm.model(
                input_ids=pad(read, 0, lm.device),
                attention_mask=pad([[1] * len(row) for row in read], 0, lm.device),
                use_cache=False,
            ).logits
        targets = torch.tensor([t for i, start, stop in part for t in rows[i][1][start:stop]], device=lm.device)
        scores = iter(chosen_log_probabilities(logits, targets).cpu().numpy())
        for i, start, stop in part:
            found[i][start:stop] = np.fromiter(scores, np.float32, count=stop - start)
    return found


def logit_parts(lengths: Sequence[int], most: int) -> list[list[tuple[int, int, int]]]:
    """The (row, first token, token after the last) of each pass; a pass scores at most `most` tokens.

    >>> logit_parts([2, 3, 1], most=4)
    [[(0, 0, 2)], [(1, 0, 3), (2, 0, 1)]]
    >>> logit_parts([3], most=2)
    [[(0, 0, 2)], [(0, 2, 3)]]
    """
    parts: list[list[tuple[int, int, int]]] = []
    room = 0
    for row, length in enumerate(lengths):
        if length > room:
            parts += [[(row, start, min(start + most, length))] for start in range(0, length, most)]
            room = most - (parts[-1][0][2] - parts[-1][0][1])
        else:
            parts[-1].append((row, 0, length))
            room -= length
    return parts
