"""Execution: runs an experiment, from its composed configuration to its run folder and exit code."""

import errno
import logging
import os
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.errors import InstantiationException
from hydra.types import RunMode
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from core.errors import InputError, MissingModelError, OutsideError, SettingError, write_settings_by
from core.extras import suggest_extra
from core.hosts import set_network
from core.stages import Stages, check_writable
from experiments.contracts import Run, Study
from experiments.runner import hardware
from experiments.runner.configuration import build_experiment, name_settings, resolve
from experiments.runner.run_log import begin_log, quiet_libraries
from experiments.runner.sweep import name_job, write_job
from experiments.runner.tracking import NoTracking
from experiments.runner.trust import check_trusted, check_typed, leaves, walk
from report import model_cards, page, results, terminal
from report.wording import literal

FINE, FAILED, BAD_INPUT = 0, 1, 2
OF_DATA = ("path", "columns", "text", "references", "source", "split", "systems", "outputs")  # settings of input files
EXTRA = "papers"  # of the installation, which brings what experiments need
# targets whose `name` is a model of the hub or a folder
PRETRAINED = ("experiments.training.Pretrained", "models.conditional.PretrainedLM")

log = logging.getLogger(__name__)


class Built(NamedTuple):
    """The objects that were built from a configuration, and its values."""

    # a function of a Run
    experiment: Any
    tracking: NoTracking
    # the plain values of the configuration
    settings: Mapping[str, Any]


def execute(config: DictConfig) -> int:
    """Runs the experiment of a configuration in Hydra's output folder; returns the exit code.

    0: success. 1: the experiment failed; the traceback is in run.log, and on the terminal with HYDRA_FULL_ERROR=1.
    2: bad input or settings. A job of a sweep leaves its exit code in its folder.

    Raises KeyboardInterrupt for Ctrl-C, even if a library has replaced it by another exception.
    """
    folder = Path(HydraConfig.get().runtime.output_dir)
    set_library_defaults(network=config.network is True)
    quiet_libraries()
    unresolved: Any = OmegaConf.to_container(config)
    exit_code = FAILED
    try:
        with ExitStack() as held, suggest_extra(EXTRA), write_settings_by(write_override):
            exit_code = _run(config, unresolved, folder, held)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        exit_code = _report_end(error, unresolved, folder)
    if HydraConfig.get().mode == RunMode.MULTIRUN:
        write_job(folder, HydraConfig.get(), exit_code, is_dry=config.dry_run)
    return exit_code


def write_override(name: str, values: Sequence[str]) -> str:
    """Writes a setting as Hydra takes it; those of input files are in the group `data`.

    >>> write_override("columns.text", ["COLUMN"]), write_override("columns.ratings.q", ["a", "b"])
    ('data.columns.text=COLUMN', 'data.columns.ratings.q=[a,b]')
    """
    first, _, _ = name.partition(".")
    key = f"data.{name}" if first in OF_DATA else name
    value = f"[{','.join(values)}]" if len(values) > 1 else "".join(values)
    return f"{key}={value}" if value else key


def _report_end(error: BaseException, unresolved: Mapping[str, Any], folder: Path) -> int:
    """Prints why a run ended early; returns the exit code."""
    while isinstance(error, InstantiationException) and error.__cause__ is not None:
        error = error.__cause__  # Hydra wraps an exception that a constructor raises
    trace = "".join(traceback.format_exception(error))
    if os.environ.get("HYDRA_FULL_ERROR"):
        terminal.say(trace)
    if isinstance(error, KeyboardInterrupt) or isinstance(error.__context__, KeyboardInterrupt):
        log.info("interrupted")
        raise KeyboardInterrupt from None  # Lightning turns Ctrl-C into an exit
    if isinstance(error, SettingError | InputError):
        terminal.say(_missing_model(error, unresolved) if isinstance(error, MissingModelError) else str(error))
        return BAD_INPUT
    if isinstance(error, OutsideError):
        terminal.say(str(error))
        return FAILED
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        terminal.say(f"{error.filename}: {error.strerror}")  # no such file can exist
        return BAD_INPUT
    begin_log()
    log.error("%s", trace, extra={"unseen": True})  # on the terminal
    terminal.say(terminal.describe_failure(error, f"the traceback is in {_short(folder)}/run.log"))
    return FAILED


def _missing_model(fault: MissingModelError, unresolved: Mapping[str, Any]) -> str:
    """The message for a missing model: the settings that name it, what fetches it, and which settings take a folder."""
    places = name_settings(unresolved, fault.name)
    asked = " and ".join(f"{place}={fault.name}" for place in places)
    message = f"{asked or fault.name}: {fault.what}"
    if not fault.fetchable:
        return message
    remedies = [] if unresolved["network"] else ["network=true fetches it"]
    folders = [f"{place}=FOLDER" for place in dict.fromkeys([*places, *list_missing(unresolved)])]
    if folders:
        remedies.append(f"name folders instead: {' '.join(folders)}")
    return "; ".join([message, ", or ".join(remedies)]) if remedies else message


def list_missing(settings: Mapping[str, Any]) -> list[str]:
    """Lists the settings that name pretrained models which are missing on this machine."""
    from models.folders import find_folder

    return [
        f"{place}.name"
        for place, node in walk(settings)
        if isinstance(node, Mapping)
        and node.get("_target_") in PRETRAINED
        and not is_reference(node["name"])
        and find_folder(node["name"]) is None
    ]


def is_reference(value: str) -> bool:
    """Whether a value of a setting refers to another setting."""
    return value.startswith("${")


def set_library_defaults(network: bool) -> None:
    """Sets the network, and environment variables that libraries read at import, unless the user has set them."""
    set_network(network)
    os.environ.setdefault("MPLBACKEND", "Agg")
    os.environ.setdefault("WANDB_SILENT", "true")
    os.environ["WANDB_ERROR_REPORTING"] = "false"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # tokenizers would warn in forked data loaders
    if not terminal.is_watched():
        os.environ.setdefault("TQDM_DISABLE", "1")


def _run(config: DictConfig, unresolved: Mapping[str, Any], folder: Path, held: ExitStack) -> int:
    """Checks the settings, then runs the experiment; returns the exit code of a dry run, or FINE."""
    started = datetime.now().astimezone()
    hydra = HydraConfig.get()
    settings = resolve(config)
    check_typed(settings, hydra.overrides.task)
    check_trusted({name: settings[name] for name in ("experiment", "logger", "trainer")}, settings["allow"])
    if config.dry_run:
        from experiments.runner.needs import examine

        return examine(config, unresolved)
    hardware.ignore_ranks(config)
    if hydra.mode == RunMode.MULTIRUN:
        hardware.refuse_processes(config, hydra.runtime.choices["hydra/launcher"])
    first = hardware.is_first_process(config)
    if first:
        held.enter_context(results.claim_folder(folder, beside=name_written(hydra)))
    begin_log()
    _check_paths(settings, folder)
    built = _build(config, unresolved, settings)
    if first:
        results.clear_folder(folder)
        OmegaConf.save(config, folder / "config.yaml")
    log.info("%s, seed %d, in %s", config.name, config.seed, _short(folder))
    _perform(built, config, folder, started, first=first)
    return FINE


def _perform(built: Built, config: DictConfig, folder: Path, started: datetime, *, first: bool) -> None:
    """Calls the experiment, and in the first process writes, publishes and prints what it found."""
    hydra = HydraConfig.get()
    job = name_job(hydra) if hydra.mode == RunMode.MULTIRUN else ""
    exit_code = FAILED
    built.tracking.open(folder, config.name, built.settings, first=first, job=job)
    try:
        with terminal.show_steps() as progress:
            run = Run(
                name=config.name,
                folder=folder,
                stages=Stages(Path(config.stages_dir), first=first),
                seed=config.seed,
                trainer=partial(hardware.build_trainer, config.trainer, folder, progress=progress),
                loggers=built.tracking.loggers,
                progress=progress,
                precision=str(config.trainer.precision),
                cues=config.cues != "none",
            )
            outcome = built.experiment(run)
        if not isinstance(outcome, Study):
            kind = type(outcome).__name__
            raise TypeError(f"an experiment must return a Study, but {config.name} returned {kind}")
        if first:
            outcome = name_recipe(outcome, config)
            about = describe_run(config, run, started)
            _deliver(outcome, about, config, folder)
            built.tracking.publish(outcome, folder)
            _summarise(outcome, about["seconds"], folder, job)
        exit_code = FINE
    finally:
        built.tracking.close(exit_code)


def describe_run(config: DictConfig, run: Run, started: datetime) -> dict[str, Any]:
    """Returns the facts about a run that results.json has besides the outcome."""
    return {
        "experiment": config.name,
        "verb": "",
        "description": config.description,
        "seed": config.seed,
        "command": name_command(HydraConfig.get()),
        "started": started.isoformat(timespec="seconds"),
        "seconds": (datetime.now().astimezone() - started).total_seconds(),
        "timings": run.timings,
    }


def _build(config: DictConfig, unresolved: Mapping[str, Any], settings: Mapping[str, Any]) -> Built:
    """Checks the settings and builds the experiment, which reads the input and raises its faults, and the tracking."""
    results.check_place("stages_dir", Path(config.stages_dir))
    check_writable("stages_dir", Path(config.stages_dir))
    hardware.check_devices(settings)
    hardware.check_trainer(config.trainer)
    hardware.seed_generators(config.seed)
    tracking = instantiate(config.logger)
    experiment = build_experiment(config, unresolved)
    quiet_libraries()
    return Built(experiment, tracking, settings)


def name_command(hydra: HydraConf) -> list[str]:
    """Lists the words of a command line that repeats this experiment, or this one job of a sweep."""
    sources = hydra.runtime.config_sources
    folders = [f"--config-dir={source.path}" for source in sources if source.provider == "command-line"]
    return ["python", "experiments/run.py", *folders, *hydra.overrides.task]


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


def _deliver(outcome: Study, about: Mapping[str, Any], config: DictConfig, folder: Path) -> None:
    """Writes an outcome into the run folder, results.json last."""
    found = results.results(outcome, about)
    results.write_plots(outcome, folder, config.plots)
    results.write_models(outcome, folder)
    model_cards.write_cards(outcome, found, folder)
    results.write_scores(outcome, folder)
    results.write_tables(outcome, folder)
    page.write_report(outcome, found, OmegaConf.to_yaml(config), folder)
    results.write_json(found, folder / "results.json")


def _check_paths(settings: Mapping[str, Any], folder: Path) -> None:
    """Raises SettingError for a setting that names what the run would clear or overwrite."""
    for key, value in leaves({name: node for name, node in settings.items() if name != "experiment"}):
        if not isinstance(value, str) or not value:
            continue
        path = Path(os.path.realpath(value.replace("\0", "")))  # Path.resolve fails where links form a loop
        if results.is_cleared(path, folder):
            where = f"{key}={value} is in {_short(folder)}, which the run clears"
            raise SettingError(f"{where}: choose another hydra.run.dir")


def _summarise(outcome: Study, seconds: float, folder: Path, job: str) -> None:
    """Prints what a run found; a job of a sweep prints one line, because the sweep shows the results of all jobs."""
    for line in [*outcome.said, *(f"{name}: {value:.6g}" for name, value in outcome.figures.items())]:
        log.info("%s", line, extra={"unseen": True})  # on the terminal
    out = terminal.console()
    if not job:
        outcome.print(out, name=_short)
    start = f"{job}: " if job else ""
    out.print(literal(f"{start}{seconds:.1f} s, {_short(folder)}/report.html"))


def _short(path: Path) -> str:
    """The path relative to the current folder if it lies below it, else the absolute path."""
    path = path.resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
