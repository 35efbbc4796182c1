"""Sampling and momentum by a trainer are those of plain calls, in parts, and go on where a killed run was."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytorch_lightning import Callback, Trainer

from cdm.discriminative import find_steps
from cdm.infilling import Pair
from cdm.negatives import NegativeSampler, sample_negatives
from cdm.parallel import find_steps_on_all, sample_negatives_on_all
from cdm.sampling import Sampling
from models.predict import PartDataModule, split_into_parts
from tests.toy_models import QUIET

SAMPLING = Sampling(gamma=0.5, longest=6)
Dialogues = list[tuple[str, ...]]


@pytest.fixture
def sampler(pair: Pair, dialogues: Dialogues) -> NegativeSampler:
    return NegativeSampler.prepare(pair, dialogues[:7], "mixed-multi", SAMPLING, seed=3)


def test_negatives_by_a_trainer_are_those_of_a_plain_call(
    sampler: NegativeSampler, dialogues: Dialogues, tmp_path: Path
) -> None:
    expected = sample_negatives(sampler.pair, dialogues[:7], "mixed-multi", SAMPLING, seed=3)
    done: list[int] = []
    assert sample_negatives_on_all(sampler, tmp_path, QUIET, done.append, size=3) == expected
    assert sum(done) == 7
    assert list(tmp_path.iterdir()) == []


def test_a_negative_depends_on_the_seed_and_its_index_alone(sampler: NegativeSampler) -> None:
    whole = sampler.draw(range(7))
    negatives = dict(zip(whole.indices, whole.negatives, strict=True))
    parts = [sampler.draw(indices) for indices in ([6, 2], [5], [0, 1, 3, 4])]
    assert {i: n for part in parts for i, n in zip(part.indices, part.negatives, strict=True)} == negatives
    assert sum(part.tokens for part in parts) == whole.tokens


def test_momentum_by_a_trainer_is_that_of_a_plain_call(pair: Pair, dialogues: Dialogues, tmp_path: Path) -> None:
    tokenised = pair.tokenise([*dialogues[:4], ("", "hi")])
    found = find_steps_on_all(pair, tokenised, tmp_path, QUIET, size=2)
    for mine, expected in zip(found, find_steps(pair, tokenised), strict=True):
        np.testing.assert_allclose(mine.momentum, expected.momentum, atol=1e-5)
        np.testing.assert_array_equal(mine.turn, expected.turn)
        assert mine.dropped == expected.dropped


class KilledInPart(Callback):
    """Stops a prediction in a part, as a kill would."""

    def on_predict_batch_start(
        self, trainer: Trainer, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        if batch.number == 1:
            raise RuntimeError("killed")


class Watcher(Callback):
    """Notes which parts are read."""

    def __init__(self) -> None:
        self.read: list[int] = []

    def on_predict_batch_start(
        self, trainer: Trainer, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        self.read.append(batch.number)


def make_trainer(extra: Callback, callbacks: Sequence[Callback], **settings: Any) -> Trainer:
    return QUIET(callbacks=[*callbacks, extra], **settings)


def test_a_killed_sampling_goes_on_with_the_next_part(sampler: NegativeSampler, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="killed"):
        sample_negatives_on_all(sampler, tmp_path / "a", partial(make_trainer, KilledInPart()), size=3)
    watcher = Watcher()
    found = sample_negatives_on_all(sampler, tmp_path / "a", partial(make_trainer, watcher), size=3)
    assert watcher.read == [1, 2]
    assert found == sample_negatives_on_all(sampler, tmp_path / "b", QUIET, size=3)


def test_the_processes_share_the_parts_whatever_their_number(tmp_path: Path) -> None:
    parts = split_into_parts(10, size=3)
    assert [list(part.indices) for part in parts] == [[0, 1], [2, 3, 4], [5, 6], [7, 8, 9]]
    data = PartDataModule(parts, tmp_path)
    read: list[int] = []
    for process in range(3):
        data.trainer = Process(process)  # pyright: ignore[reportAttributeAccessIssue]
        read += [part.number for part in data.predict_dataloader()]
    assert read == [0, 3, 1, 2]
    assert split_into_parts(0) == []


class Process:
    """One of three processes of a trainer."""

    world_size = 3

    def __init__(self, rank: int) -> None:
        self.global_rank = rank
