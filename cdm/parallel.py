"""Draws negatives and computes momentum on every device of a trainer, by `models.predict`."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytorch_lightning as pl

from cdm.discriminative import Steps, find_steps, load_steps, save_steps
from cdm.infilling import Pair, TokenisedDialogues
from cdm.negatives import Negatives, NegativeSampler, load_negatives, save_negatives
from models.predict import PART, predict

MakeTrainer = Callable[..., pl.Trainer]


def sample_negatives_on_all(
    sampler: NegativeSampler,
    folder: Path,
    make_trainer: MakeTrainer,
    advance: Callable[[int], None] = lambda rows: None,
    size: int = PART,
) -> Negatives:
    """Draws the negatives of all dialogues on all devices.

    `predict` explains `folder`, `make_trainer` and `size`.
    """
    parts = predict(
        partial(sampler.draw, advance=advance),
        sampler.pair.models,
        len(sampler.dialogues),
        folder=folder,
        make_trainer=make_trainer,
        save=save_negatives,
        load=load_negatives,
        size=size,
    )
    return Negatives.join(parts)


def find_steps_on_all(
    pair: Pair,
    tokenised: TokenisedDialogues,
    folder: Path,
    make_trainer: MakeTrainer,
    size: int = PART,
) -> list[Steps]:
    """Runs `find_steps` for all dialogues on all devices.

    `predict` explains `folder`, `make_trainer` and `size`.
    """

    def read(indices: list[int]) -> list[Steps]:
        dialogues = [tokenised.dialogues[i] for i in indices]
        return find_steps(pair, replace(tokenised, dialogues=dialogues))

    parts = predict(
        read,
        pair.models,
        len(tokenised.dialogues),
        folder=folder,
        make_trainer=make_trainer,
        save=save_steps,
        load=load_steps,
        size=size,
    )
    return [steps for part in parts for steps in part]
