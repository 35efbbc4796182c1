"""Pairs outputs of two systems with human texts; discriminators learn and judge the pairs (OUMG, section 3.1).

Texts are paired by input, and the inputs are split into training and test inputs first. Then all texts are treated
alike, so that a discriminator learns how a text is written and not which file it comes from. All get the same white
space and Unicode form. Templates (a beginning or an end that nearly all texts of one origin share) are removed from
all. The texts of a pair are cut to one length.

Case, kinds of quotation marks and spaces before punctuation stay as they are. If one file is tokenised and another is
not, the discriminator learns that difference; detokenise both first.
"""

import hashlib
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, cycle
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from core.errors import InputError, fault, format_value, read_all
from core.example import Example
from core.settings import Fraction, Size, checked_dataclass
from data.corpus import split_by
from data.files import iterate_examples
from discriminators.discriminator import Discriminator
from discriminators.segments import Segments
from discriminators.texts import LabelledText
from meta_eval.scored_set import ScoredSet
from oumg.pieces import draw_common_length, find_shared_start, normalise_text, split_pieces, strip_templates

FEWEST_INPUTS = 4  # two to learn from, one to validate on, one to test on


@checked_dataclass
class PairSettings:
    """How texts are paired."""

    # the unit of length: `characters`, `jieba` words, or words and marks (anything else)
    tokens: str
    # whether the discriminator reads the input too (`context`, the same for all texts of an input)
    source: bool = False
    # whether the texts of a pair are cut to one length
    match_length: bool = True
    # share of the inputs to test on
    test_fraction: Fraction = 0.25
    # of the split, of the human texts of each pair, and of lengths
    seed: Size = 0


@dataclass(frozen=True)
class OutputPair:
    """An output of each system for one input, and two human texts for it."""

    # its name
    input: str
    # two human texts, the same one twice where the input has only one
    human: tuple[Example, Example]
    # the outputs
    first: Example
    second: Example
    # of these four in this order, as a discriminator reads them: (source, text) or (text,)
    segments: tuple[Segments, ...]
    # how many of these four were cut to the common length
    cut: int

    @property
    def texts(self) -> tuple[Example, Example, Example, Example]:
        """The two human texts, then the output of the first system and that of the second."""
        return (*self.human, self.first, self.second)


@dataclass(frozen=True)
class PairedOutputs:
    """The paired texts of two systems, split into training and test inputs."""

    train: tuple[OutputPair, ...]
    # of other inputs
    test: tuple[OutputPair, ...]
    # removed from all texts, as (`start` or `end`, text)
    templates: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class JudgedPairs:
    """The logits that discriminators of several seeds give to the texts of pairs."""

    # of shape (seeds, pairs, 4), in the order of `OutputPair.texts`
    logits: Float[NDArray[np.float64], "seeds pairs 4"]
    # texts that lost tokens with some seed
    truncated: int

    @property
    def human(self) -> Float[NDArray[np.float64], "seeds texts"]:
        """The logits of human texts: both of the first pair, both of the second, and so on."""
        return self.logits[..., :2].reshape(len(self.logits), -1)

    @property
    def first(self) -> Float[NDArray[np.float64], "seeds pairs"]:
        return self.logits[..., 2]

    @property
    def second(self) -> Float[NDArray[np.float64], "seeds pairs"]:
        return self.logits[..., 3]


def read_comparison(
    human: Path | str,
    first: Path | str,
    second: Path | str,
    settings: PairSettings,
) -> PairedOutputs:
    """Reads three files of examples and pairs their texts (`pair_texts`).

    Raises InputError with all faults as `file:line: what`.
    """
    of_people, outputs, other_outputs = read_all([partial(_read_texts, path) for path in (human, first, second)])
    return pair_texts(of_people, outputs, other_outputs, settings)


def _read_texts(path: Path | str) -> ScoredSet:
    located = tuple(iterate_examples(path, ("text",)))
    places = tuple((str(path), line) for line, _ in located)
    return ScoredSet(str(path), tuple(example for _, example in located), places=places)


def pair_texts(
    human: ScoredSet,
    first: ScoredSet,
    second: ScoredSet,
    settings: PairSettings,
    form_of: Callable[[Example], Hashable] = lambda text: None,
) -> PairedOutputs:
    """Pairs texts by input, splits the inputs, and removes differences of form.

    The k-th output of the first system for an input is paired with the k-th of the second. Our choice: each pair gets
    two human texts of the input, drawn without replacement until all are used, and then again. So N_human = N_G1 +
    N_G2, and every input has the same weight in both classes. If texts have forms, as poems do, human texts with the
    form of the outputs are taken; the input must have one.

    Our choice: with `match_length` the four texts of a pair are cut to one length if their lengths differ. The length
    is drawn between half of the shortest length and the shortest length less one. At the shortest length itself, one
    text would not be cut, and its ending would give it away. The scores then measure how a text is written, not where
    it ends.

    Raises InputError with the faults of all three sets together.
    """
    sets = (human, first, second)
    pieces: dict[str, list[str]] = {}
    for example in chain.from_iterable(texts.examples for texts in sets):
        pieces[example.full_text] = split_pieces(normalise_text(example.full_text), settings.tokens)
    index = _index_inputs(sets)
    _check(sets, index, settings, pieces)
    held_out = min(math.ceil(settings.test_fraction * len(index)), len(index) - FEWEST_INPUTS + 1)
    _, test = split_by(human.examples, input_of, held_out, settings.seed)
    tested = {input_of(example) for example in test}
    starts, ends = _find_templates(sets, pieces, tested)
    stripped = {text: strip_templates(row, starts, ends) for text, row in pieces.items()}
    train_pairs: list[OutputPair] = []
    test_pairs: list[OutputPair] = []
    for name, places in sorted(index.items()):
        of_input: list[list[Example]] = []
        for texts, at in zip(sets, places, strict=True):
            of_input.append([texts.examples[i] for i in at])
        pairs = _pair_input(name, of_input, stripped, settings, form_of)
        (test_pairs if name in tested else train_pairs).extend(pairs)
    templates = [("start", "".join(start).strip()) for start in starts]
    templates += [("end", "".join(end).strip()) for end in ends]
    return PairedOutputs(tuple(train_pairs), tuple(test_pairs), tuple(sorted(templates)))


def _find_templates(
    sets: Sequence[ScoredSet],
    pieces: Mapping[str, list[str]],
    tested: Collection[str],
) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
    """The beginnings and the ends that nearly all texts of one origin share, among the inputs that are not tested."""
    starts: set[tuple[str, ...]] = set()
    ends: set[tuple[str, ...]] = set()
    for texts in sets:
        rows = [pieces[example.full_text] for example in texts.examples if input_of(example) not in tested]
        reversed_rows = [row[::-1] for row in rows]
        starts.add(find_shared_start(rows))
        ends.add(find_shared_start(reversed_rows)[::-1])
    return starts - {()}, ends - {()}


def judge_pairs(pairs: Sequence[OutputPair], discriminators: Iterable[Discriminator]) -> JudgedPairs:
    """Computes the logits of all texts of the pairs, with one discriminator after the other."""
    texts = [tuple(segments) for pair in pairs for segments in pair.segments]
    # Each different text is read once, so equal texts of both systems tie whatever their batch.
    distinct = list(dict.fromkeys(texts))
    place = {text: i for i, text in enumerate(distinct)}
    places = np.array([place[text] for text in texts])
    logits: list[NDArray[np.float64]] = []
    truncated = np.zeros(len(texts), dtype=np.bool_)
    for discriminator in discriminators:
        judged, dropped = discriminator.logits(distinct)
        logits.append(judged[places])
        truncated |= dropped[places] > 0
    return JudgedPairs(np.stack(logits).reshape(len(logits), len(pairs), 4), int(truncated.sum()))


def label_pairs(pairs: Sequence[OutputPair]) -> list[LabelledText]:
    """Makes the training texts of a discriminator: human texts with label 1, and as many outputs with label 0."""
    labelled: list[LabelledText] = []
    for pair in pairs:
        for segments, label in zip(pair.segments, (1, 1, 0, 0), strict=True):
            labelled.append(LabelledText(tuple(segments), label, pair.input))
    return labelled


def input_of(example: Example) -> str:
    """Returns the name of the input that a text answers: the text's group, or its id if it has no group."""
    return example.id if example.group is None else example.group


def _index_inputs(sets: Sequence[ScoredSet]) -> dict[str, list[list[int]]]:
    """The indices of the texts of each input in each of the sets."""
    index: dict[str, list[list[int]]] = {}
    for k, texts in enumerate(sets):
        for i, example in enumerate(texts.examples):
            index.setdefault(input_of(example), [[] for _ in sets])[k].append(i)
    return index


def _pair_input(
    name: str,
    texts: Sequence[Sequence[Example]],
    pieces: Mapping[str, list[str]],
    settings: PairSettings,
    form_of: Callable[[Example], Hashable],
) -> list[OutputPair]:
    """The pairs of one input from its human texts and the outputs of both systems; `pieces` are those of every text."""
    human, firsts, seconds = texts
    # Seeded by the name, so the pairs of an input do not depend on other inputs.
    digest = hashlib.sha256(f"{settings.seed} {name}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    by_form: dict[Hashable, list[Example]] = {}
    for i in rng.permutation(len(human)):
        by_form.setdefault(form_of(human[i]), []).append(human[i])
    draws = {form: cycle(examples) for form, examples in by_form.items()}
    contexts = [example.context for example in (*human, *firsts, *seconds) if example.context]
    context = contexts[0] if contexts else ""
    source = (context,) if settings.source else ()
    pairs: list[OutputPair] = []
    for first, second in zip(firsts, seconds, strict=True):
        draw = draws[form_of(first)]
        one = next(draw)
        other = next(draw)
        uncut = [pieces[example.full_text] for example in (one, other, first, second)]
        length = draw_common_length([len(row) for row in uncut], rng) if settings.match_length else None
        rows = [row[:length] for row in uncut]
        pairs.append(
            OutputPair(
                input=name,
                human=(one, other),
                first=first,
                second=second,
                segments=tuple((*source, "".join(row).strip()) for row in rows),
                cut=sum(len(row) < len(whole) for row, whole in zip(rows, uncut, strict=True)),
            )
        )
    return pairs


def _check(
    sets: Sequence[ScoredSet],
    index: Mapping[str, Sequence[Sequence[int]]],
    settings: PairSettings,
    pieces: Mapping[str, list[str]],
) -> None:
    """Raises InputError with all faults of the three sets; `pieces` are those of every text."""
    human, first, second = sets
    unit = {"characters": "characters", "jieba": "words"}.get(settings.tokens, "words or marks")
    faults: list[str] = []
    for texts in sets:
        for i, example in enumerate(texts.examples):
            if len(pieces[example.full_text]) < 2:
                what = f"a text needs at least two {unit}, found {format_value(example.full_text)}"
                faults.append(fault(*texts.locate(i), what))
    shared = [name for name, places in index.items() if all(places)]
    if not shared:
        rule = "the three files must share inputs (the same group, or the same id where there is no group)"
        names = ", ".join(texts.name for texts in sets)
        raise InputError([*faults, fault(human.name, 0, f"{rule}, but none is in all of {names}")])
    for name, places in index.items():
        shown = format_value(name)
        absent = [texts.name for texts, at in zip(sets, places, strict=True) if not at]
        present = [(texts, at) for texts, at in zip(sets, places, strict=True) if at]
        if absent:
            rule = "each input needs a human text and outputs of both systems"
            what = f"{rule}, but {shown} is not in {' and '.join(absent)}"
            faults += [fault(*texts.locate(at[0]), what) for texts, at in present]
            continue
        of_human, of_first, of_second = places
        if len(of_first) != len(of_second):
            rule = "both systems need equally many outputs for an input"
            counts = f"{shown} has {len(of_second)} here and {len(of_first)} in {first.name}"
            faults.append(fault(*second.locate(of_second[0]), f"{rule}, but {counts}"))
        contexts = {normalise_text(texts.examples[i].context or "") for texts, at in present for i in at} - {""}
        if settings.source and len(contexts) != 1:
            what = f"each input needs one context, but {shown} has {len(contexts) or 'none'}"
            faults.append(fault(*human.locate(of_human[0]), what))
    if len(shared) < FEWEST_INPUTS:
        rule = f"a comparison needs at least {FEWEST_INPUTS} inputs"
        faults.append(fault(human.name, 0, f"{rule}, but {len(shared)} are in all files"))
    if faults:
        raise InputError(faults)
