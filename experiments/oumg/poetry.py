"""Poems of one generator with two decoders under discriminators: G1 against G2 (OUMG, Table 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.example import Example
from core.settings import Count, check
from core.signature import MODEL_LIBRARIES, signature
from core.stages import fingerprint
from data.sets.songci import VerseData
from experiments.oumg import forms, tables
from experiments.oumg.findings import DiscriminatorGrid, SystemFindings, compare_systems
from experiments.oumg.gallery import gallery_text
from experiments.oumg.poems import (
    GeneratorPlan,
    PoemInputs,
    Poet,
    check_candidates,
    choose_poems,
    known_characters,
    shifted_ranks,
    top_k,
    trained_songnet,
)
from experiments.report import plots
from experiments.runner.contracts import Outcome, Run, Table
from experiments.training.trained import Trained, folders_of
from oumg.comparison import FEWEST_INPUTS, PairSettings, TextSet, pair_texts
from oumg.form import Form


@dataclass(frozen=True)
class PoemFindings:
    """Poems of human authors and of two systems, and what was found of them.

    Attributes:
        generator: the trained SongNet.
        origins: `human` poems and those of the two systems, by name and in the same order.
        compared: the two systems under discriminators.
        forms: how far each origin keeps the form.
    """

    generator: Trained
    origins: Mapping[str, Sequence[Example]]
    compared: SystemFindings
    forms: Sequence[forms.FormScores]


def oumg_poetry(
    run: Run,
    data: VerseData,
    generator: GeneratorPlan,
    discriminators: DiscriminatorGrid,
    pairs: PairSettings,
    inputs: PoemInputs,
    k: int = 32,
    gallery: int = 8,
    batch_size: int = 64,
    device: str = "cpu",
) -> Outcome:
    """G1 (the k likeliest characters) against G2 (ranks 4k to 5k), and against itself with other draws (Table 1).

    Args:
        run: from the runner.
        data: poems to train the generator on, and held-out poems.
        generator: the generator of both systems.
        discriminators: kinds and seeds.
        pairs: how poems are paired.
        inputs: the human poems whose forms the systems get.
        k: of both decoders.
        gallery: poems in `gallery.txt`.
        batch_size: poems generated at once.
        device: where trained models generate and judge.

    Raises SettingFault where the generator has too few characters for k, or there are too few poems.
    """
    check(Count, k=k)
    known = known_characters(data, generator)
    human, notes = choose_poems(data, generator, inputs, known, FEWEST_INPUTS)
    check_candidates(5 * k, known, f"k = {k}: G2 chooses from the ranks 4k to 5k")
    poet = Poet(run, trained_songnet(run, generator, data), batch_size, device)
    g1 = poet.generate("G1", human, top_k(k))
    g2 = poet.generate("G2", human, shifted_ranks(k))
    again = poet.generate("G1 again", human, top_k(k), draws=1)
    origins = {"human": human, "G1": g1, "G2": g2}
    found = find_poems(run, data, poet.generator, origins, ("G1", "G2"), discriminators, pairs, device)
    with_itself = {"human": human, "G1": g1, "G1 again": again}
    control = compare_poems(run, with_itself, ("G1", "G1 again"), discriminators, pairs, device)
    rows = [*tables.relative_rows(found.compared), *tables.relative_rows(control)]
    notes += tables.comparison_notes(found.compared) + tables.comparison_notes(control, "G1 against itself: ")
    table = Table("G1 against G2, and against itself", tables.CAPTION, rows)
    return present_poems(run, data, found, table, notes, {"k": k}, gallery)


def find_poems(
    run: Run,
    data: VerseData,
    generator: Trained,
    origins: Mapping[str, Sequence[Example]],
    systems: tuple[str, str],
    discriminators: DiscriminatorGrid,
    pairs: PairSettings,
    device: str,
) -> PoemFindings:
    """The findings of two systems that generated a poem for the form of each human poem."""
    compared = compare_poems(run, origins, systems, discriminators, pairs, device)
    with run.timed("form scores"):
        return PoemFindings(generator, origins, compared, forms.form_scores(origins, data.train))


def compare_poems(
    run: Run,
    origins: Mapping[str, Sequence[Example]],
    systems: tuple[str, str],
    discriminators: DiscriminatorGrid,
    pairs: PairSettings,
    device: str,
) -> SystemFindings:
    """Two of the systems under discriminators."""
    human, first, second = (TextSet.of(name, origins[name]) for name in ("human", *systems))
    prefix = f"{'_against_'.join(systems)}_".replace(" ", "_")
    comparison = pair_texts(human, first, second, pairs, form_of=lambda poem: Form.of(poem.full_text))
    return compare_systems(run, comparison, discriminators, device, prefix=prefix)


def present_poems(
    run: Run,
    data: VerseData,
    found: PoemFindings,
    table: Table,
    notes: Sequence[str],
    settings: Mapping[str, Any],
    gallery: int,
    models: Mapping[str, Path] | None = None,
    figures: Mapping[str, float] | None = None,
) -> Outcome:
    """The findings as an outcome.

    Args:
        run: from the runner.
        data: of the poems.
        found: the findings.
        table: relative scores.
        notes: to show.
        settings: of the systems, for the signature.
        gallery: poems in `gallery.txt`.
        models, figures: more of them.
    """
    shown = run.folder / "gallery.txt"
    if run.stages.first:
        shown.write_text(gallery_text(found.origins, gallery), encoding="utf-8")
    return Outcome(
        signature=signature(
            run.name,
            libraries=MODEL_LIBRARIES,
            data=data.name,
            generator=found.generator.identity,
            poems=fingerprint([[poem.text for poem in poems] for poems in found.origins.values()]),
            seeds=",".join(map(str, found.compared.seeds)),
            seed=run.seed,
            **settings,
        ),
        tables=[table, Table("Form", forms.CAPTION, forms.form_rows(found.forms))],
        scored=tables.scored_sets(found.compared, data.synthetic),
        plots={
            **tables.logit_plots(found.compared),
            "training_curve": plots.training_curves({"generator": found.generator.curve}),
        },
        models={
            **folders_of({"generator": found.generator}),
            **tables.model_folders(found.compared),
            **(models or {}),
        },
        notes=notes,
        figures={
            **tables.pair_counts(found.compared),
            "generator held-out NLL (nats per character)": found.generator.held_out_nll,
            **(figures or {}),
        },
        files=[shown],
        synthetic=data.synthetic,
    )
