"""Dialogues: the public sets, the built-in ones and a user's own, split for training and for agreement with people.

`root` is the folder that holds `fed/`, `dstc9/` and `dialogue/`, or one of these folders itself.
"""

from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path

from core.example import Example
from core.faults import InputFaults, fault, read_all
from core.settings import Several, Size, check, one_of
from data.builtin.dialogues import generate_dialogues, rated_dialogues
from data.corpus import Corpus, RatedSet, fold_turns, read_own, refuse_shared
from data.dialogue_files import located_dialogues
from data.sets.public_dialogues import RATED_LOADERS, TRAINING_LOADERS
from data.splits import HELD_OUT_FRACTION, split_by, split_share

TURNS = attrgetter("turns")
TRAINING_SETS = ("topical_chat", "persona_chat")  # as CDM and DEAM train


def builtin_dialogues(train: int = 2000, held_out: int = 200, rated: int = 400, seed: int = 0) -> Corpus:
    """Generated dialogues: no network, no files; their quality is known by construction.

    Raises SettingFault where a rated dialogue is also one to train on.
    """
    check(Size, train=train, held_out=held_out, rated=rated)
    rated_sets = (RatedSet("builtin", rated_dialogues(rated, seed=seed), synthetic=True),) if rated else ()
    known = {example.turns for each in rated_sets for example in each.examples}
    generated = generate_dialogues(train + held_out, seed=seed, exclude=known)
    _refuse_rated("builtin", generated, rated_sets)
    return Corpus("builtin", *split_by(generated, TURNS, held_out, seed), rated_sets, synthetic=True)


def public_dialogues(
    rated: str,
    root: Path | str,
    download: bool = False,
    training_sets: Sequence[str] = TRAINING_SETS,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
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
    _refuse_rated(rated, examples, (rated_set,))
    return Corpus(rated, *split_share(examples, TURNS, held_out_fraction, seed), (rated_set,), synthetic=False)


def own_dialogues(
    train_path: Path | str,
    rated_path: Path | str | None = None,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """A user's own dialogues, to train on and, if there are any, rated ones.

    Both are .jsonl, .csv or .tsv files with `turns` (and ratings), or .txt files of `</UTT>` lines (with a score).

    Raises InputFaults for what is wrong with a file, and where a rated dialogue is also one to train on.
    """
    readers = partial(located_dialogues, rated=False), partial(located_dialogues, rated=True)
    located, rated, faults = read_own(train_path, rated_path, readers, fold_turns, "a rated dialogue")
    examples = tuple(example for _, example in located)
    different = len(set(map(fold_turns, examples)))
    if different < 2:
        rule = "training and validation need at least two different dialogues"
        faults.insert(0, fault(train_path, 0, f"{rule}, found {different}"))
    if faults:
        raise InputFaults(faults)
    rated_sets: tuple[RatedSet, ...] = ()
    if rated_path is not None and rated is not None:
        rated_sets = (RatedSet(Path(rated_path).stem, tuple(example for _, example in rated), synthetic=False),)
    parts = split_share(examples, TURNS, held_out_fraction, seed)
    return Corpus(Path(train_path).stem, *parts, rated_sets, synthetic=False)


def _refuse_rated(name: str, examples: Sequence[Example], rated: Sequence[RatedSet]) -> None:
    """Raises SettingFault where a rated dialogue is also one to train on."""
    rule = f"a rated dialogue must not be one to train on too, but {{}} of {name} are"
    named = ((example.id, fold_turns(example)) for each in rated for example in each.examples)
    refuse_shared(rule, named, map(fold_turns, examples))
