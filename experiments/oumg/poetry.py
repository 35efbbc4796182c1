"""Compares poems of a small SongNet by discriminators (OUMG, section 4).

Poems of likely characters (G1) are compared with those of unlikely ones (G2), and guided with unguided ones.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from transformers import LogitsProcessor, TopKLogitsWarper

from core.errors import SettingError
from core.example import Example
from core.settings import Count, NonNegative, checked_dataclass
from core.stages import fingerprint
from data.corpus import Corpus, split_by
from data.files import read_examples, write_examples
from discriminators.guides import load_guide
from discriminators.texts import LabelledText
from discriminators.training import kept_point
from experiments.contracts import Run, Study, Table
from experiments.oumg import tables
from experiments.oumg.experiment import CAPTION, JudgesPlan, SystemPair, compare_systems
from experiments.training import GuidePlan, LanguageModelPlan, Trained, find_or_train
from meta_eval.design import lay_out
from meta_eval.estimates import Estimate, estimate_perplexity
from meta_eval.scored_set import ScoredSet
from oumg.comparison import FEWEST_INPUTS, PairSettings, pair_texts
from oumg.form import MARKS, Form
from oumg.generation import make_guidance
from oumg.guidance import GuidanceRule
from oumg.poetry import ShiftedRanks, generate_poems
from oumg.songnet import SongNet, frequent_characters, poem_nll, spell_poems, tune_of

PERPLEXITY_CAPTION = (
    "perplexity: per character of all guided poems, given tune and form, under the unguided generator with its whole "
    "vocabulary; lower is more likely."
)


@checked_dataclass
class PoetryPlan:
    """Which SongNet to train, which human poems give it tunes and forms, and how it writes."""

    # its size and training
    generator: LanguageModelPlan
    # how poems are paired
    pairs: PairSettings
    # `held_out`, or `train`: the poems that the generator learned (OUMG, section 4.1)
    poems: Literal["held_out", "train"] = "held_out"
    # the number of poems; None for all
    inputs: Count | None = None
    # held-out poems for the held-out loss
    checked: Count = 300
    # poems generated at once; other sizes give other draws
    batch_size: Count = 64
    # where it generates
    device: str = "cpu"

    def choose_fitting(self, poems: Sequence[Example]) -> list[Example]:
        """Chooses the poems that fit into the generator together with their prompts."""
        return [poem for poem in poems if self.generator.model.fits(tune_of(poem), Form.of(poem.text))]


@dataclass(frozen=True)
class Decoder:
    """A decoder: how a generator chooses characters."""

    # makes the processor of each batch
    make: Callable[[], LogitsProcessor]
    # the settings that its poems depend on
    depends: Mapping[str, Any]


def top_k(k: int) -> Decoder:
    """Makes the decoder of G1, which samples one of the k likeliest characters."""
    return Decoder(partial(TopKLogitsWarper, k), {"top_k": k})


def oumg_poetry(
    run: Run,
    data: Corpus,
    plan: PoetryPlan,
    discriminators: JudgesPlan,
    g1_k: Count = 32,
    g2_k: Count = 32,
) -> Study:
    """Compares two decoders: G1 samples from the k likeliest characters, G2 from the ranks 4k to 5k - 1 (Table 1).

    G1 is also compared with itself. Each decoder has its own k. The paper gives no k; SongNet's released sampler uses
    32.

    Raises SettingError if the generator has too few characters for a decoder, or if there are too few poems.
    """
    known = find_characters(data, plan)
    human, counts = choose_poems(
        data,
        plan,
        known,
        FEWEST_INPUTS,
    )
    check_ranks(g1_k, known, f"g1_k = {g1_k}")
    check_ranks(5 * g2_k, known, f"g2_k = {g2_k}: G2 chooses from the ranks 4k to 5k")
    generator = train_songnet(run, data, plan)
    write = partial(
        write_poems,
        run,
        plan,
        generator,
    )
    origins = {
        "human": human,
        "G1": write("G1", human, top_k(g1_k)),
        "G2": write("G2", human, Decoder(partial(ShiftedRanks, g2_k), {"shifted_ranks": g2_k})),
    }
    again = {
        "human": human,
        "G1": origins["G1"],
        "G1 again": write(
            "G1 again",
            human,
            top_k(g1_k),
            draws=1,
        ),
    }
    return compare_systems(
        run,
        discriminators,
        "G1 against G2, and against itself",
        [pair_poems(plan, origins), pair_poems(plan, again)],
        models={"generator": generator},
        further=[Table("Form", tables.FORM_CAPTION, tables.form_rows(origins, data.train))],
        figures=counts,
        settings={"g1_k": g1_k, "g2_k": g2_k},
        data=data,
    )


def guided_poetry(
    run: Run,
    data: Corpus,
    plan: PoetryPlan,
    discriminators: JudgesPlan,
    kind: str,
    guide: GuidePlan,
    k: Count,
    rule: GuidanceRule,
    alpha: NonNegative,
) -> Study:
    """Compares guided poems with unguided poems of the same generator (Table 2).

    `kind` names the guide in tables, `guide` says how it is trained, on how many human and generated poems together; k
    are the likeliest characters to choose from, guided or not, and alpha is that of Eq. 5, or lambda of FUDGE (0 is
    unguided).

    The inputs are halved. For one half the generator writes the poems that the guide learns. For the other half it
    writes unguided and guided poems. Discriminators learn a part of these and judge the rest; they share no text and no
    input with the guide. Raises SettingError as `oumg_poetry` does.
    """
    known = find_characters(data, plan)
    poems, counts = choose_poems(
        data,
        plan,
        known,
        2 * FEWEST_INPUTS,
    )
    check_ranks(k, known, f"guide_k = {k}")
    learned, human = halve_inputs(poems, run.seed)
    generator = train_songnet(run, data, plan)
    write = partial(
        write_poems,
        run,
        plan,
        generator,
    )
    songnet = SongNet.from_pretrained(generator.source, plan.device)
    texts = label_poems(learned, write("machine", learned, top_k(k)))
    trained = find_or_train(
        run,
        f"guide_{kind}",
        guide,
        texts,
        tokenizer=songnet.tokenizer,
    )
    strength = {"k": k, "rule": rule, "alpha": alpha}
    make = make_guidance(songnet, load_guide(trained.source, plan.device), rule, alpha, k)
    unguided = write("unguided", human, top_k(k))
    # Guided poems have draws of their own, except with alpha 0.
    decoder = Decoder(make, {"guide": trained.identity, **strength})
    guided = write(
        "guided",
        human,
        decoder,
        draws=int(alpha > 0),
    )
    columns = {"guide": kind, **strength, "perplexity": estimate_poem_perplexity(songnet, guided)}
    system_pair = pair_poems(plan, {"human": human, "guided": guided, "unguided": unguided})
    forms = {"human": human, "unguided": unguided, "guided": guided}
    best = kept_point(trained.curve, guide.training.keep)
    return compare_systems(
        run,
        discriminators,
        "Guided against unguided",
        [replace(system_pair, columns=columns)],
        caption=f"{CAPTION} {PERPLEXITY_CAPTION}",
        models={"generator": generator, "guide": trained},
        further=[Table("Form", tables.FORM_CAPTION, tables.form_rows(forms, data.train))],
        settings=strength,
        figures={
            **counts,
            **{f"guide held-out {name} (prefixes)": best[f"val/{name}"] for name in ("accuracy", "auc")},
            "perplexity of the unguided poems": estimate_poem_perplexity(songnet, unguided).value,
        },
        data=data,
    )


def pair_poems(plan: PoetryPlan, origins: Mapping[str, Sequence[Example]]) -> SystemPair:
    """Pairs the poems of two systems with human poems of the same form; `origins` has human ones, then the systems'."""
    human, first, second = (ScoredSet(name, tuple(poems)) for name, poems in origins.items())
    comparison = pair_texts(
        human,
        first,
        second,
        plan.pairs,
        form_of=lambda poem: Form.of(poem.full_text),
    )
    return SystemPair(comparison, prefix=f"{first.name}_against_{second.name}_".replace(" ", "_"))


def write_poems(
    run: Run,
    plan: PoetryPlan,
    generator: Trained,
    system: str,
    poems: Sequence[Example],
    decoder: Decoder,
    draws: int = 0,
) -> tuple[Example, ...]:
    """Generates a poem for the tune and form of each poem, in order; the result is a stage.

    Poems of similar length are generated together. Decoders with the same number of `draws` share their random draws.
    """
    seed = int(np.random.SeedSequence([run.seed, draws]).generate_state(1)[0] >> 1)  # numpy's are below 2**32
    order = sorted(range(len(poems)), key=lambda i: len(poems[i].text))
    inputs = [(tune_of(poems[i]), Form.of(poems[i].text)) for i in order]
    step = f"generating {system}"

    def build(folder: Path) -> None:
        songnet = SongNet.from_pretrained(generator.source, plan.device)
        sizes = {"seed": seed, "batch_size": plan.batch_size}
        with run.progress(step, total=len(inputs)) as advance:
            texts = generate_poems(
                songnet,
                inputs,
                content=decoder.make,
                advance=advance,
                **sizes,
            )
        text_of = dict(zip(order, texts, strict=True))
        write_examples(folder / "poems.jsonl", [replace(poem, text=text_of[i]) for i, poem in enumerate(poems)])

    depends = {
        "generator": generator.identity,
        "after": fingerprint([[poem.id, poem.group, tune_of(poem), poem.text] for poem in poems]),
        "decoder": dict(decoder.depends),
        "seed": seed,
        "batch_size": plan.batch_size,
    }
    folder = run.keep(
        step,
        "poems",
        depends,
        build,
        code=[build, decoder.make],
    )
    return tuple(replace(poem, system=system) for poem in read_examples(folder / "poems.jsonl"))


def train_songnet(run: Run, data: Corpus, plan: PoetryPlan) -> Trained:
    """Trains the generator on every training poem that fits into it."""
    learned = plan.choose_fitting(data.train)
    held_out = plan.choose_fitting(data.held_out)
    return find_or_train(
        run,
        "songnet",
        plan.generator,
        learned,
        held_out[: plan.checked],
    )


def find_characters(data: Corpus, plan: PoetryPlan) -> set[str]:
    """Finds the characters that the generator can write, without punctuation."""
    learned = plan.choose_fitting(data.train)
    return {*frequent_characters(spell_poems(learned), plan.generator.model.min_count)}


def check_ranks(needed: int, known: Collection[str], setting: str) -> None:
    """Raises SettingError if the generator knows too few characters; the message begins with `setting`."""
    if needed > len(known):
        raise SettingError(f"{setting}, which needs {needed} characters, but the generator knows {len(known)}")


def choose_poems(
    data: Corpus,
    plan: PoetryPlan,
    known: Collection[str],
    fewest: int,
) -> tuple[tuple[Example, ...], dict[str, float]]:
    """Chooses the human poems whose forms the generators get; returns them, and how many are left out and why.

    Their group is their input or id. Poems with a character that the generator cannot write are left out, because it
    would show that they are human.

    Raises SettingError for fewer than `fewest` inputs, and for fewer poems than `inputs` asks for.
    """
    human = data.held_out if plan.poems == "held_out" else data.train
    fitting = plan.choose_fitting(human)
    written = [poem for poem in fitting if {*poem.text} <= {*known, *MARKS}]
    if plan.inputs is not None and plan.inputs > len(written):
        raise SettingError(
            f"inputs must be at most the {len(written)} {plan.poems} poems that the generator can write, but is "
            f"{plan.inputs}: change the settings of data"
        )
    _, chosen = split_by(
        written,
        lambda poem: poem.id,
        plan.inputs or len(written),
        seed=0,
    )
    poems = tuple(replace(poem, group=poem.group or poem.id) for poem in chosen)
    groups = {poem.group for poem in poems}
    if len(groups) < fewest:
        raise SettingError(
            f"at least {fewest} inputs are needed, but the {len(poems)} {plan.poems} poems have {len(groups)}: change "
            "the settings of data"
        )
    every = (*data.train, *data.held_out)
    return poems, {
        "poems whose forms do not fit into the generator": len(every) - len(plan.choose_fitting(every)),
        f"{plan.poems} poems with characters that the generator cannot write": len(fitting) - len(written),
    }


def estimate_poem_perplexity(songnet: SongNet, poems: Sequence[Example]) -> Estimate:
    """Estimates the perplexity per character of poems under the unguided generator, with an interval over inputs."""
    nll = poem_nll(songnet, [(tune_of(poem), poem.full_text) for poem in poems])
    tokens = np.array([len(poem.full_text) + 1.0 for poem in poems])  # and the end
    return estimate_perplexity(nll, tokens, lay_out(len(poems), inputs=[str(poem.group) for poem in poems]))


def halve_inputs(poems: Sequence[Example], seed: int) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Splits the poems into two halves without common inputs; with an odd number, the second has one input more."""
    number = len({poem.group for poem in poems})
    second, first = split_by(
        poems,
        lambda poem: poem.group,
        number // 2,
        seed,
    )
    return first, second


def label_poems(human: Sequence[Example], machine: Sequence[Example]) -> list[LabelledText]:
    """Makes the training texts of the guide: human poems (1), and the generator's poems for the same inputs (0)."""
    texts: list[LabelledText] = []
    for poem, rival in zip(human, machine, strict=True):
        texts.append(LabelledText((poem.text,), 1, str(poem.group)))
        texts.append(LabelledText((rival.text,), 0, str(rival.group)))
    return texts
