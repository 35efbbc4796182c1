"""Journal: run.log. It records all log messages and warnings; the terminal shows those of this project, and all errors.

Messages wait in memory until the run folder exists, so that a run with faulty input leaves no files.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from pathlib import Path

from rich.logging import RichHandler

from core.configs import CONFIGS
from core.faults import printable
from experiments.runner import terminal
from experiments.runner.redaction import RedactingFormatter

ROOMS = frozenset(path.parent.name for path in CONFIGS.parent.glob("*/__init__.py"))  # of this project
QUIET = ("httpx", "httpcore", "urllib3", "filelock", "matplotlib", "PIL", "fsspec", "asyncio", "git", "wandb")
OWN_HANDLERS = ("pytorch_lightning", "lightning_fabric")  # if imported before a run begins, they write to the terminal
LINE = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


class LineFormatter(RedactingFormatter):
    """Formats a log record without secrets, and with its control characters as escapes."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        return printable(super().format(record))


class LogFile(logging.FileHandler):
    """A log file. Where it cannot be written (a full disk), stderr says so once; the run goes on."""

    is_told = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802, logging's name
        """Reports the exception that is being handled."""
        self._tell(sys.exception())

    def close(self) -> None:
        """Writes what is left and closes the file."""
        try:
            super().close()
        except OSError as error:
            self._tell(error)

    def _tell(self, error: BaseException | None) -> None:
        if not self.is_told:
            self.is_told = True
            terminal.say(f"cannot write {self.baseFilename}: {error}")


class Journal:
    """The log of one run. It stays in memory until `write_to` is called."""

    def __init__(self) -> None:
        self.waiting = MemoryHandler(capacity=100_000, flushLevel=logging.CRITICAL + 1, flushOnClose=False)
        self.file: LogFile | None = None

    def write_to(self, path: Path) -> None:
        """Writes all messages so far to `path`, and later messages as they arrive."""
        self.file = LogFile(path, encoding="utf-8")
        self.file.setFormatter(LineFormatter(LINE))
        self.waiting.setTarget(self.file)
        self.waiting.flush()
        root = logging.getLogger()
        root.removeHandler(self.waiting)
        root.addHandler(self.file)

    @property
    def writes(self) -> bool:
        """Whether the log has a file yet."""
        return self.file is not None

    def add(self, text: str) -> None:
        """Writes a text to the file only."""
        if self.file is not None:
            self.file.handle(
                logging.makeLogRecord({"name": __name__, "levelno": 40, "levelname": "ERROR", "msg": text})
            )

    def close(self) -> None:
        """Detaches the log from the root logger."""
        root = logging.getLogger()
        for handler in (self.waiting, self.file):
            if handler is not None:
                root.removeHandler(handler)
                handler.close()


@contextmanager
def journal() -> Iterator[Journal]:
    """Sets up logging for a run, and restores the earlier setup at the end."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    kept = Journal()
    shown = _terminal_handler()
    shown.addFilter(lambda record: record.name.split(".")[0] in ROOMS or record.levelno >= logging.ERROR)
    root.handlers = [kept.waiting, shown]
    root.setLevel(logging.INFO)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in OWN_HANDLERS:
        library = logging.getLogger(name)
        library.handlers.clear()
        library.propagate = True
    logging.captureWarnings(True)
    try:
        yield kept
    finally:
        kept.close()
        logging.captureWarnings(False)
        root.handlers = before
        root.setLevel(level)


def _terminal_handler() -> logging.Handler:
    if terminal.is_watched():  # rich prints log lines above a progress bar
        rich = RichHandler(
            console=terminal.console(stderr=True), show_path=False, show_level=False, log_time_format="%H:%M:%S"
        )
        rich.setFormatter(LineFormatter("%(message)s"))
        return rich
    plain = logging.StreamHandler()
    plain.setFormatter(LineFormatter("%(asctime)s %(message)s", "%H:%M:%S"))
    return plain


def quiet_libraries() -> None:
    """Makes transformers log through `logging`, without progress bars when stderr is not a terminal.

    Call it after transformers is imported, because the import adds a handler to its logger.
    """
    transformers = sys.modules.get("transformers")
    if transformers is not None:
        transformers.logging.disable_default_handler()
        transformers.logging.enable_propagation()
        if not terminal.is_watched():
            transformers.logging.disable_progress_bar()
