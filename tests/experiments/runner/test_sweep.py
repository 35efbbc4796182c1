"""Sweeps by Hydra's launchers in several processes on this machine, what they print, and what they refuse."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.conftest import TOY

ROOT = Path(__file__).parents[3]
SWEEP = ("-m", "+exp=toy", "seed=0,1", "logger=none", "hydra.sweep.dir=here", "outputs=out")

pytestmark = pytest.mark.filterwarnings("default")  # those of Lightning and of the launchers


def run_alone(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Runs a command in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(TOY)}
    program = [sys.executable, str(ROOT / "experiments" / "run.py"), "--config-dir", str(TOY)]
    settings: Any = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
    return subprocess.run([*program, *words], timeout=300, check=False, **settings)


def check_sweep(folder: Path, *files: str) -> None:
    """Two jobs with one stage and one joint table."""
    found = {path.name for path in (folder / "here").iterdir()}
    joint = {f"{name}.{ending}" for name in ("joint", "over_seeds") for ending in ("md", "csv", "tex")}
    assert found == {"0", "1", "sweep.json", "multirun.yaml", *joint, *files}
    found = json.loads((folder / "here" / "sweep.json").read_text("utf-8"))
    assert {"-m", "+exp=toy", "seed=0,1", "hydra.sweep.dir=here"} < {*found["command"]}
    jobs = found["jobs"]
    assert [(job["number"], job["settings"]["seed"], job["exit_code"]) for job in jobs] == [(0, "0", 0), (1, "1", 0)]
    assert len([path for path in (folder / "out" / "stages").iterdir() if path.is_dir()]) == 1
    joint = (folder / "here" / "joint.md").read_text("utf-8")
    assert joint.startswith("| seed | set | aspect | metric | n | spearman | difference |\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("launcher", "files"),
    [(("hydra/launcher=joblib", "hydra.launcher.n_jobs=2"), ()), (("hydra/launcher=submitit_local",), (".submitit",))],
    ids=["joblib", "submitit"],
)
def test_processes_of_a_sweep_share_stages(tmp_path: Path, launcher: tuple[str, ...], files: tuple[str, ...]) -> None:
    ended = run_alone(tmp_path, *SWEEP, *launcher)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("2 jobs\n") == 1
    check_sweep(tmp_path, *files)


def test_a_job_prints_one_line_and_its_folder(run: Callable[..., Any], tmp_path: Path) -> None:
    ended = run("-m", "+exp=toy", "gamma=0.25,0.75", "logger=none", "hydra.sweep.dir=here")
    first, second, *rest = [line for line in ended.stdout.splitlines() if "[HYDRA]" not in line]
    assert re.fullmatch(r"gamma=0\.25: .+ s, here/0/report\.html", first)
    assert re.fullmatch(r"gamma=0\.75: .+ s, here/1/report\.html", second)
    assert rest[0] == "2 jobs"
    assert re.search(r"! again: python experiments/run\.py -m .*\+exp=toy gamma=0\.25,0\.75 logger=none", ended.stdout)
    assert ended.stdout.count("the expert is a <toy>") == 1
    assert max(map(len, rest[:8])) <= 120


def test_a_dry_run_of_a_sweep_says_what_each_job_needs(run: Callable[..., Any], tmp_path: Path) -> None:
    ended = run(*SWEEP, "dry_run=true")
    assert (ended.returncode, ended.stdout.count("toy can run")) == (0, 2)
    jobs = json.loads((tmp_path / "here" / "sweep.json").read_text("utf-8"))["jobs"]
    assert [(job["exit_code"], job["has_results"]) for job in jobs] == [(0, False), (0, False)]


@pytest.mark.usefixtures("no_training")
def test_a_sweep_whose_trainings_take_several_processes_is_refused(run: Callable[..., Any], tmp_path: Path) -> None:
    ended = run("-m", "+exp=toy", "seed=0,1", "logger=none", "hydra.sweep.dir=here", "trainer.num_nodes=2")
    assert ended.returncode == 2
    refused, again = ended.stderr.splitlines()
    assert "asks for 2: set trainer.devices=1 (hydra/launcher=joblib runs jobs at the same time)" in refused
    assert "or start a single run for each setting" in refused
    assert again == refused
    assert not [*tmp_path.rglob("results.json")]


ENDINGS = ("-m", "+exp=toy", "logger=none", "hydra.sweep.dir=here", "ending=fine,failure,faults")


def check_endings(folder: Path) -> None:
    """Three jobs, of which the second failed and the third had a faulty input."""
    jobs = json.loads((folder / "here/sweep.json").read_text("utf-8"))["jobs"]
    codes = [(job["settings"]["ending"], job["exit_code"]) for job in jobs]
    assert codes == [("fine", 0), ("failure", 1), ("faults", 2)]
    assert json.loads((folder / "here/0/results.json").read_text("utf-8"))["command"][-1] == "ending=fine"


def test_a_sweep_ends_with_the_worst_code_and_shows_the_jobs_that_failed(run: Callable[..., Any], tmp_path: Path):
    ended = run(*ENDINGS)
    assert ended.returncode == 2
    check_endings(tmp_path)
    assert "job 1 failed (1): " in ended.stdout


@pytest.mark.slow
def test_jobs_in_other_processes_end_with_the_worst_code(tmp_path: Path) -> None:
    ended = run_alone(tmp_path, *ENDINGS, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
    assert ended.returncode == 2, ended.stderr
    check_endings(tmp_path)
    assert "job 1 failed (1): " in ended.stdout


def test_a_table_that_cannot_be_made_is_a_failure(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Hydra makes a warning of an exception in a callback."""
    monkeypatch.setattr("experiments.runner.sweep.show", lambda *_: 1 / 0)
    ended = run("-m", "+exp=toy", "logger=none", "ending=faults", "hydra.sweep.dir=here")
    assert ended.returncode == 1
    assert "ZeroDivisionError" in ended.stderr


def test_an_earlier_sweep_in_the_folder_is_forgotten(run: Callable[..., Any], tmp_path: Path) -> None:
    run(*SWEEP, "dry_run=true")
    assert run("-m", "+exp=toy", "logger=none", "ending=faults", "hydra.sweep.dir=here").returncode == 2
    assert len(json.loads((tmp_path / "here/sweep.json").read_text("utf-8"))["jobs"]) == 1
