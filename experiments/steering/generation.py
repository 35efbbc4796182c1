"""Continuations of prompts by a causal language model, with and without guidance, and what guidance costs."""

import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from transformers import LogitsProcessorList

from core.faults import InputFaults
from models.batching import halve_when_out_of_memory
from models.causal import CausalLM
from oumg.guidance import Guidance

MakeGuidance = Callable[[], Guidance]


def check_candidates(ks: Sequence[int], vocabulary: int) -> None:
    """Raises InputFaults for a k above the vocabulary of the generator."""
    if max(ks) > vocabulary:
        raise InputFaults([f"k must be at most the {vocabulary} tokens of the generator, but is {max(ks)}"])


def continue_prompts(
    lm: CausalLM,
    prompts: Sequence[Sequence[int]],
    samples: int,
    new_tokens: int,
    batch_size: int,
    seed: int,
    k: int,
    guidance: MakeGuidance | None = None,
) -> list[list[int]]:
    """The new tokens of each prompt, `samples` draws of each in turn, up to and with the end token.

    Without guidance the generator samples from its k likeliest tokens. The same seed gives the same draws; with a
    strength of 0 the tokens are those without guidance. A batch that does not fit into memory is halved, which gives
    other draws.
    """

    def draw(batch: list[int]) -> list[list[int]]:
        with torch.random.fork_rng(devices=[lm.device] if lm.device.type == "cuda" else []):
            torch.manual_seed(int(np.random.default_rng((seed, batch[0])).integers(2**62)))
            chosen = None if guidance is None else guidance()
            rows = _generate(lm, [prompts[i] for i in batch], k, chosen, samples, max_new_tokens=new_tokens)
        return [_until_end(row, lm.tokenizer.eos_token_id) for row in rows.tolist()]

    size = max(1, batch_size // samples)
    batches = [list(range(len(prompts)))[start : start + size] for start in range(0, len(prompts), size)]
    return [row for batch in batches for row in halve_when_out_of_memory(draw, batch)]


def _until_end(row: list[int], end: object) -> list[int]:
    return next((row[: i + 1] for i, token in enumerate(row) if token == end), row)


def measure_overhead(
    lm: CausalLM,
    prompts: Sequence[Sequence[int]],
    new_tokens: int,
    k: int,
    guidance: MakeGuidance,
    repeats: int = 3,
) -> float:
    """The time of guided over unguided `generate()`, with the same prompts, k and number of tokens; 1 means no cost.

    Building the guidance is not timed.

    Both run in turn. The fastest run of each counts, as the one least disturbed by other work of the machine.
    """
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for guided in [False, True] * (repeats + 1):  # the first of each warms up
        chosen = guidance() if guided else None
        begun = time.perf_counter()
        _generate(lm, prompts, k, chosen, 1, max_new_tokens=new_tokens, min_new_tokens=new_tokens).cpu()
        seconds[guided].append(time.perf_counter() - begun)
    return min(seconds[True][1:]) / min(seconds[False][1:])


@torch.no_grad()
def _generate(
    lm: CausalLM,
    prompts: Sequence[Sequence[int]],
    k: int,
    guidance: Guidance | None,
    samples: int,
    **length: int,
) -> Int[Tensor, "rows time"]:
    """The tokens after the prompts, padded on the right."""
    padding = lm.tokenizer.pad_token_id if lm.tokenizer.pad_token_id is not None else lm.start
    width = max(map(len, prompts))
    ids = torch.tensor([[padding] * (width - len(row)) + list(row) for row in prompts], device=lm.device)
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in prompts], device=lm.device)
    rows = lm.model.generate(
        input_ids=ids,
        attention_mask=mask,
        logits_processor=LogitsProcessorList([] if guidance is None else [guidance]),
        do_sample=True,
        top_k=k if guidance is None else 0,  # guidance keeps k tokens itself
        top_p=1.0,
        temperature=1.0,
        repetition_penalty=1.0,
        num_return_sequences=samples,
        pad_token_id=padding,
        eos_token_id=lm.tokenizer.eos_token_id,
        **length,
    )
    return rows[:, width:]
