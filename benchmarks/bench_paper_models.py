"""The papers' models: how many parameters they have, what memory they need, and how long a step takes here.

The table of memory follows from the numbers of parameters: weights in float32 and bfloat16; training with AdamW (16
bytes for each parameter); LoRA beside frozen bfloat16 weights. Activations come on top. With `--measure`, models with
random weights of these widths and vocabularies score and train a batch, each in a new process. `--layers` makes
them shallower where memory or patience demands it.
"""

import argparse
import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    BartConfig,
    BertConfig,
    GPT2Config,
    LlamaConfig,
    PegasusConfig,
    RobertaConfig,
    T5Config,
)

from models.tiny import initialise_model

GB = 1e9
TOKENS = 128  # of a row that is measured
LORA_RANK = 16
CARDS = (8, 24, 80)  # GB


def t5(width: int, inner: int, heads: int, layers: int, size: int = 64) -> Callable[[int | None], T5Config]:
    """The configuration of a T5, with fewer layers where they are given."""

    def make(fewer: int | None) -> T5Config:
        sizes: Any = {"d_model": width, "d_ff": inner, "num_heads": heads, "d_kv": size, "decoder_start_token_id": 0}
        return T5Config(vocab_size=32128, num_layers=fewer or layers, **sizes)

    return make


def bart(kind: type, vocabulary: int, depth: int) -> Callable[[int | None], Any]:
    """The configuration of BART-large or PEGASUS-large."""
    sides = ("encoder", "decoder")

    def make(fewer: int | None) -> Any:
        layers = {f"{side}_layers": fewer or depth for side in sides}
        heads = {f"{side}_attention_heads": 16 for side in sides}
        inner = {f"{side}_ffn_dim": 4096 for side in sides}
        return kind(vocab_size=vocabulary, d_model=1024, max_position_embeddings=1024, **layers, **heads, **inner)

    return make


def gpt2(width: int, heads: int, depth: int) -> Callable[[int | None], GPT2Config]:
    return lambda fewer: GPT2Config(n_embd=width, n_head=heads, n_layer=fewer or depth)


def bert(kind: type, width: int, heads: int, depth: int, **special: int) -> Callable[[int | None], Any]:
    def make(fewer: int | None) -> Any:
        sizes = {"hidden_size": width, "intermediate_size": 4 * width, "num_attention_heads": heads}
        return kind(num_hidden_layers=fewer or depth, **sizes, **special)

    return make


def llama(width: int, inner: int, depth: int, tied: bool) -> Callable[[int | None], LlamaConfig]:
    """The configuration of a Llama 3: eight key-value heads for 32 query heads, and 128,256 tokens."""

    def make(fewer: int | None) -> LlamaConfig:
        sizes: Any = {"hidden_size": width, "intermediate_size": inner, "max_position_embeddings": 131_072}
        heads: Any = {"num_attention_heads": 32, "num_key_value_heads": 8, "tie_word_embeddings": tied}
        ends: Any = {"bos_token_id": 128_000, "eos_token_id": 128_001}
        return LlamaConfig(vocab_size=128_256, num_hidden_layers=fewer or depth, **sizes, **heads, **ends)

    return make


ROBERTA: Any = {"vocab_size": 50265, "pad_token_id": 1, "max_position_embeddings": 514, "type_vocab_size": 1}
SEQ2SEQ, CAUSAL, MASKED = AutoModelForSeq2SeqLM, AutoModelForCausalLM, AutoModelForMaskedLM
MODELS: dict[str, tuple[Any, Callable[[int | None], Any]]] = {
    "T5-small": (SEQ2SEQ, t5(512, 2048, 8, 6)),
    "T5-base": (SEQ2SEQ, t5(768, 3072, 12, 12)),
    "T5-large": (SEQ2SEQ, t5(1024, 4096, 16, 24)),
    "T5-3B": (SEQ2SEQ, t5(1024, 16384, 32, 24, size=128)),
    "T5-11B": (SEQ2SEQ, t5(1024, 65536, 128, 24, size=128)),
    "PEGASUS-large": (SEQ2SEQ, bart(PegasusConfig, 96103, 16)),
    "BART-large": (SEQ2SEQ, bart(BartConfig, 50265, 12)),
    "GPT-2": (CAUSAL, gpt2(768, 12, 12)),
    "GPT-2-medium": (CAUSAL, gpt2(1024, 16, 24)),
    "GPT-2-large": (CAUSAL, gpt2(1280, 20, 36)),
    "Llama shape, 1 B": (CAUSAL, llama(2048, 8192, 16, tied=True)),
    "Llama shape, 8 B": (CAUSAL, llama(4096, 14336, 32, tied=False)),
    "RoBERTa-large": (MASKED, bert(RobertaConfig, 1024, 16, 24, **ROBERTA)),
    "BERT-base-chinese": (MASKED, bert(BertConfig, 768, 12, 12, vocab_size=21128)),
}


def count_parameters(name: str) -> tuple[int, int]:
    """The parameters of a model, and those of LoRA's matrices beside its linear layers."""
    kind, make = MODELS[name]
    with torch.device("meta"):
        model = kind.from_config(make(None))
    output = model.get_output_embeddings()
    linear = [m for m in model.modules() if type(m).__name__ in ("Linear", "Conv1D") and m is not output]
    return sum(p.numel() for p in model.parameters()), sum(LORA_RANK * sum(m.weight.shape) for m in linear)


def print_memory() -> None:
    """What each model needs, and on which cards it fits with a tenth of the card left for activations."""

    def smallest(needed: float) -> str:
        return next((f"{card} GB" for card in CARDS if needed <= 0.9 * card), "several")

    print("| model | parameters | score, float32 | score, bfloat16 | train, AdamW | train, LoRA |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in MODELS:
        count, small = count_parameters(name)
        needs = (4 * count, 2 * count, 16 * count, 2 * count + 16 * small)
        cells = " | ".join(f"{need / GB:.1f} GB ({smallest(need / GB)})" for need in needs)
        print(f"| {name} | {count / 1e6:.0f} M | {cells} |")


def measure(name: str, layers: int | None, rows: int, device: str, dtype: str) -> None:
    """Prints the time of a scored and of a trained batch, each with the peak memory up to then."""
    kind, make = MODELS[name]
    config = make(layers)
    model = initialise_model(kind.from_config, config, seed=0).to(device, getattr(torch, dtype))
    ids = torch.randint(200, 9000, (rows, TOKENS), device=device)
    inputs = {"input_ids": ids, **({"decoder_input_ids": ids} if config.is_encoder_decoder else {})}

    def wait() -> tuple[float, float]:
        """The time on the clock, and that of the CPU, which other processes disturb less."""
        if device != "cpu":
            torch.cuda.synchronize()
        return time.perf_counter(), time.process_time()

    def score() -> None:
        with torch.inference_mode():
            model(**inputs)

    optimizer = torch.optim.AdamW(model.parameters(), 1e-5)

    def train() -> None:
        logits = model(**inputs).logits
        torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()

    cells = []
    for work in (score, train):
        work()
        start = wait()
        work()
        seconds, of_cpu = (after - before for before, after in zip(start, wait(), strict=True))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if device != "cpu":
            peak = torch.cuda.max_memory_allocated()
        cells.append(f"{seconds:.2f} s ({of_cpu:.2f} s of CPU), {peak / GB:.1f} GB")
    depth = f"{layers} layers" if layers else "all layers"
    parameters = sum(p.numel() for p in model.parameters()) / 1e6
    print(f"| {name} | {depth}, {parameters:.0f} M | {' | '.join(cells)} |", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--measure", nargs="*", metavar="MODEL", help="models to time; without names, all")
    arguments.add_argument("--layers", type=int, help="of every model that is measured; by default all")
    arguments.add_argument("--rows", type=int, default=8, help="of a batch")
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--dtype", default="float32")
    chosen = arguments.parse_args()
    if chosen.measure is None:
        print_memory()
        return
    where = torch.cuda.get_device_name() if chosen.device != "cpu" else f"{torch.get_num_threads()} threads"
    load = f"load {os.getloadavg()[0]:.1f} at the start"
    print(f"{where}, {load}, {chosen.dtype}, {chosen.rows} rows of {TOKENS} tokens; time and peak memory of a batch")
    print("| model | size | score | train |\n| --- | --- | --- | --- |", flush=True)
    context = multiprocessing.get_context("spawn")
    for name in chosen.measure or MODELS:
        process = context.Process(target=measure, args=(name, chosen.layers, chosen.rows, chosen.device, chosen.dtype))
        process.start()
        process.join()
        if process.exitcode:
            print(f"| {name} | failed with exit code {process.exitcode} | | |", flush=True)


if __name__ == "__main__":
    main()
