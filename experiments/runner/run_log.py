"""The log of a run: its handlers and formatters (`configs/hydra/job_logging/run.yaml`)."""

import logging
import sys

from core.configs import CONFIGS
from core.errors import printable
from judge import terminal

ROOMS = frozenset(path.parent.name for path in CONFIGS.parent.glob("*/__init__.py"))  # of this project
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
STAGES = "core.stages"


class LineFormatter(logging.Formatter):
    """Formats a log record, its traceback included, with its control characters as escapes."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


class Terminal(logging.Handler):
    """Shows the messages of this project, and all errors but those marked as `unseen`; above progress bars.

    A message about a stage is shown once: several steps may need the same stage.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        room, *_ = record.name.split(".")
        message = record.getMessage()
        is_shown = room in ROOMS or record.levelno >= logging.ERROR
        is_repeated = record.name == STAGES and message in self.seen
        if is_shown and not is_repeated and not hasattr(record, "unseen"):
            self.seen.add(message)
            terminal.say(self.format(record))


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
    transformers = sys.modules.get("transformers")
    if transformers is not None:
        transformers.logging.disable_default_handler()
        transformers.logging.enable_propagation()
        transformers.logging.disable_progress_bar()
