"""What reaches the terminal during a run, and what only run.log."""

import logging
from pathlib import Path

import pytest

from experiments.runner.journal import journal


def test_a_library_with_a_handler_of_its_own_writes_into_the_log_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lightning = logging.getLogger("pytorch_lightning")
    own, propagated = lightning.handlers[:], lightning.propagate
    lightning.addHandler(logging.StreamHandler())
    lightning.propagate = False
    try:
        with journal() as kept:
            logging.getLogger("pytorch_lightning.utilities.rank_zero").info("GPU available: False")
            for room in ("cdm", "judge", "meta_eval"):
                logging.getLogger(f"{room}.module").info("said by %s", room)
            kept.write_to(tmp_path / "run.log")
    finally:
        lightning.handlers, lightning.propagate = own, propagated
    shown = capsys.readouterr().err
    assert "GPU" not in shown
    assert all(f"said by {room}" in shown for room in ("cdm", "judge", "meta_eval"))
    assert "GPU available: False" in (tmp_path / "run.log").read_text("utf-8")
