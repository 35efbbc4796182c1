"""Execution: checks a composed configuration, runs its experiment, and says how it ended.

Nothing slow is imported before the settings have been checked.
"""

import errno
import logging
import os
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.errors import InstantiationException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from core.errors import InputError, MissingModelError, OutsideError, SettingError, write_settings_by
from core.extras import suggest_extra
from experiments.runner.configuration import name_settings, resolve
from experiments.runner.run_log import FILE, begin_log, quiet_libraries, shorten
from experiments.runner.sweep import BAD_INPUT, FAILED, FINE, write_job
from report import terminal

OF_DATA = ("path", "columns", "text", "references", "source", "systems", "outputs")  # settings of input files
EXTRA = "papers"  # of the installation, which brings what experiments need
TRACES = {FILE, ".run"}  # what a run that did not begin may leave in its folder

log = logging.getLogger(__name__)


def execute(config: DictConfig) -> int:
    """Runs the experiment of a configuration in Hydra's output folder; returns the exit code.

    0: success. 1: the experiment failed; the traceback is in run.log, and on the terminal with HYDRA_FULL_ERROR=1.
    2: bad input or settings. A job of a sweep leaves its exit code in its folder.

    Raises KeyboardInterrupt for Ctrl-C, even if a library has replaced it by another exception.
    """
    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    is_single = hydra.mode == RunMode.RUN
    terminal.set_library_defaults(network=config.network is True)
    os.environ.setdefault("WANDB_SILENT", "true")
    os.environ["WANDB_ERROR_REPORTING"] = "false"
    quiet_libraries()
    unresolved: Any = OmegaConf.to_container(config)
    try:
        with suggest_extra(EXTRA), write_settings_by(write_override):
            settings = resolve(config, hydra.overrides.task)
            if is_single and str(config.experiment._target_).startswith("experiments.") and not config.dry_run:
                terminal.say(f"{config.name}: loading PyTorch and other libraries, which takes seconds")
            exit_code = FINE
            if config.dry_run:
                from experiments.runner.needs import examine

                exit_code = examine(config, unresolved)
            else:
                from experiments.runner.experiment import run_experiment

                run_experiment(config, unresolved, settings, folder)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        exit_code = _report_end(error, unresolved, folder)
    if not is_single:
        write_job(folder, hydra, exit_code, is_dry=config.dry_run)
    elif exit_code == BAD_INPUT or config.dry_run:
        remove_unused(folder)
    return exit_code


def remove_unused(folder: Path) -> None:
    """Removes the folder of a run that did not begin, and the two folders around it if nothing else is there."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if not names <= TRACES:
        return
    for name in names:
        (folder / name).unlink()
    with suppress(OSError):  # not empty, or not ours to remove
        for path in (folder, *folder.parents[:2]):
            path.rmdir()


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
    if os.environ.get("EXPERIMENTS_FULL_ERROR"):
        terminal.say(trace)
    if isinstance(error, KeyboardInterrupt) or isinstance(error.__context__, KeyboardInterrupt):
        log.info("interrupted")
        raise KeyboardInterrupt from None  # Lightning turns Ctrl-C into an exit
    if isinstance(error, SettingError | InputError):
        terminal.say(_describe_missing(error, unresolved) if isinstance(error, MissingModelError) else str(error))
        return BAD_INPUT
    if isinstance(error, OutsideError):
        terminal.say(str(error))
        return FAILED
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        terminal.say(f"{error.filename}: {error.strerror}")  # no such file can exist
        return BAD_INPUT
    begin_log(folder)
    log.error("%s", trace, extra={"unseen": True})  # on the terminal
    terminal.say(terminal.describe_failure(error, f"the traceback is in {shorten(folder)}/{FILE}"))
    return FAILED


def _describe_missing(fault: MissingModelError, unresolved: Mapping[str, Any]) -> str:
    """The message for a missing model: the settings that name it, what fetches it, and which settings take a folder."""
    places = name_settings(unresolved, fault.name)
    asked = " and ".join(f"{place}={fault.name}" for place in places)
    message = f"{asked or fault.name}: {fault.what}"
    if not fault.fetchable:
        return message
    remedies = [] if unresolved["network"] else ["network=true fetches it"]
    if places:
        remedies.append(f"name a folder instead: {' '.join(f'{place}=FOLDER' for place in places)}")
    return "; ".join(filter(None, [message, ", or ".join(remedies)]))
