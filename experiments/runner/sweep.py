"""Sweep: a callback of Hydra that joins the jobs of a sweep (`-m`) into one table."""

import json
import shutil
import traceback
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from hydra.conf import HydraConf
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from report import terminal

FINE, FAILED, BAD_INPUT = 0, 1, 2  # exit codes
SLURM_LAUNCHER = ".SlurmLauncher"  # how its path ends
SLURM_COMMAND = "srun"
JOB = "job.json"  # in the folder of a job: its number, settings and exit code
KEPT = ("signature", "notes", "figures", "table", "seconds")  # of a job's results.json


class JointTable(Callback):
    """Prints one table of all jobs of a sweep, writes it and sweep.json, and exits with the worst exit code."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Removes what an earlier sweep left in the same folder.

        Raises SystemExit if SLURM is not there to run jobs.
        """
        refuse_without_cluster(config.hydra.launcher)
        for file in Path(config.hydra.sweep.dir).rglob(JOB):
            file.unlink()

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Joins the jobs. Raises SystemExit with the worst exit code of the jobs.

        Hydra turns any other exception of a callback into a warning.
        """
        folder = Path(config.hydra.sweep.dir).resolve()
        try:
            jobs = read_jobs(folder)
            write_sweep(jobs, list(config.hydra.overrides.task), folder)
            show(jobs, folder)
            exit_code = max((job["exit_code"] for job in jobs), default=FAILED)
        except Exception:
            terminal.say(traceback.format_exc())
            exit_code = FAILED
        raise SystemExit(exit_code)


def refuse_without_cluster(launcher: DictConfig) -> None:
    """Prints what is missing, and raises SystemExit, if SLURM shall run the jobs on a machine without its commands."""
    is_slurm = str(launcher.get("_target_")).endswith(SLURM_LAUNCHER)
    if is_slurm and shutil.which(SLURM_COMMAND) is None:
        rule = f"hydra/launcher=slurm needs the commands of SLURM, but {SLURM_COMMAND} is not on this machine"
        terminal.say(f"{rule}: start the sweep on a node of the cluster, or leave the launcher out")
        raise SystemExit(BAD_INPUT)


def write_job(folder: Path, hydra: HydraConf, exit_code: int, *, is_dry: bool) -> None:
    """Writes a file into the folder of a job: its exit code, its settings, and whether it has results."""
    settings = split_settings(hydra.overrides.task)
    has_results = exit_code == FINE and not is_dry
    job = {"number": hydra.job.num, "settings": settings, "exit_code": exit_code, "has_results": has_results}
    (folder / JOB).write_text(json.dumps(job) + "\n", encoding="utf-8")


def name_job(hydra: HydraConf) -> str:
    """Names a job by the settings that vary in the sweep, with the job's values."""
    from report.jobs import name_settings  # imports numpy, which the first line of a run must not wait for

    named = name_settings(split_settings(hydra.overrides.task), list_varied(hydra))
    return named or f"job {hydra.job.num}"


def list_varied(hydra: HydraConf) -> list[str]:
    """Lists the settings that a sweep varies, from the file that Hydra's sweeper writes."""
    file = Path(hydra.sweep.dir) / "multirun.yaml"
    if not file.is_file():  # of another sweeper
        return []
    sweep = OmegaConf.load(file).hydra
    overrides = OverridesParser.create().parse_overrides(list(sweep.overrides.task))
    varied = [override for override in overrides if override.is_sweep_override()]
    names = [override.get_key_element().lstrip("+") for override in varied]
    return [*names, *(sweep.sweeper.params or ())]


def split_settings(settings: Sequence[str]) -> dict[str, str]:
    """Splits settings of a command line into names and values.

    >>> split_settings(["+exp=toy", "gamma=0.5"])
    {'exp': 'toy', 'gamma': '0.5'}
    """
    pairs = (setting.lstrip("+").partition("=") for setting in settings)
    return {name: value for name, _, value in pairs}


def read_jobs(folder: Path) -> list[dict[str, Any]]:
    """Reads the jobs of a sweep in order, with their results."""
    jobs = [read_job(file) for file in folder.rglob(JOB)]
    return sorted(jobs, key=lambda job: job["number"])


def read_job(file: Path) -> dict[str, Any]:
    """Reads the file of a job and the results beside it; returns the entry that sweep.json will have for the job."""
    job = {**json.loads(file.read_text("utf-8")), "folder": str(file.parent)}
    if not job["has_results"]:
        return job
    results = json.loads((file.parent / "results.json").read_text("utf-8"))
    kept = {key: results[key] for key in KEPT if key in results}
    return job | kept


def write_sweep(jobs: Sequence[dict[str, Any]], overrides: Sequence[str], folder: Path) -> None:
    """Writes sweep.json."""
    from report.results import write_json

    write_json({"command": ["python", "experiments/run.py", "-m", *overrides], "jobs": jobs}, folder / "sweep.json")


def show(jobs: Sequence[dict[str, Any]], folder: Path) -> None:
    """Prints the joint table of the jobs with results, and lists the jobs that failed.

    Writes the table in several forms if jobs have different settings.
    """
    from report.jobs import Job
    from report.joint import join_jobs  # draws with matplotlib, which a start without a run does not need
    from report.wording import literal

    console = terminal.console()
    width = terminal.table_width(console)
    with_results = [Job.read(Path(job["folder"]), job["settings"]) for job in jobs if job["has_results"]]
    if with_results:
        joint = join_jobs(with_results)
        for table in joint.fit_tables(width):
            console.print(table.to_terminal(width))
        for note in [*joint.notes, *list_notes(jobs)]:
            console.print(f"[bold yellow]![/] {literal(note)}")
        if len(with_results) > 1 and joint.whole.rows:
            joint.write(folder)
            console.print(literal(f"{folder}/joint.md"))
    for job in jobs:
        if job["exit_code"] != FINE:
            failure = f"job {job['number']} failed ({job['exit_code']}): {job['folder']}/run.log"
            console.print(literal(failure))
    console.print(literal(f"{folder}/sweep.json"))


def list_notes(jobs: Sequence[dict[str, Any]]) -> list[str]:
    """Lists the notes that all jobs share, and a note that counts the others, which are in the jobs' reports."""
    by_job = [dict.fromkeys(job["notes"]) for job in jobs if job["has_results"]]
    counts = Counter(chain.from_iterable(by_job))
    shared = [note for note, count in counts.items() if count == len(by_job)]
    others = len(counts) - len(shared)
    if others:
        shared.append(f"{others} more notes are in the reports of single jobs")
    return shared
