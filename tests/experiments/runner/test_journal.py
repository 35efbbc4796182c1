"""The journal of a run: what its terminal and its log say."""

import logging
from pathlib import Path

import pytest

from experiments.runner.journal import journal

STAGES = logging.getLogger("core.stages")


def test_a_stage_that_several_steps_need_is_named_once_in_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # runs in one process, as the jobs of a sweep
        with journal() as kept:
            kept.write_to(tmp_path / "run.log")
            for name in ("momentum-1", "momentum-1", "expert-2"):
                STAGES.info("found %s", name)
        said = [line.partition(" ")[2] for line in capsys.readouterr().err.splitlines()]
        assert said == ["found momentum-1", "found expert-2"]
    assert (tmp_path / "run.log").read_text("utf-8").count("found momentum-1") == 2
