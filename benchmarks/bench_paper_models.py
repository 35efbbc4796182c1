"""The papers' models: how many parameters they have, what memory they need, and how long a step takes here.

The table of memory follows from the numbers of parameters: weights in float32 and bfloat16; training with AdamW (16
bytes for each parameter); LoRA beside frozen bfloat16 weights. Activations come on top. With `--measure`, models with
random weights of these widths and vocabularies score and train a batch, each in a new process. `--layers` makes
them shallower where memory or patience demands it.
"""

import multiprocessing
import resource
import time

import torch
from measuring import describe_machine, measure, print_header, print_row, read_arguments
from shapes import PAPER, build_random

GB = 1e9
TOKENS = 128  # of a row that is measured
LORA_RANK = 16
CARDS = (8, 24, 80)  # GB


def count_parameters(name: str) -> tuple[int, int]:
    """The parameters of a model, and those of LoRA's matrices beside its linear layers."""
    with torch.device("meta"):
        model = build_random(name)
    output = model.get_output_embeddings()
    linear = [m for m in model.modules() if type(m).__name__ in ("Linear", "Conv1D") and m is not output]
    return model.num_parameters(), sum(LORA_RANK * sum(m.weight.shape) for m in linear)


def print_memory() -> None:
    """What each model needs, and on which cards it fits with a tenth of the card left for activations."""
    print_header("model", "parameters", "score, float32", "score, bfloat16", "train, AdamW", "train, LoRA")
    for name in PAPER:
        count, small = count_parameters(name)
        needs = [need / GB for need in (4 * count, 2 * count, 16 * count, 2 * count + 16 * small)]
        cards = [next((f"{card} GB" for card in CARDS if need <= 0.9 * card), "several") for need in needs]
        cells = (f"{need:.1f} GB ({card})" for need, card in zip(needs, cards, strict=True))
        print_row(name, f"{count / 1e6:.0f} M", *cells)


def time_steps(name: str, layers: int | None, rows: int, device: str, dtype: str) -> None:
    """Prints the time of a scored and of a trained batch, each with the peak memory up to then."""
    model = build_random(name, layers).to(device, getattr(torch, dtype)).train()
    ids = torch.randint(200, 9000, (rows, TOKENS), device=device)
    inputs = {"input_ids": ids, **({"decoder_input_ids": ids} if model.config.is_encoder_decoder else {})}
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5)

    def score() -> None:
        with torch.inference_mode():
            model(**inputs)

    def train() -> None:
        logits = model(**inputs).logits
        torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()

    cells = []
    for work in (score, train):
        work()  # warm up
        of_cpu = measure(lambda work=work: measure(work, device), device, clock=time.process_time)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if device != "cpu":
            peak = torch.cuda.max_memory_allocated()
        cells.append(f"{of_cpu.found.seconds:.2f} s ({of_cpu.seconds:.2f} s of CPU), {peak / GB:.1f} GB")
    depth = f"{layers} layers" if layers else "all layers"
    print_row(name, f"{depth}, {model.num_parameters() / 1e6:.0f} M", *cells)


def main() -> None:
    chosen = read_arguments(
        __doc__,
        measure={"nargs": "*", "metavar": "MODEL", "help": "models to time; without names, all"},
        layers={"type": int, "help": "of every model that is measured; by default all"},
        rows=8,
        device="cpu",
        dtype="float32",
    )
    if chosen.measure is None:
        print_memory()
        return
    print(f"{describe_machine(chosen.device)}, {chosen.dtype}, {chosen.rows} rows of {TOKENS} tokens in a batch")
    print_header("model", "size", "score: time, peak memory", "train: time, peak memory")
    context = multiprocessing.get_context("spawn")
    for name in chosen.measure or PAPER:
        settings = (name, chosen.layers, chosen.rows, chosen.device, chosen.dtype)
        process = context.Process(target=time_steps, args=settings)
        process.start()
        process.join()
        if process.exitcode:
            print_row(name, f"failed with exit code {process.exitcode}", "", "")


if __name__ == "__main__":
    main()
