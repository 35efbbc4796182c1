"""Poems of a guided generator against those of the same one unguided, under discriminators (OUMG, Table 2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import get_args

import numpy as np
from transformers import LogitsProcessor

from core.example import Example
from core.faults import SettingFault
from data.sets.songci import VerseData
from data.splits import split_by
from discriminators.data_module import LabelledText
from discriminators.training import kept_point
from experiments.oumg.poem_writing import GeneratorPlan, Writer, check_ranks, likeliest, trained_generator
from experiments.oumg.poetry import (
    Inputs,
    Judges,
    compared_poems,
    poems_to_write_after,
    poetry_outcome,
)
from experiments.oumg.two_systems import CAPTION
from experiments.runner.contracts import Outcome, Run, Table
from experiments.training.guides import GuidePlan, load_guide, trained_guide
from experiments.training.trained import folders_of
from oumg.comparison import FEWEST_INPUTS
from oumg.guidance import Guidance, GuidanceRule, adapt_guide
from oumg.songnet import SongNet
from oumg.unknown import count_unknown_tokens


@dataclass(frozen=True)
class Guiding:
    """How poems are guided.

    Attributes:
        kind: of the guide, for tables.
        guide: how it learns, and on how many poems of people and the generator together, at most.
        k: likeliest characters among which is chosen, guided or not.
        rule: `normalised` (Eq. 5) or `fudge`.
        alpha: of Eq. 5, or lambda of FUDGE; 0 is unguided.

    Raises SettingFault for k below 1, another rule, and a strength that is negative or not finite.
    """

    kind: str
    guide: GuidePlan
    k: int
    rule: GuidanceRule
    alpha: float

    def __post_init__(self) -> None:
        if self.k < 1:
            raise SettingFault(f"guide_k must leave at least 1 character, but is {self.k}")
        if self.rule not in get_args(GuidanceRule):
            raise SettingFault(f"rule must be one of {', '.join(get_args(GuidanceRule))}, but is {self.rule!r}")
        if not 0 <= self.alpha < np.inf:
            raise SettingFault(f"alpha must be finite and at least 0, but is {self.alpha}")


def guided_poetry(
    run: Run,
    data: VerseData,
    generator: GeneratorPlan,
    guiding: Guiding,
    judges: Judges,
    inputs: Inputs,
    gallery: int = 8,
    batch_size: int = 64,
    device: str = "cpu",
) -> Outcome:
    """Guided poems against unguided ones of the same generator (Table 2).

    The inputs are halved: after one half the generator writes what the guide learns from; after the other it writes
    unguided and guided, and discriminators that learn from a part of this half judge the rest. They share no text, and
    no input, with the guide.

    Args:
        run: from the runner.
        data: poems to train the generator on, and held-out ones.
        generator: the generator.
        guiding: how poems are guided.
        judges: who compares.
        inputs: what is written after.
        gallery: poems that are shown.
        batch_size: poems written at once.
        device: where trained models write and judge.

    Raises SettingFault as `oumg_poetry` does.
    """
    poems, notes = poems_to_write_after(data, generator, inputs, 2 * FEWEST_INPUTS)
    check_ranks(guiding.k, data, generator, f"guide_k = {guiding.k}")
    learned, human = halves(poems, run.seed)
    trained = trained_generator(run, generator, data)
    writer = Writer(run, trained, batch_size, device)
    unguided_content = likeliest(guiding.k), {"top_k": guiding.k}
    machine = writer.after(learned, "machine", *unguided_content)
    tokenizer = SongNet.from_pretrained(trained.source).tokenizer
    texts = _guide_texts(learned, machine, guiding.guide.texts)
    guide = trained_guide(run, f"guide_{guiding.kind}", guiding.guide, texts, tokenizer)

    def guided_content(songnet: SongNet) -> Callable[[], LogitsProcessor]:
        reads = adapt_guide(load_guide(guide.source, device), songnet.tokenizer)
        return partial(Guidance, reads, songnet.tokenizer, guiding.alpha, guiding.k, guiding.rule)

    strength = {"k": guiding.k, "rule": guiding.rule, "alpha": float(guiding.alpha)}
    unguided = writer.after(human, "unguided", *unguided_content)
    # Drawn anew, as another system would be; without guidance the same draws, hence the same poems.
    draws = int(guiding.alpha > 0)
    guided = writer.after(human, "guided", guided_content, {"guide": guide.identity, **strength}, draws)
    compared = compared_poems(run, human, guided, unguided, judges, data.synthetic, device)
    rows = [{"guide": guiding.kind, **strength, **row} for row in compared.tables[0].rows]
    outcome = poetry_outcome(
        run,
        data,
        generator=trained,
        human=human,
        systems={"unguided": unguided, "guided": guided},
        compared=compared,
        tables=[Table("Guided against unguided", CAPTION, rows)],
        notes=[*notes, *compared.notes],
        gallery=gallery,
        settings={"guide": guide.identity, **strength},
    )
    best = kept_point(guide.curve, guiding.guide.training.keep)
    figures = {
        **{f"guide held-out {name} (prefixes)": best[f"val/{name}"] for name in ("accuracy", "auc")},
        "characters of the guided poems that the guide does not know": count_unknown_tokens(
            load_guide(guide.source, "cpu"), [poem.text for poem in guided]
        ),
    }
    return replace(
        outcome, models={**outcome.models, **folders_of({"guide": guide})}, figures={**outcome.figures, **figures}
    )


def halves(poems: Sequence[Example], seed: int) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Two parts of the poems with different inputs, as many of them or one less in the first."""
    number = len({poem.group for poem in poems})
    second, first = split_by(poems, lambda poem: poem.group, number // 2, seed)
    return first, second


def _guide_texts(human: Sequence[Example], machine: Sequence[Example], most: int) -> list[LabelledText]:
    """What the guide learns: human poems (1) and the generator's (0) for the same inputs, `most` in all."""
    pairs = list(zip(human, machine, strict=True))[: most // 2]
    return [
        LabelledText((poem.text,), label, str(poem.group))
        for pair in pairs
        for poem, label in zip(pair, (1, 0), strict=True)
    ]
