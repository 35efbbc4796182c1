"""Execution: one run, from its checked configuration to its run folder and exit code."""

import errno
import logging
import os
import re
import time
import traceback
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from core.errors import InputError, MissingModelError, SettingError, printable
from core.extras import named_extras
from core.settings import Seed, Several, check, one_of
from core.stages import Stages, check_writable
from experiments.contracts import Outcome, Run
from experiments.runner import hardware, terminal
from experiments.runner.configuration import check_targets, complete_experiment
from experiments.runner.journal import Journal, journal, quiet_libraries
from experiments.runner.redaction import redact, redact_leaves
from experiments.runner.tracking import NoTracking
from experiments.runner.trust import COPIES, check_trusted, leaves, walk
from experiments.runner.words import find_verb, name_extra
from judge.metrics import importable
from judge.report import page, results
from judge.tables import Table, literal

FINE, FAILED, BAD_INPUT = 0, 1, 2
CUES = ("ridge", "none")
# targets whose `name` is a model of the hub or a folder
PRETRAINED = ("experiments.training.Pretrained", "models.conditional.PretrainedLM")
REDACTED = (
    "signature",
    "title",
    "tables",
    "notes",
    "figures",
    "files",
)  # of an outcome; scored texts, plots and models stay

log = logging.getLogger(__name__)

SURROGATE = re.compile("[\ud800-\udfff]")  # Python's stand-in for a byte that is not UTF-8


def execute(config: DictConfig, overrides: Sequence[str], allow: Collection[str] = (), job: str = "") -> int:
    """Runs the experiment of a resolved configuration; returns the exit code.

    `allow` holds the packages that targets may name besides the objects in configs/ (see `trust`). `job` names a job of
    a sweep by the settings that vary; it prints one line, because the sweep shows the results of all jobs.

    0: success. 1: the experiment failed; the traceback is in run.log, and on the terminal with HYDRA_FULL_ERROR=1.
    2: bad input or settings; nothing is written.

    Raises KeyboardInterrupt for Ctrl-C, even if a library has replaced it by another exception.
    """
    set_library_defaults(network=config.network)
    folder = Path(os.path.realpath(config.run_dir))
    with ExitStack() as held, journal() as kept:
        held.callback(importable.reset, importable.set(frozenset(allow)))
        try:
            hardware.ignore_ranks(config)
            with named_extras(name_extra(str(OmegaConf.select(config, "experiment._target_")))):
                _run(config, folder, tuple(overrides), allow, kept, held, job=job)
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            return _report_end(error, config, folder, kept, held)
    return FINE


def _report_end(error: BaseException, config: DictConfig, folder: Path, kept: Journal, held: ExitStack) -> int:
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
        terminal.say(_missing_model(error, config) if isinstance(error, MissingModelError) else str(error))
        return BAD_INPUT
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        terminal.say(f"{error.filename}: {error.strerror}")  # no such file can exist
        return BAD_INPUT
    where = f"the traceback is in {_short(folder)}/run.log"
    if hardware.is_first_process(config) and not kept.writes:  # the run failed before it began
        if folder.is_dir() and any(folder.iterdir()):
            where = f"{_short(folder)} is as it was\n{trace}"
        else:
            try:
                _begin(folder, kept, held)
            except SettingError as fault:
                where = str(fault)
    log.error("%s", trace, extra={"unseen": True})  # on the terminal
    terminal.say_failure(error, where)
    return FAILED


def _missing_model(fault: MissingModelError, config: DictConfig) -> str:
    """The message for a missing model: the settings that name it, what fetches it, and which settings take a folder."""
    plain = OmegaConf.to_container(config)
    places = name_settings(plain, fault.name)
    asked = " and ".join(f"{place}={fault.name}" for place in places)
    message = f"{asked or fault.name}: {fault.what}"
    if not fault.fetchable:
        return message
    remedies = [] if config.network else ["network=true fetches it"]
    folders = [f"{place}=FOLDER" for place in dict.fromkeys([*places, *list_missing(plain)])]
    if folders:
        remedies.append(f"name folders instead: {' '.join(folders)}")
    return "; ".join([message, ", or ".join(remedies)]) if remedies else message


def list_missing(config: Any) -> list[str]:
    """The settings of pretrained models that are not on this machine."""
    from models.folders import find_folder

    return [
        f"{place}.name"
        for place, node in walk(config)
        if isinstance(node, Mapping) and node.get("_target_") in PRETRAINED and find_folder(node["name"]) is None
    ]


def name_settings(config: Any, value: str) -> list[str]:
    """The settings that name this model."""
    others = (*COPIES, "logger.")  # whose mode may be offline
    return [key for key, found in leaves(config) if found == value and not key.startswith(others)]


def set_library_defaults(network: bool) -> None:
    """Sets environment variables that libraries read at import, unless the user has set them."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    os.environ.setdefault("WANDB_SILENT", "true")
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # tokenizers would warn in forked data loaders
    if not network:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    if not terminal.is_watched():
        os.environ.setdefault("TQDM_DISABLE", "1")


def _run(
    config: DictConfig,
    folder: Path,
    overrides: tuple[str, ...],
    allow: Collection[str],
    kept: Journal,
    held: ExitStack,
    *,
    job: str,
) -> None:
    started, clock = datetime.now().astimezone(), time.perf_counter()
    plain: dict[str, Any] = OmegaConf.to_container(config)  # pyright: ignore[reportAssignmentType]
    experiment, tracking = _build(config, plain, folder, allow)

    redacted, first = redact_leaves(plain), hardware.is_first_process(config)
    written = OmegaConf.to_yaml(OmegaConf.create(redacted))
    if first:
        _begin(folder, kept, held)
        (folder / "config.yaml").write_text(written, encoding="utf-8")
    verb = find_verb(config.name)
    log.info("%s, seed %d, in %s", verb or config.name, config.seed, _short(folder))
    exit_code = FAILED
    tracking.open(folder, config.name, redacted, first=first, job=redact(job))
    try:
        with terminal.show_steps() as progress:
            run = Run(
                name=config.name,
                folder=folder,
                stages=Stages(Path(config.stages_dir), first=first),
                seed=config.seed,
                trainer=partial(hardware.build_trainer, config.trainer, folder, progress=progress),
                loggers=tracking.loggers,
                progress=progress,
                precision=str(config.trainer.precision),
                cues=config.cues != "none",
            )
            outcome = experiment(run)
        if not isinstance(outcome, Outcome):
            kind = type(outcome).__name__
            raise TypeError(f"an experiment must return an Outcome, but {config.name} returned {kind}")
        if first:
            outcome = name_recipe(outcome, config)
            outcome = replace(outcome, **{name: redact_leaves(getattr(outcome, name)) for name in REDACTED})
            about = {
                "experiment": config.name,
                "verb": verb,
                "description": redacted["description"],
                "seed": config.seed,
                "command": redact_leaves([*terminal.program(), *overrides]),
                "started": started.isoformat(timespec="seconds"),
                "seconds": time.perf_counter() - clock,
                "timings": run.timings,
            }
            _deliver(outcome, results.results(outcome, about), written, folder, config.plots)
            tracking.publish(outcome, folder)
            _summarise(outcome, about["seconds"], folder, job)
        exit_code = FINE
    finally:
        tracking.close(exit_code)


def name_recipe(outcome: Outcome, config: DictConfig) -> Outcome:
    """The outcome with the recipe of its settings in signature and notes."""
    if config.recipe.name is None:
        return outcome
    note = f"recipe {config.recipe.name}: settings chosen: {config.recipe.chosen}"
    signature = f"{outcome.signature}|recipe={config.recipe.name}"
    return replace(outcome, signature=signature, notes=[note, *outcome.notes])


def _build(
    config: DictConfig, plain: Mapping[str, Any], folder: Path, allow: Collection[str]
) -> tuple[Any, NoTracking]:
    """Checks the settings and builds the experiment, which reads the input and raises its faults, and the tracking."""
    check(Seed, seed=config.seed)
    check(one_of(CUES), cues=config.cues)
    check(Several[one_of(results.ENDINGS)], plots=[*config.plots])
    check(bool, network=config.network)
    check_trusted(plain, allow)
    results.check_run_folder(folder)
    results.check_place("stages_dir", Path(config.stages_dir))
    check_writable("stages_dir", Path(config.stages_dir))
    _check_paths(plain, folder)
    completed = complete_experiment(plain)  # imports the targets
    check_targets(plain["logger"], "logger")
    has_torch = hardware.is_torch_imported()  # without it nothing trains, and nothing waits for Lightning's import
    if has_torch:
        check_targets(plain["trainer"], "trainer")
    quiet_libraries()
    hardware.check_devices(plain)
    hardware.seed_generators(config.seed)
    tracking = instantiate(config.logger)
    if has_torch:
        hardware.check_trainer(config.trainer)
    return instantiate(completed), tracking


def _deliver(outcome: Outcome, found: Mapping[str, Any], config: str, folder: Path, endings: Sequence[str]) -> None:
    """Writes an outcome into the run folder, results.json last."""
    results.write_plots(outcome, folder, endings)
    results.write_models(outcome, folder)
    results.write_scores(outcome, folder)
    results.write_tables(outcome, folder)
    page.write_report(outcome, found, config, folder)
    results.write_json(found, folder / "results.json")


def _check_paths(config: Mapping[str, Any], folder: Path) -> None:
    """Raises SettingError for a name that is not UTF-8, and for one of what the run would clear or overwrite."""
    settings = sorted(leaves(config), key=lambda leaf: leaf[0].startswith(COPIES))  # copies come last
    for key, value in [*settings, ("the run folder", str(folder))]:
        if not isinstance(value, str) or not value:
            continue
        if SURROGATE.search(value):
            raise SettingError(f"{key}={printable(value)} must be UTF-8 text, found other bytes: rename it")
        path = Path(os.path.realpath(value.replace("\0", "")))  # Path.resolve fails where links form a loop
        is_own = key in ("run_dir", "outputs", "the run folder")
        if not is_own and (path == folder or results.is_cleared(path, folder)):
            raise SettingError(f"{key}={value} lies where the run clears {_short(folder)}: choose another run_dir")


def _begin(folder: Path, kept: Journal, held: ExitStack) -> None:
    """Takes the run folder until `held` ends, and clears it."""
    held.enter_context(results.claim_folder(folder))
    try:
        results.clear_folder(folder)
    except OSError as error:
        raise SettingError(f"cannot write to run_dir: {error}") from error
    kept.write_to(folder / "run.log")


def _summarise(outcome: Outcome, seconds: float, folder: Path, job: str) -> None:
    out = terminal.console(stderr=outcome.printed is not None)
    if job:
        out.print(literal(redact(f"{job}: {seconds:.1f} s, {_short(folder)}/report.html")))
    else:
        _print_results(outcome, out)
        out.print(literal(f"{seconds:.1f} s, {_short(folder)}/report.html"))
    if outcome.printed is not None:
        terminal.print_file(outcome.printed)


def _print_results(outcome: Outcome, out: Console) -> None:
    figures = Table("Figures", "", [{"figure": name, "value": value} for name, value in outcome.figures.items()])
    for table in [*outcome.tables, *([figures] if figures.rows else [])]:
        out.print(table.to_terminal(terminal.table_width(out)))
    for note in outcome.notes:
        out.print(f"[bold yellow]![/] {literal(note)}")
    for file in outcome.files:
        out.print(literal(f"wrote {_short(file)}"))


def _short(path: Path) -> str:
    """The path relative to the current folder if it lies below it, else the absolute path."""
    path = path.resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
