"""Hardware and seeds of a run: checks its devices before anything is loaded, builds its trainer, seeds generators."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from core.errors import SettingError
from experiments.contracts import Progress
from experiments.runner.configuration import leaves

if TYPE_CHECKING:
    import pytorch_lightning
    import torch
    from pytorch_lightning.callbacks import Callback

LOGGED = 5  # batches between points in a logger; with Lightning's 50, a small model has no curve
QUIET = {"enable_progress_bar": False, "enable_model_summary": False}
# settings of a trainer that say where a model trains, how long at most, and what is shown
PLACEMENT = {
    *("_target_", "_partial_", "_convert_", "accelerator", "devices", "num_nodes", "strategy", "max_time", "logger"),
    *("default_root_dir", "enable_progress_bar", "enable_model_summary", "log_every_n_steps", "profiler"),
}
CLUSTER = ("slurm", "submitit_slurm")  # launchers that start the processes of a training themselves

RANKS = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")  # where Lightning finds the rank, in its order


def claim_rank(config: DictConfig) -> bool:
    """Whether this is the first process of a distributed run, the only one that writes.

    A rank in the environment counts only if the trainer has several devices or nodes: a job array and `srun` give ranks
    to many runs that do not belong together. Such a rank becomes 0, before Lightning reads it.

    Raises SettingError for a rank that is not a number.
    """
    given = [name for name in RANKS if name in os.environ]
    if count_processes(config) == 1:
        os.environ.update(dict.fromkeys(given, "0"))
        return True
    lightning = sys.modules.get("lightning_utilities.core.rank_zero")  # sets `rank` once Lightning is imported
    rank = getattr(lightning and lightning.rank_zero_only, "rank", None)
    if rank is not None or not given:
        return not rank
    value = os.environ[given[0]]
    if not value.isdecimal():
        raise SettingError(f"{given[0]} must be the rank of a process, a number from 0 on, but is {value!r}: unset it")
    return int(value) == 0


def count_processes(config: DictConfig) -> int:
    """Counts the processes of each training of this run."""
    return count_devices(config.trainer) * int(config.trainer.get("num_nodes", 1))


def count_devices(trainer: DictConfig) -> int:
    """Counts the devices of one node: the configured number, or all GPUs for `auto` or -1."""
    devices = trainer.get("devices", 1)
    if str(devices) in ("auto", "-1"):
        return 1 if trainer.accelerator == "cpu" else count_gpus()
    if str(devices).isdecimal():
        return int(devices)
    named = devices.split(",") if isinstance(devices, str) else devices
    return len([name for name in named if str(name).strip()])


def count_gpus() -> int:
    """Counts the CUDA GPUs of this machine; returns 1 if there are none, for the CPU."""
    import torch

    return max(1, torch.cuda.device_count())


def check_devices(config: Mapping[str, Any]) -> None:
    """Raises SettingError if `model` names a device or dtype that this machine lacks.

    A metric checks its own device later.
    """
    own = {"device": config.get("device"), "model": config.get("model")}
    for path, value in leaves(own):
        name = path.rpartition(".")[2]
        if name in ("device", "dtype") and value is not None:
            from models.devices import check_device

            try:
                check_device(**{"device": "cpu", name: value})
            except SettingError as fault:
                raise SettingError(f"{path}: {fault}") from fault


def build_trainer(
    config: DictConfig, folder: Path, progress: Progress, callbacks: Sequence[Callback] = (), **arguments: Any
) -> pytorch_lightning.Trainer:
    """Builds a configured trainer; the first call imports Lightning.

    What the configuration says has the last word on `arguments`, but for strategy and precision, and its callbacks are
    called beside `callbacks`.
    """
    usual: dict[str, Any] = {**QUIET, "logger": False}
    settings = {"log_every_n_steps": LOGGED, "default_root_dir": folder, **usual, **arguments}
    used = {name: value for name, value in settings.items() if name not in config or name in ("strategy", "precision")}
    configured = instantiate(config, _convert_="all")
    own = configured.keywords.get("callbacks") or []
    return configured(callbacks=[*own, *callbacks, count_steps(progress)], **used)


def choose_training(config: DictConfig) -> dict[str, Any]:
    """Returns the settings of the trainer that change what a training gives, such as precision and callbacks.

    The others say where it runs and what it shows; a training whose time runs out is not kept.
    """
    settings: Any = OmegaConf.to_container(config, resolve=True)
    return {name: value for name, value in settings.items() if name not in PLACEMENT}


def count_steps(progress: Progress) -> Callback:
    """Makes a callback that shows the progress of a training in batches; a batch may have two optimizer steps."""
    from pytorch_lightning.callbacks import LambdaCallback

    shown = ExitStack()

    def begin(trainer: pytorch_lightning.Trainer, _: object) -> None:
        nonlocal advance
        total = trainer.estimated_stepping_batches
        advance = shown.enter_context(progress("steps", int(total) if math.isfinite(total) else None))
        advance(trainer.fit_loop.total_batch_idx + 1)  # of a training that is continued

    advance: Callable[[int], None]
    return LambdaCallback(
        on_train_start=begin,
        on_train_batch_end=lambda *_: advance(1),
        on_train_end=lambda *_: shown.close(),
        on_exception=lambda *_: shown.close(),
    )


def refuse_processes(config: DictConfig, launcher: str) -> None:
    """Raises SettingError for a job of a sweep whose trainings need several processes on this machine.

    Lightning starts these processes by repeating the command, and the command of a sweep has `-m`. A cluster's launcher
    starts them itself.
    """
    processes = count_processes(config)
    if processes > 1 and launcher not in CLUSTER:
        asked = f"trainer.devices={config.trainer.devices} and trainer.num_nodes={config.trainer.get('num_nodes', 1)}"
        raise SettingError(
            f"with -m every job trains in one process, but {asked} ask for {processes}: set trainer.devices=1 "
            "(hydra/launcher=joblib runs jobs at the same time), or start a single run for each setting"
        )


def check_trainer(config: DictConfig) -> torch.device:
    """Returns the device of the trainer. Raises SettingError for devices and precisions that this machine lacks."""
    import torch
    from lightning_fabric.utilities.exceptions import MisconfigurationException

    precision = str(config.precision)
    try:
        trainer = instantiate(config)(logger=False, enable_checkpointing=False, **QUIET)
    except (MisconfigurationException, ValueError, TypeError, ImportError) as error:
        raise SettingError(f"trainer: {error}") from error
    device = trainer.strategy.root_device
    cores = os.cpu_count() or 1
    if device.type == "cpu" and trainer.num_devices > cores:
        raise SettingError(f"trainer.devices={trainer.num_devices}, but this machine has {cores} cores: set fewer")
    if trainer.precision != precision and precision.startswith("16"):
        raise SettingError(f"trainer.precision={precision} needs a GPU; on a CPU set 32-true or bf16-mixed")
    is_cuda = device.type == "cuda"
    if is_cuda and precision.startswith("bf16") and not torch.cuda.is_bf16_supported(including_emulation=False):
        raise SettingError(f"trainer.precision={precision}, but the GPU lacks bfloat16: set 32-true or 16-mixed")
    return device


def seed_generators(seed: int) -> None:
    """Seeds the random generators of Python, numpy, torch and the workers of data loaders."""
    from pytorch_lightning import seed_everything

    seed_everything(seed, workers=True, verbose=False)
