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
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
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
from meta_eval.scored_set import Location, ScoredSet
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
class Written:
    """A text of one of the three sets, with its file and line."""

    example: Example
    place: Location
    # in the unit of length, each with the spaces after it
    pieces: Sequence[str]


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
    return pair_texts(
        of_people,
        outputs,
        other_outputs,
        settings,
    )


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
    written = [_split_texts(texts, settings.tokens) for texts in sets]
    inputs: dict[str, tuple[list[Written], ...]] = {}  # human texts, outputs of the first system and of the second
    for origin, of_origin in enumerate(written):
        for text in of_origin:
            inputs.setdefault(input_of(text.example), ([], [], []))[origin].append(text)
    faults = list(
        _find_faults(
            [texts.name for texts in sets],
            written,
            inputs,
            settings,
        )
    )
    if faults:
        raise InputError(faults)
    held_out = min(math.ceil(settings.test_fraction * len(inputs)), len(inputs) - FEWEST_INPUTS + 1)
    _, test = split_by(
        human.examples,
        input_of,
        held_out,
        settings.seed,
    )
    tested = {input_of(example) for example in test}
    starts: set[tuple[str, ...]] = set()
    ends: set[tuple[str, ...]] = set()
    for of_origin in written:
        rows = [text.pieces for text in of_origin if input_of(text.example) not in tested]
        reversed_rows = [row[::-1] for row in rows]
        starts.add(find_shared_start(rows))
        ends.add(find_shared_start(reversed_rows)[::-1])
    strip = partial(strip_templates, starts=starts - {()}, ends=ends - {()})
    train_pairs: list[OutputPair] = []
    test_pairs: list[OutputPair] = []
    for name, texts in sorted(inputs.items()):
        pairs = _pair_input(
            name,
            texts,
            strip,
            settings,
            form_of,
        )
        (test_pairs if name in tested else train_pairs).extend(pairs)
    templates = [("start", "".join(start).strip()) for start in starts if start]
    templates += [("end", "".join(end).strip()) for end in ends if end]
    return PairedOutputs(tuple(train_pairs), tuple(test_pairs), tuple(sorted(templates)))


def _split_texts(texts: ScoredSet, unit: str) -> list[Written]:
    written: list[Written] = []
    for i, example in enumerate(texts.examples):
        pieces = split_pieces(normalise_text(example.full_text), unit)
        written.append(Written(example, texts.locate(i), pieces))
    return written


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


def _pair_input(
    name: str,
    texts: Sequence[Sequence[Written]],
    strip: Callable[[Sequence[str]], list[str]],
    settings: PairSettings,
    form_of: Callable[[Example], Hashable],
) -> list[OutputPair]:
    """The pairs of one input from its human texts and the outputs of both systems; `strip` removes templates."""
    human, firsts, seconds = texts
    # Seeded by the name, so the pairs of an input do not depend on other inputs.
    digest = hashlib.sha256(f"{settings.seed} {name}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    by_form: dict[Hashable, list[Written]] = {}
    for i in rng.permutation(len(human)):
        by_form.setdefault(form_of(human[i].example), []).append(human[i])
    draws = {form: cycle(of_form) for form, of_form in by_form.items()}
    contexts = [text.example.context for text in chain(*texts) if text.example.context]
    source = tuple(contexts[:1]) if settings.source else ()
    pairs: list[OutputPair] = []
    for first, second in zip(firsts, seconds, strict=True):
        draw = draws[form_of(first.example)]
        one = next(draw)
        other = next(draw)
        uncut = [strip(text.pieces) for text in (one, other, first, second)]
        length = draw_common_length([len(row) for row in uncut], rng) if settings.match_length else None
        rows = [row[:length] for row in uncut]
        pairs.append(
            OutputPair(
                input=name,
                human=(one.example, other.example),
                first=first.example,
                second=second.example,
                segments=tuple((*source, "".join(row).strip()) for row in rows),
                cut=sum(len(row) < len(whole) for row, whole in zip(rows, uncut, strict=True)),
            )
        )
    return pairs


def _find_faults(
    names: Sequence[str],
    written: Sequence[Sequence[Written]],
    inputs: Mapping[str, Sequence[Sequence[Written]]],
    settings: PairSettings,
) -> Iterator[str]:
    """Finds all faults of the three sets; `names` are those of their files."""
    unit = {"characters": "characters", "jieba": "words"}.get(settings.tokens, "words or marks")
    for text in chain(*written):
        if len(text.pieces) < 2:
            shown = format_value(text.example.full_text)
            yield fault(*text.place, f"a text needs at least two {unit}, found {shown}")
    shared = [name for name, texts in inputs.items() if all(texts)]
    if not shared:
        rule = "the three files must share inputs (the same group, or the same id where there is no group)"
        yield fault(names[0], 0, f"{rule}, but none is in all of {', '.join(names)}")
        return
    for name, texts in inputs.items():
        yield from _find_faults_of_input(
            format_value(name),
            texts,
            names,
            settings.source,
        )
    if len(shared) < FEWEST_INPUTS:
        rule = f"a comparison needs at least {FEWEST_INPUTS} inputs"
        yield fault(names[0], 0, f"{rule}, but {len(shared)} are in all files")


def _find_faults_of_input(
    shown: str,
    texts: Sequence[Sequence[Written]],
    names: Sequence[str],
    needs_context: bool,
) -> Iterator[str]:
    absent = [name for name, of_origin in zip(names, texts, strict=True) if not of_origin]
    if absent:
        rule = "each input needs a human text and outputs of both systems"
        for first, *_ in filter(None, texts):
            yield fault(*first.place, f"{rule}, but {shown} is not in {' and '.join(absent)}")
        return
    human, firsts, seconds = texts
    if len(firsts) != len(seconds):
        rule = "both systems need equally many outputs for an input"
        counts = f"{shown} has {len(seconds)} here and {len(firsts)} in {names[1]}"
        yield fault(*seconds[0].place, f"{rule}, but {counts}")
    contexts = {normalise_text(text.example.context or "") for text in chain(*texts)} - {""}
    if needs_context and len(contexts) != 1:
        yield fault(*human[0].place, f"each input needs one context, but {shown} has {len(contexts) or 'none'}")
