"""Terminal: progress bars and consoles. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from core.faults import printable
from experiments.runner.redaction import redact
from experiments.runner.streams import drop

WIDTH_OF_A_FILE = 100_000  # characters: a table has all columns where the output is not a terminal


def is_watched() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr.isatty()


def console(stderr: bool = False) -> Console:
    """A console on standard output or standard error; if that is not a terminal, it is wide enough for all columns."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else WIDTH_OF_A_FILE, highlight=False, soft_wrap=stderr)


def print_file(path: Path) -> None:
    """Copies the bytes of a file to standard output, as far as somebody reads them."""
    sys.stdout.flush()
    try:
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        drop(sys.stdout)


def say(message: str) -> None:
    """Prints a message on standard error, without secrets; its control characters are shown, not obeyed."""
    print(printable(redact(message)), file=sys.stderr)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Shows a progress bar of `total` steps if stderr is a terminal; yields `advance(steps)`."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not is_watched(), transient=True) as bar:
        task = bar.add_task(what, total=total)

        def advance(steps: int) -> None:
            bar.advance(task, steps)

        yield advance
