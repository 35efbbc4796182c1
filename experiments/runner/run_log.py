"""The log of a run, `run.log`, and what libraries add to it (`configs/hydra/job_logging/run.yaml` has the terminal)."""

import logging
import sys
from pathlib import Path

from core.errors import printable

FILE = "run.log"
# of these libraries only warnings; with INFO sentence-transformers shows bars
QUIET = ("httpx", "httpcore", "urllib3", "filelock", "matplotlib", "PIL", "fsspec", "asyncio", "git", "wandb", "absl")
QUIET += ("sentence_transformers",)
OWN_HANDLERS = ("pytorch_lightning", "lightning_fabric")  # if imported before a run begins, they write to the terminal


class LineFormatter(logging.Formatter):
    """Formats a log record, its traceback included, with its control characters as escapes."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def begin_log(folder: Path) -> None:
    """Writes the messages from now on into `run.log` too. Call it once the folder belongs to the run."""
    root = logging.getLogger()
    path = str(folder.absolute() / FILE)
    if any(isinstance(handler, logging.FileHandler) and handler.baseFilename == path for handler in root.handlers):
        return
    handler = logging.FileHandler(path, encoding="utf-8", delay=True)  # no file without messages
    handler.setFormatter(LineFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    root.addHandler(handler)


def quiet_libraries() -> None:
    """Sends the messages and warnings of libraries to the log alone.

    Call it after a library is imported, because the import adds a handler to its logger.
    """
    logging.captureWarnings(True)
    for name in (*QUIET, *OWN_HANDLERS):
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in OWN_HANDLERS:
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
    transformers = sys.modules.get("transformers")
    if transformers is not None:
        transformers.logging.disable_default_handler()
        transformers.logging.enable_propagation()
        transformers.logging.disable_progress_bar()


def shorten(path: Path) -> str:
    """The path relative to the current folder if it lies below it, else the absolute path."""
    path = path.resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
