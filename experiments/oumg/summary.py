"""Summaries of sentences of built-in reviews under discriminators that read the sentence too, or the summary alone."""

import random
from dataclasses import replace

from core.example import Example
from core.settings import Count, check
from core.signature import MODEL_LIBRARIES, signature
from data.builtin.controlled import generate_texts
from data.builtin.reviews import REVIEWS
from data.sentences import split_english
from experiments.contracts import Outcome, Run, Table
from experiments.oumg import tables
from experiments.oumg.findings import DiscriminatorGrid, judge_systems
from experiments.oumg.misjudged import find_misjudged
from oumg.comparison import PairSettings, TextSet, pair_texts

SYSTEMS = ("fitting", "contrary")


def oumg_summary(
    run: Run, inputs: int, pairs: PairSettings, discriminators: DiscriminatorGrid, device: str = "cpu"
) -> Outcome:
    """Two systems that differ only in whether they answer the source (OUMG, section 1: translation, summary).

    With the source a perfect discriminator has an accuracy of 3/4 and a UR of 1; without it both are 1/2.

    Args:
        run: from the runner.
        inputs: sentences to sum up.
        pairs: how texts are paired; both values of `source` are used.
        discriminators: kinds and seeds.
        device: where the trained discriminators score.
    """
    check(Count, inputs=inputs)
    human, first, second = (TextSet.of(name, texts) for name, texts in write_summaries(inputs, run.seed).items())
    found = {
        source: judge_systems(
            run,
            pair_texts(human, first, second, replace(pairs, source=source)),
            discriminators,
            device,
            prefix=f"{'with' if source else 'without'}_source_",
        )
        for source in (True, False)
    }
    rows = [
        {"reads": "source and summary" if source else "summary", **row}
        for source, each in found.items()
        for row in tables.relative_rows(each)
    ]
    return Outcome(
        signature=signature(
            run.name,
            libraries=MODEL_LIBRARIES,
            inputs=inputs,
            discriminators=",".join(t.identity for each in found.values() for t in each.discriminators.values()),
            seed=run.seed,
        ),
        tables=[Table("Summaries with and without their source", tables.CAPTION, rows)],
        scored=tables.scored_sets(found[True], synthetic=True),
        shown=[find_misjudged(found[True], device, synthetic=True)],
        plots=tables.logit_plots(found[True]),
        models=tables.model_folders(found[True]),
        notes=tables.comparison_notes(found[True]) + tables.comparison_notes(found[False], "without the source: "),
        figures=tables.pair_counts(found[True]),
        synthetic=True,
    )


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
