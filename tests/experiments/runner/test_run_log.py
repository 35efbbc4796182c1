"""What the terminal and the log say of the messages of a run."""

import logging
from pathlib import Path

import pytest

from experiments.runner.run_log import LineFormatter, begin_log
from report.terminal import Terminal


def write(name: str, message: str, level: int = logging.INFO, **more: object) -> logging.LogRecord:
    record = logging.makeLogRecord({"name": name, "levelno": level, "msg": message})
    vars(record).update(more)
    return record


def test_the_terminal_shows_what_is_ours_and_all_errors(capsys: pytest.CaptureFixture[str]) -> None:
    handler = Terminal()
    handler.handle(write("cdm.sampling", "ours"))
    handler.handle(write("torch", "theirs"))
    handler.handle(write("torch", "their error", logging.ERROR))
    handler.handle(write("experiments", "a traceback", logging.ERROR, unseen=True))
    assert capsys.readouterr().err == "ours\ntheir error\n"


def test_a_stage_that_several_steps_need_is_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    handler = Terminal()
    for name in ("momentum-1", "momentum-1", "expert-2"):
        handler.handle(write("core.stages", f"found {name}"))
    assert capsys.readouterr().err == "found momentum-1\nfound expert-2\n"


def test_a_log_line_holds_no_control_characters() -> None:
    assert LineFormatter("%(message)s").format(write("a", "\x1b[2J\u202e")) == "\\x1b[2J\\u202e"


def test_the_log_begins_where_it_is_asked_for(tmp_path: Path) -> None:
    root = logging.getLogger()
    handlers = root.handlers[:]
    for _ in range(2):  # once
        begin_log(tmp_path)
    (log,) = set(root.handlers) - set(handlers)
    log.handle(write("cdm", "late"))
    log.close()
    root.handlers = handlers
    assert (tmp_path / "run.log").read_text("utf-8").count("cdm: late\n") == 1
