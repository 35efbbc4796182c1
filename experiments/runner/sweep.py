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

from core.faults import SettingFault
from experiments.report.results import shown_columns, write_json
from experiments.runner import terminal
from experiments.runner.configuration import ROOT, compose_run, expand_sweep, search_path
from experiments.runner.execution import FINE, execute


def run_sweep(overrides: Sequence[str], folders: Sequence[Path]) -> int:
    """Runs all jobs, prints one table of them and writes sweep.json; returns the worst exit code of a job.

    Every job's settings are checked before the first job starts. Raises SettingFault.
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
            raise SettingFault(str(error)) from error
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
    """Prints the table of all jobs: what was varied, and the Spearman of every metric, set and aspect.

    Rows of other kinds are shown whole, without intervals; a job without rows shows its figures.
    """
    varied = [key for key in jobs[0]["settings"] if len({str(job["settings"].get(key)) for job in jobs}) > 1]
    found = [(job, _findings(job)) for job in jobs]
    named = list(dict.fromkeys(name for _, findings in found for finding in findings for name in finding)) or ["value"]
    lines = []
    for job, findings in found:
        start = [job["number"], *(job["settings"].get(key, "") for key in varied)]
        if job["exit_code"] != FINE:
            findings = [{named[0]: f"failed ({job['exit_code']})"}]
        lines += [[*start, *(finding.get(name, "") for name in named)] for finding in findings]
    columns = ["job", *varied, *named]
    out = terminal.console()
    out.print(terminal.plain_table(columns, lines, f"{len(jobs)} jobs"))
    out.print(f"{folder}/sweep.json")


def _findings(job: dict[str, Any]) -> list[dict[str, Any]]:
    """What the table of jobs shows of one job, by column."""
    findings = [
        {**{name: row[name] for name in ("set", "aspect", "metric")}, "Spearman": _value(row["spearman"])}
        if "spearman" in row
        else {name: row[name] for name in shown_columns([row])}
        for row in job.get("table", ())
    ]
    figures = [{"metric": name, "value": _value(value)} for name, value in job.get("figures", {}).items()]
    return findings or figures


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
