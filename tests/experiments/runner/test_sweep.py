"""Sweeps by Hydra's launchers in several processes on this machine, what they print, and what they refuse."""

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from experiments.runner.hardware import count_processes
from experiments.runner.sweep import launch

Start = Callable[..., "subprocess.Popen[str]"]
EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
SWEEP = ("-m", "+exp=toy", "seed=0,1", "logger=none", "run_dir=here", "outputs=out")

pytestmark = pytest.mark.filterwarnings("default")  # those of Lightning and of the launchers


def check_sweep(folder: Path, *files: str) -> None:
    """Two jobs with one stage and one joint table."""
    found = {path.name for path in (folder / "here").iterdir()}
    joint = {f"joint.{ending}" for ending in ("md", "csv", "tex", "png")}
    assert found == {"0", "1", "sweep.json", ".run", *joint, *files}
    jobs = json.loads((folder / "here" / "sweep.json").read_text("utf-8"))["jobs"]
    assert [(job["number"], job["settings"]["seed"], job["exit_code"]) for job in jobs] == [(0, "0", 0), (1, "1", 0)]
    assert len([path for path in (folder / "out" / "stages").iterdir() if path.is_dir()]) == 1
    joint = (folder / "here" / "joint.md").read_text("utf-8")
    assert joint.count("## ") == 3  # the jobs, the differences and the means over seeds
    assert "| seed | noise |\n| --- | --- |\n| 0 | " in joint


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
    assert out.count("Agreement of 2 jobs with quality of toys") == 1
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


def test_a_job_prints_one_line_and_its_folder(run: Callable[..., Any], tmp_path: Path) -> None:
    ended = run("-m", "+exp=toy", "gamma=0.25,0.75", "logger=none", "run_dir=here")
    first, second, *rest = ended.stdout.splitlines()
    assert re.fullmatch(r"gamma=0\.25: .+ s, here/0/report\.html", first)
    assert re.fullmatch(r"gamma=0\.75: .+ s, here/1/report\.html", second)
    assert rest[0].startswith("Agreement of 2 jobs with quality of toys")
    assert ended.stdout.count("the expert is a <toy>") == 1
    assert max(map(len, rest[:8])) <= 120


def test_a_sweep_of_a_tool_shows_its_estimates_or_figures(run: Callable[..., Any], tmp_path: Path) -> None:
    settings = (f"data.path={EXAMPLES}/summaries.jsonl", "output=-", "logger=none", "run_dir=here")
    ended = run("-m", "+exp=score", "metric=word_count,rouge_l", *settings)
    assert ended.returncode == 0, ended.stderr
    assert "| metric | mean quality |" in (tmp_path / "here/joint.md").read_text("utf-8")


@pytest.mark.parametrize("settings", [("trainer.devices=2",), ("trainer.devices=[0,1]",), ("trainer.num_nodes=2",)])
@pytest.mark.parametrize("launcher", [(), ("hydra/launcher=joblib",)], ids=["basic", "joblib"])
def test_a_sweep_whose_trainings_take_several_processes_is_refused(
    run: Callable[..., Any], tmp_path: Path, settings: tuple[str, ...], launcher: tuple[str, ...]
) -> None:
    ended = run("-m", "+exp=toy", "seed=0,1", "logger=none", "run_dir=here", *settings, *launcher)
    assert ended.returncode == 2
    refused, hint = ended.stderr.splitlines()
    assert "ask for 2: set trainer.devices=1 (hydra/launcher=joblib runs jobs at the same time)" in refused
    assert "or start a single run for each setting" in refused
    assert hint.endswith("--help` lists the settings")
    assert not (tmp_path / "here").exists()


def test_devices_of_a_sweep_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    named = {"auto": 4, "-1": 4, "2": 2, "0,1": 2, "0,": 1}
    for devices, count in named.items():
        trainer = {"accelerator": "gpu", "devices": devices, "num_nodes": 1}
        assert count_processes(OmegaConf.create({"trainer": trainer})) == count
    three_nodes = {"accelerator": "cpu", "devices": "auto", "num_nodes": 3}
    assert count_processes(OmegaConf.create({"trainer": three_nodes})) == 3


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
