"""Two systems under discriminators that tell human texts from outputs (OUMG, section 3.1)."""

from collections.abc import Mapping, Sequence

from core.signature import Setting
from core.stages import fingerprint
from experiments.contracts import Outcome, Run, Table
from experiments.oumg import tables
from experiments.oumg.findings import Contest, JudgesPlan, judge_systems, score_origins
from experiments.oumg.plots import plot_logits
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
    settings: Mapping[str, Setting] | None = None,
    figures: Mapping[str, float] | None = None,
    synthetic: bool = False,
) -> Outcome:
    """A row for each contest and kind of discriminator, beside what a form of OUMG adds.

    The first contest has the plots, the counts, and the logits of its test texts in the results.
    """
    found = [judge_systems(run, each, plan) for each in contests]
    first = found[0]
    pairs = {"pairs to learn from": first.contest.comparison.train, "pairs to judge": first.contest.comparison.test}
    rows = [
        {**each.contest.before, **row, **each.contest.after} for each in found for row in tables.relative_rows(each)
    ]
    return present(
        run,
        score_origins(first, synthetic),
        {**(models or {}), **first.models},
        [Table(title, caption, rows), *further],
        [*notes, *(note for each in found for note in tables.comparison_notes(each))],
        settings=settings,
        plots=plot_logits(first),
        figures={**{name: len(each) for name, each in pairs.items()}, **(figures or {})},
        synthetic=synthetic,
    )


def two_systems(run: Run, comparison: PairedOutputs, discriminators: JudgesPlan) -> Outcome:
    """Two systems of your own."""
    texts = label_pairs((*comparison.train, *comparison.test))
    settings = {"texts": fingerprint([list(text.segments) for text in texts])}
    return compare_systems(run, discriminators, "Two systems", [Contest(comparison)], settings=settings)
