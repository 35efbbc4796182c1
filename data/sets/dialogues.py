"""Dialogues: training and rated sets, public ones and a user's own.

Three public sets are rated by people, nine are for training. The training files and those of FED and DSTC9 have one
dialogue per line, with `</UTT>` after every utterance. The line of a rated dialogue ends with its human score.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from core.errors import InputError, blame_file, fault, format_value, read_all
from core.example import Example
from data.cells import UTTERANCE_END
from data.corpus import HELD_OUT_FRACTION, Corpus, fold_text, score_published, split_share, tabulate_raters
from data.download import PUBLIC_FILES, explain_download, find_file, require_file
from data.files import iterate_examples, locate_examples, read_examples
from data.numeric import parse_finite
from data.records import require_none
from data.table_files import read_rows
from data.text_files import form_of, iterate_lines, read_json_lines
from meta_eval.design import Floats
from meta_eval.scored_set import ScoredSet

log = logging.getLogger(__name__)

TURNS = attrgetter("turns")
ASPECTS = ("coherence", "overall")
FED_SYSTEMS = "fed/systems_and_raters.jsonl"
# the question that was asked for an aspect, and what DEAM divided the mean of the answers by
FED_QUESTIONS = {"coherence": ("coherent", 2), "overall": ("overall", 5)}
DSTC9_BLOCK = 200  # lines of the full file by one system
FORMS = (".jsonl", ".csv", ".tsv", ".txt")
# Topical-Chat: people on given facts, 20 turns and more (Gopalakrishnan et al. 2019), validation and test part.
# PersonaChat: people who play a given character, lower-cased (Zhang et al. 2018), validation part.
# DailyDialog: everyday talk of language learners' books, tokenised (Li et al. 2017), validation and test part.
# MuTual and DREAM: listening tests (Cui et al. 2020; Sun et al. 2019); MELD: scenes of a television series (Poria et
# al. 2019); Schema-Guided Dialogue: tasks with an assistant (Rastogi et al. 2020). All four are prepared by hand.
# CDM's own files (Lu et al. 2024): the training parts of Topical-Chat and PersonaChat, 17,567 dialogues, and 1078 and
# 1000 of their validation parts.
TRAINING_FILES: Mapping[str, Sequence[str]] = {
    "topical_chat": ("topicalchat_valid", "topicalchat_test"),
    "persona_chat": ("personachat_valid",),
    "daily_dialog": ("dailydialog_validation", "dailydialog_test"),
    "mutual": ("mutual",),
    "dream": ("dream",),
    "meld": ("meld",),
    "schema_guided": ("schema_guided",),
    "cdm_train": ("clean_train",),
    "cdm_valid": ("clean_valid",),
}
# training sets whose held-out dialogues are another set, as published
HELD_OUT_SETS: Mapping[str, str] = {"cdm_train": "cdm_valid"}


def own_dialogues(
    train_path: Path | str,
    rated_path: Path | str | None = None,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """Reads a user's dialogues: training ones and, optionally, rated ones.

    Both are .jsonl, .csv or .tsv files with `turns` (and ratings), or .txt files of `</UTT>` lines (with a score).
    Raises InputError for a faulty file, and if a rated dialogue is also a training dialogue.
    """
    readers = [partial(located_dialogues, Path(train_path), rated=False)]
    if rated_path is not None:
        readers.append(partial(located_dialogues, Path(rated_path), rated=True))
    located, *others = read_all(readers)
    rated = others[0] if others else ()
    training_lines: dict[str, int] = {}
    for line, example in located:
        training_lines.setdefault(fold_text(example.full_text), line)
    faults: list[str] = []
    if len(training_lines) < 2:
        rule = "training and validation need at least two different dialogues"
        faults.append(fault(train_path, 0, f"{rule}, found {len(training_lines)}"))
    for line, example in rated:
        training_line = training_lines.get(fold_text(example.full_text))
        if training_line:
            rule = "a rated dialogue must not be a training one too"
            faults.append(fault(rated_path or "", line, f"{rule}, found it at {train_path}:{training_line}"))
    examples = require_none([example for _, example in located], faults)
    train, held_out = split_share(examples, TURNS, held_out_fraction, seed)
    sets: tuple[ScoredSet, ...] = ()
    if rated:
        sets = (ScoredSet(Path(rated_path or "").stem, tuple(example for _, example in rated)),)
    return Corpus(Path(train_path).stem, train, held_out, sets, synthetic=False)


def load_fed(root: Path | str, download: bool = False) -> ScoredSet:
    """Loads FED: 125 dialogues of people and chatbots (Mehri and Eskenazi 2020), with the ratings that DEAM averaged.

    Ratings: `coherence` 0-1 and `overall` 0-0.8. If `deam_scores.tsv` is in the same folder, the set also has the
    published scores of the metric DEAM. `fed_data.json` of the collection names the systems (Mitsuku, Meena, Human)
    and has five single ratings, divided here as DEAM divided their means. A place in the list is no person. Without
    this file no system is named, and a note says how to get it.
    """
    files = [f"fed/fed_test_{aspect}.txt" for aspect in ASPECTS]
    rated = _load_rated(
        root,
        "fed",
        files,
        find_file(root, "fed/deam_scores.tsv"),
        digits=3,
        download=download,
    )
    path = require_file(root, FED_SYSTEMS, download) if download else find_file(root, FED_SYSTEMS)
    if path is None:
        how = explain_download(PUBLIC_FILES[FED_SYSTEMS], root)
        return replace(rated, notes=(f"fed: without fed_data.json no systems and raters are known. {how}",))
    return _add_systems_and_raters(rated, path)


def _add_systems_and_raters(rated: ScoredSet, path: Path) -> ScoredSet:
    """FED with the systems and single ratings of a file with a row for each dialogue."""
    faults: list[str] = []
    raters: dict[str, Floats] = {}
    with blame_file(path):
        row_of = {row["id"]: row for _, row in read_json_lines(path, faults)}
        rows = [row_of[example.id] for example in rated.examples]
        for aspect, (question, divisor) in FED_QUESTIONS.items():
            answers = tabulate_raters(row["ratings"][question] for row in rows)
            raters[aspect] = answers / divisor
        systems = [row["system"] for row in rows]
    require_none((), faults)
    return replace(_name_systems(rated, systems), raters=raters)


def load_dstc9(root: Path | str, download: bool = False) -> ScoredSet:
    """Loads DSTC9: dialogues of people and chatbots (Gunasekara et al. 2020), with the ratings that DEAM averaged.

    All 2200 dialogues are read if `dstc9_test_{coherence,overall}_averaged.txt` exist, else the sample of every
    eleventh. An id such as `dstc9-0011` has the line of the full file, counted from 0. `system` is inferred from it:
    the file has eleven blocks of 200 lines, which differ in how dialogues open and in mean coherence (F = 20.3, lower
    for every shifted division). Ratings: `coherence` 1-3 and `overall` 1-5. Empty utterances, which 119 of the 2200
    dialogues have, are dropped. If `deam_scores.tsv` is in the same folder, the set also has the published scores of
    DEAM. The sample needs `deam_scores_sample.tsv`, which has its ids.
    """
    full = [f"dstc9/dstc9_test_{aspect}_averaged.txt" for aspect in ASPECTS]
    sample = [f"dstc9/dstc9_sample_{aspect}.txt" for aspect in ASPECTS]
    is_sample = find_file(root, sample[0]) is not None and find_file(root, full[0]) is None
    if is_sample:
        log.warning("dstc9: only a sample of the 2200 dialogues, because %s is missing", Path(full[0]).name)
        files = sample
        scores = require_file(root, "dstc9/deam_scores_sample.tsv")
    else:
        files = full
        scores = find_file(root, "dstc9/deam_scores.tsv")
    rated = _load_rated(
        root,
        "dstc9",
        files,
        scores,
        digits=4,
        download=download,
    )
    lines = [int(example.id.removeprefix("dstc9-")) for example in rated.examples]
    systems = [f"s{line // DSTC9_BLOCK:02d}" for line in lines]
    note = f"dstc9: systems are inferred, one for each block of {DSTC9_BLOCK} lines; the file does not name them."
    return replace(_name_systems(rated, systems), notes=(note,))


def load_convai2(root: Path | str, download: bool = False) -> ScoredSet:
    """Loads ConvAI2's wild evaluation: dialogues of people with chatbots (Dinan et al. 2019), prepared by hand.

    Each dialogue has one rating, `overall` 1-5, by the person who took part. This rating is noisy, and measures
    engagement more than coherence.
    """
    del download
    path = require_file(root, "convai2/convai2_rated.jsonl")
    return ScoredSet("convai2", read_examples(path, requires=("turns", "ratings")))


def load_dialogues(
    name: str,
    root: Path | str,
    download: bool = False,
) -> tuple[Example, ...]:
    """Loads the unrated dialogues of a set in `TRAINING_FILES`; `group` is the file of a dialogue."""
    files = [f"dialogue/{file}.txt" for file in TRAINING_FILES[name]]
    paths: list[Path] = read_all(partial(require_file, root, file, download) for file in files)
    parts = read_all(partial(read_utt_lines, path, scored=False) for path in paths)
    dialogues: list[Example] = []
    for path, part in zip(paths, parts, strict=True):
        dialogues += [replace(example, group=path.name) for _, example in part]
    return tuple(dialogues)


def _load_rated(
    root: Path | str,
    name: str,
    files: Sequence[str],
    scores: Path | None,
    digits: int,
    download: bool,
) -> ScoredSet:
    """A set whose dialogues stand in a file with the ratings of coherence, and again in one with overall ratings.

    `scores` are published ones; their lines say which dialogues of the set the files hold, without them all.
    """
    paths = read_all(partial(require_file, root, file, download) for file in files)
    read = partial(read_utt_lines, scored=True, drop_empty=name == "dstc9")
    readers = [partial(read, path, aspect=aspect) for path, aspect in zip(paths, ASPECTS, strict=True)]
    coherence, overall = read_all(readers)
    if [example.turns for _, example in coherence] != [example.turns for _, example in overall]:
        raise InputError([fault(paths[1], 0, f"must have the dialogues of {paths[0].name}, in its order")])
    published: dict[str, list[float]] = {}
    lines: Sequence[int] = range(len(coherence))
    if scores is not None:
        lines, published["deam"] = _read_scores(scores, len(coherence))
    examples: list[Example] = []
    for line, (_, first), (_, second) in zip(lines, coherence, overall, strict=True):
        ratings = {**first.ratings, **second.ratings}
        examples.append(replace(first, id=f"{name}-{line:0{digits}d}", ratings=ratings))
    return ScoredSet(name, tuple(examples), score_published(name, published))


def _name_systems(rated: ScoredSet, systems: Sequence[str]) -> ScoredSet:
    named = [replace(example, system=system) for example, system in zip(rated.examples, systems, strict=True)]
    return replace(rated, examples=tuple(named))


def _read_scores(path: Path, n: int) -> tuple[list[int], list[float]]:
    """The line of each dialogue (from 0) and its score, of a file with two columns and n rows below a header."""
    faults: list[str] = []
    lines: list[int] = []
    scores: list[float] = []
    with blame_file(path):
        for _, row in read_rows(path, "\t", faults):
            line, score = row.values()
            lines.append(int(line))
            scores.append(float(score))
    if {len(lines), len(set(lines))} != {n}:
        faults.append(fault(path, 0, f"there must be a score for each of the {n} dialogues, found {len(scores)}"))
    require_none((), faults)
    return lines, scores


def located_dialogues(path: Path, rated: bool) -> Sequence[tuple[int, Example]]:
    """Reads dialogues with line numbers from a .jsonl, .csv, .tsv or .txt file; with `rated`, each needs a rating."""
    if form_of(path, FORMS) == ".txt":
        return read_utt_lines(path, scored=rated)
    return tuple(iterate_examples(path, ("turns", "ratings") if rated else ("turns",)))


def read_utt_lines(
    path: Path,
    scored: bool,
    aspect: str = "rating",
    drop_empty: bool = False,
) -> Sequence[tuple[int, Example]]:
    """Reads the dialogues of a file with `</UTT>` after each utterance, each with its line number.

    With `scored`, the human score follows the last `</UTT>`. Empty utterances are faults unless `drop_empty`. A file in
    another form, whose first line has no `</UTT>`, has one fault.
    """
    line, first = next(iterate_lines(path, []))
    if UTTERANCE_END not in first:
        rule = f"a .txt file of dialogues has {UTTERANCE_END} after each utterance"
        raise InputError([fault(path, line, f"{rule}, found {format_value(first)}; other forms are .jsonl with turns")])

    def to_records(content: str) -> Iterator[dict[str, Any]]:
        *utterances, end = content.split(UTTERANCE_END)
        turns = [utterance for utterance in utterances if utterance.strip() or not drop_empty]
        score = parse_finite(end) if scored else None
        yield {"turns": turns, "ratings": None if score is None else {aspect: score}}
        if scored and score is None:
            raise ValueError(f"a finite score is needed after the last {UTTERANCE_END}, found {format_value(end)}")
        if not scored and end.strip():
            raise ValueError(f"a line without a score must end with {UTTERANCE_END}, found {format_value(end)}")

    return locate_examples(path, to_records, iterate_lines, ("turns",))
