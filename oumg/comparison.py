"""OUMG for any two systems: discriminators learn human texts against outputs and are asked about other outputs.

Texts are paired by input and split by input before anything else. Both classes are then treated alike, so that a
discriminator learns how a text is written and not which file it is from: the same white space and Unicode form, what
nearly every text of an origin begins or ends with is taken off all texts, and the texts that meet are cut to one
length. Discriminators of several seeds learn the training inputs; the held-out ones are scored.

Not made alike: upper and lower case, kinds of quotation marks, blanks before punctuation. Where one file has been
tokenised and the other has not, a discriminator will tell; detokenise both first.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.example import Example
from core.faults import InputFaults, SettingFault, fault, read_all, shown
from data.files import located_examples
from data.splits import split_by
from discriminators.data_module import LabelledText
from discriminators.discriminator import Discriminator
from discriminators.segments import Segments
from oumg.pieces import draw_common_length, find_shared_start, normalise_text, split_pieces, strip_templates
from oumg.relative import RelativeScores, relative_scores

FEWEST_INPUTS = 4  # two to learn from, one to validate on, one to test on


@dataclass(frozen=True)
class TextSet:
    """Texts of one origin: human ones or the outputs of a system.

    Attributes:
        name: for messages: the file, or what it is.
        examples: `group` names the input, or `id` where there is no group; an input may have several texts.
        lines: of each example in the file, from 1.
    """

    name: str
    examples: tuple[Example, ...]
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Terms:
    """How two systems are compared.

    Attributes:
        tokens: what lengths are counted in: `characters`, `jieba` words, or words and marks (anything else).
        source: whether the discriminator reads the input too (`context`, the same for all texts of an input).
        match_length: whether lengths are made alike.
        test_fraction: share of the inputs to test on.
        seed: of the split, of which human texts meet which outputs, and of lengths.
    """

    tokens: str
    source: bool = False
    match_length: bool = True
    test_fraction: float = 0.25
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.test_fraction < 1:
            raise SettingFault(f"test_fraction must be between 0 and 1, but is {self.test_fraction}")


@dataclass(frozen=True)
class Bout:
    """One output of each system for the same input, and two human texts for it: what a discriminator sees together.

    Attributes:
        input: its name.
        human: two human texts, the same one twice where the input has no other.
        first, second: the outputs.
        segments: of these four in this order, as they are read: (source, text) or (text,).
    """

    input: str
    human: tuple[Example, Example]
    first: Example
    second: Example
    segments: tuple[Segments, Segments, Segments, Segments]


@dataclass(frozen=True)
class Contest:
    """Two systems, ready to be judged.

    Attributes:
        train, test: bouts of different inputs.
        templates: what was taken off, as (where, text): `start` or `end`.
    """

    train: tuple[Bout, ...]
    test: tuple[Bout, ...]
    templates: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Verdict:
    """What discriminators of one kind say of the held-out inputs.

    Attributes:
        scores: relative scores, pooled over seeds.
        human: logits of the human texts, of shape (seeds, 2 bouts): both of the first bout, of the second, and so on.
        first, second: logits of the outputs, of shape (seeds, bouts).
        truncated: texts of the held-out bouts that lost tokens with some seed.
        folders: by seed, the trained discriminator.
    """

    scores: RelativeScores
    human: NDArray[np.float64]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    truncated: int
    folders: Mapping[int, Path]


def read_contest(human: Path | str, first: Path | str, second: Path | str, terms: Terms) -> Contest:
    """`contest` of three files of examples (as `data.files.read_examples` reads them).

    Raises InputFaults with all faults as `file:line: what`.
    """
    people, ones, others = read_all([partial(_text_file, path) for path in (human, first, second)])
    return contest(people, ones, others, terms)


def text_set(name: str, examples: Iterable[Example]) -> TextSet:
    """Examples that come from no file; a message counts them from 1 where it would give the line."""
    examples = tuple(examples)
    return TextSet(name, examples, tuple(range(1, len(examples) + 1)))


def contest(human: TextSet, first: TextSet, second: TextSet, terms: Terms) -> Contest:
    """Texts paired by input, split by input, and made alike in form.

    The k-th output of the first system for an input meets the k-th of the second. [R] Each such pair meets two human
    texts of the input, drawn without replacement as long as there are any and then again, so that N_human = N_G1 +
    N_G2 and every input weighs the same in both classes.

    [R] With `match_length` the four texts of a bout are cut to one length where they are not of one already. It is
    drawn between half the length of the shortest and one less than that: cut to the shortest itself, the one that is
    still whole would show by its ending. What is scored is then how a text is written, not where it ends.

    Raises InputFaults with all faults of the three together.
    """
    sets = (human, first, second)
    units = {
        e.full_text: split_pieces(normalise_text(e.full_text), terms.tokens) for each in sets for e in each.examples
    }
    _check(sets, terms, units)
    inputs = sorted({input_of(example) for example in human.examples})
    held_out = min(math.ceil(terms.test_fraction * len(inputs)), len(inputs) - FEWEST_INPUTS + 1)
    _, test = split_by(human.examples, input_of, held_out, terms.seed)
    tested = {input_of(example) for example in test}
    learned = [[units[e.full_text] for e in each.examples if input_of(e) not in tested] for each in sets]
    starts = {find_shared_start(rows) for rows in learned} - {()}
    ends = {find_shared_start([row[::-1] for row in rows])[::-1] for rows in learned} - {()}
    stripped = {text: strip_templates(row, starts, ends) for text, row in units.items()}
    people, ones, others = map(_by_input, sets)
    bouts = {name: _bouts(name, people[name], ones[name], others[name], stripped, terms) for name in inputs}
    templates = [*(("start", start) for start in starts), *(("end", end) for end in ends)]
    return Contest(
        tuple(bout for name in inputs if name not in tested for bout in bouts[name]),
        tuple(bout for name in inputs if name in tested for bout in bouts[name]),
        tuple(sorted((where, _joined(template)) for where, template in templates)),
    )


def judged(between: Contest, folders: Mapping[int, Path], device: str = "cpu") -> Verdict:
    """What discriminators of one kind, which learned the training bouts, say of the others.

    The seeds differ in the fresh weights, the order of batches, dropout and which training inputs validate; the inputs
    to test on are the same, so that intervals over inputs hold for the mean over seeds.

    Args:
        between: the two systems.
        folders: by seed, a discriminator that was trained on `labelled(between.train)`.
        device: where they score.
    """
    texts = [segments for bout in between.test for segments in bout.segments]
    # Each different text is read once: equal texts of both systems are a tie, whatever batch they are in.
    distinct = list(dict.fromkeys(map(tuple, texts)))
    place = {text: i for i, text in enumerate(distinct)}
    at = np.array([place[tuple(text)] for text in texts])
    logits = np.empty((len(folders), len(texts)))
    cut = np.zeros(len(texts), dtype=bool)
    for row, folder in zip(logits, folders.values(), strict=True):
        found, dropped = Discriminator.from_pretrained(folder, device).logits(distinct)
        row[:] = found[at]
        cut |= dropped[at] > 0
    logits = logits.reshape(len(folders), len(between.test), 4)
    human, first, second = logits[..., :2].reshape(len(folders), -1), logits[..., 2], logits[..., 3]
    inputs = [bout.input for bout in between.test]
    scores = relative_scores(human, first, second, inputs, [name for name in inputs for _ in range(2)])
    return Verdict(scores, human, first, second, int(cut.sum()), folders)


def labelled(bouts: Sequence[Bout]) -> list[LabelledText]:
    """What a discriminator learns: human texts with label 1, outputs with 0, as many of each."""
    return [
        LabelledText(tuple(segments), label, bout.input)
        for bout in bouts
        for segments, label in zip(bout.segments, (1, 1, 0, 0), strict=True)
    ]


def input_of(example: Example) -> str:
    """The name of the input that a text answers: its group, or its id where it has none."""
    return example.id if example.group is None else example.group


def _joined(row: Sequence[str]) -> str:
    return "".join(row).strip()


def _text_file(path: Path | str) -> TextSet:
    located = located_examples(path)
    return TextSet(str(path), tuple(example for _, example in located), tuple(line for line, _ in located))


def _by_input(texts: TextSet) -> dict[str, list[Example]]:
    found: dict[str, list[Example]] = {}
    for example in texts.examples:
        found.setdefault(input_of(example), []).append(example)
    return found


def _bouts(
    name: str,
    people: Sequence[Example],
    ones: Sequence[Example],
    others: Sequence[Example],
    rows: Mapping[str, list[str]],
    terms: Terms,
) -> list[Bout]:
    """The bouts of one input; `rows` has the pieces of every text."""
    # Seeded by the name, so that other inputs change nothing here.
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(f"{terms.seed} {name}".encode()).digest()[:8], "big"))
    order = rng.permutation(len(people))
    context = next((e.context for e in (*people, *ones, *others) if e.context), "") if terms.source else ""
    bouts: list[Bout] = []
    for k, (one, other) in enumerate(zip(ones, others, strict=True)):
        here, there = (people[order[slot % len(people)]] for slot in (2 * k, 2 * k + 1))
        four = [rows[example.full_text] for example in (here, there, one, other)]
        if terms.match_length:
            length = draw_common_length([len(row) for row in four], rng)
            four = [row[:length] for row in four]
        a, b, c, d = ((context, _joined(row)) if terms.source else (_joined(row),) for row in four)
        bouts.append(Bout(name, (here, there), one, other, (a, b, c, d)))
    return bouts


def _check(sets: tuple[TextSet, TextSet, TextSet], terms: Terms, units: Mapping[str, list[str]]) -> None:
    """Raises InputFaults with all that is wrong with the three sets; `units` has the pieces of every text."""
    human, first, second = sets
    unit = {"characters": "characters", "jieba": "words"}.get(terms.tokens, "words or marks")
    faults = [
        fault(each.name, line, f"a text needs at least two {unit}, found {shown(example.full_text)}")
        for each in sets
        for line, example in zip(each.lines, each.examples, strict=True)
        if len(units[example.full_text]) < 2
    ]
    # By input and set, the lines of its texts.
    where = [{name: [] for name in map(input_of, each.examples)} for each in sets]
    contexts: dict[str, set[str]] = {}
    for lines_of, each in zip(where, sets, strict=True):
        for line, example in zip(each.lines, each.examples, strict=True):
            lines_of[input_of(example)].append(line)
            contexts.setdefault(input_of(example), set()).update({normalise_text(example.context or "")} - {""})
    shared = set(where[0]) & set(where[1]) & set(where[2])
    if not shared:
        rule = "the three files must share inputs (the same group, or the same id where there is no group)"
        faults.append(fault(human.name, 0, f"{rule}, but none is in all of {', '.join(each.name for each in sets)}"))
        raise InputFaults(faults)
    for lines_of, each in zip(where, sets, strict=True):
        for name, lines in lines_of.items():
            absent = [other.name for other, named in zip(sets, where, strict=True) if name not in named]
            if absent:
                rule = "each input needs a human text and outputs of both systems"
                faults.append(fault(each.name, lines[0], f"{rule}, but {shown(name)} is not in {' and '.join(absent)}"))
    for name in where[1]:
        if name in where[2] and len(where[1][name]) != len(where[2][name]):
            rule = "both systems need equally many outputs for an input"
            found = f"{shown(name)} has {len(where[2][name])} here and {len(where[1][name])} in {first.name}"
            faults.append(fault(second.name, where[2][name][0], f"{rule}, but {found}"))
    if terms.source:
        for name, given in contexts.items():
            if len(given) != 1 and name in where[0]:
                found = f"{shown(name)} has {len(given) or 'none'}"
                faults.append(fault(human.name, where[0][name][0], f"each input needs one context, but {found}"))
    if len(shared) < FEWEST_INPUTS:
        rule = f"a comparison needs at least {FEWEST_INPUTS} inputs"
        faults.append(fault(human.name, 0, f"{rule}, but {len(shared)} are in all files"))
    if faults:
        raise InputFaults(faults)
