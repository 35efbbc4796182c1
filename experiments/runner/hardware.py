"""Hardware of a run: checks its devices before anything is loaded, and builds its trainers."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from core.errors import SettingError
from core.objects import leaves
from experiments.contracts import Progress

if TYPE_CHECKING:
    from pytorch_lightning import Trainer
    from pytorch_lightning.callbacks import Callback

LOGGED = 5  # batches between points in a logger; with Lightning's 50, a small model has no curve
QUIET = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
# settings of a trainer that say where a model trains, how long at most, and what is shown
PLACEMENT = {
    *("_target_", "_partial_", "_convert_", "accelerator", "devices", "num_nodes", "strategy", "max_time", "logger"),
    *("default_root_dir", "enable_progress_bar", "enable_model_summary", "log_every_n_steps", "profiler"),
}
CLUSTER = ("slurm", "submitit_slurm")  # launchers that start the processes of a training themselves


def check_trainer(config: DictConfig) -> Trainer:
    """Returns a trainer. Raises SettingError for what Lightning refuses, such as devices that this machine lacks."""
    from lightning_fabric.utilities.exceptions import MisconfigurationException

    try:
        trainer = instantiate(config)(**QUIET, enable_checkpointing=False)
    except (MisconfigurationException, ValueError, TypeError, ImportError) as error:
        raise SettingError(f"trainer: {error}") from error
    cores = os.cpu_count() or 1
    if trainer.strategy.root_device.type == "cpu" and trainer.num_devices > cores:
        raise SettingError(f"trainer.devices={trainer.num_devices}, but this machine has {cores} cores: set fewer")
    return trainer


def is_first_process(trainer: Trainer) -> bool:
    """Whether this is the first process of a distributed run, the only one that writes.

    A rank in the environment counts only if the trainer has several devices or nodes: a job array and `srun` give ranks
    to many runs that do not belong together.
    """
    from lightning_utilities.core.rank_zero import rank_zero_only

    if trainer.world_size == 1:
        rank_zero_only.rank = 0  # pyright: ignore[reportFunctionMemberAccess]
    return trainer.is_global_zero


def refuse_processes(trainer: Trainer, launcher: str) -> None:
    """Raises SettingError for a job of a sweep whose trainings need several processes on this machine.

    Lightning starts these processes by repeating the command, and the command of a sweep has `-m`. A cluster's launcher
    starts them itself.
    """
    if trainer.world_size > 1 and launcher not in CLUSTER:
        raise SettingError(
            f"with -m every job trains in one process, but trainer asks for {trainer.world_size}: set "
            "trainer.devices=1 (hydra/launcher=joblib runs jobs at the same time), "
            "or start a single run for each setting"
        )


def check_devices(config: Mapping[str, Any]) -> None:
    """Raises SettingError if `device` or `model` names a device or dtype that this machine lacks."""
    from models.devices import check_device

    for path, value in leaves({name: config.get(name) for name in ("device", "model")}):
        name = path.rpartition(".")[2]
        if name in ("device", "dtype") and value is not None:
            try:
                check_device(**{"device": "cpu", name: value})
            except SettingError as fault:
                raise SettingError(f"{path}: {fault}") from fault


def build_trainer(
    config: DictConfig,
    folder: Path,
    progress: Progress,
    callbacks: Sequence[Callback] = (),
    **arguments: Any,
) -> Trainer:
    """Builds a configured trainer.

    What the configuration says has the last word on `arguments`, but for strategy and precision, and its callbacks are
    called beside `callbacks`.
    """
    usual = {"log_every_n_steps": LOGGED, "default_root_dir": folder, **QUIET}
    configured = instantiate(config, _convert_="all")
    last = {name: value for name, value in configured.keywords.items() if name not in ("strategy", "precision")}
    own = last.pop("callbacks", None) or []
    return configured(**{**usual, **arguments, **last}, callbacks=[*own, *callbacks, count_steps(progress)])


def choose_training(config: DictConfig) -> dict[str, Any]:
    """Returns the settings of the trainer that change what a training gives, such as precision and callbacks.

    The others say where it runs and what it shows; a training whose time runs out is not kept.
    """
    settings: Any = OmegaConf.to_container(config, resolve=True)
    return {name: value for name, value in settings.items() if name not in PLACEMENT}


def count_steps(progress: Progress) -> Callback:
    """Makes a callback that shows the progress of a training in optimizer steps."""
    from pytorch_lightning.callbacks import LambdaCallback

    shown = ExitStack()
    advance: Callable[[int], None]

    def begin(trainer: Trainer, _: object) -> None:
        nonlocal advance
        total = trainer.estimated_stepping_batches
        advance = shown.enter_context(progress("steps", int(total) if math.isfinite(total) else None))
        advance(trainer.global_step)  # of a training that is continued

    return LambdaCallback(
        on_train_start=begin,
        on_before_zero_grad=lambda *_: advance(1),
        on_train_end=lambda *_: shown.close(),
        on_exception=lambda *_: shown.close(),
    )
