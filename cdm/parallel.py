"""Draws negatives and computes momentum on every device of a trainer, by `Trainer.predict`."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl

from cdm.discriminative import Steps, find_steps
from cdm.infilling import Pair, TokenisedDialogues
from cdm.negatives import Drawn, Negatives, NegativeSampler
from models.predict import PART, Part, predict

MakeTrainer = Callable[..., pl.Trainer]


class PairModule(pl.LightningModule):
    """A Lightning module of a pair of models, which run on the device that the trainer assigns."""

    def __init__(self, pair: Pair) -> None:
        super().__init__()
        self.amateur = pair.amateur.model
        self.expert = pair.expert.model

    def predict_all(
        self,
        count: int,
        folder: Path,
        make_trainer: MakeTrainer,
        size: int,
    ) -> list[Any]:
        """Calls `predict_step` on all parts of `count` items on all devices of a trainer; see `predict`."""
        models = (self.amateur, self.expert)
        return predict(
            self,
            models,
            count=count,
            folder=folder,
            make_trainer=make_trainer,
            size=size,
        )


class NegativesModule(PairModule):
    """A Lightning module that draws the negatives of dialogues, part by part."""

    def __init__(self, sampler: NegativeSampler, advance: Callable[[int], None] = lambda rows: None) -> None:
        super().__init__(sampler.pair)
        self.sampler = sampler
        self.advance = advance

    def predict_step(self, part: Part, _: int) -> dict[str, Any]:
        """Draws the negatives of a part of the dialogues; returns them as JSON values (`Drawn`)."""
        processes = self.trainer.world_size  # the others are about as far
        return asdict(self.sampler.draw(part.indices, lambda rows: self.advance(rows * processes)))


class MomentumModule(PairModule):
    """A Lightning module that computes the log-probabilities of dialogues under both models (`Steps`), part by part."""

    def __init__(self, pair: Pair, tokenised: TokenisedDialogues, token_budget: int) -> None:
        super().__init__(pair)
        self.pair = pair
        self.tokenised = tokenised
        self.token_budget = token_budget

    def predict_step(self, part: Part, _: int) -> list[dict[str, Any]]:
        """Computes the log-probabilities of every token under both models, for each dialogue of a part of the data.

        Returns one dict of JSON values for each dialogue (`Steps`).
        """
        dialogues = [self.tokenised.dialogues[i] for i in part.indices]
        steps = find_steps(self.pair, replace(self.tokenised, dialogues=dialogues), self.token_budget)
        return [{name: np.asarray(value).tolist() for name, value in vars(step).items()} for step in steps]


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
    module = NegativesModule(sampler, advance)
    parts = module.predict_all(
        count=len(sampler.positives),
        folder=folder,
        make_trainer=make_trainer,
        size=size,
    )
    return sampler.join([Drawn(**part) for part in parts])


def find_steps_on_all(
    pair: Pair,
    tokenised: TokenisedDialogues,
    folder: Path,
    make_trainer: MakeTrainer,
    token_budget: int = 16_384,
    size: int = PART,
) -> list[Steps]:
    """Runs `find_steps` for all dialogues on all devices.

    `predict` explains `folder`, `make_trainer` and `size`.
    """
    module = MomentumModule(pair, tokenised, token_budget)
    parts = module.predict_all(
        count=len(tokenised.dialogues),
        folder=folder,
        make_trainer=make_trainer,
        size=size,
    )
    return [_to_steps(step) for part in parts for step in part]


def _to_steps(values: dict[str, Any]) -> Steps:
    return Steps(
        amateur=np.array(values["amateur"], np.float64),
        expert=np.array(values["expert"], np.float64),
        turn=np.array(values["turn"], np.int64),
        dropped=values["dropped"],
    )
