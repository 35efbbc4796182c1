"""Scoring of long files with `+exp=score`: rows a second and peak memory by the length of the file; Ray beside it.

Rows are built-in reviews (synthetic) with prefix and label. Each row of the table is one run of the command line; its
seconds include loading libraries, the model and Ray. With `--workers`, Ray's actors score the same file too, and the
outputs must have the same bytes; CPU time and memory are those of the process that writes the file.
"""

import itertools
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from measuring import describe_machine, measure, print_header, print_row, read_arguments

from data.files import write_examples
from data.sets.attributes import builtin_reviews

ROOT = Path(__file__).resolve().parents[1]
MB = 1e6
REVIEWS = 2000  # different texts; a longer file repeats them


def write_rows(path: Path, rows: int) -> None:
    texts = builtin_reviews(train=1, held_out=1, rated=REVIEWS).rated[0].examples
    repeated = enumerate(itertools.islice(itertools.cycle(texts), rows))
    write_examples(path, [replace(example, id=str(i), system=None, group=None, ratings={}) for i, example in repeated])


# The peak memory of a process begins with that of its parent, so a small process starts the command.
WAIT = """
import os, subprocess, sys
_, status, used = os.wait4(subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL).pid, 0)
print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
sys.exit(status != 0)
"""


def run_score(rows: Path, output: Path, *settings: str) -> tuple[float, float]:
    """Runs the command; returns its seconds of CPU and its peak memory in bytes."""
    where = (f"data.path={rows}", f"output={output}", f"outputs={output}_outputs")
    command = [sys.executable, str(ROOT / "experiments/run.py"), "+exp=score", *where, *settings]
    waited = subprocess.run([sys.executable, "-c", WAIT, *command], stdout=subprocess.PIPE, text=True, cwd=rows.parent)
    if waited.returncode:
        raise SystemExit(f"failed: {' '.join(settings)}")
    seconds, peak = map(float, waited.stdout.split())
    return seconds, peak


def main() -> None:
    chosen = read_arguments(
        __doc__,
        rows={"type": int, "nargs": "+", "default": [1000, 10_000]},
        metric="word_count",
        workers={"type": int, "help": "also score with Ray, by this many actors"},
        set={"nargs": "*", "default": [], "metavar": "SETTING=VALUE", "help": "such as metric.model=FOLDER"},
    )
    engines: dict[str, tuple[str, ...]] = {"here": ()}
    if chosen.workers:
        engines[f"ray, {chosen.workers}"] = ("engine=ray", f"engine.workers={chosen.workers}")
    print(f"{chosen.metric}, {describe_machine()}")
    print_header("rows", "engine", "seconds", "of CPU", "rows a second", "peak memory")
    with tempfile.TemporaryDirectory() as name:
        for rows in chosen.rows:
            given, contents = Path(name) / f"{rows}.jsonl", set[bytes]()
            write_rows(given, rows)
            for number, (engine, settings) in enumerate(engines.items()):
                output, each = (
                    Path(name) / f"{rows}_{number}.jsonl",
                    (f"metric={chosen.metric}", *chosen.set, *settings),
                )
                done = measure(lambda given=given, output=output, each=each: run_score(given, output, *each))
                of_cpu, peak = done.found
                print_row(f"{rows:,}", engine, done.seconds, of_cpu, rows / done.seconds, f"{peak / MB:.0f} MB")
                contents.add(output.read_bytes())
            if len(contents) > 1:
                raise SystemExit("the engines wrote other bytes")


if __name__ == "__main__":
    main()
