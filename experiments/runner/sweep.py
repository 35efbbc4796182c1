"""Sweep: a callback of Hydra that joins the jobs of a sweep (`-m`) into one table."""

import json
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydra.conf import HydraConf
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from report import terminal

FINE, FAILED, BAD_INPUT = 0, 1, 2  # exit codes
JOB = "job.json"  # in the folder of a job: its number, settings and exit code


class JointTable(Callback):
    """Prints one table of all jobs of a sweep, writes it and sweep.json, and exits with the worst exit code."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Removes what an earlier sweep left in the same folder."""
        for file in Path(config.hydra.sweep.dir).rglob(JOB):
            file.unlink()

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Joins the jobs. Raises SystemExit with the worst exit code of the jobs.

        Hydra turns any other exception of a callback into a warning.
        """
        from report.results import write_json  # with numpy, which a start without a run does not need

        folder = Path(config.hydra.sweep.dir).resolve()
        options = [word for word in config.hydra.overrides.hydra if not word.startswith("hydra.mode=")]
        command = name_command(config.hydra, "-m", *options)
        try:
            jobs = [json.loads(file.read_text("utf-8")) for file in folder.rglob(JOB)]
            jobs.sort(key=lambda job: job["number"])
            write_json({"command": command, "jobs": jobs}, folder / "sweep.json")
            show(jobs, folder, command)
            exit_code = max((job["exit_code"] for job in jobs), default=FAILED)
        except Exception:
            terminal.say(traceback.format_exc())
            exit_code = FAILED
        raise SystemExit(exit_code)


def name_command(hydra: HydraConf | DictConfig, *options: str) -> list[str]:
    """Lists the words of a command line that repeats an experiment, one job of a sweep, or with `-m` a sweep."""
    sources = hydra.runtime.config_sources
    folders = [f"--config-dir={source.path}" for source in sources if source.provider == "command-line"]
    return ["python", "experiments/run.py", *options, *folders, *hydra.overrides.task]


def write_job(
    folder: Path,
    hydra: HydraConf,
    exit_code: int,
    *,
    is_dry: bool,
) -> None:
    """Writes the entry of a job in sweep.json into the folder of the job."""
    job = {
        "number": hydra.job.num,
        "settings": split_settings(hydra.overrides.task),
        "folder": str(folder),
        "exit_code": exit_code,
        "has_results": exit_code == FINE and not is_dry,
    }
    (folder / JOB).write_text(json.dumps(job) + "\n", encoding="utf-8")


def name_job(hydra: HydraConf) -> str:
    """Names a job by those of its settings that the sweep varies."""
    file = Path(hydra.sweep.dir) / "multirun.yaml"  # which Hydra's own sweeper writes
    typed = OmegaConf.load(file).hydra.overrides.task if file.is_file() else ()
    return ", ".join(word for word in hydra.overrides.task if word not in typed) or f"job {hydra.job.num}"


def split_settings(settings: Sequence[str]) -> dict[str, str]:
    """Splits settings of a command line into names and values.

    >>> split_settings(["+exp=toy", "gamma=0.5"])
    {'exp': 'toy', 'gamma': '0.5'}
    """
    pairs = (setting.lstrip("+").partition("=") for setting in settings)
    return {name: value for name, _, value in pairs}


def show(jobs: Sequence[Mapping[str, Any]], folder: Path, command: Sequence[str]) -> None:
    """Prints the joint table of the jobs with results and the notes that they share, and lists the jobs that failed.

    Writes the table in several forms if there are several jobs.
    """
    from report.joint import Job, join_jobs  # with numpy, which a start without a run does not need
    from report.results import write_tables
    from report.wording import literal

    console = terminal.console()
    finished = [Job.read(Path(job["folder"]), job["settings"]) for job in jobs if job["has_results"]]
    if finished:
        joint = join_jobs(finished, command)
        by_job = [job.results["notes"] for job in finished]
        shared = [note for note in by_job[0] if all(note in notes for notes in by_job)]
        replace(joint, notes=[*joint.notes, *shared]).print(console)
        if len(finished) > 1:
            write_tables(joint.tables, folder)
            console.print(literal(f"{folder}/joint.md"))
    for job in jobs:
        if job["exit_code"] != FINE:
            console.print(literal(f"job {job['number']} failed ({job['exit_code']}): {job['folder']}/run.log"))
    console.print(literal(f"{folder}/sweep.json"))
