"""Choosing the settings of CDM without rated text: held-out human dialogues with machine turns of a third model.

The rated sets of `data` are left aside. The more turns of a dialogue a third small model wrote, the worse it counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cdm import negatives
from cdm.negatives import sample_negatives
from cdm.pair import Pair, turns_of
from cdm.sampling import Sampling
from core.example import Example
from core.faults import SettingFault
from core.settings import Count, Several, Size, check
from core.stages import fingerprint
from data.corpus import Corpus, RatedSet
from data.files import read_examples, write_examples
from experiments.cdm.findings import CdmPlan, HeldOut, find_cdm
from experiments.cdm.presentation import present_cdm
from experiments.contracts import Outcome, Run
from experiments.training import LanguageModelPlan, find_or_train


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
        if not any(self.turns):
            raise SettingFault(f"turns must hold a number above 0, so that quality differs, but is {list(self.turns)}")


def cdm_development(run: Run, data: Corpus, plan: CdmPlan, development: DevelopmentPlan) -> Outcome:
    """CDM as in `cdm_dialogue`, on a development set in the place of the rated sets.

    Args:
        run: from the runner.
        data: dialogues to train on and held-out ones; its rated sets are not read.
        plan: the models and what they learn from.
        development: how the development set is made.
    """
    data = replace(data, rated=(development_set(run, data, development, plan.device, plan.dtype),))
    return present_cdm(run, data, plan, find_cdm(run, data, plan), lambda _: {})


def development_set(run: Run, data: Corpus, plan: DevelopmentPlan, device: str, dtype: str) -> RatedSet:
    """Held-out dialogues with no, some and many machine turns; quality falls from 1 to 0 with their number.

    Raises SettingFault for fewer than three held-out dialogues.
    """
    held_out = HeldOut.of(data)
    if not held_out.developing:
        raise SettingFault(f"a development set needs at least 3 held-out dialogues, but there are {len(data.held_out)}")
    third = find_or_train(run, "third", plan.model, turns_of(data.train), held_out.choosing)
    chosen = held_out.developing[: plan.dialogues]

    def build(folder: Path) -> None:
        pair = Pair.from_pretrained(third.source, third.source, device, dtype)
        write_examples(folder / "examples.jsonl", machine_turns(pair, chosen, plan, run.seed))

    depends = {
        "model": third.identity,
        "sampling": plan.sampling,
        "turns": plan.turns,
        "dialogues": fingerprint(chosen),
        "dtype": dtype,
        "seed": run.seed,
    }
    with run.timed("writing machine turns"):
        folder = run.stages.get("development", depends, build, version=negatives.VERSION)
    return RatedSet("development", read_examples(folder / "examples.jsonl"), synthetic=True)


def machine_turns(pair: Pair, dialogues: Sequence[tuple[str, ...]], plan: DevelopmentPlan, seed: int) -> list[Example]:
    """Each dialogue once for each number in `plan.turns`: the amateur of `pair` writes that many of its turns."""
    sampling = replace(plan.sampling, gamma=0.0)  # one model alone
    written = {0: dict(enumerate(dialogues))}
    for times in range(max(plan.turns)):
        last = written[times]
        found = sample_negatives(pair, list(last.values()), "utterance-single", sampling, seed + times)
        origins = list(last)
        written[times + 1] = {origins[i]: turns for i, turns in zip(found.indices, found.negatives, strict=True)}
        if times == 0:  # human turns, spelled as the model spells them
            written[0] = {origins[i]: turns for i, turns in zip(found.indices, found.positives, strict=True)}
    most = max(plan.turns)
    return [
        Example(
            f"development-{i}-{times}",
            turns=turns,
            system=f"{times} machine turns",
            group=str(i),
            ratings={"quality": 1 - times / most},
        )
        for times in plan.turns
        for i, turns in written[times].items()
    ]
