"""What the terminal and the log say of the messages of a run."""

import logging
from pathlib import Path

import pytest

from experiments.runner.run_log import LineFormatter, RunLog
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


def test_messages_wait_until_the_log_begins(tmp_path: Path) -> None:
    file = tmp_path / "run.log"
    log = RunLog(str(file), encoding="utf-8")
    log.handle(write("matplotlib", "early"))
    assert not file.exists()
    log.begin()
    log.handle(write("cdm", "late"))
    assert file.read_text("utf-8") == "early\nlate\n"
    log.close()


def test_an_error_of_a_library_does_not_begin_the_log(tmp_path: Path) -> None:
    """The folder may be another run's; the terminal shows the error."""
    file = tmp_path / "run.log"
    log = RunLog(str(file), encoding="utf-8")
    log.handle(write("torch", "no driver", logging.ERROR))
    assert not file.exists()
    log.begin()
    assert file.read_text("utf-8") == "no driver\n"
    log.close()
