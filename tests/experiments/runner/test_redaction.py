"""Secrets of the environment are in no file that a run leaves, and in no line that it prints."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.runner.redaction import RedactingFormatter, redact

TOKEN = "hf_Planted0123456789"


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("SHORT_KEY", "abc")


def test_values_are_replaced_by_their_names() -> None:
    assert redact(f"Bearer {TOKEN}, abc") == "Bearer <HF_TOKEN>, abc"


def test_a_traceback_is_logged_without_secrets() -> None:
    try:
        raise ValueError(f"401 for {TOKEN}")
    except ValueError as error:
        record = logging.makeLogRecord({"msg": f"asked with {TOKEN}", "exc_info": (ValueError, error, None)})
    line = RedactingFormatter("%(message)s").format(record)
    assert TOKEN not in line
    assert line.count("<HF_TOKEN>") == 2


@pytest.mark.filterwarnings("default")  # the toy's own
def test_no_file_of_a_run_holds_a_secret(
    run_here: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_here("+exp=toy", "ending=${oc.env:HF_TOKEN}", "run_dir=here") == 0
    assert run_here("+exp=toy", f"ending={TOKEN}", "seed=-1") == 2
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 8
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]
    assert "ending: <HF_TOKEN>" in (tmp_path / "here" / "config.yaml").read_text("utf-8")
    said = capsys.readouterr()
    assert TOKEN not in said.out + said.err
