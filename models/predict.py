"""Runs a model on many items on all devices of a trainer: in parts of fixed size, resumable.

The processes take turns: process r of n reads the parts r, r + n, ... A part holds the same items for any number of
processes, so its result has the same bytes.
"""

import shutil
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from torch import nn
from torch.utils.data import DataLoader

from data.text_files import temporary_path
from models.devices import set_aside
from models.windows import split_evenly

PART = 256  # items: enough for full batches, and few enough that several devices share a set of thousands
EXPECTED = (
    "does not have many workers",
    "Total length of .* is zero",
    "LeafSpec.* is deprecated",
    "exists and is not",
    "predict returned None",  # results lie in files
)


class PartModule(pl.LightningModule):
    """A Lightning module that works on one part at a time, and writes its result into a file.

    The models run on the device that the trainer assigns.
    """

    def __init__(
        self, models: Sequence[nn.Module], work: Callable[[list[int]], Any], save: Callable[[Path, Any], None], to: Path
    ) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)
        self.work = work
        self.save = save
        self.folder = to

    def predict_step(self, part: list[int]) -> None:
        file = part_file(self.folder, part)
        if not file.is_file():  # a killed run wrote it
            result = self.work(part)
            with temporary_path(file) as aside:
                self.save(aside, result)


def part_file(folder: Path, part: Sequence[int]) -> Path:
    """Returns the path of the file that keeps the result of a part."""
    return folder / str(part[0])


def predict(
    work: Callable[[list[int]], Any],
    models: Sequence[nn.Module],
    count: int,
    folder: Path,
    make_trainer: Callable[..., pl.Trainer],
    save: Callable[[Path, Any], None],
    load: Callable[[Path], Any],
    size: int = PART,
) -> list[Any]:
    """Calls `work(indices)` on all parts of `count` items; returns the results in order, to all processes.

    The models run on the devices of the trainer, whole on each device, in the precision in which they were loaded, and
    then return to their own device. Until all parts are done, the results lie in `folder/parts`, as `save` wrote them,
    where a restarted call finds them.
    """
    parts = split_evenly(range(count), size) if count else []
    place = folder / "parts"
    trainer = make_trainer(
        logger=False,
        enable_checkpointing=False,
        default_root_dir=folder,
        strategy="auto",  # that of a training may split a model over the devices
        precision="32-true",  # that of a training would round what the models compute
        use_distributed_sampler=True,  # each process gets its share of the parts
    )
    loader = DataLoader(parts, batch_size=None)  # type: ignore[arg-type]
    with set_aside(*models), warnings.catch_warnings():
        for message in EXPECTED:
            warnings.filterwarnings("ignore", message=f".*{message}")
        trainer.predict(PartModule(models, work, save, place), loader, return_predictions=False)
    trainer.strategy.barrier()  # every process has written its share
    results = [load(part_file(place, part)) for part in parts]
    trainer.strategy.barrier()  # every process has read all
    if parts and trainer.is_global_zero:
        shutil.rmtree(place)
    return results
