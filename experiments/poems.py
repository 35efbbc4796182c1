"""Poems of a small SongNet under discriminators: G1 against G2 (OUMG, Table 1), guided against unguided (Table 2)."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from transformers import LogitsProcessor, TopKLogitsWarper

from data.example import Example
from data.files import read_examples, write_examples
from data.settings import seeds
from data.signature import MODEL_LIBRARIES, signature
from data.songci import VerseData
from data.splits import split_by
from data.stages import fingerprint
from discriminators.data_module import LabelledText
from experiments import plots
from experiments.configuration import ConfigurationFault
from experiments.contracts import Outcome, Run, Table
from experiments.language_model_plans import Corpus, trained
from experiments.steering import GuidePlan, load_guide
from experiments.two_systems import CAPTION, two_systems
from language_models.training import Schedule, train_language_model
from meta_eval.agreement import bootstrap, units
from oumg.comparison import FEWEST_INPUTS, Judge, Terms, contest, text_set
from oumg.form import MARKS, Form, lines
from oumg.form_scores import keeps_form, phrase_lengths, rhyme_rate, tone_pattern, tone_rate
from oumg.guidance import Guidance, Rule, reader
from oumg.poetry import ShiftedRanks, write
from oumg.songnet import LONGEST_PHRASE, SongNet, SongNetPlan, character_tokenizer

log = logging.getLogger(__name__)

Content = Callable[[SongNet], Callable[[], LogitsProcessor]]  # makes, per batch, what shapes the choice of characters
FORM_SCORES = ("form_kept", "phrase_lengths", "rhyme", "tones")
FORM_CAPTION = (
    "How far poems keep the form that was asked for, shares in [0, 1], beside those of people. form kept: every "
    "length and mark; phrase lengths: phrases with the right length; rhyme: line ends with the commonest final; tones: "
    "places with the tone class that other people's poems of this tune and form have there. Mandarin of today. 95 % "
    "bootstrap intervals over inputs."
)
TONE_POEMS = 30  # other people's poems of a tune and form that tell its tones, at most
FEWEST_TONE_POEMS = 5  # and at least; with fewer, tones are not scored


@dataclass(frozen=True)
class GeneratorPlan:
    """The generator: what to build, how long to train it, on how many held-out poems it is checked."""

    model: SongNetPlan
    schedule: Schedule
    checked: int = 300

    def takes(self, poem: Example) -> bool:
        """Whether the poem and its prompt fit into the generator."""
        form, plan = Form.of(poem.text), self.model
        prompt = len(_tune(poem)) + 2 * len(form.phrases) + 1
        return (
            len(form.phrases) <= plan.phrases
            and max(length for length, _ in form.phrases) <= LONGEST_PHRASE
            and prompt + len(form) + 1 <= plan.n_positions
        )


@dataclass(frozen=True)
class Inputs:
    """What is written after, and what counts as one input.

    Attributes:
        of: `tune`: all poems of a tune are one input, which is on one side of a split; `poem`: each held-out poem is
            one, where there are too few tunes to split.
        number: held-out poems whose tune and form are written after; None for all.

    Raises ValueError for another `of` and a number below 1.
    """

    of: Literal["tune", "poem"]
    number: int | None = None

    def __post_init__(self) -> None:
        if self.of not in ("tune", "poem"):
            raise ValueError(f"an input must be a tune or a poem, but is {self.of!r}")
        if self.number is not None and self.number < 1:
            raise ValueError(f"the number of inputs must be at least 1, but is {self.number}")


@dataclass(frozen=True)
class Judges:
    """Discriminators that compare two systems: kinds by name, a seed each, and the share of inputs to test on.

    Raises ValueError for no seeds or equal ones, and a share that is not between 0 and 1.
    """

    kinds: Mapping[str, Judge]
    seeds: Sequence[int]
    test_fraction: float = 0.25

    def __post_init__(self) -> None:
        seeds(self.seeds)
        if not 0 < self.test_fraction < 1:
            raise ValueError(f"test_fraction must be between 0 and 1, but is {self.test_fraction}")


@dataclass(frozen=True)
class Guiding:
    """How poems are guided.

    Attributes:
        kind: of the guide, for tables.
        guide: how it learns, and on how many poems of people and the generator together, at most.
        k: likeliest characters among which is chosen, guided or not.
        rule: `normalised` (Eq. 5) or `fudge`.
        alpha: of Eq. 5, or lambda of FUDGE; 0 is unguided.

    Raises ValueError for k below 1, another rule, and a strength that is negative or not finite.
    """

    kind: str
    guide: GuidePlan
    k: int
    rule: Rule
    alpha: float

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"guide_k must leave at least 1 character, but is {self.k}")
        if self.rule not in get_args(Rule):
            raise ValueError(f"rule must be one of {', '.join(get_args(Rule))}, but is {self.rule!r}")
        if not 0 <= self.alpha < np.inf:
            raise ValueError(f"alpha must be finite and at least 0, but is {self.alpha}")


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

    Raises ConfigurationFault where the generator has too few characters for k, or there are too few poems.
    """
    human, notes = _inputs(data, generator, inputs, FEWEST_INPUTS)
    if k < 1:
        raise ConfigurationFault(f"k must leave at least 1 character, but is {k}")
    _check_ranks(5 * k, data, generator, f"k = {k}: G2 chooses from the ranks 4k to 5k")
    folder = trained_generator(run, generator, data)
    writer = _Writer(run, folder, batch_size, device)
    g1 = writer.after(human, "G1", likeliest(k), {"top_k": k})
    g2 = writer.after(human, "G2", shifted(k), {"shifted_ranks": k})
    again = writer.after(human, "G1 again", likeliest(k), {"top_k": k}, draws=1)
    first = _compared(run, human, g1, g2, judges, data.synthetic, device)
    control = _compared(run, human, g1, again, judges, data.synthetic, device)
    rows = [*first.tables[0].rows, *control.tables[0].rows]
    return _outcome(
        run,
        data,
        generator=folder,
        human=human,
        systems={"G1": g1, "G2": g2},
        compared=first,
        tables=[Table("G1 against G2, and against itself", CAPTION, rows)],
        notes=[*notes, *first.notes, *(f"G1 against itself: {note}" for note in control.notes)],
        gallery=gallery,
        settings={"k": k},
    )


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

    Raises ConfigurationFault as `oumg_poetry` does.
    """
    poems, notes = _inputs(data, generator, inputs, 2 * FEWEST_INPUTS)
    _check_ranks(guiding.k, data, generator, f"guide_k = {guiding.k}")
    learned, human = halves(poems, run.seed)
    folder = trained_generator(run, generator, data)
    writer = _Writer(run, folder, batch_size, device)
    unguided_content = likeliest(guiding.k), {"top_k": guiding.k}
    machine = writer.after(learned, "machine", *unguided_content)
    guide = _trained_guide(run, guiding, folder, learned, machine)

    def guided_content(songnet: SongNet) -> Callable[[], LogitsProcessor]:
        reads = reader(load_guide(guide, device), songnet.tokenizer)
        return partial(Guidance, reads, songnet.tokenizer, guiding.alpha, guiding.k, guiding.rule)

    strength = {"k": guiding.k, "rule": guiding.rule, "alpha": float(guiding.alpha)}
    unguided = writer.after(human, "unguided", *unguided_content)
    # Drawn anew, as another system would be; without guidance the same draws, hence the same poems.
    draws = int(guiding.alpha > 0)
    guided = writer.after(human, "guided", guided_content, {"guide": guide.name, **strength}, draws)
    compared = _compared(run, human, guided, unguided, judges, data.synthetic, device)
    rows = [{"guide": guiding.kind, **strength, **row} for row in compared.tables[0].rows]
    outcome = _outcome(
        run,
        data,
        generator=folder,
        human=human,
        systems={"unguided": unguided, "guided": guided},
        compared=compared,
        tables=[Table("Guided against unguided", CAPTION, rows)],
        notes=[*notes, *compared.notes],
        gallery=gallery,
        settings={"guide": guide.name, **strength},
    )
    best = min((point for point in _curve(guide) if "val/loss" in point), key=lambda point: point["val/loss"])
    figures = {f"guide held-out {name} (prefixes)": best[f"val/{name}"] for name in ("accuracy", "auc")}
    return replace(outcome, models={**outcome.models, "guide": guide}, figures={**outcome.figures, **figures})


def trained_generator(run: Run, plan: GeneratorPlan, data: VerseData) -> Path:
    """The stage of the generator, which learns every poem that fits after its tune and form."""
    train = [poem for poem in data.train if plan.takes(poem)]
    held_out = [poem for poem in data.held_out if plan.takes(poem)][: plan.checked]

    def build(folder: Path) -> None:
        songnet = plan.model.build(_spelled(train), run.seed)
        log.info("generator: %.2f M parameters, %d tokens", songnet.parameters / 1e6, len(songnet.tokenizer))
        tasks, checked = ([songnet.task(_tune(p), p.text) for p in poems] for poems in (train, held_out))
        train_language_model(
            songnet,
            lambda seed: tasks,
            checked,
            plan.schedule,
            folder,
            run.trainer,
            run.loggers("generator"),
            run.seed,
            songnet.training_batch,
        )

    return trained(run, "songnet", asdict(plan), Corpus(_spelled(train), _spelled(held_out)), build)


def likeliest(k: int) -> Content:
    """G1: one of the k likeliest characters."""
    return lambda songnet: partial(TopKLogitsWarper, k)


def shifted(k: int) -> Content:
    """G2: one of the ranks 4k to 5k."""
    return lambda songnet: partial(ShiftedRanks, k)


def halves(poems: Sequence[Example], seed: int) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Two parts of the poems with different inputs, as many of them or one less in the first."""
    number = len({poem.group for poem in poems})
    second, first = split_by(poems, lambda poem: poem.group, number // 2, seed)
    return first, second


def _inputs(data: VerseData, plan: GeneratorPlan, inputs: Inputs, fewest: int) -> tuple[tuple[Example, ...], list[str]]:
    """Held-out poems to write after, with their input as the group, and what is to be said of them."""
    fitting = [poem for poem in data.held_out if plan.takes(poem)]
    if inputs.number is not None and inputs.number > len(fitting):
        raise ConfigurationFault(
            f"inputs must be at most the {len(fitting)} held-out poems that fit into the generator, but is "
            f"{inputs.number}: hold out more (the settings of data)"
        )
    _, chosen = split_by(fitting, lambda poem: poem.id, inputs.number or len(fitting), seed=0)
    poems = tuple(replace(p, group=p.id if inputs.of == "poem" else _tune(p)) for p in chosen)
    if (number := len({poem.group for poem in poems})) < fewest:
        raise ConfigurationFault(
            f"{fewest} inputs are needed at least, but {len(poems)} held-out poems are {number}, each {inputs.of} "
            "being one: hold out more (the settings of data)"
        )
    left_out = sum(not plan.takes(poem) for poem in (*data.train, *data.held_out))
    notes = [f"{left_out} poems are left out: their forms do not fit into the generator"] if left_out else []
    tunes = {_tune(poem) for poem in poems}
    if unseen := tunes - {_tune(poem) for poem in data.train}:
        notes.append(f"{len(unseen)} of the {len(tunes)} tunes written after were not trained on")
    return poems, notes


def _check_ranks(needed: int, data: VerseData, plan: GeneratorPlan, setting: str) -> None:
    tokenizer = character_tokenizer(_spelled([p for p in data.train if plan.takes(p)]), plan.model.min_count)
    there = len(tokenizer) - len({*tokenizer.all_special_ids, *(tokenizer.get_vocab()[mark] for mark in MARKS)})
    if needed > there:
        raise ConfigurationFault(f"{setting}, which needs {needed} characters, but the generator knows {there}")


@dataclass(frozen=True)
class _Writer:
    """Writes with a trained generator."""

    run: Run
    generator: Path
    batch_size: int
    device: str

    def after(
        self, poems: Sequence[Example], system: str, content: Content, depends: Mapping[str, Any], draws: int = 0
    ) -> tuple[Example, ...]:
        """The stage of a poem after the tune and form of each poem, in their order; `depends` tells contents apart.

        Poems of like length are written together. The same number of `draws` gives the same ones to every content;
        another number, others.
        """
        seed = int(np.random.SeedSequence([self.run.seed, draws]).generate_state(1)[0] >> 1)  # numpy's are below 2**32
        order = sorted(range(len(poems)), key=lambda i: len(poems[i].text))
        asked = [(_tune(poems[i]), Form.of(poems[i].text)) for i in order]

        def build(folder: Path) -> None:
            songnet = SongNet.from_pretrained(self.generator, self.device)
            with self.run.progress(f"writing {system}", total=len(asked)) as advance:
                texts = dict(
                    zip(order, write(songnet, asked, content(songnet), seed, self.batch_size, advance), strict=True)
                )
            write_examples(folder / "poems.jsonl", [replace(poem, text=texts[i]) for i, poem in enumerate(poems)])

        with self.run.timed(f"writing {system}"):
            folder = self.run.stages.get(
                "poems",
                {
                    "generator": self.generator.name,
                    "after": fingerprint([[poem.id, poem.group, _tune(poem), poem.text] for poem in poems]),
                    "content": dict(depends),
                    "seed": seed,
                    "batch_size": self.batch_size,
                },
                build,
            )
        return tuple(replace(poem, system=system) for poem in read_examples(folder / "poems.jsonl"))


def _trained_guide(
    run: Run, guiding: Guiding, generator: Path, human: Sequence[Example], machine: Sequence[Example]
) -> Path:
    """The stage of the guide, which learns people's poems against the generator's for the same inputs."""
    pairs = list(zip(human, machine, strict=True))[: guiding.guide.texts // 2]
    texts = [
        LabelledText((poem.text,), label, str(poem.group))
        for pair in pairs
        for poem, label in zip(pair, (1, 0), strict=True)
    ]

    def build(folder: Path) -> None:
        tokenizer = SongNet.from_pretrained(generator).tokenizer
        guiding.guide.train(run, texts, tokenizer, folder, "guide")

    with run.timed("training guide"):
        return run.stages.get(
            f"guide_{guiding.kind}",
            {
                "plan": asdict(guiding.guide),
                "generator": generator.name,
                "texts": fingerprint([[list(text.segments), text.label, text.group] for text in texts]),
                "seed": run.seed,
            },
            build,
            together=True,
        )


def _compared(
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


def _outcome(
    run: Run,
    data: VerseData,
    generator: Path,
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
    curve = _curve(generator)
    return replace(
        compared,
        signature=signature(
            run.name,
            libraries=MODEL_LIBRARIES,
            data=data.name,
            generator=generator.name,
            poems=fingerprint([[poem.text for poem in poems] for poems in origins.values()]),
            seeds=",".join(map(str, tables[0].rows[0]["seeds"])),
            seed=run.seed,
            **settings,
        ),
        tables=[*tables, Table("Form", FORM_CAPTION, forms)],
        plots={**compared.plots, "training_curve": plots.training_curves({"generator": curve})},
        models={"generator": generator, **compared.models},
        notes=list(notes),
        figures={
            **compared.figures,
            "generator held-out NLL (nats per character)": min(p["held_out_nll"] for p in curve if "held_out_nll" in p),
        },
        files=[shown],
        synthetic=data.synthetic,
    )


def form_rows(origins: Mapping[str, Sequence[Example]], known: Sequence[Example]) -> list[dict[str, Any]]:
    """The form scores of each origin, one of which is `human`: the poems whose forms were asked for, in one order.

    Args:
        origins: poems of people and systems, each after the same tunes and forms.
        known: other people's poems, which tell the tones of a tune and form beside the human ones. A poem has no part
            in the pattern that it, or what was written after it, is held against.
    """
    human = origins["human"]
    forms = [Form.of(poem.text) for poem in human]
    of: dict[tuple[str, Form], list[Example]] = {}
    for poem in (*known, *human):
        of.setdefault((_tune(poem), Form.of(poem.text)), []).append(poem)
    patterns: list[tuple[str | None, ...]] = []
    for poem, form in zip(human, forms, strict=True):
        others = [other.text for other in of[_tune(poem), form][: TONE_POEMS + 1] if other.id != poem.id][:TONE_POEMS]
        patterns.append(_tone_pattern(tuple(others)) if len(others) >= FEWEST_TONE_POEMS else ())
    drawn = units(len(human), [str(poem.group) for poem in human])
    return [
        {
            "texts": origin,
            "n": len(poems),
            **_means(
                np.array(
                    [
                        (
                            keeps_form(poem.text, form),
                            phrase_lengths(poem.text, form),
                            rhyme_rate(poem.text),
                            tone_rate(poem.text, pattern),
                        )
                        for poem, form, pattern in zip(poems, forms, patterns, strict=True)
                    ],
                    dtype=np.float64,
                ),
                drawn,
            ),
        }
        for origin, poems in origins.items()
    ]


@cache
def _tone_pattern(texts: tuple[str, ...]) -> tuple[str | None, ...]:
    return tuple(tone_pattern(texts))


def _means(values: np.ndarray, drawn: np.ndarray) -> dict[str, Any]:
    """The mean of each column over the rows where it is defined, with an interval over what is drawn."""
    found: dict[str, Any] = {}
    for name, column in zip(FORM_SCORES, values.T, strict=True):
        there = ~np.isnan(column)
        kept = column[there]
        mean = bootstrap(
            lambda weights, kept=kept: {"mean": weights @ kept / weights.sum(axis=1)},
            drawn[there],
            undefined=None if there.any() else f"no poem has a score of {name}",
            names=["mean"],
            confidence=0.95,
            resamples=2000,
            seed=0,
        )["mean"]
        found |= {name: mean.value, f"{name}_interval": (mean.low, mean.high)}
    return found


def gallery_text(origins: Mapping[str, Sequence[Example]], number: int) -> str:
    """The first poem of each of so many tunes, and what each system wrote after it, side by side."""
    first: dict[str, int] = {}
    for i, poem in enumerate(origins["human"]):
        first.setdefault(_tune(poem), i)
    return "\n".join(
        f"{tune}\n\n{side_by_side({origin: poems[i].text for origin, poems in origins.items()})}\n"
        for tune, i in list(first.items())[:number]
    )


def side_by_side(poems: Mapping[str, str]) -> str:
    """Poems in columns under their names, a line below the other; a Chinese character is as wide as two letters.

    >>> print(side_by_side({"G1": "月。明月。", "G2": "春花。"}))
    G1      G2
    月。　  春花。
    明月。
    """
    broken = {name: lines(text) for name, text in poems.items()}
    widths = {name: max(-(-len(name) // 2), *map(len, found)) for name, found in broken.items()}
    rows = zip_longest(*([line.ljust(widths[name], "　") for line in found] for name, found in broken.items()))
    blank = ["　" * width for width in widths.values()]
    table = [
        [name.ljust(2 * width) for name, width in widths.items()],
        *([cell or empty for cell, empty in zip(row, blank, strict=True)] for row in rows),
    ]
    return "\n".join("  ".join(cells).rstrip() for cells in table)


def _tune(poem: Example) -> str:
    if poem.prefix is None:
        raise ValueError(f"a poem needs the name of its tune as its prefix, but {poem.id!r} has none")
    return poem.prefix


def _spelled(poems: Sequence[Example]) -> list[str]:
    """Tune and text of every poem."""
    return [_tune(poem) + poem.text for poem in poems]


def _curve(folder: Path) -> list[dict[str, float]]:
    """The learning curve of a trained stage."""
    return json.loads((folder / "curve.json").read_text(encoding="utf-8"))
