"""Sweeps by Hydra's launchers in several processes on this machine."""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.runner.sweep import launch

Start = Callable[..., "subprocess.Popen[str]"]
SWEEP = ("-m", "+exp=toy", "seed=0,1", "logger=none", "run_dir=here", "outputs=out")

pytestmark = pytest.mark.filterwarnings("default")  # those of Lightning and of the launchers


def check_sweep(folder: Path, *files: str) -> None:
    """Two jobs with one stage and one joint table."""
    found = {path.name for path in (folder / "here").iterdir()}
    assert found == {"0", "1", "sweep.json", "joint.md", ".run", *files}
    jobs = json.loads((folder / "here" / "sweep.json").read_text("utf-8"))["jobs"]
    assert [(job["number"], job["settings"]["seed"], job["exit_code"]) for job in jobs] == [(0, "0", 0), (1, "1", 0)]
    assert len([path for path in (folder / "out" / "stages").iterdir() if path.is_dir()]) == 1
    jobs_and_means = (folder / "here" / "joint.md").read_text("utf-8").split("\n\n")
    assert [len(table.splitlines()) for table in jobs_and_means] == [4, 4]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("launcher", "files"),
    [(("hydra/launcher=joblib", "hydra.launcher.n_jobs=2"), ()), (("hydra/launcher=submitit_local",), (".submitit",))],
    ids=["joblib", "submitit"],
)
def test_processes_of_a_sweep_share_stages(
    start: Start, tmp_path: Path, launcher: tuple[str, ...], files: tuple[str, ...]
) -> None:
    process = start(*SWEEP, *launcher)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert out.count("2 jobs") == 1
    check_sweep(tmp_path, *files)


def test_when_a_launcher_loses_a_job_the_others_are_kept(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_one(jobs: Sequence[Sequence[str]], *others: Any) -> None:
        launch(jobs[:1], *others)
        raise RuntimeError("a worker was killed")

    assert run(*SWEEP).returncode == 0
    monkeypatch.setattr("experiments.runner.sweep.launch", lose_one)
    ended = run(*SWEEP)
    assert ended.returncode == 1
    assert "failed: RuntimeError: a worker was killed\n1 of 2 jobs ended" in ended.stderr
    assert [job["number"] for job in json.loads((tmp_path / "here/sweep.json").read_text("utf-8"))["jobs"]] == [0]


def test_a_sweep_ends_with_the_worst_code_and_shows_the_jobs_that_failed(run: Callable[..., Any], tmp_path: Path):
    ended = run("-m", "+exp=toy", "logger=none", "ending=fine,failure,faults", "run_dir=here")
    assert ended.returncode == 2
    jobs = json.loads((tmp_path / "here/sweep.json").read_text("utf-8"))["jobs"]
    assert [(job["settings"]["ending"], job["exit_code"]) for job in jobs] == [
        ("fine", 0),
        ("failure", 1),
        ("faults", 2),
    ]
    assert "job 1 failed (1): " in ended.stdout
    assert json.loads((tmp_path / "here/0/results.json").read_text("utf-8"))["command"][-1] == "ending=fine"
