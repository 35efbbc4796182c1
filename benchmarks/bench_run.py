"""The whole program (`make run`): the seconds of every stage against the limit that the machine's matrix speed sets.

The limit of a stage is the number of operations in its matrix products, divided by the speed of large products. The
program runs twice: once as a user runs it, for the seconds, and once with every product counted.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from measuring import describe_machine, measure_products, print_header, print_row, read_arguments
from torch.utils.flop_counter import FlopCounterMode

from experiments.contracts import Run
from experiments.run import main as run

ROOT = Path(__file__).resolve().parents[1]
GOAL = 2.5  # times the limit, for a long stage
LONG = 10  # seconds that make a stage long


def count_products(settings: Sequence[str], folder: Path) -> dict[str, int]:
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
    program = [sys.executable, str(ROOT / "experiments/run.py"), *settings]
    where = [f"outputs={folder}", f"run_dir={folder}/run"]
    subprocess.run([*program, *where], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return json.loads((folder / "run/results.json").read_text("utf-8"))


def main() -> None:
    settings = {"nargs": "*", "default": ["+exp=cdm_dialogue"], "help": "of the run"}
    chosen = [*read_arguments(__doc__, settings=settings).settings, "logger=none"]
    speed = measure_products()
    print(f"{describe_machine()}, {speed / 1e9:.0f} GFLOP/s in large products")
    with tempfile.TemporaryDirectory() as folder:
        seconds = run_alone(chosen, Path(folder) / "timed")["timings"]
        counts = count_products(chosen, Path(folder) / "counted")
    print_header("stage", "GFLOP", "limit, s", "here, s", "ratio", "")
    for stage, taken in sorted(seconds.items(), key=lambda each: -each[1]):
        limit = counts.get(stage, 0) / speed
        ratio = taken / limit if limit else float("inf")
        above = "above the goal" if taken >= LONG and ratio > GOAL else ""
        print_row(stage, counts.get(stage, 0) / 1e9, limit, taken, ratio, above)
    print_row("together", "", "", sum(seconds.values()), "", "")


if __name__ == "__main__":
    main()
