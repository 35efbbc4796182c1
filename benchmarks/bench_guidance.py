"""Overhead of guidance: guided and unguided generate() in one run, with the same k and tokens.

The model is a GPT-2 of 124 M parameters (or 1 B with `--size 1b`) with random weights. The causal guide is timed in
normal use. The exact Bi-LSTM guide reads the prefix again for every candidate and would take hours at the larger sizes.
Its cost grows linearly with the prefix, so its overhead is measured by one step at half the length, relative to an
unguided token.
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from tokenizers import Tokenizer, models
from transformers import GPT2Config, GPT2LMHeadModel, LogitsProcessorList, PreTrainedTokenizerFast

from discriminators.discriminator import new_token_bilstm
from discriminators.guides import CausalGuide
from discriminators.networks import CausalLSTM
from oumg.guidance import Guidance

VOCABULARY = 50_257
PROMPT = 16
GOAL = {32: 1.10, 200: 1.15}  # maximum overhead of the causal guide by k, for batches of 8 and more
ALPHA = 4.0
SIZES: dict[str, dict[str, Any]] = {"124m": {}, "1b": {"n_embd": 1536, "n_head": 16, "n_layer": 33}}


def seconds(work: Callable[[], Any], device: str) -> float:
    if device != "cpu":
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def any_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer with as many tokens as GPT-2's; their text does not matter here."""
    tokens = {"<pad>": 0, **{f"t{i}": i for i in range(1, VOCABULARY)}}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(tokens, "<pad>")), pad_token="<pad>")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", choices=SIZES, default="124m")
    parser.add_argument("--dtype", default="float32", help="of the generator; guides are float32")
    parser.add_argument("--repeats", type=int, default=3, help="of each pair; the median ratio is shown")
    parser.add_argument("--full", action="store_true", help="batches of 1, 8, 32 and 64, 256 tokens: hours on a CPU")
    chosen = parser.parse_args()
    device, repeats = chosen.device, chosen.repeats
    ks, batches, lengths = (32, 200), (8,), (24,)
    if chosen.full:
        batches, lengths = (1, 8, 32), (64, 256)

    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=VOCABULARY, bos_token_id=None, eos_token_id=None, pad_token_id=0, **SIZES[chosen.size]
    )
    lm: Any = GPT2LMHeadModel(config).to(device, getattr(torch, chosen.dtype)).eval()
    tokenizer = any_tokenizer()
    causal = CausalGuide(CausalLSTM(VOCABULARY).to(device).eval(), tokenizer, {})
    bilstm = new_token_bilstm([], tokenizer)
    bilstm.network.to(device).eval()

    def generated(batch: int, new: int, **settings: Any) -> Callable[[], torch.Tensor]:
        prompts = torch.randint(1, VOCABULARY, (batch, PROMPT), device=device)
        mask = torch.ones_like(prompts)
        return lambda: lm.generate(
            prompts, attention_mask=mask, max_new_tokens=new, min_new_tokens=None, do_sample=True, **settings
        )

    def guided(k: int) -> dict[str, Any]:
        return {"top_k": 0, "logits_processor": LogitsProcessorList([Guidance(causal, tokenizer, ALPHA, k)])}

    def bilstm_step(k: int, batch: int, length: int) -> float:
        """Seconds of one step after a prefix of `length` tokens."""
        guidance = Guidance(bilstm, tokenizer, ALPHA, k, reads="text")
        ids = torch.randint(1, VOCABULARY, (batch, length + 1), device=device)
        scores = torch.randn(batch, VOCABULARY, device=device)
        guidance(ids[:, :-1], scores)
        return seconds(lambda: guidance(ids, scores), device)

    generated(2, 4, **guided(32))()
    generated(2, 4, top_k=32)()
    where = torch.cuda.get_device_name() if device != "cpu" else f"{torch.get_num_threads()} threads"
    parameters = sum(p.numel() for p in lm.parameters()) / 1e6
    print(
        f"GPT-2 shape, {parameters:.0f} M parameters, {chosen.dtype}, {where}; "
        f"overhead = guided / unguided, alpha {ALPHA}"
    )
    print("   k  batch  length   unguided ms/token   causal   (goal)   Bi-LSTM")
    missed = []
    for k, batch, length in itertools.product(ks, batches, lengths):
        pairs = []
        for turn in range(repeats):
            ways = {"plain": generated(batch, length, top_k=k), "guided": generated(batch, length, **guided(k))}
            order = list(ways) if turn % 2 else list(reversed(ways))
            taken = {name: seconds(ways[name], device) for name in order}
            pairs.append((taken["plain"], taken["guided"]))
        overhead = statistics.median(guided_time / plain for plain, guided_time in pairs)
        token = statistics.median(plain for plain, _ in pairs) / length
        exact = 1 + bilstm_step(k, batch, length // 2) / token
        goal = f"{GOAL[k]:.2f}" if batch > 1 else "-"
        print(f"{k:4d} {batch:6d} {length:7d} {1000 * token:19.1f} {overhead:8.3f} {goal:>8} {exact:9.2f}", flush=True)
        if batch > 1 and overhead > GOAL[k]:
            missed.append(f"k {k}, batch {batch}, length {length}: {overhead:.3f}")
    if missed:
        print("above the goal: " + "; ".join(missed))


if __name__ == "__main__":
    main()
