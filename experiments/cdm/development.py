"""Choosing the settings of CDM without rated text: held-out human dialogues with machine turns of a third model.

The rated sets of `data` are left aside. The more turns of a dialogue a third small model wrote, the worse it counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cdm.negatives import sample_negatives
from cdm.pair import Pair, turns_of
from cdm.sampling import Sampling
from core.example import Example
from core.settings import Count, Several, Size, check
from data.rated import RatedSet
from data.sets.dialogues import DialogueData
from experiments.cdm.findings import CdmPlan, HeldOut, find_cdm
from experiments.cdm.presentation import present
from experiments.runner.contracts import Outcome, Run
from experiments.training.language_models import LanguageModelPlan, find_or_train_language_model


@dataclass(frozen=True)
class DevelopmentPlan:
    """A development set.

    Attributes:
        model: writes the machine turns; neither of the pair.
        sampling: how it writes; gamma has no effect.
        dialogues: how many human dialogues.
        turns: how often a turn of a dialogue is written by the model, one example for each number.
    """

    model: LanguageModelPlan
    sampling: Sampling
    dialogues: int
    turns: Sequence[int]

    def __post_init__(self) -> None:
        check(Count, dialogues=self.dialogues)
        check(Several[Size], turns=self.turns)


def cdm_development(run: Run, data: DialogueData, plan: CdmPlan, development: DevelopmentPlan) -> Outcome:
    """CDM as in `cdm_dialogue`, on a development set in the place of the rated sets.

    Args:
        run: from the runner.
        data: dialogues to train on and held-out ones; its rated sets are not read.
        plan: the models and what they learn from.
        development: how the development set is made.
    """
    data = replace(data, rated=(development_set(run, data, development, plan.device, plan.dtype),))
    return present(run, data, plan, find_cdm(run, data, plan), lambda _: {})


def development_set(run: Run, data: DialogueData, plan: DevelopmentPlan, device: str, dtype: str) -> RatedSet:
    """Held-out dialogues with no, some and many machine turns; quality falls from 1 to 0 with their number."""
    held_out = HeldOut.of(data)
    third = find_or_train_language_model(run, "third", plan.model, turns_of(data.train), held_out.choosing)
    pair = Pair.from_pretrained(third.source, third.source, device, dtype)
    sampling = replace(plan.sampling, gamma=0.0)  # one model alone
    written = {0: dict(enumerate(held_out.developing[: plan.dialogues]))}
    with run.timed("writing machine turns"):
        for times in range(max(plan.turns)):
            last = written[times]
            found = sample_negatives(pair, list(last.values()), "utterance-single", sampling, run.seed + times)
            origins = list(last)
            written[times + 1] = {origins[i]: turns for i, turns in zip(found.indices, found.negatives, strict=True)}
            if times == 0:  # human turns, spelled as the model spells them
                written[0] = {origins[i]: turns for i, turns in zip(found.indices, found.positives, strict=True)}
    most = max(plan.turns)
    return RatedSet(
        "development",
        tuple(
            Example(
                f"development-{i}-{times}",
                turns=turns,
                system=f"{times} machine turns",
                group=str(i),
                ratings={"quality": 1 - times / most},
            )
            for times in plan.turns
            for i, turns in written[times].items()
        ),
        synthetic=True,
    )
