"""Poems of a small SongNet under discriminators: G1 against G2 (OUMG, Table 1)."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from core.example import Example
from core.faults import SettingFault
from core.settings import seeds
from core.signature import MODEL_LIBRARIES, signature
from core.stages import fingerprint
from data.sets.songci import VerseData
from data.splits import split_by
from experiments.oumg.poem_forms import FORM_CAPTION, form_rows, gallery_text
from experiments.oumg.poem_writing import (
    GeneratorPlan,
    Writer,
    check_ranks,
    likeliest,
    shifted,
    trained_generator,
    tune_of,
)
from experiments.oumg.two_systems import CAPTION, two_systems
from experiments.report import plots
from experiments.runner.contracts import Outcome, Run, Table
from experiments.training.discriminators import DiscriminatorPlan
from experiments.training.trained import Trained, folders_of
from oumg.comparison import FEWEST_INPUTS, Terms, contest, text_set

log = logging.getLogger(__name__)

LARGEST_SHARE = 0.1  # of the poems in one input, beyond which its choice says more than an interval over inputs


@dataclass(frozen=True)
class Inputs:
    """What is written after, and what counts as one input.

    Attributes:
        of: `tune`: all poems of a tune are one input, which is on one side of a split; `poem`: each held-out poem is
            one, where there are too few tunes to split.
        number: held-out poems whose tune and form are written after; None for all.
        per_tune: held-out poems of one tune, at most; None for all. One tune has a quarter of the Song Ci held out.

    Raises SettingFault for another `of`, and for a number or a `per_tune` below 1.
    """

    of: Literal["tune", "poem"]
    number: int | None = None
    per_tune: int | None = None

    def __post_init__(self) -> None:
        if self.of not in ("tune", "poem"):
            raise SettingFault(f"an input must be a tune or a poem, but is {self.of!r}")
        if self.number is not None and self.number < 1:
            raise SettingFault(f"the number of inputs must be at least 1, but is {self.number}")
        if self.per_tune is not None and self.per_tune < 1:
            raise SettingFault(f"the poems per tune must be at least 1, but are {self.per_tune}")


@dataclass(frozen=True)
class Judges:
    """Discriminators that compare two systems: kinds by name, a seed each, and the share of inputs to test on.

    Raises SettingFault for no seeds or equal ones, and a share that is not between 0 and 1.
    """

    kinds: Mapping[str, DiscriminatorPlan]
    seeds: Sequence[int]
    test_fraction: float = 0.25

    def __post_init__(self) -> None:
        seeds(self.seeds)
        if not 0 < self.test_fraction < 1:
            raise SettingFault(f"test_fraction must be between 0 and 1, but is {self.test_fraction}")


def oumg_poetry(
    run: Run,
    data: VerseData,
    generator: GeneratorPlan,
    judges: Judges,
    inputs: Inputs,
    k: int = 32,
    gallery: int = 8,
    batch_size: int = 64,
    device: str = "cpu",
) -> Outcome:
    """G1 (the k likeliest characters) against G2 (ranks 4k to 5k), and against itself with another seed (Table 1).

    Args:
        run: from the runner.
        data: poems to train the generator on, and held-out ones.
        generator: the generator of both.
        judges: who compares.
        inputs: what is written after.
        k: of both.
        gallery: poems that are shown.
        batch_size: poems written at once.
        device: where trained models write and judge.

    Raises SettingFault where the generator has too few characters for k, or there are too few poems.
    """
    human, notes = poems_to_write_after(data, generator, inputs, FEWEST_INPUTS)
    if k < 1:
        raise SettingFault(f"k must leave at least 1 character, but is {k}")
    check_ranks(5 * k, data, generator, f"k = {k}: G2 chooses from the ranks 4k to 5k")
    trained = trained_generator(run, generator, data)
    writer = Writer(run, trained, batch_size, device)
    g1 = writer.after(human, "G1", likeliest(k), {"top_k": k})
    g2 = writer.after(human, "G2", shifted(k), {"shifted_ranks": k})
    again = writer.after(human, "G1 again", likeliest(k), {"top_k": k}, draws=1)
    first = compared_poems(run, human, g1, g2, judges, data.synthetic, device)
    control = compared_poems(run, human, g1, again, judges, data.synthetic, device)
    rows = [*first.tables[0].rows, *control.tables[0].rows]
    return poetry_outcome(
        run,
        data,
        generator=trained,
        human=human,
        systems={"G1": g1, "G2": g2},
        compared=first,
        tables=[Table("G1 against G2, and against itself", CAPTION, rows)],
        notes=[*notes, *first.notes, *(f"G1 against itself: {note}" for note in control.notes)],
        gallery=gallery,
        settings={"k": k},
    )


def few_of_each_tune(poems: Sequence[Example], most: int | None) -> list[Example]:
    """The poems, in their order, without those of a tune that has more than `most`; which of them stay is random."""
    of: dict[str, list[Example]] = {}
    for poem in poems:
        of.setdefault(tune_of(poem), []).append(poem)
    kept = {e.id for each in of.values() for e in split_by(each, lambda poem: poem.id, most or len(each), seed=0)[1]}
    return [poem for poem in poems if poem.id in kept]


def poems_to_write_after(
    data: VerseData, plan: GeneratorPlan, inputs: Inputs, fewest: int
) -> tuple[tuple[Example, ...], list[str]]:
    """Held-out poems to write after, with their input as the group, and what is to be said of them."""
    fitting = few_of_each_tune([poem for poem in data.held_out if plan.takes(poem)], inputs.per_tune)
    if inputs.number is not None and inputs.number > len(fitting):
        few = "" if inputs.per_tune is None else f", {inputs.per_tune} of a tune,"
        raise SettingFault(
            f"inputs must be at most the {len(fitting)} held-out poems{few} that fit into the generator, but is "
            f"{inputs.number}: hold out more (the settings of data)"
        )
    _, chosen = split_by(fitting, lambda poem: poem.id, inputs.number or len(fitting), seed=0)
    poems = tuple(replace(p, group=p.id if inputs.of == "poem" else tune_of(p)) for p in chosen)
    if (number := len({poem.group for poem in poems})) < fewest:
        raise SettingFault(
            f"{fewest} inputs are needed at least, but {len(poems)} held-out poems are {number}, each {inputs.of} "
            "being one: hold out more (the settings of data)"
        )
    left_out = sum(not plan.takes(poem) for poem in (*data.train, *data.held_out))
    notes = [f"{left_out} poems are left out: their forms do not fit into the generator"] if left_out else []
    tunes = Counter(tune_of(poem) for poem in poems)
    tune, most = tunes.most_common(1)[0]
    if inputs.of == "tune" and most > LARGEST_SHARE * len(poems):
        notes.append(f"{most} of the {len(poems)} poems are of one tune ({tune}), which is one input: see per_tune")
    if unseen := set(tunes) - {tune_of(poem) for poem in data.train}:
        notes.append(f"{len(unseen)} of the {len(tunes)} tunes written after were not trained on")
    return poems, notes


def compared_poems(
    run: Run,
    human: Sequence[Example],
    first: Sequence[Example],
    second: Sequence[Example],
    judges: Judges,
    synthetic: bool,
    device: str,
) -> Outcome:
    """The experiment `two_systems` on poems, characters being what lengths are counted in."""
    names = f"{first[0].system} against {second[0].system}"
    terms = Terms("characters", test_fraction=judges.test_fraction, seed=run.seed)
    between = contest(
        text_set("people", human), text_set(str(first[0].system), first), text_set(str(second[0].system), second), terms
    )
    log.info("%s:", names)
    named = replace(run, loggers=lambda training: run.loggers(f"{names.replace(' ', '_')}_{training}"))
    return two_systems(named, between, judges.kinds, judges.seeds, synthetic, device)


def poetry_outcome(
    run: Run,
    data: VerseData,
    generator: Trained,
    human: Sequence[Example],
    systems: Mapping[str, Sequence[Example]],
    compared: Outcome,
    tables: Sequence[Table],
    notes: Sequence[str],
    gallery: int,
    settings: Mapping[str, Any],
) -> Outcome:
    """What was compared, with the form scores, the gallery and the generator beside it."""
    origins = {"human": human, **systems}
    with run.timed("form scores"):
        forms = form_rows(origins, data.train)
    shown = run.folder / "gallery.txt"
    if run.stages.first:
        shown.write_text(gallery_text(origins, gallery), encoding="utf-8")
    return replace(
        compared,
        signature=signature(
            run.name,
            libraries=MODEL_LIBRARIES,
            data=data.name,
            generator=generator.identity,
            poems=fingerprint([[poem.text for poem in poems] for poems in origins.values()]),
            seeds=",".join(map(str, tables[0].rows[0]["seeds"])),
            seed=run.seed,
            **settings,
        ),
        tables=[*tables, Table("Form", FORM_CAPTION, forms)],
        plots={**compared.plots, "training_curve": plots.training_curves({"generator": generator.curve})},
        models={**folders_of({"generator": generator}), **compared.models},
        notes=list(notes),
        figures={
            **compared.figures,
            "generator held-out NLL (nats per character)": generator.held_out_nll,
        },
        files=[shown],
        synthetic=data.synthetic,
    )
