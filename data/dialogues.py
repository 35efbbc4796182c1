"""Dialogues: the public sets, the built-in ones and a user's own, split for training and for agreement with people.

A public file has one dialogue per line, every utterance followed by `</UTT>`; a rated one ends with its human score.
`root` is the folder that holds `fed/`, `dstc9/` and `dialogue/`, or one of these folders itself.
"""

import hashlib
import json
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from data.builtin.dialogues import generate_dialogues, rated_dialogues
from data.download import ORIGINS, fetch, how_to_place
from data.example import Example
from data.faults import InputFaults, fault, read_all, shown
from data.files import UTTERANCE_END, check_suffix, located_examples, numbered_lines, read_text

log = logging.getLogger(__name__)

HELD_OUT_FRACTION = 0.1
TRAINING_SETS = ("topical_chat", "persona_chat")  # as CDM and DEAM train
FORMS = (".jsonl", ".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class RatedSet:
    """Dialogues that people rated, or whose quality is known because they were damaged on purpose.

    Attributes:
        name: as it stands in tables.
        examples: with ratings, higher is better.
        synthetic: whether the ratings are known damage and not people's.
        published: the scores of other people's metrics: metric name -> example id -> score, higher is better.
    """

    name: str
    examples: tuple[Example, ...]
    synthetic: bool
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict, hash=False)


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

    Raises ValueError where a rated dialogue is also one to train on.
    """
    rated_set = RatedSet("builtin", rated_dialogues(rated, seed=seed), synthetic=True)
    generated = generate_dialogues(train + held_out, seed=seed, exclude={e.turns for e in rated_set.examples})
    return _assembled("builtin", generated, (rated_set,), held_out=held_out, seed=seed, synthetic=True)


def fed_dialogues(
    root: Path | str,
    download: bool = False,
    training_sets: Sequence[str] = TRAINING_SETS,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> DialogueData:
    """Training on the named public sets, rated by FED (CDM, Tables 2-6).

    Args:
        root: the folder of the public sets.
        download: whether missing files that have a known checksum are fetched into `root`.
        training_sets: any of "topical_chat", "persona_chat", "daily_dialog".
        held_out_fraction: the part of the training dialogues that is kept for validation.
        seed: of the choice of that part.

    Raises InputFaults when a file is missing or wrong, DownloadFault when one cannot be fetched.
    """
    return _public("fed", load_fed, root, download, training_sets, held_out_fraction, seed)


def dstc9_dialogues(
    root: Path | str,
    download: bool = False,
    training_sets: Sequence[str] = TRAINING_SETS,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> DialogueData:
    """Training on the named public sets, rated by DSTC9 (CDM, Tables 2-6); arguments and errors as in fed_dialogues."""
    return _public("dstc9", load_dstc9, root, download, training_sets, held_out_fraction, seed)


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
    readers = [partial(_located_dialogues, path, rated=True) for path in rated_paths]
    located, *located_rated = read_all([partial(_located_dialogues, Path(train_path), rated=False), *readers])
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
    held_out = _share(examples, held_out_fraction)
    return _assembled(Path(train_path).stem, examples, tuple(rated), held_out=held_out, seed=seed, synthetic=False)


def read_dialogues(path: Path | str, rated: bool = False) -> tuple[Example, ...]:
    """The dialogues of a .jsonl, .csv, .tsv or .txt file; with `rated`, each must have a rating.

    Raises InputFaults with all faults of the file; "turns" (and "ratings") are needed, at least two turns each.
    """
    return tuple(example for _, example in _located_dialogues(Path(path), rated))


def read_utt_lines(
    path: Path | str, scored: bool, aspect: str = "rating", drop_empty: bool = False
) -> tuple[Example, ...]:
    """The dialogues of a file of `</UTT>` lines, with the ids `<stem>-<line>`.

    Args:
        path: one dialogue per line, every utterance followed by `</UTT>`.
        scored: whether the human score of the dialogue follows the last `</UTT>`.
        aspect: what the score rates.
        drop_empty: whether empty utterances are left out; otherwise they are faults.

    Raises InputFaults with all faults of the file: a dialogue of one turn, an empty utterance, a score that is no
    number or missing, a last utterance without its `</UTT>`, bytes that are not UTF-8.
    """
    return tuple(example for _, example in _utt_lines(Path(path), scored, aspect, drop_empty))


def load_fed(root: Path | str) -> RatedSet:
    """FED: 125 dialogues of people and chatbots (Mehri and Eskenazi 2020), with the averaged ratings of DEAM.

    Ids `fed-000` to `fed-124` by line. Ratings: `coherence` 0-1 and `overall` 0-0.8. Where `deam_scores.tsv` is beside
    the files, the published scores of DEAM.
    """
    examples = _rated_twice(root, "fed/fed_test_{}.txt")
    named = {i: replace(example, id=f"fed-{i:03d}") for i, example in enumerate(examples)}
    return _rated_set("fed", named, _place(root, "fed/deam_scores.tsv"), "line")


def load_dstc9(root: Path | str) -> RatedSet:
    """DSTC9: dialogues of people and chatbots (Gunasekara et al. 2020), with the averaged ratings of DEAM.

    All 2200 where `dstc9_test_{coherence,overall}_averaged.txt` are there, else the sample of every eleventh. Ids such
    as `dstc9-0011` by the line of the full file, counted from 0. Ratings: `coherence` 1-3 and `overall` 1-5. Empty
    utterances, which 119 of the 2200 dialogues have, are dropped. Where `deam_scores.tsv` is beside the files
    (`deam_scores_sample.tsv` for the sample, which needs it for the ids), the published scores of DEAM.
    """
    full = "dstc9/dstc9_test_{}_averaged.txt"
    sample = "dstc9/dstc9_sample_{}.txt"
    if _place(root, full.format("coherence")) or not _place(root, sample.format("coherence")):
        examples = _rated_twice(root, full, drop_empty=True)
        lines: Iterable[int] = range(len(examples))
        scores = _place(root, "dstc9/deam_scores.tsv")
    else:
        examples = _rated_twice(root, sample, drop_empty=True)
        scores = _needed(root, "dstc9/deam_scores_sample.tsv")
        lines = _published_scores(scores, "orig_line", len(examples))
    named = {i: replace(example, id=f"dstc9-{i:04d}") for i, example in zip(lines, examples, strict=True)}
    return _rated_set("dstc9", named, scores, "orig_line")


def load_topical_chat(root: Path | str) -> tuple[Example, ...]:
    """Topical-Chat (Gopalakrishnan et al. 2019), validation and test part: people on given facts, 20 turns and more."""
    return _plain(root, "dialogue/topicalchat_valid.txt", "dialogue/topicalchat_test.txt")


def load_persona_chat(root: Path | str) -> tuple[Example, ...]:
    """PersonaChat (Zhang et al. 2018), validation part: people who play a given character; lower-cased."""
    return _plain(root, "dialogue/personachat_valid.txt")


def load_daily_dialog(root: Path | str) -> tuple[Example, ...]:
    """DailyDialog (Li et al. 2017), validation and test part: everyday talk of language learners' books; tokenised."""
    return _plain(root, "dialogue/dailydialog_validation.txt", "dialogue/dailydialog_test.txt")


TRAINING_LOADERS: Mapping[str, Callable[[Path | str], tuple[Example, ...]]] = {
    "topical_chat": load_topical_chat,
    "persona_chat": load_persona_chat,
    "daily_dialog": load_daily_dialog,
}


def split(examples: Sequence[Example], held_out: int, seed: int) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Training and held-out part: the `held_out` different dialogues with the smallest hash of seed and turns.

    The same dialogues go the same way in any order, and a repeated dialogue never stands on both sides.
    """

    def place(turns: tuple[str, ...]) -> bytes:
        return hashlib.sha256(json.dumps([seed, turns]).encode()).digest()

    chosen = set(sorted({example.turns for example in examples}, key=place)[:held_out])
    return (
        tuple(example for example in examples if example.turns not in chosen),
        tuple(example for example in examples if example.turns in chosen),
    )


def _public(
    name: str,
    load: Callable[[Path | str], RatedSet],
    root: Path | str,
    download: bool,
    training_sets: Sequence[str],
    held_out_fraction: float,
    seed: int,
) -> DialogueData:
    if not training_sets or set(training_sets) - set(TRAINING_LOADERS):
        raise ValueError(f"training_sets must name some of {', '.join(TRAINING_LOADERS)}, but is {list(training_sets)}")
    if download:
        for file in ORIGINS:
            if file.startswith(f"{name}/") and not _place(root, file):
                fetch(file, root)
    loaders = (load, *(TRAINING_LOADERS[each] for each in training_sets))
    rated, *parts = read_all(partial(loader, root) for loader in loaders)
    examples = tuple(example for part in parts for example in part)
    return _assembled(name, examples, (rated,), _share(examples, held_out_fraction), seed, synthetic=False)


def _assembled(
    name: str, examples: Sequence[Example], rated: tuple[RatedSet, ...], held_out: int, seed: int, synthetic: bool
) -> DialogueData:
    known = {_words(example) for example in examples}
    both = [example.id for each in rated for example in each.examples if _words(example) in known]
    if both:
        raise ValueError(f"a rated dialogue must not be one to train on too, but {', '.join(both)} of {name} are")
    train, kept = split(examples, held_out, seed)
    return DialogueData(name, train, kept, rated, synthetic)


def _words(example: Example) -> tuple[str, ...]:
    """The turns without what two copies of one dialogue may differ in: case and blanks."""
    return tuple(" ".join(turn.split()).casefold() for turn in example.turns)


def _share(examples: Sequence[Example], fraction: float) -> int:
    if not 0 <= fraction < 1:
        raise ValueError(f"held_out_fraction must be at least 0 and below 1, but is {fraction}")
    return math.ceil(fraction * len({example.turns for example in examples}))


def _located_dialogues(path: Path, rated: bool) -> Sequence[tuple[int, Example]]:
    check_suffix(path, FORMS)
    if path.suffix.lower() == ".txt":
        return _utt_lines(path, scored=rated, aspect="rating", drop_empty=False)
    return located_examples(path, requires=("turns", "ratings") if rated else ("turns",))


def _utt_lines(path: Path, scored: bool, aspect: str, drop_empty: bool) -> list[tuple[int, Example]]:
    faults: list[str] = []
    examples: list[tuple[int, Example]] = []
    for line, content in numbered_lines(read_text(path, faults)):
        *utterances, end = content.split(UTTERANCE_END)
        problems: list[str] = []
        ratings: dict[str, float] = {}
        if not utterances:
            problems.append(f"a line must hold utterances that each end with {UTTERANCE_END}, found {shown(content)}")
        elif scored:
            score = _finite(end)
            if score is None:
                problems.append(f"the score after the last {UTTERANCE_END} must be a finite number, found {shown(end)}")
            else:
                ratings[aspect] = score
        elif end.strip():
            problems.append(f"nothing may follow the last {UTTERANCE_END} of an unrated dialogue, found {shown(end)}")
        empty = [i for i, utterance in enumerate(utterances, start=1) if not utterance.strip()]
        if drop_empty:
            utterances = [utterance for utterance in utterances if utterance.strip()]
        else:
            problems += [f"an utterance must say something, but number {i} is empty" for i in empty]
        if utterances and len(utterances) < 2:
            problems.append(f"a dialogue needs at least two turns, found {shown(utterances)}")
        faults += [fault(path, line, problem) for problem in problems]
        if not problems:
            examples.append((line, Example(f"{path.stem}-{line}", turns=tuple(utterances), ratings=ratings)))
    if faults:
        raise InputFaults(faults)
    return examples


def _finite(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _place(root: Path | str, name: str) -> Path | None:
    """Where `folder/file` lies under `root`, or under `root` taken as that folder itself; None where it does not."""
    places = (Path(root) / name, Path(root) / Path(name).name)
    return next((place for place in places if place.is_file()), None)


def _needed(root: Path | str, name: str) -> Path:
    place = _place(root, name)
    if place is None:
        raise InputFaults([fault(Path(root) / name, 0, f"no such file. {how_to_place(name, root)}")])
    return place


def _plain(root: Path | str, *names: str) -> tuple[Example, ...]:
    """The unrated dialogues of some files, one after the other; each knows its file as `group`."""
    paths: list[Path] = read_all(partial(_needed, root, name) for name in names)
    parts = read_all(partial(read_utt_lines, path, scored=False) for path in paths)
    return tuple(replace(example, group=path.name) for path, part in zip(paths, parts, strict=True) for example in part)


def _rated_twice(root: Path | str, form: str, drop_empty: bool = False) -> list[Example]:
    """The dialogues of two files that rate the same dialogues, with both ratings."""
    aspects = ("coherence", "overall")
    coherence, overall = paths = read_all(partial(_needed, root, form.format(aspect)) for aspect in aspects)
    first, second = read_all(
        partial(_utt_lines, path, scored=True, aspect=aspect, drop_empty=drop_empty)
        for path, aspect in zip(paths, aspects, strict=True)
    )
    if len(first) != len(second):
        rule = f"must have the {len(first)} dialogues of {coherence.name}"
        raise InputFaults([fault(overall, 0, f"{rule}, found {len(second)}")])
    other = [line for (line, a), (_, b) in zip(first, second, strict=True) if a.turns != b.turns]
    if other:
        rule = f"must be the dialogue of the same line of {coherence.name}, found another"
        raise InputFaults(fault(overall, line, rule) for line in other)
    return [replace(a, ratings={**a.ratings, **b.ratings}) for (_, a), (_, b) in zip(first, second, strict=True)]


def _rated_set(name: str, examples: Mapping[int, Example], scores: Path | None, column: str) -> RatedSet:
    """The rated set of examples by line, with the published scores of DEAM where their file is there."""
    published = {}
    if scores is None:
        log.info("%s: no file of published DEAM scores, so none are compared", name)
    else:
        by_line = _published_scores(scores, column, len(examples))
        if unknown := sorted(set(by_line) - set(examples)):
            raise InputFaults([fault(scores, 0, f"must score the dialogues of {name}, found other lines {unknown}")])
        published["deam"] = {examples[line].id: score for line, score in by_line.items()}
    return RatedSet(name, tuple(examples.values()), synthetic=False, published=published)


def _published_scores(path: Path, column: str, n: int) -> dict[int, float]:
    """Line of a dialogue (from 0) -> score, of a file with the columns `column` and `deam_score` and n rows."""
    faults: list[str] = []
    rows = [(number, line.split("\t")) for number, line in numbered_lines(read_text(path, faults))]
    if rows[0][1] != [column, "deam_score"]:
        faults.append(fault(path, 1, f"the header must be {column}, tab, deam_score, found {shown(rows[0][1])}"))
    scores: dict[int, float] = {}
    for number, cells in rows[1:]:
        score = _finite(cells[-1])
        if len(cells) != 2 or not cells[0].isdecimal() or score is None or int(cells[0]) in scores:
            faults.append(fault(path, number, f"must be a new line number, a tab and a score, found {shown(cells)}"))
        else:
            scores[int(cells[0])] = score
    if len(rows) - 1 != n:
        faults.append(fault(path, 0, f"there must be a score for each of the {n} dialogues, found {len(rows) - 1}"))
    if faults:
        raise InputFaults(faults)
    return scores
