"""Two systems under discriminators that tell human texts from outputs: your own, or summaries (OUMG, section 3.1)."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from core.example import Example
from core.settings import Count, check
from core.signature import Setting
from core.stages import fingerprint
from data.builtin.controlled import generate_texts
from data.builtin.reviews import REVIEWS
from data.sentences import split_english
from experiments.contracts import Outcome, Run, Table
from experiments.oumg import tables
from experiments.oumg.findings import Contest, DiscriminatorGrid, find_misjudged, judge_systems, score_origins
from experiments.oumg.plots import plot_logits
from experiments.presentation import present
from experiments.training import Trained
from oumg.comparison import Comparison, PairSettings, TextSet, label_pairs, pair_texts, read_comparison

SYSTEMS = ("fitting", "contrary")  # of summaries


@dataclass(frozen=True)
class Material:
    """What a form of OUMG, text or verse, gives to the discriminators, and what it shows beside their findings."""

    # of the table of the contests
    title: str
    # the first one has the plots, the counts and the logits of its texts in the results
    contests: Sequence[Contest]
    # each of two systems against a fixed opponent, in a table of their own
    anchored: Sequence[Contest] = ()
    # of the table
    caption: str = tables.CAPTION
    models: Mapping[str, Trained] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    # of the signature
    settings: Mapping[str, Setting] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    files: Sequence[Path] = ()
    synthetic: bool = False


def compare_systems(run: Run, material: Material, discriminators: DiscriminatorGrid) -> Outcome:
    """A row for each contest and kind of discriminator, the logits of every test text, and anchored scores."""
    found = [judge_systems(run, each, discriminators) for each in (*material.contests, *material.anchored)]
    first, compared, anchored = found[0], found[: len(material.contests)], found[len(material.contests) :]
    rows = [
        {**each.contest.before, **row, **each.contest.after} for each in compared for row in tables.relative_rows(each)
    ]
    shown = [Table(material.title, material.caption, rows), *material.tables]
    if anchored:
        shown.append(Table("Anchored scores", tables.ANCHORED_CAPTION, tables.anchored_rows(anchored)))
    identities: dict[str, list[str]] = {}
    for each in found:
        if each.contest.signed:
            identities.setdefault(each.contest.signed, []).extend(model.identity for model in each.models.values())
    return present(
        run,
        score_origins(first, material.synthetic),
        {**material.models, **first.models},
        shown,
        [*material.notes, *(note for each in found for note in tables.comparison_notes(each))],
        settings={**material.settings, **{name: ",".join(each) for name, each in identities.items()}},
        plots=plot_logits(first),
        figures={**tables.pair_counts(first), **material.figures},
        files=material.files,
        shown=[find_misjudged(first, material.synthetic)],
        synthetic=material.synthetic,
    )


def two_systems(
    run: Run, comparison: Comparison, anchored: Sequence[Comparison], discriminators: DiscriminatorGrid
) -> Outcome:
    """Two systems of your own; `anchored` has each of them against a fixed opponent, or nothing."""
    contest = Contest(comparison)
    with_anchor = [
        Contest(each, (name, "anchor"), f"{side}_against_anchor_", "{} against {}: ", "anchored")
        for side, name, each in zip(("g1", "g2"), contest.systems, anchored, strict=False)
    ]
    texts = [label_pairs((*each.train, *each.test)) for each in (comparison, *anchored)]
    read = fingerprint([list(text.segments) for each in texts for text in each])
    material = Material("Two systems", [contest], with_anchor, settings={"texts": read})
    return compare_systems(run, material, discriminators)


def read_anchored(
    human: Path | str, systems: Sequence[Path | str], anchor: Path | str | None, settings: PairSettings
) -> list[Comparison]:
    """The comparison of each system with the anchor; none without an anchor. Raises InputFaults for the files."""
    return [] if anchor is None else [read_comparison(human, system, anchor, settings) for system in systems]


def oumg_summary(run: Run, inputs: int, pairs: PairSettings, discriminators: DiscriminatorGrid) -> Outcome:
    """Two systems that differ only in whether they answer the source (OUMG, section 1: translation, summary).

    With the source a perfect discriminator has an accuracy of 3/4 and a UR of 1; without it both are 1/2.
    """
    check(Count, inputs=inputs)
    human, first, second = (TextSet.of(name, texts) for name, texts in write_summaries(inputs, run.seed).items())
    found, without = (pair_texts(human, first, second, replace(pairs, source=source)) for source in (True, False))
    contests = [
        Contest(found, prefix="with_source_", before={"reads": "source and summary"}),
        Contest(
            without,
            prefix="without_source_",
            about="without the source: ",
            signed="without_source",
            before={"reads": "summary"},
        ),
    ]
    title, settings = "Summaries with and without their source", {"inputs": inputs}
    return compare_systems(run, Material(title, contests, settings=settings, synthetic=True), discriminators)


def write_summaries(number: int, seed: int) -> dict[str, list[Example]]:
    """The last sentences of built-in reviews in a few words ("All in all, it was great.") by a human and two systems.

    The human text and that of the first system name a word of the review's label, that of the second system one of the
    other label. The two labels are equally frequent, so the texts of all three are alike without their source.
    """
    rng = random.Random(f"summaries {seed}")
    other = dict(zip(REVIEWS.labels, reversed(REVIEWS.labels), strict=True))
    found: dict[str, list[Example]] = {name: [] for name in ("human", *SYSTEMS)}
    for review in generate_texts(REVIEWS, number, seed):
        source = split_english(review.text)[-1]
        for name, texts in found.items():
            label = other[str(review.label)] if name == "contrary" else str(review.label)
            text = rng.choice(REVIEWS.verdicts).format(word=rng.choice(REVIEWS.label_words[label]))
            system = None if name == "human" else name
            texts.append(Example(f"{name}-{review.id}", text, group=review.id, context=source, system=system))
    return found
