"""A toy experiment for the tests of the runner."""

import logging
import time
import warnings
from pathlib import Path

import numpy as np
import pytorch_lightning
import torch
from matplotlib.figure import Figure

from core.errors import InputError
from core.example import Example
from core.scores import Metric, Scores
from experiments.contracts import Run, SavedModel, Study
from meta_eval.agreement import list_agreement
from meta_eval.scored_set import ScoredSet
from report.agreement_tables import tabulate_agreement

log = logging.getLogger("experiments.toy")


class OneWeight(pytorch_lightning.LightningModule):
    """y = w x, towards w = 2."""

    def __init__(self, gamma: float, waits: Path | None = None) -> None:
        super().__init__()
        self.waits = waits
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def training_step(self, batch: list[torch.Tensor]) -> torch.Tensor:
        if self.waits is not None:
            self.waits.touch()
            time.sleep(60)
        loss = ((self.weight - 2) * batch[0]).square().mean()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def sentences(ending: str) -> tuple[Example, ...]:
    """Twelve sentences, longer ones better."""
    if ending == "faults":
        raise InputError(["in.jsonl:2: text is empty", "in.jsonl:5: broken JSON"])
    if ending == "broken":
        raise RuntimeError("the sentences broke")
    return tuple(Example(f"s{i}", "word " * (i + 1), ratings={"quality": i / 12}) for i in range(12))


def ask(run: Run, judge: Metric, **about: object) -> Study:
    """Asks a judge about two sentences."""
    del run, about
    return Study(signature=judge.score(sentences("fine")[:2]).signature)


def toy(run: Run, sentences: tuple[Example, ...], gamma: float, ending: str) -> Study:
    """Trains one weight, scores the sentences, ends as told."""
    warnings.warn("a library's warning", stacklevel=1)
    log.info("training with gamma %g", gamma)
    with run.timed("training"), run.progress("waiting", 2) as advance:
        advance(1)
        batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 1)))
        trainer = run.trainer(
            max_epochs=2, logger=run.loggers("expert"), enable_checkpointing=False, log_every_n_steps=1
        )
        model = OneWeight(gamma, waits=run.folder / "waiting" if ending == "interrupt" else None)
        trainer.fit(model, batches)
    if ending == "failure":
        raise RuntimeError("the toy broke")
    if ending == "not an outcome":
        return None  # pyright: ignore[reportReturnType]
    count = np.array([len(s.text.split()) for s in sentences], dtype=float)
    noise = np.random.default_rng(run.seed).normal(size=12) / gamma
    noise[3] = np.nan
    scores = {
        "count": Scores({"score": count}, "count"),
        "noise": Scores({"score": noise}, "noise", [None if i != 3 else "no reason" for i in range(12)]),
        "constant": Scores({"score": np.zeros(12)}, "constant"),
    }
    scored = ScoredSet("toys", sentences, scores, synthetic=True)
    figure = Figure(figsize=(5, 3.2))
    axes = figure.subplots()
    axes.plot(count, [s.ratings["quality"] for s in sentences], "o")
    axes.set(xlabel="words", ylabel="rating")
    stage = run.stages.get(
        "weight", {"gamma": gamma}, lambda folder: torch.save(model.state_dict(), folder / "weight.pt")
    )
    return Study(
        signature=f"toy|gamma:{gamma}",
        tables=[tabulate_agreement(list_agreement(scored))],
        scored=[scored],
        draw=lambda: {"rating": figure},
        models={"expert": SavedModel(stage)},
        notes=["the expert is a <toy>"],
        figures={"weight": float(model.weight.detach()), "nothing": float("nan"), "examples": 12},
    )
