"""Scoring of long files with `+exp=score`: rows a second and peak memory by the length of the file; Ray beside it.

Rows are built-in reviews (synthetic) with prefix and label. Each row of the table is one run of the command line; its
seconds include loading libraries, the model and Ray. With `--workers`, Ray's actors score the same file too, and the
outputs must have the same bytes; CPU time and memory are those of the process that writes the file.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from data.sets.attributes import builtin_reviews

ROOT = Path(__file__).resolve().parents[1]
MB = 1e6
REVIEWS = 2000  # different texts; a longer file repeats them


def write_rows(path: Path, rows: int) -> None:
    texts = builtin_reviews(train=1, held_out=1, rated=REVIEWS).rated[0].examples
    with path.open("w", encoding="utf-8") as file:
        for i, example in enumerate(itertools.islice(itertools.cycle(texts), rows)):
            record = {"id": str(i), "text": example.text, "prefix": example.prefix, "label": example.label}
            file.write(json.dumps(record) + "\n")


def run_score(folder: Path, rows: int, output: str, *settings: str) -> tuple[float, float, float]:
    """The seconds that a command took, those of the CPU in its process, and its peak memory in bytes."""
    command = [sys.executable, str(ROOT / "experiments/run.py"), "+exp=score", f"data.path={folder}/{rows}.jsonl"]
    where = [f"output={folder}/{output}", f"outputs={folder}/{output}_outputs"]
    start = time.perf_counter()
    process = subprocess.Popen([*command, *where, *settings], stdout=subprocess.DEVNULL, cwd=folder)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"failed: {' '.join(settings)}")
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000])
    arguments.add_argument("--metric", default="word_count")
    arguments.add_argument("--workers", type=int, help="also score with Ray, by this many actors")
    arguments.add_argument("--set", nargs="*", default=[], metavar="SETTING=VALUE", help="such as metric.model=FOLDER")
    chosen = arguments.parse_args()
    print(f"{chosen.metric}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f} at the start")
    print("| rows | engine | seconds | of CPU | rows a second | peak memory |", flush=True)
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows in chosen.rows:
            write_rows(folder / f"{rows}.jsonl", rows)
            engines = {"here": ()} | (
                {f"ray, {chosen.workers}": ("engine=ray", f"engine.workers={chosen.workers}")} if chosen.workers else {}
            )
            outputs = []
            for engine, settings in engines.items():
                outputs.append(f"{rows}_{len(outputs)}.jsonl")
                seconds, of_cpu, peak = run_score(
                    folder, rows, outputs[-1], f"metric={chosen.metric}", *chosen.set, *settings
                )
                cells = f"{seconds:.0f} | {of_cpu:.0f} | {rows / seconds:.0f} | {peak / MB:.0f} MB"
                print(f"| {rows:,} | {engine} | {cells} |", flush=True)
            if len({(folder / output).read_bytes() for output in outputs}) > 1:
                raise SystemExit("the engines wrote other bytes")


if __name__ == "__main__":
    main()
