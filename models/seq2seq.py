"""Encoder-decoder language models: loading, saving, and the log-probabilities of targets given sources."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm
from transformers import AutoModelForSeq2SeqLM

from models.batching import batches_of_pairs, distinct_rows, halve_when_out_of_memory, pad
from models.model import LanguageModel, add_tokens


@dataclass(frozen=True)
class Seq2SeqLM(LanguageModel):
    """An encoder-decoder model and its tokenizer."""

    loader = AutoModelForSeq2SeqLM

    def log_probabilities(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], *, token_budget: int = 16_384
    ) -> list[NDArray[np.float32]]:
        """`target_log_probabilities` of (source, target) pairs."""
        return target_log_probabilities(self, pairs, token_budget=token_budget)

    def read(self, sources: Sequence[Sequence[int]], before: Sequence[int]) -> "Seq2SeqReader":
        """Encodes the sources, equal ones once; every target begins with the tokens `before`."""
        unique, copies = distinct_rows(sources)
        ids = pad(unique, self.model.config.pad_token_id, self.device)
        mask = pad([[1] * len(source) for source in unique], 0, self.device)
        encoded = self.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        encoded, mask = encoded[copies], mask[copies]
        start = torch.tensor([self.model.config.decoder_start_token_id, *before], device=self.device)
        return Seq2SeqReader(self.model, encoded, mask, start.expand(len(sources), -1))


@dataclass
class Seq2SeqReader:
    """An encoder-decoder model that has read some sources and writes one token at a time."""

    model: Any
    encoded: Float[Tensor, "rows time dim"]
    mask: Int[Tensor, "rows time"]
    start: Int[Tensor, "rows given"]
    cache: Any = None

    def next_log_probabilities(self, chosen: Int[Tensor, " rows"] | None) -> Float[Tensor, "rows vocabulary"]:
        """Of the token after the chosen ones; `None` for the first token."""
        output = self.model(
            encoder_outputs=(self.encoded,),
            attention_mask=self.mask,
            decoder_input_ids=self.start if chosen is None else chosen[:, None],
            past_key_values=self.cache,
            use_cache=True,
        )
        self.cache = output.past_key_values
        return output.logits[:, -1].float().log_softmax(-1)

    def keep(self, rows: Int[Tensor, " kept"]) -> None:
        """Goes on with these rows alone."""
        self.encoded, self.mask = self.encoded[rows], self.mask[rows]
        self.cache.batch_select_indices(rows)


def decoder_inputs(model: Any, targets: Int[Tensor, "rows time"]) -> Int[Tensor, "rows time"]:
    """The targets moved one place to the right behind the model's start token."""
    return torch.cat([torch.full_like(targets[:, :1], model.config.decoder_start_token_id), targets[:, :-1]], dim=1)


def chosen_log_probabilities(
    logits: Float[Tensor, "*rows vocabulary"], chosen: Int[Tensor, "*rows"]
) -> Float[Tensor, "*rows"]:
    """log softmax(logits) at the chosen tokens, in float32.

    >>> chosen_log_probabilities(torch.zeros(1, 4), torch.tensor([2])).exp().tolist()
    [0.25]
    """
    logits = logits.float()
    return logits.gather(-1, chosen.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(-1)


def target_log_probabilities(
    lm: Seq2SeqLM,
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
    *,
    token_budget: int = 16_384,
    logit_budget: int = 2**27,
) -> list[NDArray[np.float32]]:
    """log P(target token | source, target tokens before it) for every (source ids, target ids) pair, in nats.

    Equal sources are encoded once per batch. A batch holds at most `token_budget` padded source and target tokens and
    at most `logit_budget` logits, or a single pair; batches that do not fit into memory are halved.

    Returns one float array per pair, in the order of the pairs, as long as its target. Dropout is off.
    """
    vocabulary = lm.model.config.vocab_size
    logits_per_token = -(-token_budget * vocabulary // logit_budget)  # what a target token costs, in budget units
    costs = [(len(source), max(len(target), 1) * max(1, logits_per_token)) for source, target in pairs]
    results: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(pairs)
    batches = batches_of_pairs(costs, token_budget)
    for batch in tqdm(batches, desc="log-probabilities", delay=3, leave=False, disable=None):
        scored = halve_when_out_of_memory(lambda rows: _score(lm, [pairs[i] for i in rows]), batch)
        for i, row in zip(batch, scored, strict=True):
            results[i] = row
    return results


@torch.inference_mode()
def _score(lm: Seq2SeqLM, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[NDArray[np.float32]]:
    lm.model.eval()
    pad_id = lm.model.config.pad_token_id
    unique, copies = distinct_rows([source for source, _ in pairs])
    sources = pad(unique, pad_id, lm.device)
    mask = pad([[1] * len(source) for source in unique], 0, lm.device)
    targets = pad([target for _, target in pairs], pad_id, lm.device)
    real = pad([[1] * len(target) for _, target in pairs], 0, lm.device).bool()
    encoded = lm.model.get_encoder()(input_ids=sources, attention_mask=mask).last_hidden_state
    with output_layer_only_at(lm.model, real):
        logits = lm.model(
            encoder_outputs=(encoded[copies],),
            attention_mask=mask[copies],
            decoder_input_ids=decoder_inputs(lm.model, targets),
            use_cache=False,
        ).logits
    scores = iter(chosen_log_probabilities(logits, targets[real]).cpu().numpy())
    return [np.fromiter(scores, np.float32, count=len(target)) for _, target in pairs]


@contextmanager
def output_layer_given(model: Any, choose: Callable[[Tensor], Tensor]) -> Iterator[list[Tensor]]:
    """The model's output layer reads `choose(hidden states)`; the list collects the hidden states.

    Everything that the model does before and after this layer stays as it is. The logits have the first axes of the
    chosen states.
    """
    seen: list[Tensor] = []

    def replaced(module: Any, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        seen.append(arguments[0])
        return choose(arguments[0]), *arguments[1:]

    hook = model.get_output_embeddings().register_forward_pre_hook(replaced)
    try:
        yield seen
    finally:
        hook.remove()


@contextmanager
def output_layer_only_at(model: Any, real: Bool[Tensor, "rows time"]) -> Iterator[None]:
    """The model's logits become one row per real position: padding is not multiplied with the vocabulary."""
    with output_layer_given(model, lambda hidden: hidden[real]):
        yield


@dataclass(frozen=True)
class PretrainedSeq2Seq:
    """A model to build, by its hub name or folder."""

    name: str
    device: str = "cpu"
    dtype: str = "float32"

    def build(self, texts: Sequence[str], additional: tuple[str, ...], seed: int) -> Seq2SeqLM:
        """The model, with the `additional` special tokens added and their embeddings new; `texts` are not needed."""
        return add_tokens(Seq2SeqLM.from_pretrained(self.name, self.device, self.dtype), additional, seed)
