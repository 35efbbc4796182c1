"""Journal: run.log. It records all log messages and warnings; the terminal shows those of this project, and all errors.

Messages wait in memory until the run folder exists, so that a run with faulty input leaves no files.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from logging.handlers import MemoryHandler
from pathlib import Path

from core.configs import CONFIGS
from core.errors import printable
from experiments.runner.redaction import redact
from judge import terminal

ROOMS = frozenset(path.parent.name for path in CONFIGS.parent.glob("*/__init__.py"))  # of this project
QUIET = ("httpx", "httpcore", "urllib3", "filelock", "matplotlib", "PIL", "fsspec", "asyncio", "git", "wandb", "absl")
OWN_HANDLERS = ("pytorch_lightning", "lightning_fabric")  # if imported before a run begins, they write to the terminal
LINE = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


class LineFormatter(logging.Formatter):
    """Formats a log record, its traceback included, without secrets, and with its control characters as escapes."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(redact(super().format(record)))


class LogFile(logging.FileHandler):
    """A log file. Where it cannot be written (a full disk), stderr says so once; the run goes on."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802, logging's name
        if self in logging.getLogger().handlers:
            logging.getLogger().removeHandler(self)
            terminal.say(f"cannot write {self.baseFilename}: {sys.exception()}")

    def close(self) -> None:
        with suppress(OSError):
            super().close()


class Journal:
    """The log of one run. It stays in memory until `write_to` is called."""

    def __init__(self) -> None:
        self.waiting = MemoryHandler(capacity=100_000, flushLevel=logging.CRITICAL + 1)
        # whether the log has a file yet
        self.writes = False

    def write_to(self, path: Path) -> None:
        """Writes all messages so far to `path`, and later messages as they arrive."""
        self.writes = True
        file, root = LogFile(path, encoding="utf-8"), logging.getLogger()
        file.setFormatter(LineFormatter(LINE))
        root.removeHandler(self.waiting)
        root.addHandler(file)
        self.waiting.setTarget(file)
        self.waiting.close()


@contextmanager
def journal() -> Iterator[Journal]:
    """Sets up logging for a run, and restores the earlier setup at the end."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    kept, shown = Journal(), Terminal()
    found = FirstFinding()
    shown.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    root.handlers = [kept.waiting, shown]
    root.setLevel(logging.INFO)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    for library in map(logging.getLogger, OWN_HANDLERS):
        library.handlers.clear()
        library.propagate = True
    logging.captureWarnings(True)
    logging.getLogger("core.stages").addFilter(found)
    try:
        yield kept
    finally:
        logging.getLogger("core.stages").removeFilter(found)
        logging.captureWarnings(False)
        for handler in root.handlers:
            handler.close()
        root.handlers = before
        root.setLevel(level)


class FirstFinding(logging.Filter):
    """Lets a message about a stage pass once in a run: several steps may need the same stage."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        is_new = message not in self.seen
        self.seen.add(message)
        return is_new


class Terminal(logging.Handler):
    """Shows the messages of this project, and all errors but those marked as `unseen`; above progress bars."""

    def emit(self, record: logging.LogRecord) -> None:
        is_own = record.name.split(".")[0] in ROOMS or record.levelno >= logging.ERROR
        if is_own and not hasattr(record, "unseen"):
            terminal.say(self.format(record))


def quiet_libraries() -> None:
    """Makes transformers log through `logging`, without progress bars.

    Call it after transformers is imported, because the import adds a handler to its logger.
    """
    transformers = sys.modules.get("transformers")
    if transformers is not None:
        transformers.logging.disable_default_handler()
        transformers.logging.enable_propagation()
        transformers.logging.disable_progress_bar()
