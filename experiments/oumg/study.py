"""What the experiments on poems share: the poems to compare, their findings, and how these are shown (OUMG, 4.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.example import Example
from core.signature import MODEL_LIBRARIES, signature
from core.stages import fingerprint
from data.corpus import Corpus
from experiments.contracts import Outcome, Run, Table
from experiments.oumg import forms, tables
from experiments.oumg.findings import DiscriminatorGrid, SystemFindings, judge_systems
from experiments.oumg.gallery import format_gallery
from experiments.oumg.misjudged import find_misjudged
from experiments.oumg.poems import GeneratorPlan, PoemInputs, Poet, find_or_train_songnet
from experiments.report import plots
from experiments.training import Trained, folders_of
from oumg.comparison import PairSettings, TextSet, pair_texts
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


@dataclass(frozen=True)
class PoemStudy:
    """A study of two systems that generate a poem for the form of each human poem.

    Attributes:
        data: poems to train the generator on, and held-out poems.
        generator: the generator of both systems.
        discriminators: kinds and seeds.
        pairs: how poems are paired.
        human: the human poems whose forms the systems get.
        gallery: poems in `gallery.txt`.
        batch_size: poems generated at once.
        device: where trained models generate and judge.
    """

    data: Corpus
    generator: GeneratorPlan
    discriminators: DiscriminatorGrid
    pairs: PairSettings
    human: PoemInputs
    gallery: int = 8
    batch_size: int = 64
    device: str = "cpu"

    def train_poet(self, run: Run) -> Poet:
        """The trained generator."""
        return Poet(run, find_or_train_songnet(run, self.generator, self.data), self.batch_size, self.device)

    def find(
        self, run: Run, generator: Trained, origins: Mapping[str, Sequence[Example]], systems: tuple[str, str]
    ) -> PoemFindings:
        """The findings of two of the origins."""
        compared = self.compare(run, origins, systems)
        with run.timed("form scores"):
            return PoemFindings(generator, origins, compared, forms.score_forms(origins, self.data.train))

    def compare(self, run: Run, origins: Mapping[str, Sequence[Example]], systems: tuple[str, str]) -> SystemFindings:
        """Two of the origins under discriminators; the human poems of a pair have the form of its outputs."""
        human, first, second = (TextSet.of(name, origins[name]) for name in ("human", *systems))
        comparison = pair_texts(human, first, second, self.pairs, form_of=lambda poem: Form.of(poem.full_text))
        prefix = f"{'_against_'.join(systems)}_".replace(" ", "_")
        return judge_systems(run, comparison, self.discriminators, self.device, prefix=prefix)

    def present(
        self,
        run: Run,
        found: PoemFindings,
        table: Table,
        notes: Sequence[str],
        settings: Mapping[str, Any],
        models: Mapping[str, Path] | None = None,
        figures: Mapping[str, float] | None = None,
    ) -> Outcome:
        """The findings as an outcome.

        Args:
            run: from the runner.
            found: the findings.
            table: relative scores.
            notes: to show.
            settings: of the systems, for the signature.
            models, figures: more of them.
        """
        shown = run.folder / "gallery.txt"
        if run.stages.first:
            shown.write_text(format_gallery(found.origins, self.gallery), encoding="utf-8")
        return Outcome(
            signature=signature(
                run.name,
                libraries=MODEL_LIBRARIES,
                data=self.data.name,
                generator=found.generator.identity,
                poems=fingerprint([[poem.text for poem in poems] for poems in found.origins.values()]),
                seeds=",".join(map(str, found.compared.seeds)),
                seed=run.seed,
                **settings,
            ),
            tables=[table, Table("Form", forms.CAPTION, forms.form_rows(found.forms))],
            scored=tables.scored_sets(found.compared, self.data.synthetic),
            shown=[find_misjudged(found.compared, self.device, self.data.synthetic)],
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
            synthetic=self.data.synthetic,
        )
