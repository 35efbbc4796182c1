"""The whole program (`make run`): the seconds of every stage against the limit that the machine's matrix speed sets.

The limit of a stage is the number of operations in its matrix products, divided by the speed of large products. The
program runs twice: once as a user runs it, for the seconds, and once with every product counted.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from machine import matrix_speed
from torch.utils.flop_counter import FlopCounterMode

from experiments.contracts import Run
from experiments.run import main as run

ROOT = Path(__file__).resolve().parents[1]
GOAL = 2.5  # times the limit, for a long stage
LONG = 10  # seconds that make a stage long


def count_products(settings: list[str], folder: Path) -> dict[str, int]:
    """The operations in matrix products of every stage."""
    counts: dict[str, int] = {}
    timed = Run.timed

    @contextlib.contextmanager
    def counted(self: Run, step: str) -> Iterator[None]:
        with timed(self, step), FlopCounterMode(display=False) as counter:
            yield
        counts[step] = counts.get(step, 0) + counter.get_total_flops()

    Run.timed = counted
    try:
        if run([*settings, f"outputs={folder}", f"run_dir={folder}/run"]):
            raise SystemExit("the run failed")
    finally:
        Run.timed = timed
    return counts


def run_alone(settings: Sequence[str], folder: Path) -> dict[str, Any]:
    """The content of results.json of a run in a new process; its output is not shown."""
    program = [
        sys.executable,
        str(ROOT / "experiments/run.py"),
        *settings,
        f"outputs={folder}",
        f"run_dir={folder}/run",
    ]
    subprocess.run(program, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return json.loads((folder / "run/results.json").read_text("utf-8"))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("settings", nargs="*", default=["+exp=cdm_dialogue"], help="of the run")
    settings = [*arguments.parse_args().settings, "logger=none"]
    speed = matrix_speed()
    print(
        f"{torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f} at the start, "
        f"{speed / 1e9:.0f} GFLOP/s in large products"
    )
    with tempfile.TemporaryDirectory() as folder:
        seconds = run_alone(settings, Path(folder) / "timed")["timings"]
        counts = count_products(settings, Path(folder) / "counted")
    print(f"{'stage':44}{'seconds':>9}{'GFLOP':>10}{'limit':>8}{'ratio':>8}")
    for stage, taken in sorted(seconds.items(), key=lambda each: -each[1]):
        limit = counts.get(stage, 0) / speed
        ratio = taken / limit if limit else float("inf")
        above = "  above the goal" if taken >= LONG and ratio > GOAL else ""
        print(f"{stage:44}{taken:9.1f}{counts.get(stage, 0) / 1e9:10.0f}{limit:8.1f}{ratio:8.1f}{above}")
    print(f"{'together':44}{sum(seconds.values()):9.1f}")


if __name__ == "__main__":
    main()
