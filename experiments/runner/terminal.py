"""Terminal: standard streams, consoles and progress bars.

Results go to standard output, everything else to standard error. A finished run does not fail because nobody reads what
it prints, or because the disk is full to which it prints its tables.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from core.faults import printable
from experiments.runner.redaction import redact

WIDTH_OF_A_FILE = 100_000  # characters: a table has all columns where the output is not a terminal


def program() -> tuple[str, ...]:
    """The words of a command line before its settings, as this process was started."""
    return ("judge",) if Path(sys.argv[0]).stem == "judge" else ("python", "experiments/run.py")


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


class StandardStream(io.TextIOWrapper):
    """Standard output or standard error. What nobody reads any more (`| head -1`), or no disk holds, is dropped."""

    def write(self, text: str, /) -> int:
        """Writes a text, or drops it."""
        try:
            return super().write(text)
        except OSError:
            drop(self)
            return len(text)

    def flush(self) -> None:
        """Writes what is left, or drops it."""
        try:
            super().flush()
        except OSError:
            drop(self)


def drop(stream: IO[str]) -> None:
    """Sends what is left in a stream, and all that follows, nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def open_streams() -> None:
    """Opens standard streams that are closed (`>&-`), as if they led nowhere, and makes the others `StandardStream`s.

    A character that the encoding lacks is then written as an escape.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number; a file of the run would take it otherwise
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
        elif number and (stream := getattr(sys, name)) is getattr(sys, f"__{name}__"):
            lines = stream.line_buffering
            setattr(sys, name, StandardStream(stream.buffer, stream.encoding, "backslashreplace", line_buffering=lines))
