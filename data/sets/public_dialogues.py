"""The public sets of dialogues: two that people rated, three to train on.

A file has one dialogue per line, every utterance followed by `</UTT>`; a rated one ends with its human score.
`root` is the folder that holds `fed/`, `dstc9/` and `dialogue/`, or one of these folders itself.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from core.example import Example
from core.faults import InputFaults, fault, read_all, shown
from data.corpus import RatedSet
from data.dialogue_files import located_utt_lines, parse_finite, read_utt_lines
from data.download import find_file, require_file
from data.originals import ORIGINS
from data.text_files import iterate_lines

log = logging.getLogger(__name__)

ASPECTS = ("coherence", "overall")


@dataclass(frozen=True)
class _RatedFiles:
    """Where a rated set lies: a file of its dialogues for the ratings of each aspect, and one of DEAM's scores.

    Attributes:
        name: of the set.
        dialogues: the files of dialogues, with {} for the aspect.
        scores: the file of the published scores.
        column: that of `scores` with the line of the dialogue, counted from 0.
        digits: of this line in an id.
        drop_empty: whether empty utterances are left out; otherwise they are faults.
        is_sample: whether `dialogues` holds only those lines of the set that `scores` has.
    """

    name: str
    dialogues: str
    scores: str
    column: str
    digits: int
    drop_empty: bool = False
    is_sample: bool = False


_FED = _RatedFiles("fed", "fed/fed_test_{}.txt", "fed/deam_scores.tsv", column="line", digits=3)
_DSTC9 = _RatedFiles(
    "dstc9",
    "dstc9/dstc9_test_{}_averaged.txt",
    "dstc9/deam_scores.tsv",
    column="orig_line",
    digits=4,
    drop_empty=True,
)
_DSTC9_SAMPLE = replace(
    _DSTC9, dialogues="dstc9/dstc9_sample_{}.txt", scores="dstc9/deam_scores_sample.tsv", is_sample=True
)


def load_fed(root: Path | str, download: bool = False) -> RatedSet:
    """FED: 125 dialogues of people and chatbots (Mehri and Eskenazi 2020), with the averaged ratings of DEAM.

    Ids `fed-000` to `fed-124` by line. Ratings: `coherence` 0-1 and `overall` 0-0.8. Where `deam_scores.tsv` is beside
    the files, the published scores of DEAM.
    """
    return _rated(_FED, root, download)


def load_dstc9(root: Path | str, download: bool = False) -> RatedSet:
    """DSTC9: dialogues of people and chatbots (Gunasekara et al. 2020), with the averaged ratings of DEAM.

    All 2200 where `dstc9_test_{coherence,overall}_averaged.txt` are there, else the sample of every eleventh. Ids such
    as `dstc9-0011` by the line of the full file, counted from 0. Ratings: `coherence` 1-3 and `overall` 1-5. Empty
    utterances, which 119 of the 2200 dialogues have, are dropped. Where `deam_scores.tsv` is beside the files
    (`deam_scores_sample.tsv` for the sample, which needs it for the ids), the published scores of DEAM.
    """
    full, sample = (find_file(root, files.dialogues.format("coherence")) for files in (_DSTC9, _DSTC9_SAMPLE))
    return _rated(_DSTC9_SAMPLE if sample and not full else _DSTC9, root, download)


def load_topical_chat(root: Path | str) -> tuple[Example, ...]:
    """Topical-Chat (Gopalakrishnan et al. 2019), validation and test part: people on given facts, 20 turns and more."""
    return _plain(root, "dialogue/topicalchat_valid.txt", "dialogue/topicalchat_test.txt")


def load_persona_chat(root: Path | str) -> tuple[Example, ...]:
    """PersonaChat (Zhang et al. 2018), validation part: people who play a given character; lower-cased."""
    return _plain(root, "dialogue/personachat_valid.txt")


def load_daily_dialog(root: Path | str) -> tuple[Example, ...]:
    """DailyDialog (Li et al. 2017), validation and test part: everyday talk of language learners' books; tokenised."""
    return _plain(root, "dialogue/dailydialog_validation.txt", "dialogue/dailydialog_test.txt")


RATED_LOADERS: Mapping[str, Callable[[Path | str, bool], RatedSet]] = {"fed": load_fed, "dstc9": load_dstc9}
TRAINING_LOADERS: Mapping[str, Callable[[Path | str], tuple[Example, ...]]] = {
    "topical_chat": load_topical_chat,
    "persona_chat": load_persona_chat,
    "daily_dialog": load_daily_dialog,
}


def _rated(files: _RatedFiles, root: Path | str, download: bool) -> RatedSet:
    """The rated set, its dialogues named by their lines, with the published scores where their file is there."""
    examples = _rated_twice(files, root, download)
    scores: dict[int, float] = {}
    path = find_file(root, files.scores)
    if path is not None:
        scores = _published_scores(path, files.column, len(examples))
        unknown = [] if files.is_sample else sorted(set(scores) - set(range(len(examples))))
        if unknown:
            what = f"must score the dialogues of {files.name}, found other lines {unknown}"
            raise InputFaults([fault(path, 0, what)])
    elif files.is_sample:
        what = f"no such file. It says which dialogues of {files.name} the sample holds"
        raise InputFaults([fault(Path(root) / files.scores, 0, what)])
    else:
        log.info("%s: no file of published DEAM scores, so none are compared", files.name)
    lines = scores if files.is_sample else range(len(examples))
    id_of = {line: f"{files.name}-{line:0{files.digits}d}" for line in lines}
    named = tuple(replace(example, id=id_of[line]) for line, example in zip(lines, examples, strict=True))
    published = {"deam": {id_of[line]: score for line, score in scores.items()}} if scores else {}
    return RatedSet(files.name, named, synthetic=False, published=published)


def _rated_twice(files: _RatedFiles, root: Path | str, download: bool) -> list[Example]:
    """The dialogues of the two files that rate the same dialogues, with both ratings."""
    names = [files.dialogues.format(aspect) for aspect in ASPECTS]
    # A file without an origin is named together with all others that are missing.
    find = [partial(require_file, root, name, download and name in ORIGINS) for name in names]
    coherence, overall = paths = read_all(find)
    first, second = read_all(
        partial(located_utt_lines, path, scored=True, aspect=aspect, drop_empty=files.drop_empty)
        for path, aspect in zip(paths, ASPECTS, strict=True)
    )
    if len(first) != len(second):
        rule = f"must have the {len(first)} dialogues of {coherence.name}"
        raise InputFaults([fault(overall, 0, f"{rule}, found {len(second)}")])
    other = [line for (line, a), (_, b) in zip(first, second, strict=True) if a.turns != b.turns]
    if other:
        rule = f"must be the dialogue of the same line of {coherence.name}, found another"
        raise InputFaults(fault(overall, line, rule) for line in other)
    return [replace(a, ratings={**a.ratings, **b.ratings}) for (_, a), (_, b) in zip(first, second, strict=True)]


def _published_scores(path: Path, column: str, n: int) -> dict[int, float]:
    """Line of a dialogue (from 0) -> score, of a file with the columns `column` and `deam_score` and n rows."""
    faults: list[str] = []
    rows = [(number, line.split("\t")) for number, line in iterate_lines(path, faults)]
    if rows[0][1] != [column, "deam_score"]:
        faults.append(fault(path, 1, f"the header must be {column}, tab, deam_score, found {shown(rows[0][1])}"))
    scores: dict[int, float] = {}
    for number, cells in rows[1:]:
        score = parse_finite(cells[-1])
        if len(cells) != 2 or not cells[0].isdecimal() or score is None or int(cells[0]) in scores:
            faults.append(fault(path, number, f"must be a new line number, a tab and a score, found {shown(cells)}"))
        else:
            scores[int(cells[0])] = score
    if len(rows) - 1 != n:
        faults.append(fault(path, 0, f"there must be a score for each of the {n} dialogues, found {len(rows) - 1}"))
    if faults:
        raise InputFaults(faults)
    return scores


def _plain(root: Path | str, *names: str) -> tuple[Example, ...]:
    """The unrated dialogues of some files, one after the other; each knows its file as `group`."""
    paths: list[Path] = read_all(partial(require_file, root, name) for name in names)
    parts = read_all(partial(read_utt_lines, path, scored=False) for path in paths)
    return tuple(replace(example, group=path.name) for path, part in zip(paths, parts, strict=True) for example in part)
