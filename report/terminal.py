"""Terminal: standard streams, consoles and progress bars.

Results go to standard output, everything else to standard error. A finished run does not fail if nobody reads its
output, or if the disk to which it prints is full.
"""

from __future__ import annotations

import io
import logging
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from rich import progress as bars
from rich.console import Console

from core.configs import CONFIGS
from core.errors import printable
from core.hosts import set_network
from core.progress import Progress

log = logging.getLogger(__name__)

ROOMS = frozenset(path.parent.name for path in CONFIGS.parent.glob("*/__init__.py"))  # of this project
STAGES = "core.stages"
MINUTE = 60.0  # seconds between lines about a run that nobody watches
WIDTH_OF_A_FILE = 100_000  # characters: a line that is no table is not broken where the output is not a terminal
WIDTH_OF_A_TABLE = 120  # characters, where the output is not a terminal: what a log or a page shows without wrapping


def is_watched() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr.isatty()


def set_library_defaults(network: bool) -> None:
    """Sets the network, and environment variables that libraries read at import, unless the user has set them."""
    set_network(network)
    os.environ.setdefault("MPLBACKEND", "Agg")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # tokenizers would warn in forked data loaders
    if not is_watched():
        os.environ.setdefault("TQDM_DISABLE", "1")


def console(stderr: bool = False) -> Console:
    """Makes a console on standard output or standard error. Without a terminal it is wide enough for all columns."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDTH_OF_A_FILE
    # without emoji, for which rich takes the :m: in a name
    return Console(
        stderr=stderr,
        width=width,
        highlight=False,
        soft_wrap=stderr,
        emoji=False,
    )


def table_width(out: Console) -> int:
    """Returns the width of tables on a console: the width of the terminal, or a width that fits a log."""
    return WIDTH_OF_A_TABLE if out.width == WIDTH_OF_A_FILE else out.width


def print_file(path: Path) -> None:
    """Copies the bytes of a file to standard output, until the reader stops."""
    sys.stdout.flush()
    try:
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        drop(sys.stdout)


def say(message: str) -> None:
    """Prints a message on standard error, with control characters escaped."""
    print(printable(message), file=sys.stderr)


def describe_failure(error: BaseException, more: str) -> str:
    """Describes an unexpected error: its class and message, then `more`."""
    return f"failed: {type(error).__name__}: {str(error).strip() or '(no message)'}\n{more}"


class Terminal(logging.Handler):
    """Shows the messages of this project, and all errors but those marked as `unseen`; above progress bars.

    A message about a stage is shown once: several steps may need the same stage.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        is_own = record.name.split(".")[0] in ROOMS or record.levelno >= logging.ERROR
        is_repeated = record.name == STAGES and record.getMessage() in self.seen
        if is_own and not is_repeated and not hasattr(record, "unseen"):
            self.seen.add(record.getMessage())
            say(self.format(record))


@contextmanager
def show_messages() -> Iterator[None]:
    """Shows the messages of this project on standard error; warnings of libraries are not shown."""
    handler = Terminal()
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.removeHandler(handler)
        root.setLevel(level)


@contextmanager
def show_steps() -> Iterator[Progress]:
    """Shows the steps of a run: progress bars if stderr is a terminal, else a line per minute, also in run.log."""
    columns = (
        *(bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn()),
        *(bars.TimeElapsedColumn(), bars.TimeRemainingColumn()),
    )
    settings = {"disable": not is_watched(), "transient": True, "redirect_stdout": sys.stdout.isatty()}
    steps = bars.Progress(*columns, console=console(stderr=True), **settings)
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(MINUTE):
            if steps.tasks:
                log.info("%s", describe_steps(steps.tasks))

    @contextmanager
    def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        task = steps.add_task(what, total=total)
        try:
            yield partial(steps.advance, task)
        finally:
            steps.remove_task(task)

    if not is_watched():
        threading.Thread(target=tell, daemon=True).start()
    try:
        with steps:
            yield progress
    finally:
        ended.set()


def describe_steps(tasks: Iterable[bars.Task]) -> str:
    """Describes the steps that run, outer steps first. A step inside a step of the same name is shown in its place.

    >>> outer = bars.Task(0, "sampling", None, 0.0, _get_time=float)
    >>> inner = bars.Task(1, "sampling", 5.0, 2.0, _get_time=float)
    >>> describe_steps([outer, inner])
    'sampling 2 of 5'
    """
    by_name = {task.description: task for task in tasks}
    return ", ".join(map(describe_step, by_name.values()))


def describe_step(task: bars.Task) -> str:
    """Describes a step and how far it is.

    >>> describe_step(bars.Task(0, "sampling", 5.0, 2.0, _get_time=lambda: 1.0))
    'sampling 2 of 5'
    """
    done = f" {task.completed:.0f} of {task.total:.0f}" if task.total else ""
    left = f" ({task.time_remaining / 60:.0f} minutes left)" if task.time_remaining else ""
    return f"{task.description}{done}{left}"


class StandardStream(io.TextIOWrapper):
    """Standard output or standard error; output is dropped if its reader is gone (`| head -1`) or the disk is full."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError:
            drop(self)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            drop(self)


def drop(stream: IO[str]) -> None:
    """Discards the buffer of a stream and everything written later."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def open_streams() -> None:
    """Replaces standard output and standard error by `StandardStream`s; what their encoding lacks becomes an escape."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and stream is getattr(sys, f"__{name}__"):
            at_once = {"line_buffering": stream.line_buffering, "write_through": stream.write_through}
            setattr(sys, name, StandardStream(stream.buffer, stream.encoding, "backslashreplace", **at_once))
