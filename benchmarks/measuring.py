"""What the benchmarks share: arguments, the line about the machine, the timer, and the table."""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch.utils.flop_counter import FlopCounterMode

Found = TypeVar("Found")


@dataclass(frozen=True)
class Measured(Generic[Found]):
    """The result of some work, and its seconds."""

    found: Found
    seconds: float


def read_arguments(description: str | None, **arguments: Any) -> Any:
    """The command line: each argument as its default, or as a mapping of what `add_argument` takes."""
    parser = argparse.ArgumentParser(description=description)
    for name, given in arguments.items():
        options = given if isinstance(given, dict) else {"default": given, "type": type(given)}
        parser.add_argument(f"--{name}", **options)
    return parser.parse_args()


def describe_machine(device: str = "cpu") -> str:
    """The processor or the GPU, and how busy it is."""
    load = f"load {os.getloadavg()[0]:.1f} at the start"
    if device != "cpu":
        return f"{torch.cuda.get_device_name()}, {load}"
    return f"{len(os.sched_getaffinity(0))} cores, {torch.get_num_threads()} threads, {load}"


def measure(
    work: Callable[[], Found],
    device: str = "cpu",
    parts: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Measured[Found]:
    """Times the work, seconds for each of its `parts`; waits for what runs on a GPU."""

    def read_clock() -> float:
        if device != "cpu":
            torch.cuda.synchronize()
        return clock()

    start = read_clock()
    found = work()
    return Measured(found, (read_clock() - start) / parts)


def reset_peak(device: str = "cpu") -> None:
    """From now on `read_peak` counts anew (Linux, or a GPU)."""
    if device == "cpu":
        Path("/proc/self/clear_refs").write_text("5")
    else:
        torch.cuda.reset_peak_memory_stats()


def read_peak(device: str = "cpu") -> float:
    """The most memory that this process held since `reset_peak`, model and libraries included; of a GPU, its own."""
    if device != "cpu":
        return float(torch.cuda.max_memory_allocated())
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * float(status["VmHWM"].split()[0])


def show_range(values: Sequence[float], shape: str = ".2f") -> str:
    """The median, and in brackets the lowest and the highest.

    >>> show_range([3, 1, 2])
    '2.00 [1.00, 3.00]'
    """
    return f"{statistics.median(values):{shape}} [{min(values):{shape}}, {max(values):{shape}}]"


def count_products(work: Callable[[], object]) -> int:
    """The floating-point operations of the matrix products."""
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def measure_products() -> float:
    """Operations per second in large float32 matrix products, which sets the limit for every model."""
    a = torch.randn(2048, 2048)
    torch.mm(a, a)
    return 2 * 2048**3 / measure(lambda: [torch.mm(a, a) for _ in range(8)], parts=8).seconds


def print_row(*cells: Any) -> None:
    """A row of a Markdown table, at once; numbers with three digits."""
    shown = (f"{cell:.0f}" if isinstance(cell, float) and abs(cell) >= 100 else cell for cell in cells)
    print("|", " | ".join(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in shown), "|", flush=True)


def print_header(*columns: str) -> None:
    """The head of a Markdown table."""
    print_row(*columns)
    print_row(*("---" for _ in columns))


def print_comparison(what: str, plain: Measured[Any], here: Measured[Any], *cells: Any) -> None:
    """The row of a comparison: seconds of the plain way, seconds here, and their ratio."""
    print_row(what, plain.seconds, here.seconds, plain.seconds / here.seconds, *cells)
