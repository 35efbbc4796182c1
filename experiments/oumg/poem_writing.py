"""A small SongNet as a kept stage, and what it writes: G1, G2 and guided poems (OUMG, section 4.1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from transformers import LogitsProcessor, TopKLogitsWarper

from core.example import Example
from core.faults import SettingFault
from core.stages import fingerprint
from data.files import read_examples, write_examples
from data.sets.songci import VerseData
from experiments.runner.contracts import Run
from experiments.training.language_models import LanguageModelPlan, trained_language_model
from experiments.training.trained import Trained
from language_models.training import Batch, Schedule, Task
from oumg.form import MARKS, Form
from oumg.poetry import ShiftedRanks, generate_poems
from oumg.songnet import LONGEST_PHRASE, SongNet, SongNetPlan, character_tokenizer

Content = Callable[[SongNet], Callable[[], LogitsProcessor]]  # makes, per batch, what shapes the choice of characters


@dataclass(frozen=True)
class GeneratorPlan:
    """The generator: what to build, how long to train it, on how many held-out poems it is checked."""

    model: SongNetPlan
    schedule: Schedule
    checked: int = 300

    def takes(self, poem: Example) -> bool:
        """Whether the poem and its prompt fit into the generator."""
        form, plan = Form.of(poem.text), self.model
        prompt = len(tune_of(poem)) + 2 * len(form.phrases) + 1
        return (
            len(form.phrases) <= plan.phrases
            and max(length for length, _ in form.phrases) <= LONGEST_PHRASE
            and prompt + len(form) + 1 <= plan.n_positions
        )


@dataclass(frozen=True)
class Poems:
    """A SongNet learns every poem after its tune and form."""

    def build(self, model: SongNetPlan, poems: Sequence[Example], seed: int) -> SongNet:
        """The model before training."""
        return model.build(spelled(poems), seed)

    def tasks(self, songnet: SongNet, poems: Sequence[Example]) -> Callable[[int], Sequence[Task]]:
        """The same tasks in every epoch."""
        found = [songnet.task(tune_of(poem), poem.text) for poem in poems]
        return lambda seed: found

    def batch(self, songnet: SongNet, tasks: Sequence[Task]) -> Batch:
        """What the model is called with."""
        return songnet.training_batch(songnet.model, tasks)


def trained_generator(run: Run, plan: GeneratorPlan, data: VerseData) -> Trained:
    """The generator, which learns every poem that fits."""
    train = [poem for poem in data.train if plan.takes(poem)]
    held_out = [poem for poem in data.held_out if plan.takes(poem)][: plan.checked]
    return trained_language_model(
        run, "songnet", LanguageModelPlan(plan.model, plan.schedule, Poems()), train, held_out
    )


def likeliest(k: int) -> Content:
    """G1: one of the k likeliest characters."""
    return lambda songnet: partial(TopKLogitsWarper, k)


def shifted(k: int) -> Content:
    """G2: one of the ranks 4k to 5k."""
    return lambda songnet: partial(ShiftedRanks, k)


@dataclass(frozen=True)
class Writer:
    """Writes with a trained generator, on `device`, `batch_size` poems at once; other sizes draw other poems."""

    run: Run
    generator: Trained
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
        asked = [(tune_of(poems[i]), Form.of(poems[i].text)) for i in order]

        def build(folder: Path) -> None:
            songnet = SongNet.from_pretrained(self.generator.source, self.device)
            with self.run.progress(f"writing {system}", total=len(asked)) as advance:
                texts = dict(
                    zip(
                        order,
                        generate_poems(songnet, asked, content(songnet), seed, self.batch_size, advance),
                        strict=True,
                    )
                )
            write_examples(folder / "poems.jsonl", [replace(poem, text=texts[i]) for i, poem in enumerate(poems)])

        with self.run.timed(f"writing {system}"):
            folder = self.run.stages.get(
                "poems",
                {
                    "generator": self.generator.identity,
                    "after": fingerprint([[poem.id, poem.group, tune_of(poem), poem.text] for poem in poems]),
                    "content": dict(depends),
                    "seed": seed,
                    "batch_size": self.batch_size,
                },
                build,
                version=1,
            )
        return tuple(replace(poem, system=system) for poem in read_examples(folder / "poems.jsonl"))


def check_ranks(needed: int, data: VerseData, plan: GeneratorPlan, setting: str) -> None:
    """Raises SettingFault, with the setting, where the generator will know fewer characters than it needs."""
    tokenizer = character_tokenizer(spelled([p for p in data.train if plan.takes(p)]), plan.model.min_count)
    there = len(tokenizer) - len({*tokenizer.all_special_ids, *(tokenizer.get_vocab()[mark] for mark in MARKS)})
    if needed > there:
        raise SettingFault(f"{setting}, which needs {needed} characters, but the generator knows {there}")


def tune_of(poem: Example) -> str:
    """The name of the tune that a poem is written to."""
    if poem.prefix is None:
        raise ValueError(f"a poem needs the name of its tune as its prefix, but {poem.id!r} has none")
    return poem.prefix


def spelled(poems: Sequence[Example]) -> list[str]:
    """Tune and text of every poem."""
    return [tune_of(poem) + poem.text for poem in poems]
