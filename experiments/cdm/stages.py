"""What CDM keeps as stages beside trained models: the sampled negatives and the fitted pooler."""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from cdm import discriminative, negatives
from cdm.discriminative import ClassifierPooler, dialogue_steps
from cdm.negatives import Negatives, manipulated_negatives, sample_negatives
from cdm.pair import Pair
from cdm.sampling import Sampling
from cdm.segments import Strategy
from core.settings import Count, Positive, checked_dataclass
from core.stages import fingerprint
from experiments.runner.contracts import Run
from experiments.training.trained import Trained


@checked_dataclass
class NegativesPlan:
    """What the discriminators learn from.

    Attributes:
        strategy: where and how often a dialogue is manipulated.
        sampling: how segments are drawn from the degraded distribution.
        dialogues: how many training dialogues get a negative.
        turns: longer dialogues are cut into windows of at most this many turns; None keeps them whole.
    """

    strategy: Strategy
    sampling: Sampling
    dialogues: Count
    turns: Annotated[int, Field(ge=2)] | None = None


@checked_dataclass
class PoolerPlan:
    """What the classifier pooler learns from.

    Attributes:
        negatives: `manipulated` (foreign, swapped and repeated turns) or `sampled` (Generative CDM's own).
        strength: scikit-learn's C.
        turns: as in NegativesPlan.
    """

    negatives: Literal["manipulated", "sampled"] = "manipulated"
    strength: Positive = 0.1
    turns: Annotated[int, Field(ge=2)] | None = None


@dataclass(frozen=True)
class TrainedPair:
    """The two infilling models, as trained and as loaded."""

    amateur: Trained
    expert: Trained
    pair: Pair

    @property
    def identity(self) -> dict[str, Any]:
        """What results of the pair depend on."""
        return {
            "amateur": self.amateur.identity,
            "expert": self.expert.identity,
            "longest": self.pair.longest,
        }


def kept_negatives(
    run: Run, trained: TrainedPair, dialogues: Sequence[Sequence[str]], plan: NegativesPlan
) -> Negatives:
    """The negatives of the first dialogues, in random order."""
    chosen = windows(dialogues, plan.turns, run.seed)[: plan.dialogues]

    def build(folder: Path) -> None:
        with run.progress("sampling negatives", len(chosen)) as advance:
            found = sample_negatives(trained.pair, chosen, plan.strategy, plan.sampling, run.seed, advance=advance)
        (folder / "negatives.json").write_text(json.dumps(asdict(found), ensure_ascii=False) + "\n", "utf-8")

    depends = {
        **trained.identity,
        "strategy": plan.strategy,
        "sampling": plan.sampling,
        "dialogues": fingerprint(chosen),
        "seed": run.seed,
    }
    with run.timed("sampling negatives"):
        folder = run.stages.get("negatives", depends, build, version=negatives.VERSION)
    stored = json.loads((folder / "negatives.json").read_text("utf-8"))
    positives, damaged = (tuple(map(tuple, stored[key])) for key in ("positives", "negatives"))
    return Negatives(positives, damaged, tuple(stored["indices"]), stored["failures"], stored["unclosed"])


def kept_pooler(
    run: Run, trained: TrainedPair, held_out: Sequence[Sequence[str]], plan: PoolerPlan, sampled: NegativesPlan
) -> Path:
    """The folder of the classifier pooler, which learns held-out dialogues against damaged ones, never rated ones."""
    chosen = windows(held_out, plan.turns, run.seed)

    def build(folder: Path) -> None:
        if plan.negatives == "manipulated":
            found = manipulated_negatives(chosen, run.seed)
        else:
            found = sample_negatives(trained.pair, chosen, sampled.strategy, sampled.sampling, run.seed)
        good, damaged = (dialogue_steps(trained.pair, texts) for texts in (found.positives, found.negatives))
        ClassifierPooler.fit(good, damaged, plan.strength).save(folder / "pooler.json")

    depends = {
        **trained.identity,
        "plan": plan,
        "sampled": sampled if plan.negatives == "sampled" else None,
        "negatives version": negatives.VERSION,
        "held_out": fingerprint(chosen),
        "seed": run.seed,
    }
    with run.timed("fitting the pooler"):
        return run.stages.get("pooler", depends, build, version=discriminative.VERSION)


def windows(dialogues: Sequence[Sequence[str]], turns: int | None, seed: int) -> list[tuple[str, ...]]:
    """The dialogues in random order; a dialogue of more than `turns` turns as one random window of at most `turns`.

    >>> windows([("a", "b", "c")], None, 0)
    [('a', 'b', 'c')]
    """
    rng = random.Random(seed)
    cut: list[tuple[str, ...]] = []
    for dialogue in rng.sample(dialogues, len(dialogues)):
        length = len(dialogue) if turns is None else min(len(dialogue), rng.randint(max(2, turns // 2), turns))
        start = rng.randint(0, len(dialogue) - length)
        cut.append(tuple(dialogue[start : start + length]))
    return cut
