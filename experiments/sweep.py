"""Sweep: one experiment under many settings (`-m`), each job in its own run folder, launched by Hydra's launchers."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from experiments import terminal
from experiments.configuration import ROOT, ConfigurationFault, compose_run, expand_sweep, search_path
from experiments.execution import FINE, execute
from experiments.results import write_json


def run_sweep(overrides: Sequence[str], folders: Sequence[Path]) -> int:
    """Runs all jobs, prints one table of them and writes sweep.json; returns the worst exit code of a job.

    Every job's settings are checked before the first job starts. Raises ConfigurationFault.
    """
    checked = [compose_run(job, folders) for job in expand_sweep(overrides, folders)]
    folder = Path(checked[0].run_dir).resolve()
    place = 'hydra.sweep.dir="' + str(folder).replace("\\", "\\\\").replace('"', '\\"') + '"'
    with initialize_config_dir(str(folders[0]), version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        job = partial(run_job, options=[f"--config-dir={folder}" for folder in folders[1:]])
        try:
            batches = hydra.multirun(
                ROOT, job, [*overrides, *search_path(folders), place], with_log_configuration=False
            )
        except HydraException as error:
            raise ConfigurationFault(str(error)) from error
    jobs = [_job(done) for batch in batches for done in batch]
    write_json({"command": ["python", "experiments/run.py", "-m", *overrides], "jobs": jobs}, folder / "sweep.json")
    show(jobs, folder)
    return max(job["exit_code"] for job in jobs)


def run_job(config: DictConfig, options: Sequence[str]) -> int:
    """One job, called by a Hydra launcher, perhaps in another process; returns its exit code."""
    hydra = HydraConfig.get()
    OmegaConf.resolve(config)
    OmegaConf.update(config, "run_dir", hydra.runtime.output_dir)
    return execute(config, [*options, *(o for o in hydra.overrides.task if not o.startswith("run_dir="))])


def show(jobs: Sequence[dict[str, Any]], folder: Path) -> None:
    """Prints the table of all jobs: what was varied, and the Spearman of every metric, set and aspect."""
    varied = [key for key in jobs[0]["settings"] if len({str(job["settings"].get(key)) for job in jobs}) > 1]
    lines = []
    for job in jobs:
        settings = [job["settings"].get(key, "") for key in varied]
        if job["exit_code"] != FINE:
            lines.append([job["number"], *settings, f"failed ({job['exit_code']})", "", "", ""])
            continue
        rows = [(row["set"], row["aspect"], row["metric"], _value(row["spearman"])) for row in job["table"]]
        rows = rows or [("", "", name, _value(value)) for name, value in job["figures"].items()]
        lines += [[job["number"], *settings, *row] for row in rows]
    columns = ["job", *varied, "set", "aspect", "metric", "Spearman" if any(j.get("table") for j in jobs) else "value"]
    out = terminal.console()
    out.print(terminal.plain_table(columns, lines, f"{len(jobs)} jobs"))
    out.print(f"{folder}/sweep.json")


def _value(number: float | None) -> float:
    return math.nan if number is None else number


def _job(done: Any) -> dict[str, Any]:
    """What one finished job says, with its table where it has one."""
    folder = Path(done.hydra_cfg.hydra.runtime.output_dir)
    pairs = (override.lstrip("+").partition("=") for override in done.overrides)
    job: dict[str, Any] = {
        "number": done.hydra_cfg.hydra.job.num,
        "settings": {key: value for key, _, value in pairs},
        "folder": str(folder),
        "exit_code": done.return_value,
    }
    if done.return_value == FINE:
        results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        job |= {key: results[key] for key in ("signature", "notes", "figures", "table", "seconds")}
    return job
