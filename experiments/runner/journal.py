"""Journal: run.log. Everything that is logged and every warning goes there; the terminal sees what our rooms say.

Lines from before the run folder exists wait in memory: a run with faulty input leaves nothing behind.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from pathlib import Path

from rich.logging import RichHandler

from experiments.runner import terminal

ROOMS = (
    "baselines",
    "cdm",
    "core",
    "ctrl_eval",
    "data",
    "discriminators",
    "experiments",
    "language_models",
    "mars",
    "oumg",
)
QUIET = ("httpx", "httpcore", "urllib3", "filelock", "matplotlib", "PIL", "fsspec", "asyncio", "git", "wandb")
LINE = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


class Journal:
    """The log of one run, in memory until `write_to` names its folder."""

    def __init__(self) -> None:
        self.waiting = MemoryHandler(capacity=100_000, flushLevel=logging.CRITICAL + 1, flushOnClose=False)
        self.file: logging.FileHandler | None = None

    def write_to(self, path: Path) -> None:
        """Writes what has been said so far to `path`, and what follows as it comes."""
        self.file = logging.FileHandler(path, encoding="utf-8")
        self.file.setFormatter(logging.Formatter(LINE))
        self.waiting.setTarget(self.file)
        self.waiting.flush()
        root = logging.getLogger()
        root.removeHandler(self.waiting)
        root.addHandler(self.file)

    @property
    def writes(self) -> bool:
        """Whether there is a file yet."""
        return self.file is not None

    def add(self, text: str) -> None:
        """Writes a text to the file only."""
        if self.file is not None:
            self.file.handle(
                logging.makeLogRecord({"name": __name__, "levelno": 40, "levelname": "ERROR", "msg": text})
            )

    def close(self) -> None:
        """Takes the log off again."""
        root = logging.getLogger()
        for handler in (self.waiting, self.file):
            if handler is not None:
                root.removeHandler(handler)
                handler.close()


@contextmanager
def journal() -> Iterator[Journal]:
    """Logging as it is during a run; as it was before, afterwards."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    kept = Journal()
    shown = _terminal_handler()
    shown.addFilter(lambda record: record.name.split(".")[0] in ROOMS or record.levelno >= logging.ERROR)
    root.handlers = [kept.waiting, shown]
    root.setLevel(logging.INFO)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(True)
    try:
        yield kept
    finally:
        kept.close()
        logging.captureWarnings(False)
        root.handlers = before
        root.setLevel(level)


def _terminal_handler() -> logging.Handler:
    if terminal.is_watched():  # goes well with progress bars
        return RichHandler(
            console=terminal.console(stderr=True), show_path=False, show_level=False, log_time_format="%H:%M:%S"
        )
    plain = logging.StreamHandler()
    plain.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    return plain


def hush_libraries() -> None:
    """Libraries that print past logging are told to log instead; their bars are off where nobody looks.

    To be called after they are imported: transformers puts its own handler on its logger at import.
    """
    transformers = sys.modules.get("transformers")
    if transformers is not None:
        transformers.logging.disable_default_handler()
        transformers.logging.enable_propagation()
        if not terminal.is_watched():
            transformers.logging.disable_progress_bar()
