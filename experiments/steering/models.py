"""The models of guided decoding and the texts that they learn: a generator, a guide for each label, and judges."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from core.errors import InputError
from core.example import Example
from core.settings import Share, checked_dataclass
from data.corpus import Corpus, split_share
from discriminators.discriminator import Discriminator
from discriminators.texts import LabelledText
from experiments.contracts import Run
from experiments.training import (
    DiscriminatorPlan,
    GuidePlan,
    LanguageModelPlan,
    Pretrained,
    Trained,
    find_or_train,
    list_texts,
)
from models.causal import CausalLM

FEWEST = 10  # different texts of a label for its guide, and for its judge
LONGEST_NAME = 40  # characters of a label in the name of a folder


@checked_dataclass
class SteeringPlan:
    """The models of guided decoding; the generator, the guides and the judges learn different texts."""

    # a causal language model by hub name or folder, or one to train here
    generator: LanguageModelPlan | Pretrained | str
    guide: GuidePlan  # of each label
    judge: DiscriminatorPlan
    share: Share = 0.5  # of the training texts for a generator that is trained here
    device: str = "cpu"  # where models generate and judge
    dtype: str = "float32"  # of the weights of the generator; guides and judges are small and stay in float32


@dataclass(frozen=True)
class TextParts:
    """The training texts of each model, in disjoint parts."""

    generator: tuple[Example, ...] = ()
    guide: tuple[Example, ...] = ()
    judge: tuple[Example, ...] = ()


def split_parts(data: Corpus, plan: SteeringPlan, seed: int) -> TextParts:
    """Splits the training texts: a share for a generator to train here, and halves of the rest for guides and judges.

    Raises InputError without labelled training texts, and if guides or judges would get fewer than ten different texts
    of a label.
    """
    if not any(example.label for example in data.train):
        raise InputError([f"guides and judges learn labelled texts, but {data.name} has none: choose other data"])

    text = attrgetter("full_text")
    share = plan.share if isinstance(plan.generator, LanguageModelPlan) else 0.0
    rest, generator = split_share(data.train, text, share, seed)
    guide, judge = split_share(rest, text, 0.5, seed + 1)
    parts = TextParts(generator, guide, judge)
    faults: list[str] = []
    for label in data.labels:
        of_parts = (
            {text(each) for each in part if each.label == label} for part in (data.train, guide, judge, generator)
        )
        every, *counts = map(len, of_parts)
        if min(counts[:2]) < FEWEST:
            faults.append(
                f"guides and judges each need at least {FEWEST} different texts of a label, but of the {every} of "
                f"{label!r} to train on {counts[0]} are for guides, {counts[1]} for judges and {counts[2]} for the "
                "generator: give more texts of it, leave the label out of the file, or lower model.share"
            )
    if faults:
        raise InputError(faults)
    return parts


def label_texts(
    examples: Sequence[Example],
    label: str,
    most: int | None,
    seed: int,
) -> list[LabelledText]:
    """Draws different texts of the label (1) and as many of others (0), at most `most` in all; None for all.

    Each group pairs one text of the label with one of the others, so every split has both classes.
    """
    order = np.random.default_rng(seed).permutation(len(examples))
    sides: dict[bool, dict[str, None]] = {True: {}, False: {}}  # the different texts, as they are drawn
    for place in order:
        example = examples[place]
        sides[example.label == label][example.full_text] = None
    share = len(examples) if most is None else most // 2
    count = min(share, *map(len, sides.values()))
    texts: list[LabelledText] = []
    for is_wanted, side in sides.items():
        for number, text in enumerate(list(side)[:count]):
            texts.append(LabelledText((text,), int(is_wanted), f"{label} {number}"))
    return texts


def name_file(label: str) -> str:
    """Makes a label part of a folder name; a label with other characters gets a hash, so that names stay different.

    Only ASCII letters, digits, `_` and `-` stay, because settings and W&B accept no others without quotation marks.

    >>> name_file("positive"), name_file("sci/tech"), name_file("sci tech"), name_file("体育")
    ('positive', 'sci_tech-428caa', 'sci_tech-42947f', '__-ef7be5')
    """
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", label)[:LONGEST_NAME]
    return safe if safe == label else f"{safe}-{hashlib.sha256(label.encode()).hexdigest()[:6]}"


def load_generator(
    run: Run,
    plan: SteeringPlan,
    texts: Sequence[Example],
    data: Corpus,
) -> tuple[Trained, CausalLM]:
    """Finds or trains the generator, on these texts without labels, and loads it."""
    generator = Pretrained(plan.generator) if isinstance(plan.generator, str) else plan.generator
    trained = find_or_train(run, "generator", generator, list_texts(texts), list_texts(data.held_out))
    return trained, CausalLM.from_pretrained(trained.source, plan.device, plan.dtype)


def train_guides(
    run: Run,
    plan: GuidePlan,
    labels: Sequence[str],
    texts: Sequence[Example],
    lm: CausalLM,
) -> dict[str, Trained]:
    """Trains the guide to each label, against all other labels.

    A guide learns prefixes of whole texts, so it should also read the prompt when it guides.
    """
    guides: dict[str, Trained] = {}
    for label in labels:
        learned = label_texts(texts, label, plan.texts, run.seed)
        guides[label] = find_or_train(run, f"guide_{name_file(label)}", plan, learned, tokenizer=lm.tokenizer)
    return guides


def train_judges(
    run: Run,
    plan: DiscriminatorPlan,
    labels: Sequence[str],
    texts: Sequence[Example],
) -> dict[str, Trained]:
    """Trains a judge for each label, against all other labels; of two labels only the second gets a judge.

    The seed of the judges differs from that of the guides.
    """
    seed = run.seed + 1
    judges: dict[str, Trained] = {}
    for label in labels[1:] if len(labels) == 2 else labels:
        learned = label_texts(texts, label, plan.texts, seed)
        judges[label] = find_or_train(run, f"judge_{name_file(label)}", plan, learned, seed=seed)
    return judges


def find_labels(labels: Sequence[str], judges: Mapping[str, Discriminator], texts: Sequence[str]) -> list[str]:
    """Finds the label with the highest logit for each text; with two labels, the sign of the logit decides.

    `judges` are those of `train_judges`, by label.
    """
    logits = [judge.logits([(text,) for text in texts])[0] for judge in judges.values()]
    if len(labels) == 2:
        logits.insert(0, np.zeros(len(texts)))
    return [labels[int(place)] for place in np.argmax(logits, axis=0)]
