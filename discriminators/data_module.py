"""Data module: labelled texts, split by group, tokenised once and batched by length, for both kinds of classifier."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pytorch_lightning import LightningDataModule, Trainer
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from discriminators.batches import pad_rows
from discriminators.segments import TokenRow, Tokens, read
from models.batching import batches_by_budget
from models.windows import Truncation

ClassifierBatch = dict[Literal["ids", "mask", "labels", "weights", "texts"], Tensor]


@dataclass(frozen=True)
class LabelledText:
    """A text to learn from.

    Attributes:
        segments: the turns of a dialogue, or source and output.
        label: 1 for human or good, 0 for machine or damaged; or the number of one of several labels, from 0.
        group: the input that the text answers or was made from; a group is never on both sides of the split.
        pair: the text that this one was made from, or that was made from this one, segment for segment; None without
            one.

    Raises ValueError for a label below 0, for a string in place of segments, and for a pair of another length.
    """

    segments: tuple[str, ...]
    label: int
    group: str
    pair: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.label < 0:
            raise ValueError(f"a label must be 0 or more, but is {self.label!r}")
        if isinstance(self.segments, str):
            raise ValueError(f"a text is a sequence of segments, but got a string: pass ({self.segments[:20]!r},)")
        if self.pair is not None and len(self.pair) != len(self.segments):
            raise ValueError(f"a pair has equally many segments, but got {len(self.segments)} and {len(self.pair)}")


def split_by_group(
    texts: Sequence[LabelledText], held_out: float, seed: int
) -> tuple[list[LabelledText], list[LabelledText]]:
    """Training and held-out texts: random whole groups are held out until they hold the share `held_out` of the texts.

    Depends on the groups and the seed, not on the order of the texts. Raises ValueError when a side lacks a label.
    """
    sizes: dict[str, int] = {}
    for text in texts:
        sizes[text.group] = sizes.get(text.group, 0) + 1
    groups = sorted(sizes)
    chosen: set[str] = set()
    count = 0
    for i in np.random.default_rng(seed).permutation(len(groups)):
        if count >= held_out * len(texts):
            break
        chosen.add(groups[i])
        count += sizes[groups[i]]
    sides = [t for t in texts if t.group not in chosen], [t for t in texts if t.group in chosen]
    for name, side in zip(("training", "held-out"), sides, strict=True):
        classes = sorted({0, 1, *(t.label for t in texts)}, reverse=True)
        counts = {label: sum(t.label == label for t in side) for label in classes}
        if not all(counts.values()):
            found = " and ".join(f"{count} of label {label}" for label, count in counts.items())
            raise ValueError(
                f"{'both' if len(counts) == 2 else 'all'} classes must be among the {name} texts, but these are "
                f"{found}, of {len(texts)} texts in {len(groups)} groups"
            )
    return sides


class RowBatches(Dataset[ClassifierBatch]):
    """Rows by lists of indices: an item is a padded batch. No index gives a row of no weight."""

    def __init__(self, rows: Sequence[TokenRow], labels: NDArray[np.float32], pad: int):
        self.rows = rows
        self.labels = labels
        self.pad = pad

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, indices: list[int]) -> ClassifierBatch:
        rows = [self.rows[i] for i in indices or [0]]
        ids, mask = pad_rows(rows, self.pad)
        texts = torch.tensor([row.text for row in rows])
        return {
            "ids": ids,
            "mask": mask,
            "labels": torch.from_numpy(self.labels[texts.numpy()]),
            "weights": torch.tensor([row.weight if indices else 0.0 for row in rows], dtype=torch.float32),
            "texts": texts,
        }


class BatchOrder(Sampler[list[int]]):
    """The batches of one process in one part of one pass over the rows.

    With `parts` above 1 a pass is cut into that many epochs of Lightning, so that each ends with a validation and a
    checkpoint; where the batches do not divide, the first ones of the pass are read again. Which batches an epoch has
    depends on (seed, epoch) only. Several processes share the rows of every batch, so that they train as one; a process
    without a row gets an empty list. Without a seed rows are in the order of length.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        token_budget: int,
        seed: int | None,
        parts: int = 1,
        rank: int = 0,
        world_size: int = 1,
    ):
        self.lengths = lengths
        self.token_budget = token_budget
        self.seed = seed
        self.parts = parts
        self.rank = rank
        self.world_size = world_size
        self.epoch = 0
        self.total = len(batches_by_budget(lengths, token_budget, self._generator(0)))

    def set_epoch(self, epoch: int) -> None:
        """Lightning calls this before each epoch, a resumed one too."""
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-self.total // self.parts)

    def __iter__(self) -> Iterator[list[int]]:
        whole, part = divmod(self.epoch, self.parts) if self.seed is not None else (0, 0)
        batches = batches_by_budget(self.lengths, self.token_budget, self._generator(whole))
        for i in range(part * len(self), (part + 1) * len(self)):
            yield batches[i % len(batches)][self.rank :: self.world_size]

    def _generator(self, whole: int) -> np.random.Generator | None:
        return None if self.seed is None else np.random.default_rng((self.seed, whole))


class DiscriminatorData(LightningDataModule):
    """Batches of training and held-out texts, sharded over the processes of the trainer.

    Args:
        train: texts to learn from.
        held_out: texts to validate on, of other groups.
        tokens: the tokens of the classifier.
        truncation: as in `segments.read`; each window is a row of its own, with its share of the text's weight.
        token_budget: padded tokens in a batch.
        parts: epochs of Lightning in a pass over the training texts (see `BatchOrder`).
        seed: of the order of the batches.
    """

    def __init__(
        self,
        train: Sequence[LabelledText],
        held_out: Sequence[LabelledText],
        tokens: Tokens,
        truncation: Truncation,
        token_budget: int,
        parts: int = 1,
        seed: int = 0,
    ):
        super().__init__()
        shared = {t.group for t in train} & {t.group for t in held_out}
        if shared:
            raise ValueError(f"no group may be on both sides of the split, but {len(shared)} are: {min(shared)!r}")
        self.train = _batches(train, tokens, truncation)
        self.held_out = _batches(held_out, tokens, truncation)
        self.token_budget = token_budget
        self.parts = parts
        self.seed = seed

    @property
    def texts_per_batch(self) -> float:
        """Training texts in a batch, on average."""
        lengths = [len(row.ids) for row in self.train.rows]
        return len(self.train.labels) / len(batches_by_budget(lengths, self.token_budget, np.random.default_rng(0)))

    def train_dataloader(self) -> DataLoader[ClassifierBatch]:
        return self._loader(self.train, self.seed, self.parts)

    def val_dataloader(self) -> DataLoader[ClassifierBatch]:
        return self._loader(self.held_out, None, 1)

    def _loader(self, batches: RowBatches, seed: int | None, parts: int) -> DataLoader[ClassifierBatch]:
        return load_rows(batches, self.token_budget, seed, parts, self.trainer)


def load_rows(
    batches: RowBatches, token_budget: int, seed: int | None, parts: int, trainer: Trainer | None
) -> DataLoader[ClassifierBatch]:
    """The batches of this process of the trainer, in the order of `BatchOrder`; without a trainer, of the only one."""
    lengths = [len(row.ids) for row in batches.rows]
    rank, world_size = (trainer.global_rank, trainer.world_size) if trainer else (0, 1)
    order = BatchOrder(lengths, token_budget, seed, parts, rank, world_size)
    return DataLoader(batches, batch_size=None, sampler=order)


def _batches(texts: Sequence[LabelledText], tokens: Tokens, truncation: Truncation) -> RowBatches:
    rows, _ = read([t.segments for t in texts], tokens, truncation, [t.pair for t in texts])
    return RowBatches(rows, np.array([t.label for t in texts], dtype=np.float32), tokens.layout.pad)
