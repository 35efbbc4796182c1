"""Runs a model on many items on all devices of a trainer: in parts of fixed size, resumable.

The processes take turns: process r of n reads the parts r, r + n, ... A part holds the same items for any number of
processes, so its result has the same bytes.
"""

import shutil
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pytorch_lightning as pl
from pytorch_lightning.callbacks import BasePredictionWriter
from torch.utils.data import DataLoader

from data.text_files import temporary_path
from models.devices import set_aside

PART = 256  # items: enough for full batches, and few enough that several devices share a set of thousands
EXPECTED = (
    "does not have many workers",
    "Total length of .* is zero",
    "LeafSpec.* is deprecated",
    "exists and is not",
    "infer the batch indices",
)


class Part(NamedTuple):
    """Items that one process reads together, by their indices."""

    number: int
    # of the items
    indices: list[int]


def split_into_parts(count: int, size: int = PART) -> list[Part]:
    """Splits `count` items into parts of consecutive items, at most `size` each; sizes differ by one at most.

    >>> [part.indices for part in split_into_parts(5, size=2)]
    [[0], [1, 2], [3, 4]]
    """
    number = -(-count // size)
    bounds = [count * i // number for i in range(number + 1)] if number else []
    return [Part(i, list(range(*ends))) for i, ends in enumerate(pairwise(bounds))]


class Form(NamedTuple):
    """How the result of a part is kept in a file."""

    write: Callable[[BinaryIO, Any], object]
    read: Callable[[Path], Any]


class PartDataModule(pl.LightningDataModule):
    """The parts that one process still has to read: its share, without the parts whose results are in the folder."""

    def __init__(self, parts: Sequence[Part], folder: Path) -> None:
        super().__init__()
        self.allow_zero_length_dataloader_with_multiple_devices = True  # more processes than parts
        self.parts = parts
        self.folder = folder

    def predict_dataloader(self) -> DataLoader[Part]:
        process, processes = (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)
        share = self.parts[process::processes]
        waiting = [part for part in share if not part_file(self.folder, part).is_file()]
        return DataLoader(waiting, batch_size=None, collate_fn=keep_part)  # type: ignore[arg-type]


def keep_part(part: Part) -> Part:
    """Returns the part unchanged; it replaces the collation of the data loader."""
    return part


def part_file(folder: Path, part: Part) -> Path:
    """Returns the path of the file that keeps the result of a part."""
    return folder / str(part.number)


class PartWriter(BasePredictionWriter):
    """Writes the result of each part, so that a killed run continues with the next part."""

    def __init__(self, folder: Path, form: Form) -> None:
        super().__init__("batch")
        self.folder = folder
        self.form = form

    def write_on_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        prediction: Any,
        batch_indices: Sequence[int] | None,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int,
    ) -> None:
        with temporary_path(part_file(self.folder, batch)) as aside, aside.open("wb") as file:
            self.form.write(file, prediction)


def predict(
    module: pl.LightningModule,
    models: Sequence[Any],
    count: int,
    folder: Path,
    make_trainer: Callable[..., pl.Trainer],
    form: Form,
    size: int = PART,
) -> list[Any]:
    """Calls `module.predict_step(part, number)` on all parts of `count` items; returns the results in order.

    All processes get all results. The models, which are parts of the module, run on the devices of the trainer, whole
    on each device, in the precision in which they were loaded, and then return to their own device. Until all parts are
    done, the results lie in `folder/parts`, in this form, where a restarted call finds them.
    """
    parts, place = split_into_parts(count, size), folder / "parts"
    trainer = make_trainer(
        callbacks=[PartWriter(place, form)],
        logger=False,
        enable_checkpointing=False,
        default_root_dir=folder,
        strategy="auto",  # that of a training may split a model over the devices
        precision="32-true",  # that of a training would round what the models compute
        use_distributed_sampler=False,  # the data module gives each process its share
    )
    with set_aside(*models), warnings.catch_warnings():
        for message in EXPECTED:
            warnings.filterwarnings("ignore", message=f".*{message}")
        trainer.predict(module, datamodule=PartDataModule(parts, place), return_predictions=False)
    trainer.strategy.barrier()  # every process has written its share
    results = [form.read(part_file(place, part)) for part in parts]
    trainer.strategy.barrier()  # every process has read all
    if parts and trainer.is_global_zero:
        shutil.rmtree(place)
    return results
