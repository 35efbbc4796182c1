"""Sweep: one experiment under many settings (`-m`). Hydra's launchers run the jobs, each in its own run folder."""

import json
import os
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks  # has no public name; a launcher needs it
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig, OmegaConf

from experiments.runner.configuration import ROOT, search_path
from experiments.runner.execution import FAILED, FINE, execute
from experiments.runner.hardware import refuse_processes
from experiments.runner.redaction import redact, redact_leaves
from experiments.runner.words import quote
from judge import terminal
from judge.report.joint import Job, join_jobs, name_job, varied_settings
from judge.report.results import claim_folder, write_json
from judge.tables import literal
from judge.terminal import open_streams

CLUSTER = ("hydra/launcher=slurm", "hydra/launcher=submitit_slurm")  # start the processes of a training themselves
KEPT = ("signature", "notes", "figures", "table", "seconds")  # of a job's results.json


def run_sweep(
    jobs: Sequence[Sequence[str]],
    configs: Sequence[DictConfig],
    settings: Sequence[str],
    words: Sequence[str],
    folders: Sequence[Path],
    allow: Sequence[str],
) -> int:
    """Runs all jobs, prints one table of them and writes sweep.json; returns the worst exit code of a job.

    `jobs` holds the settings of each, `configs` their checked configurations, `settings` those of the sweep with its
    launcher, and `words` the command line without `-m`.

    Raises SettingError for a job whose trainings take several processes on this machine.
    """
    if not any(setting.startswith(CLUSTER) for setting in settings):
        for config in configs:
            refuse_processes(config)
    folder = Path(os.path.realpath(configs[0].run_dir))
    options = [word for word in words if word.startswith("--")]
    varied = varied_settings([split_settings(job) for job in jobs])
    job = partial(run_job, options=options, allow=allow, varied=varied)
    places = [folder / str(number) for number in range(len(jobs))]
    codes: list[int | None] = []
    lost: Exception | None = None
    with claim_folder(folder):
        for place in places:
            (place / "results.json").unlink(missing_ok=True)
        try:
            codes += launch(jobs, job, settings, folders, folder)
        except Exception as error:  # a launcher raises its own class when the process of a job dies
            lost = error
            codes += [FINE if (place / "results.json").is_file() else None for place in places]
        ended = [
            read_job(number, settings, places[number], code)
            for number, (settings, code) in enumerate(zip(jobs, codes, strict=True))
            if code is not None
        ]
        if ended:
            command = redact_leaves([*terminal.program(), "-m", *words])
            write_json({"command": command, "jobs": ended}, folder / "sweep.json")
            show(ended, folder)
    if lost is not None:
        if os.environ.get("HYDRA_FULL_ERROR"):
            terminal.say(redact("".join(traceback.format_exception(lost))))
        kept = f"{len(ended)} of {len(jobs)} jobs ended; trained models are kept for the next sweep"
        terminal.say(redact(terminal.describe_failure(lost, kept)))
        return FAILED
    return max(job["exit_code"] for job in ended)


def launch(
    jobs: Sequence[Sequence[str]],
    job: Callable[[DictConfig], int],
    settings: Sequence[str],
    folders: Sequence[Path],
    folder: Path,
) -> list[int]:
    """Lets Hydra's launcher run the jobs; returns their exit codes. Raises what the launcher raises."""
    with initialize_config_dir(str(folders[0]), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        given = [*settings, *search_path(folders), f"hydra.sweep.dir={quote(str(folder))}"]
        config = loader.load_configuration(ROOT, given, RunMode.MULTIRUN, from_shell=False)
        launcher = Plugins.instance().instantiate_launcher(HydraContext(loader, Callbacks()), job, config)
        return [done.return_value for done in launcher.launch(jobs, initial_job_idx=0)]


def run_job(config: DictConfig, options: Sequence[str], allow: Sequence[str], varied: Sequence[str]) -> int:
    """Runs one job, which is named by the settings that vary; a Hydra launcher calls it, perhaps in another process."""
    open_streams()  # in another process
    hydra = HydraConfig.get()
    OmegaConf.resolve(config)
    OmegaConf.update(config, "run_dir", hydra.runtime.output_dir)
    own = [setting for setting in hydra.overrides.task if not setting.startswith("run_dir=")]
    name = name_job(split_settings(own), varied) or f"job {hydra.job.num}"
    return execute(config, [*options, *own], allow, job=name)


def split_settings(settings: Sequence[str]) -> dict[str, str]:
    """Settings of a command line by name.

    >>> split_settings(["+exp=toy", "gamma=0.5"])
    {'exp': 'toy', 'gamma': '0.5'}
    """
    pairs = (setting.lstrip("+").partition("=") for setting in settings)
    return {name: value for name, _, value in pairs}


def read_job(number: int, settings: Sequence[str], folder: Path, exit_code: int) -> dict[str, Any]:
    """What sweep.json says of a job."""
    job = {"number": number, "settings": split_settings(settings), "folder": str(folder)}
    found = json.loads((folder / "results.json").read_text("utf-8")) if exit_code == FINE else {}
    return redact_leaves({**job, "exit_code": exit_code} | {key: found[key] for key in KEPT if key in found})


def show(jobs: Sequence[dict[str, Any]], folder: Path) -> None:
    """Prints the joint table of the jobs that ended well, and the jobs that failed.

    Writes the table, in several forms, where jobs have different settings.
    """
    out = terminal.console()
    width = terminal.table_width(out)
    ended = [Job.read(Path(job["folder"]), job["settings"]) for job in jobs if job["exit_code"] == FINE]
    if ended:
        joint = join_jobs(ended)
        for table in joint.fit_tables(width):
            out.print(table.to_terminal(width))
        for note in [*joint.notes, *list_notes(jobs)]:
            out.print(f"[bold yellow]![/] {literal(note)}")
        if len(ended) > 1 and joint.whole.rows:
            joint.write(folder)
            out.print(literal(f"{folder}/joint.md"))
    for job in jobs:
        if job["exit_code"] != FINE:
            out.print(literal(f"job {job['number']} failed ({job['exit_code']}): {job['folder']}/run.log"))
    out.print(literal(f"{folder}/sweep.json"))


def list_notes(jobs: Sequence[dict[str, Any]]) -> list[str]:
    """The notes that all jobs have, and the number of the others, which stand in the reports."""
    notes = [job["notes"] for job in jobs if job["exit_code"] == FINE]
    counts = Counter(note for of_job in notes for note in dict.fromkeys(of_job))
    shared = [note for note, count in counts.items() if count == len(notes)]
    others = len(counts) - len(shared)
    return [*shared, *([f"{others} more notes stand in the reports of single jobs"] if others else [])]
