"""All checks that need a GPU, in one run: `make gpu` prints them, so that anyone with a GPU can send the table.

Parity: float32 on CPU and on CUDA give the same log-probabilities (1e-4); bfloat16 stands beside them. Speed: MARS in
lockstep at the size of GPT-2-large (goal: .05 s for a reference, 64 at once), guidance at 124 M and 1 B parameters
(goal: 1.10 times the unguided time at k = 32 and 1.15 at k = 200), CTRLEval at the size of PEGASUS-large, the papers'
models, and a CDM pair of 10 M and 60 M parameters from scratch. Nothing here needs a checkpoint or the network.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from bench_run import run_alone
from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

from models.causal import CausalLM
from models.seq2seq import Seq2SeqLM
from models.tiny import initialise_model, train_tokenizer

ROOT = Path(__file__).resolve().parents[1]
PARITY = 1e-4
GPU = ("--device", "cuda")
BENCHMARKS: dict[str, tuple[str, ...]] = {
    "MARS in lockstep, GPT-2-large": (
        "bench_augmentation.py",
        "--size",
        "large",
        *GPU,
        "--plain",
        "1",
        "--single",
        "2",
    ),
    "Guidance, 124 M": ("bench_guidance.py", *GPU, "--full"),
    "Guidance, 1 B": ("bench_guidance.py", *GPU, "--full", "--size", "1b", "--dtype", "bfloat16"),
    "CTRLEval, PEGASUS-large": ("bench_ctrl_eval.py", *GPU, "--size", "large", "--rows", "60"),
    "The papers' models, float32": ("bench_paper_models.py", *GPU, "--measure"),
    "The papers' models, bfloat16": ("bench_paper_models.py", *GPU, "--measure", "--dtype", "bfloat16"),
}
PAIR = (  # 10 M and 60 M parameters
    *("+exp=cdm_dialogue", "trainer=gpu", "model.device=cuda", "logger=none", "data.train=20000"),
    *("model.width={amateur: 384, expert: 768}", "model.inner={amateur: 1536, expert: 3072}"),
    *("model.amateur.model.num_attention_heads=6", "model.amateur.model.num_hidden_layers=5"),
    *("model.expert.model.num_attention_heads=12", "model.expert.model.num_hidden_layers=8"),
)


def print_parity() -> bool:
    """Prints the largest differences from float32 on the CPU; returns whether float32 on CUDA keeps to PARITY."""
    tokenizer = train_tokenizer(["the cat sat on the mat"], 300)
    ids = torch.randint(20, 290, (64, 48), generator=torch.Generator().manual_seed(0)).tolist()
    pairs = [(row[:20], row[20:]) for row in ids]
    gpt2 = GPT2Config(vocab_size=50_257, n_embd=512, n_layer=6, n_head=8, bos_token_id=1, eos_token_id=1)
    t5 = T5Config(vocab_size=32_128, d_model=512, d_ff=2048, num_layers=6, num_heads=8)
    t5.decoder_start_token_id = 0
    kinds: list[tuple[str, Any, Any]] = [
        ("GPT-2", CausalLM, initialise_model(GPT2LMHeadModel, gpt2, 0)),
        ("T5", Seq2SeqLM, initialise_model(T5ForConditionalGeneration, t5, 0)),
    ]
    holds = True
    for name, kind, model in kinds:
        expected = kind(model.eval(), tokenizer).log_probabilities(pairs)
        for dtype in (torch.float32, torch.bfloat16):
            found = kind(model.to("cuda", dtype), tokenizer).log_probabilities(pairs)
            worst = max(float(abs(a - b).max()) for a, b in zip(expected, found, strict=True))
            print(f"{name:8}{str(dtype).removeprefix('torch.'):10} largest difference from the CPU {worst:.1e} nats")
            holds &= dtype != torch.float32 or worst <= PARITY
    return holds


def print_pair() -> None:
    """Trains the CDM pair, and prints the seconds of every stage and the agreement."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        results = run_alone(PAIR, Path(folder))
    for stage, seconds in results["timings"].items():
        print(f"{stage:44}{seconds:9.1f} s")
    for name, value in results["figures"].items():
        print(f"{name:60}{value}")
    print(f"whole run {time.perf_counter() - start:.0f} s")


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    if not torch.cuda.is_available():
        raise SystemExit(f"no GPU: torch {torch.__version__} finds no CUDA device here, so nothing was checked")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    torch.backends.cuda.matmul.allow_tf32 = False
    failed = [] if print_parity() else ["parity"]
    for title, (file, *settings) in BENCHMARKS.items():
        print(f"\n{title}", flush=True)
        done = subprocess.run([sys.executable, str(ROOT / "benchmarks" / file), *settings], cwd=ROOT)
        failed += [title] * bool(done.returncode)
    print("\nCDM pair from scratch", flush=True)
    print_pair()
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
