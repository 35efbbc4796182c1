"""Runs one experiment of a checked configuration, and writes, publishes and shows what it found."""

import logging
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning import seed_everything

from core.configs import CONFIGS
from core.stages import Stages, check_writable
from experiments.contracts import Run, Study
from experiments.runner import hardware
from experiments.runner.configuration import build_experiment
from experiments.runner.run_log import begin_log, quiet_libraries, shorten
from experiments.runner.sweep import FAILED, FINE, name_command, name_job
from report import page, results, terminal
from report.wording import literal

log = logging.getLogger(__name__)


def run_experiment(
    config: DictConfig,
    unresolved: Mapping[str, Any],
    settings: Mapping[str, Any],
    folder: Path,
) -> None:
    """Builds the experiment, which reads the input and raises its faults, runs it, and keeps what it found.

    Of several processes of a distributed run, only the first one writes.
    """
    started = datetime.now().astimezone()
    hydra = HydraConfig.get()
    job = name_job(hydra) if hydra.mode == RunMode.MULTIRUN else ""
    trainer = hardware.check_trainer(config.trainer)
    first = hardware.is_first_process(trainer)
    if job:
        hardware.refuse_processes(trainer, hydra.runtime.choices["hydra/launcher"])
    with ExitStack() as held:
        if first:
            held.enter_context(results.claim_folder(folder, beside=name_written(hydra)))
            begin_log(folder)
        inputs = {name: node for name, node in settings.items() if name != "experiment"}
        results.refuse_cleared(inputs, folder, "hydra.run.dir")
        check_writable("stages_dir", Path(config.stages_dir))
        hardware.check_devices(settings)
        seed_everything(config.seed, workers=True, verbose=False)
        experiment = build_experiment(config, unresolved)
        quiet_libraries()
        if first:
            results.clear_folder(folder)
            OmegaConf.save(config, folder / "config.yaml")
        log.info("%s, seed %d, in %s", config.name, config.seed, shorten(folder))
        track = instantiate(config.logger, _convert_="all")
        tracking = track(folder=folder, name=config.name, config=settings, job=job, first=first)
        held.push(lambda kind, *_: tracking.close(FAILED if kind else FINE))
        with terminal.show_steps() as progress:
            run = Run(
                name=config.name,
                folder=folder,
                stages=Stages(Path(config.stages_dir), first=first),
                seed=config.seed,
                trainer=partial(hardware.build_trainer, config.trainer, folder, progress=progress),
                loggers=tracking.loggers,
                progress=progress,
                training=hardware.choose_training(config.trainer),
                cues=config.cues != "none",
            )
            outcome = experiment(run)
        if not isinstance(outcome, Study):
            raise TypeError(f"an experiment must return a Study, but {config.name} returned {type(outcome).__name__}")
        if first:
            outcome = name_recipe(outcome, config)
            about = describe_run(config, run, started)
            page.write_run(outcome, about, OmegaConf.to_yaml(config), folder, config.plots)
            tracking.publish(outcome)
            summarise(outcome, about["seconds"], folder, job)


def describe_run(config: DictConfig, run: Run, started: datetime) -> dict[str, Any]:
    """Returns the facts about a run that results.json has besides the outcome."""
    return {
        "experiment": config.name,
        "verb": "",
        "description": config.description,
        "seed": config.seed,
        "command": name_command(HydraConfig.get()),
        **describe_code(),
        "started": started.isoformat(timespec="seconds"),
        "seconds": (datetime.now().astimezone() - started).total_seconds(),
        "timings": run.timings,
    }


def describe_code() -> dict[str, Any]:
    """Names the commit of the repository that runs, and its files that differ from it; {} outside a repository."""
    root = CONFIGS.parent
    if not (root / ".git").exists():
        return {}
    found: list[list[str]] = []
    for words in (["rev-parse", "HEAD"], ["diff", "--name-only", "HEAD"]):
        ended = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)
        found.append(ended.stdout.splitlines())
    commit, changed = found
    return {"commit": "".join(commit), "changed_files": changed}


def name_written(hydra: HydraConf) -> list[str]:
    """Lists what Hydra may have written into a run's folder before the run begins: a log and its own settings."""
    log_file = f"{hydra.job.name}.log"
    return [log_file] if hydra.output_subdir is None else [log_file, hydra.output_subdir]


def name_recipe(outcome: Study, config: DictConfig) -> Study:
    """Adds the name of the recipe (`configs/recipe`) to the signature and the notes of an outcome."""
    if config.recipe.name is None:
        return outcome
    note = f"recipe {config.recipe.name}: settings chosen: {config.recipe.chosen}"
    signature = f"{outcome.signature}|recipe={config.recipe.name}"
    return replace(outcome, signature=signature, notes=[note, *outcome.notes])


def summarise(
    outcome: Study,
    seconds: float,
    folder: Path,
    job: str,
) -> None:
    """Prints what a run found; a job of a sweep prints one line, because the sweep shows the results of all jobs."""
    for line in [*outcome.said, *(f"{name}: {value:.6g}" for name, value in outcome.figures.items())]:
        log.info("%s", line, extra={"unseen": True})  # on the terminal
    out = terminal.console()
    if not job:
        outcome.print(out, name=shorten)
    start = f"{job}: " if job else ""
    out.print(literal(f"{start}{seconds:.1f} s, {shorten(folder)}/report.html"))
