"""Sweep: a callback of Hydra that joins the jobs of a sweep (`-m`) into one table."""

import json
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from hydra.conf import HydraConf
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from report import terminal

FINE, FAILED, BAD_INPUT = 0, 1, 2  # exit codes
JOB = "job.json"  # in the folder of a job: its number, settings and exit code
KEPT = ("signature", "notes", "figures", "table", "seconds")  # of a job's results.json


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
            jobs = sorted(map(read_job, folder.rglob(JOB)), key=lambda job: job["number"])
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
    """Writes a file into the folder of a job: its exit code, its settings, and whether it has results."""
    job = {"number": hydra.job.num, "settings": split_settings(hydra.overrides.task), "exit_code": exit_code}
    job["has_results"] = exit_code == FINE and not is_dry
    (folder / JOB).write_text(json.dumps(job) + "\n", encoding="utf-8")


def name_job(hydra: HydraConf) -> str:
    """Names a job by the settings that vary in the sweep, with the job's values."""
    from report.joint import name_settings

    file = Path(hydra.sweep.dir) / "multirun.yaml"  # which Hydra's own sweeper writes
    varied: list[str] = []
    if file.is_file():
        sweep = OmegaConf.load(file).hydra
        overrides = OverridesParser.create().parse_overrides(list(sweep.overrides.task))
        varied += [override.get_key_element().lstrip("+") for override in overrides if override.is_sweep_override()]
        varied += sweep.sweeper.params or ()
    return name_settings(split_settings(hydra.overrides.task), varied) or f"job {hydra.job.num}"


def split_settings(settings: Sequence[str]) -> dict[str, str]:
    """Splits settings of a command line into names and values.

    >>> split_settings(["+exp=toy", "gamma=0.5"])
    {'exp': 'toy', 'gamma': '0.5'}
    """
    pairs = (setting.lstrip("+").partition("=") for setting in settings)
    return {name: value for name, _, value in pairs}


def read_job(file: Path) -> dict[str, Any]:
    """Reads the file of a job and the results beside it; returns the entry that sweep.json will have for the job."""
    job = {**json.loads(file.read_text("utf-8")), "folder": str(file.parent)}
    if not job["has_results"]:
        return job
    results = json.loads((file.parent / "results.json").read_text("utf-8"))
    return job | {key: results[key] for key in KEPT if key in results}


def show(jobs: Sequence[Mapping[str, Any]], folder: Path, command: Sequence[str]) -> None:
    """Prints the joint table of the jobs with results, and lists the jobs that failed.

    Writes the table in several forms if there are several jobs.
    """
    from report.joint import Job, join_jobs  # with numpy, which a start without a run does not need
    from report.results import write_tables
    from report.wording import literal

    console = terminal.console()
    finished = [job for job in jobs if job["has_results"]]
    if finished:
        joint = join_jobs([Job.read(Path(job["folder"]), job["settings"]) for job in finished], command)
        notes = list_notes([job["notes"] for job in finished])
        replace(joint, notes=[*joint.notes, *notes]).print(console)
        if len(finished) > 1:
            write_tables(joint.tables, folder)
            console.print(literal(f"{folder}/joint.md"))
    for job in jobs:
        if job["exit_code"] != FINE:
            console.print(literal(f"job {job['number']} failed ({job['exit_code']}): {job['folder']}/run.log"))
    console.print(literal(f"{folder}/sweep.json"))


def list_notes(by_job: Sequence[Sequence[str]]) -> list[str]:
    """Lists the notes that all jobs share, and a note that counts the others, which are in the jobs' reports."""
    counts = Counter(chain.from_iterable(map(dict.fromkeys, by_job)))
    shared = [note for note, count in counts.items() if count == len(by_job)]
    others = len(counts) - len(shared)
    return [*shared, f"{others} more notes are in the reports of single jobs"] if others else shared
