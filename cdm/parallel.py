"""Draws negatives and computes momentum on every device of a trainer, by `Trainer.predict`."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from cdm.discriminative import Steps, find_steps, load_steps, save_steps
from cdm.infilling import Pair, TokenisedDialogues
from cdm.negatives import Drawn, Negatives, NegativeSampler
from models.predict import PART, Form, Part, predict

MakeTrainer = Callable[..., pl.Trainer]
STEPS = Form(save_steps, load_steps)
DRAWN = Form(
    lambda file, drawn: file.write(json.dumps(asdict(drawn)).encode()),
    lambda path: Drawn(**json.loads(path.read_bytes())),
)


class PairModule(pl.LightningModule):
    """A Lightning module of a pair of models, which run on the device that the trainer assigns.

    `work` gets the indices of a part of the items, and the number of processes.
    """

    def __init__(self, pair: Pair, work: Callable[[Sequence[int], int], Any]) -> None:
        super().__init__()
        self.amateur = pair.amateur.model
        self.expert = pair.expert.model
        self.work = work

    def predict_step(self, part: Part, _: int) -> Any:
        return self.work(part.indices, self.trainer.world_size)


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

    def draw(indices: Sequence[int], processes: int) -> Drawn:
        return sampler.draw(indices, lambda rows: advance(rows * processes))  # the others are about as far

    module = PairModule(sampler.pair, draw)
    models = (module.amateur, module.expert)
    return sampler.join(predict(module, models, len(sampler.positives), folder, make_trainer, form=DRAWN, size=size))


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

    def read(indices: Sequence[int], processes: int) -> list[Steps]:
        dialogues = [tokenised.dialogues[i] for i in indices]
        return find_steps(pair, replace(tokenised, dialogues=dialogues), token_budget)

    module = PairModule(pair, read)
    models = (module.amateur, module.expert)
    parts = predict(module, models, len(tokenised.dialogues), folder, make_trainer, form=STEPS, size=size)
    return [steps for part in parts for steps in part]
