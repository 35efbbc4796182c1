"""Dialogues: lines of utterances, and three public sets that people rated.

The files for training and those of FED and DSTC9 have one dialogue per line, with `</UTT>` after every utterance. The
line of a rated dialogue ends with its human score.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

from core.errors import InputError, blame_file, fault, format_value, read_all
from core.example import Example
from data.cells import UTTERANCE_END
from data.corpus import score_published, tabulate_raters
from data.download import PUBLIC_FILES, explain_download, find_file, require_file
from data.files import locate_examples
from data.numeric import parse_finite
from data.records import require_none
from data.table_files import read_rows
from data.text_files import iterate_lines, read_json_lines
from meta_eval.scored_set import ScoredSet

log = logging.getLogger(__name__)

ASPECTS = ("coherence", "overall")
FED_SYSTEMS = "fed/systems_and_raters.jsonl"
# the question that was asked for an aspect, and what DEAM divided the mean of the answers by
FED_QUESTIONS = {"coherence": ("coherent", 2), "overall": ("overall", 5)}
DSTC9_BLOCK = 200  # lines of the full file by one system
SAMPLE = "dstc9/dstc9_sample_{}.txt"


def load_fed(root: Path | str, download: bool = False) -> ScoredSet:
    """Loads FED: 125 dialogues of people and chatbots (Mehri and Eskenazi 2020), with the ratings that DEAM averaged.

    Ratings: `coherence` 0-1 and `overall` 0-0.8. If `deam_scores.tsv` is in the same folder, the set also has the
    published scores of the metric DEAM. `fed_data.json` of the collection names the systems (Mitsuku, Meena, Human)
    and has five single ratings, divided here as DEAM divided their means. A place in the list is no person. Without
    this file no system is named, and a note says how to get it.
    """
    scores = find_file(root, "fed/deam_scores.tsv")
    rated = _load_rated(
        root,
        "fed/fed_test_{}.txt",
        "fed-{:03d}",
        scores,
        download,
    )
    path = require_file(root, FED_SYSTEMS, download) if download else find_file(root, FED_SYSTEMS)
    if path is None:
        how = explain_download(PUBLIC_FILES[FED_SYSTEMS], root)
        return replace(rated, notes=(f"fed: without fed_data.json no systems and raters are known. {how}",))
    faults: list[str] = []
    with blame_file(path):
        row_of = {row["id"]: row for _, row in read_json_lines(path, faults)}
        rows = [row_of[example.id] for example in rated.examples]
        raters = {
            aspect: tabulate_raters(row["ratings"][question] for row in rows) / divisor
            for aspect, (question, divisor) in FED_QUESTIONS.items()
        }
        named = _name_systems(rated, [row["system"] for row in rows])
    require_none((), faults)
    return replace(named, raters=raters)


def load_dstc9(root: Path | str, download: bool = False) -> ScoredSet:
    """Loads DSTC9: dialogues of people and chatbots (Gunasekara et al. 2020), with the ratings that DEAM averaged.

    All 2200 dialogues are read if `dstc9_test_{coherence,overall}_averaged.txt` exist, else the sample of every
    eleventh. An id such as `dstc9-0011` has the line of the full file, counted from 0. `system` is inferred from it:
    the file has eleven blocks of 200 lines, which differ in how dialogues open and in mean coherence (F = 20.3, lower
    for every shifted division). Ratings: `coherence` 1-3 and `overall` 1-5. Empty utterances, which 119 of the 2200
    dialogues have, are dropped. If `deam_scores.tsv` is in the same folder, the set also has the published scores of
    DEAM. The sample needs `deam_scores_sample.tsv`, which has its ids.
    """
    files = "dstc9/dstc9_test_{}_averaged.txt"
    scores = find_file(root, "dstc9/deam_scores.tsv")
    full = files.format(ASPECTS[0])
    if find_file(root, SAMPLE.format(ASPECTS[0])) and not find_file(root, full):
        log.warning("dstc9: only a sample of the 2200 dialogues, because %s is missing", Path(full).name)
        files = SAMPLE
        scores = require_file(root, "dstc9/deam_scores_sample.tsv")
    rated = _load_rated(
        root,
        files,
        "dstc9-{:04d}",
        scores,
        download,
    )
    lines = [int(example.id.removeprefix("dstc9-")) for example in rated.examples]
    systems = [f"s{line // DSTC9_BLOCK:02d}" for line in lines]
    note = f"dstc9: systems are inferred, one for each block of {DSTC9_BLOCK} lines; the file does not name them."
    return replace(_name_systems(rated, systems), notes=(note,))


def _load_rated(
    root: Path | str,
    files: str,
    ids: str,
    scores: Path | None,
    download: bool,
) -> ScoredSet:
    """A set whose dialogues stand in a file with the ratings of coherence, and again in one with overall ratings.

    `files` and `ids` have a slot for the aspect and for the line of the dialogue. `scores` are published ones; their
    lines say which dialogues of the set the files hold, without them all.
    """
    name = Path(files).parent.name
    paths = read_all(
        partial(
            require_file,
            root,
            files.format(aspect),
            download,
        )
        for aspect in ASPECTS
    )
    read = partial(read_utt_lines, drop_empty=name == "dstc9")
    coherence, overall = read_all(map(partial, repeat(read), paths, ASPECTS))
    if [example.turns for _, example in coherence] != [example.turns for _, example in overall]:
        raise InputError([fault(paths[1], 0, f"must have the dialogues of {paths[0].name}, in its order")])
    published = {} if scores is None else _read_scores(scores, len(coherence))
    lines = published or range(len(coherence))
    examples: list[Example] = []
    for line, (_, first), (_, second) in zip(
        lines,
        coherence,
        overall,
        strict=True,
    ):
        ratings = {**first.ratings, **second.ratings}
        examples.append(replace(first, id=ids.format(line), ratings=ratings))
    columns = {"deam": [*published.values()]} if published else {}
    return ScoredSet(name, tuple(examples), score_published(name, columns))


def _name_systems(rated: ScoredSet, systems: Sequence[str]) -> ScoredSet:
    named = [replace(example, system=system) for example, system in zip(rated.examples, systems, strict=True)]
    return replace(rated, examples=tuple(named))


def _read_scores(path: Path, n: int) -> dict[int, float]:
    """The score of each dialogue by its line (from 0), of a file with two columns and n rows below a header."""
    faults: list[str] = []
    with blame_file(path):
        rows = [row.values() for _, row in read_rows(path, "\t", faults)]
        scores = {int(line): float(score) for line, score in rows}
    if {len(rows), len(scores)} != {n}:
        faults.append(fault(path, 0, f"there must be a score for each of the {n} dialogues, found {len(rows)}"))
    require_none((), faults)
    return scores


def read_utt_lines(path: Path, aspect: str | None = None, drop_empty: bool = False) -> Sequence[tuple[int, Example]]:
    """Reads the dialogues of a file with `</UTT>` after each utterance, each with its line number.

    With an `aspect`, its human score follows the last `</UTT>`. Empty utterances are faults unless `drop_empty`. A file
    in another form, whose first line has no `</UTT>`, has one fault.
    """
    line, first = next(iterate_lines(path, []))
    if UTTERANCE_END not in first:
        rule = f"a .txt file of dialogues has {UTTERANCE_END} after each utterance"
        raise InputError([fault(path, line, f"{rule}, found {format_value(first)}; other forms are .jsonl with turns")])

    def to_records(content: str) -> Iterator[dict[str, Any]]:
        *utterances, end = content.split(UTTERANCE_END)
        turns = [utterance for utterance in utterances if utterance.strip() or not drop_empty]
        score = parse_finite(end)
        yield {"turns": turns, "ratings": None if aspect is None or score is None else {aspect: score}}
        if aspect is None and end.strip():
            raise ValueError(f"a line without a score must end with {UTTERANCE_END}, found {format_value(end)}")
        if aspect is not None and score is None:
            raise ValueError(f"a finite score is needed after the last {UTTERANCE_END}, found {format_value(end)}")

    return locate_examples(
        path,
        to_records,
        iterate_lines,
        ("turns",),
    )
