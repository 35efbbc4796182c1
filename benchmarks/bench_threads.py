"""Threads of small models: how long a training step takes when the machine is quiet, and when another process is busy.

OpenMP threads wait for one another after every product. While they spin, they take the core from whoever would let them
go on, so that a busy neighbour slows small products down far beyond its share. Each row is a new process, because the
settings are read once: the number of threads, and how long a thread spins before it sleeps (GOMP_SPINCOUNT of GNU's
OpenMP, which PyTorch's packages for Linux hold; OMP_WAIT_POLICY=PASSIVE is a count of 0).
"""

import os
import statistics
import subprocess
import sys
import time

from measuring import describe_machine, print_header, print_row, read_arguments

STEP = """
import sys, time, statistics, torch
torch.manual_seed(0)
layers = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(96, 4, 288, 0.0, batch_first=True), 5)
x = torch.randn(16, 60, 96)
def step():
    start = time.perf_counter()
    layers(x).square().mean().backward()
    return time.perf_counter() - start
until = time.perf_counter() + float(sys.argv[1])
taken = [step() for _ in range(3)]
while time.perf_counter() < until:
    taken.append(step())
print(statistics.median(taken[3:] or taken))
"""
BUSY = "while True: pass"
SETTINGS: dict[str, dict[str, str]] = {
    "as installed": {},
    "spins 100,000": {"GOMP_SPINCOUNT": "100000"},
    "spins 10,000": {"GOMP_SPINCOUNT": "10000"},
    "spins 1,000": {"GOMP_SPINCOUNT": "1000"},
    "passive": {"OMP_WAIT_POLICY": "PASSIVE"},
}


def step_seconds(settings: dict[str, str], threads: int, seconds: float) -> float:
    """The median time of a step in a new process."""
    unset = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"OMP_NUM_THREADS": str(threads), **settings}
    command = [sys.executable, "-c", STEP, str(seconds)]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    chosen = read_arguments(
        __doc__,
        seconds={"type": float, "default": 5, "help": "of measuring, for each row"},
        repeats={"type": int, "default": 3, "help": "of each row, in turn; the median is shown"},
    )
    cores = len(os.sched_getaffinity(0))
    rows = [(name, threads) for threads in dict.fromkeys((cores, 1)) for name in SETTINGS]
    rows = [row for row in rows if row[1] > 1 or row[0] == "as installed"]  # one thread never waits
    print(f"{describe_machine()}; median ms of a step")
    taken: dict[tuple[str, int, bool], list[float]] = {}
    for _ in range(chosen.repeats):
        for busy in (False, True):
            other = subprocess.Popen([sys.executable, "-c", BUSY]) if busy else None
            try:
                time.sleep(0.5)
                for name, threads in rows:
                    seconds = step_seconds(SETTINGS[name], threads, chosen.seconds)
                    taken.setdefault((name, threads, busy), []).append(seconds)
            finally:
                if other is not None:
                    other.kill()
                    other.wait()
    print_header("setting", "threads", "quiet", "busy", "ratio")
    for name, threads in rows:
        quiet, busy = (1000 * statistics.median(taken[name, threads, state]) for state in (False, True))
        print_row(name, threads, quiet, busy, busy / quiet)


if __name__ == "__main__":
    main()
