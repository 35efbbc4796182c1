"""Dialogues: the public sets, the built-in ones and a user's own, split for training and for agreement with people.

`root` is the folder that holds `fed/`, `dstc9/` and `dialogue/`, or one of these folders itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.example import Example
from core.faults import InputFaults, SettingFault, fault, read_all
from core.settings import Several, Size, check, one_of
from data.builtin.dialogues import generate_dialogues, rated_dialogues
from data.dialogue_files import located_dialogues
from data.rated import RatedSet
from data.sets.public_dialogues import RATED_LOADERS, TRAINING_LOADERS
from data.splits import share, split_by

HELD_OUT_FRACTION = 0.1
TRAINING_SETS = ("topical_chat", "persona_chat")  # as CDM and DEAM train


@dataclass(frozen=True)
class DialogueData:
    """What an experiment on dialogues reads: dialogues to train on, held-out ones of the same kind, and rated ones."""

    name: str
    train: tuple[Example, ...]
    held_out: tuple[Example, ...]
    rated: tuple[RatedSet, ...]
    synthetic: bool


def builtin_dialogues(train: int = 2000, held_out: int = 200, rated: int = 400, seed: int = 0) -> DialogueData:
    """Generated dialogues: no network, no files; their quality is known by construction.

    Raises SettingFault where a rated dialogue is also one to train on.
    """
    check(Size, train=train, held_out=held_out, rated=rated)
    rated_sets = (RatedSet("builtin", rated_dialogues(rated, seed=seed), synthetic=True),) if rated else ()
    known = {example.turns for each in rated_sets for example in each.examples}
    generated = generate_dialogues(train + held_out, seed=seed, exclude=known)
    return _assembled("builtin", generated, rated_sets, held_out=held_out, seed=seed, synthetic=True)


def public_dialogues(
    rated: str,
    root: Path | str,
    download: bool = False,
    training_sets: Sequence[str] = TRAINING_SETS,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> DialogueData:
    """Training on the named public sets, rated by FED or DSTC9 (CDM, Tables 2-6).

    Args:
        rated: "fed" or "dstc9".
        root: the folder of the public sets.
        download: whether missing files that have a known checksum are fetched into `root`.
        training_sets: any of "topical_chat", "persona_chat", "daily_dialog".
        held_out_fraction: the part of the training dialogues that is kept for validation.
        seed: of the choice of that part.

    Raises SettingFault for an unknown set, InputFaults for a missing or wrong file, DownloadFault when one cannot be
    fetched.
    """
    check(one_of(tuple(RATED_LOADERS)), rated=rated)
    check(Several[one_of(tuple(TRAINING_LOADERS))], training_sets=training_sets)
    readers = [partial(TRAINING_LOADERS[each], root) for each in training_sets]
    rated_set, *parts = read_all([partial(RATED_LOADERS[rated], root, download), *readers])
    examples = tuple(example for part in parts for example in part)
    held_out = share(examples, _turns, held_out_fraction)
    return _assembled(rated, examples, (rated_set,), held_out, seed, synthetic=False)


def own_dialogues(
    train_path: Path | str,
    rated_path: Path | str | None = None,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> DialogueData:
    """A user's own dialogues, to train on and, if there are any, rated ones.

    Both are .jsonl, .csv or .tsv files with `turns` (and ratings), or .txt files of `</UTT>` lines (with a score).

    Raises InputFaults for what is wrong with a file, and where a rated dialogue is also one to train on.
    """
    rated_paths = [] if rated_path is None else [Path(rated_path)]
    readers = [partial(located_dialogues, path, rated=True) for path in rated_paths]
    located, *located_rated = read_all([partial(located_dialogues, Path(train_path), rated=False), *readers])
    first_line: dict[tuple[str, ...], int] = {}
    for line, example in located:
        first_line.setdefault(_words(example), line)
    faults: list[str] = []
    if len(first_line) < 2:
        rule = "training and validation need at least two different dialogues"
        faults.append(fault(train_path, 0, f"{rule}, found {len(first_line)}"))
    rated: list[RatedSet] = []
    for path, dialogues in zip(rated_paths, located_rated, strict=True):
        for line, example in dialogues:
            if at := first_line.get(_words(example)):
                what = f"a rated dialogue must not be one to train on too, found it at {train_path}:{at}"
                faults.append(fault(path, line, what))
        rated.append(RatedSet(path.stem, tuple(example for _, example in dialogues), synthetic=False))
    if faults:
        raise InputFaults(faults)
    examples = tuple(example for _, example in located)
    held_out = share(examples, _turns, held_out_fraction)
    return _assembled(Path(train_path).stem, examples, tuple(rated), held_out=held_out, seed=seed, synthetic=False)


def split(examples: Sequence[Example], held_out: int, seed: int) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Training and held-out part: the `held_out` different dialogues with the smallest hash of seed and turns.

    The same dialogues go the same way in any order, and a repeated dialogue never stands on both sides.
    """
    return split_by(examples, _turns, held_out, seed)


def _assembled(
    name: str, examples: Sequence[Example], rated: tuple[RatedSet, ...], held_out: int, seed: int, synthetic: bool
) -> DialogueData:
    known = {_words(example) for example in examples}
    both = [example.id for each in rated for example in each.examples if _words(example) in known]
    if both:
        raise SettingFault(f"a rated dialogue must not be one to train on too, but {', '.join(both)} of {name} are")
    train, kept = split(examples, held_out, seed)
    return DialogueData(name, train, kept, rated, synthetic)


def _turns(example: Example) -> tuple[str, ...]:
    return example.turns


def _words(example: Example) -> tuple[str, ...]:
    """The turns without case and blanks, in which copies of a dialogue may differ."""
    return tuple(" ".join(turn.split()).casefold() for turn in example.turns)
