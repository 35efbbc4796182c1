"""Poems of a small SongNet: the generator, the held-out poems whose forms it gets, and its poems (OUMG, 4.1)."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from transformers import LogitsProcessor, TopKLogitsWarper

from core.example import Example
from core.faults import SettingFault
from core.settings import Count, checked_dataclass
from core.stages import fingerprint
from data.corpus import Corpus
from data.files import read_examples, write_examples
from data.splits import split_by
from experiments.contracts import Run
from experiments.training import LanguageModelPlan, Trained, find_or_train
from models.training import Batch, Task
from oumg.form import MARKS, Form
from oumg.poetry import ShiftedRanks, generate_poems
from oumg.songnet import SongNet, SongNetPlan, character_tokenizer

VERSION = 1  # of generated poems; raise it whenever the same generator, forms and decoder would give other poems
LARGEST_SHARE = 0.1  # of all poems in one input, beyond which an interval over inputs depends on that input


@checked_dataclass
class PoemInputs:
    """The human poems whose tunes and forms the generators get, and what counts as one input.

    Attributes:
        input: `tune`: all poems of a tune are one input, on one side of a split; `poem`: each poem is an input, for
            data with too few tunes to split.
        poems: `held_out`, or `train`: the poems that the generator learned (OUMG, section 4.1).
        inputs: the number of poems; None for all.
        per_tune: the most poems of one tune; None for all. One tune has a quarter of the Song Ci held out.
    """

    input: Literal["tune", "poem"]
    poems: Literal["held_out", "train"] = "held_out"
    inputs: Count | None = None
    per_tune: Count | None = None


@dataclass(frozen=True)
class Poems:
    """A SongNet learns every poem after its tune and form."""

    def build(self, model: SongNetPlan, poems: Sequence[Example], seed: int) -> SongNet:
        """The generator before training."""
        return model.build(spell_poems(poems), seed)

    def tasks(self, songnet: SongNet, poems: Sequence[Example]) -> Callable[[int], Sequence[Task]]:
        """The same tasks in every epoch."""
        found = [songnet.task(tune_of(poem), poem.text) for poem in poems]
        return lambda seed: found

    def batch(self, songnet: SongNet, tasks: Sequence[Task]) -> Batch:
        """The arguments of a training step."""
        return songnet.training_batch(songnet.model, tasks)


@dataclass(frozen=True)
class GeneratorPlan(LanguageModelPlan):
    """A SongNet to train.

    Attributes:
        checked: held-out poems for the held-out loss.
    """

    model: SongNetPlan
    learns: Poems = Poems()
    checked: int = 300

    def choose_fitting(self, poems: Sequence[Example]) -> list[Example]:
        """The poems that fit into the generator together with their prompts."""
        return [poem for poem in poems if self.model.fits(tune_of(poem), Form.of(poem.text))]


@dataclass(frozen=True)
class Decoder:
    """How a generator chooses characters.

    Attributes:
        make: for a generator, makes the processor of each batch.
        depends: the settings that its poems depend on.
    """

    make: Callable[[SongNet], Callable[[], LogitsProcessor]]
    depends: Mapping[str, Any]


def top_k(k: int) -> Decoder:
    """The decoder of G1: one of the k likeliest characters."""
    return Decoder(lambda songnet: partial(TopKLogitsWarper, k), {"top_k": k})


def shifted_ranks(k: int) -> Decoder:
    """The decoder of G2: one of the ranks 4k to 5k - 1."""
    return Decoder(lambda songnet: partial(ShiftedRanks, k), {"shifted_ranks": k})


@dataclass(frozen=True)
class Poet:
    """A trained generator that is ready to generate.

    Attributes:
        run: from the runner.
        generator: the trained SongNet.
        batch_size: poems generated at once; other sizes give other draws.
        device: where it generates.
    """

    run: Run
    generator: Trained
    batch_size: int
    device: str

    def generate(self, system: str, poems: Sequence[Example], decoder: Decoder, draws: int = 0) -> tuple[Example, ...]:
        """A poem for the tune and form of each poem, in their order; they are kept as a stage.

        Poems of similar length are generated together. Decoders with the same number of `draws` share their random
        draws.
        """
        seed = int(np.random.SeedSequence([self.run.seed, draws]).generate_state(1)[0] >> 1)  # numpy's are below 2**32
        order = sorted(range(len(poems)), key=lambda i: len(poems[i].text))
        inputs = [(tune_of(poems[i]), Form.of(poems[i].text)) for i in order]

        def build(folder: Path) -> None:
            songnet = SongNet.from_pretrained(self.generator.source, self.device)
            with self.run.progress(f"generating {system}", total=len(inputs)) as advance:
                texts = generate_poems(songnet, inputs, decoder.make(songnet), seed, self.batch_size, advance)
            text_of = dict(zip(order, texts, strict=True))
            write_examples(folder / "poems.jsonl", [replace(poem, text=text_of[i]) for i, poem in enumerate(poems)])

        with self.run.timed(f"generating {system}"):
            depends = {
                "generator": self.generator.identity,
                "after": fingerprint([[poem.id, poem.group, tune_of(poem), poem.text] for poem in poems]),
                "decoder": dict(decoder.depends),
                "seed": seed,
                "batch_size": self.batch_size,
            }
            folder = self.run.stages.get("poems", depends, build, version=VERSION)
        return tuple(replace(poem, system=system) for poem in read_examples(folder / "poems.jsonl"))


def find_or_train_songnet(run: Run, plan: GeneratorPlan, data: Corpus) -> Trained:
    """The generator, which learns every poem that fits."""
    held_out = plan.choose_fitting(data.held_out)[: plan.checked]
    return find_or_train(run, "songnet", plan, plan.choose_fitting(data.train), held_out)


def find_characters(data: Corpus, plan: GeneratorPlan) -> set[str]:
    """The characters that the generator will be able to write, marks apart."""
    tokenizer = character_tokenizer(spell_poems(plan.choose_fitting(data.train)), plan.model.min_count)
    return {*tokenizer.get_vocab()} - {*tokenizer.all_special_tokens, *MARKS}


def check_candidates(needed: int, known: Collection[str], setting: str) -> None:
    """Raises SettingFault if the generator knows too few characters; the message begins with `setting`."""
    if needed > len(known):
        raise SettingFault(f"{setting}, which needs {needed} characters, but the generator knows {len(known)}")


def choose_poems(
    data: Corpus, plan: GeneratorPlan, inputs: PoemInputs, known: Collection[str], fewest: int
) -> tuple[tuple[Example, ...], list[str]]:
    """The human poems whose forms the generators get, with their input as the group, and notes on them.

    Poems with a character that the generator cannot write are left out: only human poems could hold it, so it would
    give them away.

    Raises SettingFault for fewer than `fewest` inputs, and for fewer poems than `inputs` asks for.
    """
    fitting = plan.choose_fitting(data.held_out if inputs.poems == "held_out" else data.train)
    written = [poem for poem in fitting if {*poem.text} <= {*known, *MARKS}]
    some = limit_tunes(written, inputs.per_tune)
    if inputs.inputs is not None and inputs.inputs > len(some):
        few = "" if inputs.per_tune is None else f", {inputs.per_tune} of a tune,"
        raise SettingFault(
            f"inputs must be at most the {len(some)} {inputs.poems} poems{few} that the generator can write, but is "
            f"{inputs.inputs}: change the settings of data"
        )
    _, chosen = split_by(some, lambda poem: poem.id, inputs.inputs or len(some), seed=0)
    poems = tuple(replace(p, group=p.id if inputs.input == "poem" else tune_of(p)) for p in chosen)
    if (number := len({poem.group for poem in poems})) < fewest:
        raise SettingFault(
            f"at least {fewest} inputs are needed, but the {len(poems)} {inputs.poems} poems have {number} (each "
            f"{inputs.input} is one): change the settings of data"
        )
    every = (*data.train, *data.held_out)
    unfit, unspelled = len(every) - len(plan.choose_fitting(every)), len(fitting) - len(written)
    notes = [f"{unfit} poems are left out: their forms do not fit into the generator"] if unfit else []
    if unspelled:
        notes.append(
            f"{unspelled} of {len(fitting)} {inputs.poems} poems are left out: they hold a character that the "
            "generator cannot write"
        )
    tunes = Counter(tune_of(poem) for poem in poems)
    tune, most = tunes.most_common(1)[0]
    if inputs.input == "tune" and most > LARGEST_SHARE * len(poems):
        notes.append(f"{most} of the {len(poems)} poems are of one tune ({tune}), which is one input: see per_tune")
    if unseen := set(tunes) - {tune_of(poem) for poem in data.train}:
        notes.append(f"{len(unseen)} of the {len(tunes)} tunes were not trained on")
    return poems, notes


def limit_tunes(poems: Sequence[Example], most: int | None) -> list[Example]:
    """At most `most` poems of each tune, chosen at random, in the order of `poems`; None for all."""
    of_tune: dict[str, list[Example]] = {}
    for poem in poems:
        of_tune.setdefault(tune_of(poem), []).append(poem)
    kept: set[str] = set()
    for same_tune in of_tune.values():
        _, drawn = split_by(same_tune, lambda poem: poem.id, most or len(same_tune), seed=0)
        kept |= {poem.id for poem in drawn}
    return [poem for poem in poems if poem.id in kept]


def tune_of(poem: Example) -> str:
    """The tune name of a poem."""
    if poem.prefix is None:
        raise ValueError(f"a poem needs the name of its tune as its prefix, but {poem.id!r} has none")
    return poem.prefix


def spell_poems(poems: Sequence[Example]) -> list[str]:
    """Tune and text of every poem."""
    return [tune_of(poem) + poem.text for poem in poems]
