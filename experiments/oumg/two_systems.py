"""Two systems of your own under discriminators: accuracy, HSR, HSRD, UR and ties (OUMG, section 3.1)."""

from collections.abc import Sequence
from pathlib import Path

from core.signature import MODEL_LIBRARIES, signature
from core.stages import fingerprint
from experiments.contracts import Outcome, Run, Table
from experiments.oumg import tables
from experiments.oumg.findings import DiscriminatorGrid, SystemFindings, judge_systems
from experiments.oumg.misjudged import find_misjudged
from oumg.comparison import Comparison, PairSettings, label_pairs, read_comparison


def read_anchored(
    human: Path | str, systems: Sequence[Path | str], anchor: Path | str | None, settings: PairSettings
) -> list[Comparison]:
    """The comparison of each system with the anchor; none without an anchor. Raises InputFaults for the files."""
    return [] if anchor is None else [read_comparison(human, system, anchor, settings) for system in systems]


def two_systems(
    run: Run,
    comparison: Comparison,
    anchored: Sequence[Comparison],
    discriminators: DiscriminatorGrid,
    device: str = "cpu",
) -> Outcome:
    """A row for each kind of discriminator, the logits of every test text, and anchored scores.

    Args:
        run: from the runner.
        comparison: the two systems.
        anchored: each of the two systems against a fixed opponent, or none.
        discriminators: kinds and seeds.
        device: where the trained discriminators score.
    """
    found = judge_systems(run, comparison, discriminators, device)
    with_anchor = [
        judge_systems(run, each, discriminators, device, (name, "anchor"), prefix=f"{side}_against_anchor_")
        for side, name, each in zip(("g1", "g2"), found.names, anchored, strict=False)
    ]
    shown = [Table("Two systems", tables.CAPTION, tables.relative_rows(found))]
    notes = tables.comparison_notes(found)
    if with_anchor:
        shown.append(Table("Anchored scores", tables.ANCHORED_CAPTION, tables.anchored_rows(with_anchor)))
        notes += [
            note for each in with_anchor for note in tables.comparison_notes(each, " against ".join(each.names) + ": ")
        ]
    return Outcome(
        signature=_signature(run, [found, *with_anchor]),
        tables=shown,
        scored=tables.scored_sets(found, synthetic=False),
        shown=[find_misjudged(found, device, synthetic=False)],
        plots=tables.logit_plots(found),
        models=tables.model_folders(found),
        notes=notes,
        figures=tables.pair_counts(found),
    )


def _signature(run: Run, findings: Sequence[SystemFindings]) -> str:
    comparisons = [found.comparison for found in findings]
    texts = [text for each in comparisons for text in label_pairs((*each.train, *each.test))]
    return signature(
        run.name,
        libraries=MODEL_LIBRARIES,
        texts=fingerprint([list(text.segments) for text in texts]),
        discriminators=",".join(trained.identity for found in findings for trained in found.discriminators.values()),
        seeds=",".join(map(str, findings[0].seeds)),
        seed=run.seed,
    )
