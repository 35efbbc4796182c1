"""Samples continuations from a causal language model. The caller may pass logits processors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor, LogitsProcessorList

from models.batching import halve_when_out_of_memory, pad_with_mask
from models.causal import CausalLM


def padding_of(lm: CausalLM) -> int:
    """Returns the token that pads prompts: the start token if the tokenizer has no padding token."""
    padding: Any = lm.tokenizer.pad_token_id
    return lm.start if padding is None else int(padding)


def pad_prompts(lm: CausalLM, prompts: Sequence[Sequence[int]]) -> dict[str, Tensor]:
    """Returns the token ids and the attention mask of prompts, padded on the left."""
    padded = pad_with_mask([row[::-1] for row in prompts], padding_of(lm), lm.device)
    return {name: tensor.flip(1) for name, tensor in padded.items()}


@torch.no_grad()
def sample_continuations(
    lm: CausalLM,
    inputs: Mapping[str, Tensor],
    new_tokens: int,
    seed: int,
    processors: Sequence[LogitsProcessor] = (),
    **settings: Any,
) -> list[list[int]]:
    """Samples at most `new_tokens` tokens after each prompt, up to and including the end token.

    `inputs` (see `pad_prompts`) and `settings` are arguments of `generate()`; by default it samples from the whole
    distribution. Several samples of a prompt are consecutive.
    """
    end = lm.tokenizer.eos_token_id
    defaults = {
        "do_sample": True,
        "top_k": 0,
        "top_p": 1.0,
        "temperature": 1.0,
        "repetition_penalty": 1.0,
        "pad_token_id": padding_of(lm),
        "eos_token_id": end,
        "max_new_tokens": new_tokens,
    }
    with torch.random.fork_rng(devices=[lm.device] if lm.device.type == "cuda" else []):
        torch.manual_seed(seed)
        rows = lm.model.generate(**inputs, logits_processor=LogitsProcessorList(processors), **{**defaults, **settings})
    written = rows[:, inputs["input_ids"].shape[1] :].tolist()
    return [row[: row.index(end) + 1] if end in row else row for row in written]


def sample_in_batches(
    sample: Callable[[list[int]], list[Any]],
    prompts: int,
    batch_size: int,
    advance: Callable[[int], None] = lambda prompts: None,
) -> list[Any]:
    """Calls `sample` on batches of indices and joins the results; a batch that does not fit into memory is halved.

    Halving changes what is drawn.
    """
    samples: list[Any] = []
    for start in range(0, prompts, batch_size):
        batch = list(range(start, min(start + batch_size, prompts)))
        samples += halve_when_out_of_memory(sample, batch)
        advance(len(batch))
    return samples
