"""The log of a run: its file and format (`configs/hydra/job_logging/run.yaml`), and what libraries add to it."""

import logging
import sys

from core.errors import printable

QUIET_LIBRARIES = (
    "httpx",
    "httpcore",
    "urllib3",
    "filelock",
    "matplotlib",
    "PIL",
    "fsspec",
    "asyncio",
    "git",
    "wandb",
    "absl",
    "sentence_transformers",  # with INFO it shows bars
)
OWN_HANDLERS = ("pytorch_lightning", "lightning_fabric")  # if imported before a run begins, they write to the terminal


class LineFormatter(logging.Formatter):
    """Formats a log record, its traceback included, with its control characters as escapes."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


class RunLog(logging.FileHandler):
    """Writes `run.log`. Messages wait until the run has claimed its folder, or has failed (`begin_log`).

    Libraries may log, also errors, while they are imported, when it is not yet known that the folder belongs to the
    run.
    """

    def __init__(self, filename: str, encoding: str) -> None:
        super().__init__(filename, encoding=encoding, delay=True)
        self.has_begun = False
        self.waiting: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.waiting.append(record)
        if self.has_begun:
            self.begin()

    def begin(self) -> None:
        """Writes the messages that have waited. Later messages are written at once."""
        self.has_begun = True
        for record in self.waiting:
            super().emit(record)
        self.waiting.clear()


def begin_log() -> None:
    """Lets the log of this run write into its folder."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, RunLog):
            handler.begin()


def quiet_libraries() -> None:
    """Sends the messages and warnings of libraries to the log alone.

    Call it after a library is imported, because the import adds a handler to its logger.
    """
    logging.captureWarnings(True)
    for name in QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
    for library in map(logging.getLogger, OWN_HANDLERS):
        library.handlers.clear()
        library.propagate = True
        library.setLevel(logging.WARNING)
    transformers = sys.modules.get("transformers")
    if transformers is not None:
        transformers.logging.disable_default_handler()
        transformers.logging.enable_propagation()
        transformers.logging.disable_progress_bar()
