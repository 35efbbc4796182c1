"""Training by Lightning that can be resumed and keeps the best weights: language models, discriminators and guides."""

import shutil
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from pytorch_lightning import LightningDataModule, LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import Logger

from models.checkpoints import SealedCheckpoints, is_whole
from models.learning_curve import LearningCurve


def fit_best(
    module: LightningModule,
    data: LightningDataModule,
    folder: Path,
    make_trainer: Callable[..., Trainer],
    loggers: Iterable[Logger],
    curve: LearningCurve,
    monitor: str,
    mode: Literal["min", "max"],
    save: Callable[[Path], None],
    **settings: Any,
) -> None:
    """Trains `module`; it ends on the CPU, in eval mode, with the weights of the epoch that was best on held-out data.

    A call that was killed resumes from `folder/checkpoints/last.ckpt`. In the end `folder` holds `curve.json` and the
    files that `save(folder)` writes, and the checkpoints are removed.

    Args:
        module: the model and its training steps.
        data: its batches.
        folder: where to train.
        make_trainer: called with the arguments that this function sets and with `settings`; it adds the hardware.
        loggers: Lightning loggers.
        curve: collects the metrics.
        monitor: the held-out metric that decides which weights are kept.
        mode: whether its lowest or its highest value is the best.
        save: writes the trained model.
        settings: further arguments of the trainer.
    """
    checkpoints = folder / "checkpoints"
    every_epoch: dict[str, Any] = {"save_on_train_epoch_end": True, "enable_version_counter": False}
    best = ModelCheckpoint(checkpoints, "best", monitor=monitor, mode=mode, save_weights_only=True, **every_epoch)
    last = ModelCheckpoint(checkpoints, "last", **every_epoch)
    trainer = make_trainer(
        callbacks=[curve, best, last],
        logger=list(loggers),
        default_root_dir=folder,
        num_sanity_val_steps=0,
        **settings,
    )
    trainer.strategy.checkpoint_io = SealedCheckpoints()
    with warnings.catch_warnings():
        # Batches are ready lists and need no loading processes; a resumed run finds its own checkpoints; Lightning
        # itself asks torch for a name that is going away.
        warnings.filterwarnings("ignore", message=".*LeafSpec.* is deprecated", category=FutureWarning)
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        warnings.filterwarnings("ignore", message="Checkpoint directory .* exists and is not empty")
        warnings.filterwarnings("ignore", message="The number of training batches .* is smaller than the logging")
        trainer.fit(module, datamodule=data, ckpt_path=find_checkpoint(checkpoints), weights_only=True)
    kept = trainer.strategy.checkpoint_io.load_checkpoint(checkpoints / "best.ckpt")["state_dict"]
    module.cpu().load_state_dict(kept, strict=module.strict_loading)
    module.eval()
    trainer.strategy.barrier()  # every process has read the weights before they are removed
    if trainer.is_global_zero:
        curve.save(folder / "curve.json")
        save(folder)
        shutil.rmtree(checkpoints)
    trainer.strategy.barrier()


def find_checkpoint(checkpoints: Path) -> Path | None:
    """The checkpoint to continue from: the last one, if it and the best one are whole."""
    last = checkpoints / "last.ckpt"
    return last if is_whole(last) and is_whole(checkpoints / "best.ckpt") else None
