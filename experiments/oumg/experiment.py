"""Two systems under discriminators that tell human texts from outputs (OUMG, section 3.1)."""

from collections.abc import Mapping, Sequence

from core.signature import Setting
from core.stages import fingerprint
from experiments.contracts import Outcome, Run, Table
from experiments.oumg import tables
from experiments.oumg.findings import Contest, JudgesPlan, judge_systems, score_origins
from experiments.presentation import present
from experiments.training import Trained
from oumg.comparison import PairedOutputs, label_pairs


def compare_systems(
    run: Run,
    plan: JudgesPlan,
    title: str,
    contests: Sequence[Contest],
    *,
    caption: str = tables.CAPTION,
    models: Mapping[str, Trained] | None = None,
    further: Sequence[Table] = (),
    notes: Sequence[str] = (),
    figures: Mapping[str, float] | None = None,
    settings: Mapping[str, Setting] | None = None,
    synthetic: bool = False,
) -> Outcome:
    """A row for each contest and kind of discriminator, beside what a form of OUMG adds.

    The first contest has the counts, and the logits of its test texts in the results.
    """
    found = [judge_systems(run, each, plan) for each in contests]
    first, pairs = found[0], contests[0].comparison
    judges = {
        f"discriminator_{each.kind}_seed_{seed}": trained
        for each in first
        for seed, trained in each.discriminators.items()
    }
    return present(
        run,
        score_origins(first, synthetic),
        {**(models or {}), **judges},
        [Table(title, caption, [tables.relative_row(each) for of_contest in found for each in of_contest]), *further],
        [*notes, *(note for each in found for note in tables.comparison_notes(each))],
        settings=settings,
        figures={"pairs to learn from": len(pairs.train), "pairs to judge": len(pairs.test), **(figures or {})},
        synthetic=synthetic,
    )


def two_systems(run: Run, comparison: PairedOutputs, discriminators: JudgesPlan) -> Outcome:
    """Two systems of your own."""
    texts = label_pairs((*comparison.train, *comparison.test))
    settings = {"texts": fingerprint([list(text.segments) for text in texts])}
    return compare_systems(run, discriminators, "Two systems", [Contest(comparison)], settings=settings)
