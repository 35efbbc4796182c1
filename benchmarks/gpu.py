"""All checks that need a GPU, in one run: `make gpu` prints them, so that anyone with a GPU can send the table.

Parity: float32 on CPU and on CUDA give the same log-probabilities (1e-4); bfloat16 stands beside them. Speed: MARS at
the size of GPT-2-large (goal: .05 s for a reference, 64 at once), and CTRLEval at the size of PEGASUS-large. Nothing
here needs a checkpoint or the network.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

from benchmarks.bench import describe_machine, print_header, print_row
from models.causal import CausalLM
from models.seq2seq import Seq2SeqLM
from models.tiny import train_tokenizer
from tests.random_models import build_random

ROOT = Path(__file__).resolve().parents[1]
PARITY = 1e-4
BENCHMARKS = {
    "MARS, GPT-2-large": ("mars", "--models", "GPT-2-large", "--rows", "64", "--runs", "1"),
    "CTRLEval, PEGASUS-large": ("ctrl_eval", "--models", "PEGASUS-large", "--rows", "60"),
}


def print_parity() -> bool:
    """Prints the largest differences between log-probabilities on CUDA and those in float32 on the CPU, in nats.

    Returns whether the differences of float32 on CUDA are at most PARITY.
    """
    tokenizer = train_tokenizer(["the cat sat on the mat"], 300)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(20, 290, (64, 48), generator=generator)
    pairs = [(row[:20], row[20:]) for row in ids.tolist()]
    print_header("model", "precision", "largest difference from the CPU, nats")
    holds = True
    for name, kind in (("small GPT-2", CausalLM), ("T5-small", Seq2SeqLM)):
        model = build_random(name)
        expected = kind(model, tokenizer).log_probabilities(pairs)
        for dtype in (torch.float32, torch.bfloat16):
            scores = kind(model.to("cuda", dtype), tokenizer).log_probabilities(pairs)
            worst = max(float(np.abs(a - b).max()) for a, b in zip(expected, scores, strict=True))
            print_row(name, str(dtype).removeprefix("torch."), f"{worst:.1e}")
            holds &= dtype != torch.float32 or worst <= PARITY
    return holds


def main() -> None:
    if not torch.cuda.is_available():
        raise SystemExit(f"no GPU: torch {torch.__version__} finds no CUDA device here, so nothing was checked")
    print(f"{describe_machine()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    torch.backends.cuda.matmul.allow_tf32 = False
    failed = [] if print_parity() else ["parity"]
    for title, settings in BENCHMARKS.items():
        print(f"\n{title}", flush=True)
        command = [sys.executable, "-m", "benchmarks.bench", *settings, "--device", "cuda"]
        if subprocess.run(command, cwd=ROOT).returncode:
            failed.append(title)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
