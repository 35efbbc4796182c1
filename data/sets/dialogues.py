"""Dialogues: the public sets, the built-in ones and a user's own, split for training and for agreement with people.

Three public sets are rated by people, seven are for training. The training files, those of FED and of DSTC9 have one
dialogue per line, every utterance followed by `</UTT>`; a rated one ends with its human score. `root` is the folder
that holds `fed/`, `dstc9/`, `convai2/` and `dialogue/`, or one of these folders itself.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path

from core.example import Example
from core.faults import InputFaults, fault, format_value, read_all
from core.settings import Several, check, one_of
from data.builtin.dialogues import generate_dialogues, rated_dialogues
from data.corpus import Corpus, fold_turns, generate_corpus, read_own, refuse_shared, score_published
from data.dialogue_files import located_dialogues, read_utt_lines
from data.download import GITHUB, PublicFile, by_file_name, find_file, require_file
from data.files import UTTERANCE_END, located_examples
from data.splits import HELD_OUT_FRACTION, split_share
from data.table_files import parse_finite
from data.text_files import iterate_lines
from meta_eval.scored_set import ScoredSet

log = logging.getLogger(__name__)

TURNS = attrgetter("turns")
TRAINING_SETS = ("topical_chat", "persona_chat")  # as CDM and DEAM train
ASPECTS = ("coherence", "overall")
TOPICAL_CHAT_PARTS = ("test_freq.json", "test_rare.json")


def builtin_dialogues(train: int = 2000, held_out: int = 200, rated: int = 400, seed: int = 0) -> Corpus:
    """Generated dialogues: no network, no files; their quality is known by construction.

    Raises SettingFault where a rated dialogue is also a training one.
    """
    made = generate_corpus("builtin", generate_dialogues, rated_dialogues, TURNS, (train, held_out, rated), seed)
    _refuse_rated("builtin", (*made.train, *made.held_out), made.rated)
    return made


def public_dialogues(
    rated: str | Sequence[str],
    root: Path | str,
    download: bool = False,
    training_sets: Sequence[str] = TRAINING_SETS,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """Training on the named public sets, rated by FED or DSTC9 (CDM, Tables 2-6), or by ConvAI2.

    Args:
        rated: "fed", "dstc9", "convai2", or several of them.
        training_sets: names in `TRAINING_FILES`.
    """
    loaders: Mapping[str, Callable[[Path | str, bool], ScoredSet]] = {
        "fed": load_fed,
        "dstc9": load_dstc9,
        "convai2": load_convai2,
    }
    names = [rated] if isinstance(rated, str) else rated
    check(Several[one_of(tuple(loaders))], rated=names)
    check(Several[one_of(tuple(TRAINING_FILES))], training_sets=training_sets)
    readers = [partial(load_dialogues, root, each) for each in training_sets]
    found = read_all([*(partial(loaders[each], root, download) for each in names), *readers])
    rated_sets = tuple(found[: len(names)])
    examples = tuple(example for part in found[len(names) :] for example in part)
    name = "+".join(names)
    _refuse_rated(name, examples, rated_sets)
    return Corpus(name, *split_share(examples, TURNS, held_out_fraction, seed), rated_sets, synthetic=False)


def own_dialogues(
    train_path: Path | str,
    rated_path: Path | str | None = None,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """A user's own dialogues: training ones and, if there are any, rated ones.

    Both are .jsonl, .csv or .tsv files with `turns` (and ratings), or .txt files of `</UTT>` lines (with a score).

    Raises InputFaults for what is wrong with a file, and where a rated dialogue is also a training one.
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
    rated_sets: tuple[ScoredSet, ...] = ()
    if rated_path is not None and rated is not None:
        rated_sets = (ScoredSet(Path(rated_path).stem, tuple(example for _, example in rated)),)
    parts = split_share(examples, TURNS, held_out_fraction, seed)
    return Corpus(Path(train_path).stem, *parts, rated_sets, synthetic=False)


def _refuse_rated(name: str, examples: Sequence[Example], rated: Sequence[ScoredSet]) -> None:
    """Raises SettingFault where a rated dialogue is also a training one."""
    rule = f"a rated dialogue must not be one to train on too, but {{}} of {name} are"
    named = ((example.id, fold_turns(example)) for each in rated for example in each.examples)
    refuse_shared(rule, named, map(fold_turns, examples))


@dataclass(frozen=True)
class _RatedFiles:
    """Where a rated set lies: a file of its dialogues for the ratings of each aspect, and one of DEAM's scores."""

    name: str
    # the files of dialogues with the ratings of each aspect
    dialogues: tuple[PublicFile, ...]
    # the file of the published scores
    scores: str
    # of `scores`: the line of the dialogue, counted from 0
    column: str
    # of a line's number in an id
    digits: int
    # whether empty utterances are left out; otherwise they are faults
    drop_empty: bool = False
    # whether `dialogues` holds only those lines of the set that `scores` has
    is_sample: bool = False


def load_fed(root: Path | str, download: bool = False) -> ScoredSet:
    """FED: 125 dialogues of people and chatbots (Mehri and Eskenazi 2020), with the averaged ratings of DEAM.

    Ids `fed-000` to `fed-124` by line. Ratings: `coherence` 0-1 and `overall` 0-0.8. Where `deam_scores.tsv` is beside
    the files, the published scores of DEAM.
    """
    return _rated(_FED, root, download)


def load_dstc9(root: Path | str, download: bool = False) -> ScoredSet:
    """DSTC9: dialogues of people and chatbots (Gunasekara et al. 2020), with the averaged ratings of DEAM.

    All 2200 where `dstc9_test_{coherence,overall}_averaged.txt` are there, else the sample of every eleventh. Ids such
    as `dstc9-0011` by the line of the full file, counted from 0. Ratings: `coherence` 1-3 and `overall` 1-5. Empty
    utterances, which 119 of the 2200 dialogues have, are dropped. Where `deam_scores.tsv` is beside the files
    (`deam_scores_sample.tsv` for the sample, which needs it for the ids), the published scores of DEAM.
    """
    full, sample = (find_file(root, files.dialogues[0].name) for files in (_DSTC9, _DSTC9_SAMPLE))
    return _rated(_DSTC9_SAMPLE if sample and not full else _DSTC9, root, download)


def load_convai2(root: Path | str, download: bool = False) -> ScoredSet:
    """ConvAI2's wild evaluation: dialogues of people with chatbots (Dinan et al. 2019), prepared by hand.

    Ratings: `overall` 1-5 by the person who took part, one for each dialogue. They are of engagement more than of
    coherence, and noisy. `download` changes nothing: the file has no public origin in this form.
    """
    del download
    located = located_examples(require_file(root, CONVAI2), requires=("turns", "ratings"))
    return ScoredSet("convai2", tuple(example for _, example in located))


def load_dialogues(root: Path | str, name: str) -> tuple[Example, ...]:
    """The unrated dialogues of a set in `TRAINING_FILES`; each knows its file as `group`."""
    paths: list[Path] = read_all(partial(require_file, root, file) for file in TRAINING_FILES[name])
    parts = read_all(partial(read_utt_lines, path, scored=False) for path in paths)
    return tuple(replace(e, group=path.name) for path, part in zip(paths, parts, strict=True) for _, e in part)


def _rated(files: _RatedFiles, root: Path | str, download: bool) -> ScoredSet:
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
    return ScoredSet(files.name, named, score_published(files.name, named, published))


def _rated_twice(files: _RatedFiles, root: Path | str, download: bool) -> list[Example]:
    """The dialogues of the two files that rate the same dialogues, with both ratings."""
    # A file without a checksum is named together with all others that are missing.
    find = [partial(require_file, root, file, download and file.sha256 is not None) for file in files.dialogues]
    coherence, overall = paths = read_all(find)
    first, second = read_all(
        partial(read_utt_lines, path, scored=True, aspect=aspect, drop_empty=files.drop_empty)
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
        faults.append(fault(path, 1, f"the header must be {column}, tab, deam_score, found {format_value(rows[0][1])}"))
    scores: dict[int, float] = {}
    for number, cells in rows[1:]:
        score = parse_finite(cells[-1])
        if len(cells) != 2 or not cells[0].isdecimal() or score is None or int(cells[0]) in scores:
            faults.append(
                fault(path, number, f"must be a new line number, a tab and a score, found {format_value(cells)}")
            )
        else:
            scores[int(cells[0])] = score
    if len(rows) - 1 != n:
        faults.append(fault(path, 0, f"there must be a score for each of the {n} dialogues, found {len(rows) - 1}"))
    if faults:
        raise InputFaults(faults)
    return scores


def read_part(folder: Path, start: int, stop: int) -> Iterator[str]:
    """Lines of `clean_valid.txt`, where Topical-Chat comes first and PersonaChat follows."""
    yield from _read_lines(folder / "clean_valid.txt")[start:stop]


def read_topical_chat(folder: Path) -> Iterator[str]:
    """The dialogues of `test_freq.json` and `test_rare.json`."""
    for name in TOPICAL_CHAT_PARTS:
        for dialogue in json.loads((folder / name).read_text("utf-8")).values():
            turns = (turn["message"].strip().replace("\n", " ") for turn in dialogue["content"])
            yield "".join(f"{turn}{UTTERANCE_END}" for turn in turns)


def read_daily_dialog(folder: Path, original: str) -> Iterator[str]:
    """The dialogues of a file of DailyDialog, where utterances end with `__eou__`."""
    for line in _read_lines(folder / original):
        yield re.sub(r"\s*__eou__\s*", UTTERANCE_END, line, flags=re.ASCII)


def read_deam_scores(folder: Path, original: str, column: str) -> Iterator[str]:
    """The scores at the ends of the lines of a file of predictions, by line number from 0."""
    yield f"{column}\tdeam_score"
    for number, line in enumerate(_read_lines(folder / original)):
        yield f"{number}\t{line.split(UTTERANCE_END)[-1]}"


def _read_lines(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")


def _scores_of_deam(folder: str, original: str, column: str) -> PublicFile:
    return PublicFile(
        f"{folder}/deam_scores.tsv",
        RATED_LICENCE,
        by_file_name(f"{DEAM}/coh_models/{original}"),
        prepare=partial(read_deam_scores, original=original, column=column),
    )


DEAM = f"{GITHUB}/PlusLabNLP/DEAM/3e01d63f81b17fd76ffabd899d82cc5b47d953f9"
CDM = f"{GITHUB}/PlusLabNLP/CDM/b555ddf049409d142a19bf5289444ce244b5e36d/data/dialogue"
LAED = f"{GITHUB}/snakeztc/NeuralDialog-LAED/7eea42ac3f88dd4db467222eda5469d63502ffb8/data/daily_dialog"
TOPICAL_CHAT = f"{GITHUB}/alexa/Topical-Chat/8a485f76337a40dfab842426caeaa94fd8212db4/conversations"
RATED_LICENCE = "none stated: for research, not to be passed on"
LICENCE = "CDM: MIT; Topical-Chat: CDLA-Sharing 1.0; DailyDialog: CC BY-NC-SA 4.0, not for commercial use"

FED_COHERENCE = PublicFile(
    "fed/fed_test_coherence.txt",
    RATED_LICENCE,
    by_file_name(f"{DEAM}/data/fed/fed_test_coherence.txt"),
    sha256="03799ae6a76d986026df8e0905fea6fbc8a2c245687860ed93dc601c34d944af",
)
FED_OVERALL = PublicFile(
    "fed/fed_test_overall.txt",
    RATED_LICENCE,
    by_file_name(f"{DEAM}/data/fed/fed_test_overall.txt"),
    sha256="2d8630328ad0b8d67e8e3213a708979a30cfac858b6bf819b87448b1b160fd11",
)
FED_SCORES = _scores_of_deam("fed", "fed_test_overall_orig_preds.txt", column="line")
DSTC9_COHERENCE, DSTC9_OVERALL = (
    PublicFile(f"dstc9/{name}", RATED_LICENCE, by_file_name(f"{DEAM}/data/dstc9/{name}"))
    for name in ("dstc9_test_coherence_averaged.txt", "dstc9_test_overall_averaged.txt")
)
DSTC9_SCORES = _scores_of_deam("dstc9", "dstc9_test_coherence_orig_preds.txt", column="orig_line")
_FED = _RatedFiles("fed", (FED_COHERENCE, FED_OVERALL), FED_SCORES.name, column="line", digits=3)
_DSTC9 = _RatedFiles(
    "dstc9", (DSTC9_COHERENCE, DSTC9_OVERALL), DSTC9_SCORES.name, column="orig_line", digits=4, drop_empty=True
)
_DSTC9_SAMPLE = replace(
    _DSTC9,
    dialogues=tuple(PublicFile(f"dstc9/dstc9_sample_{aspect}.txt", RATED_LICENCE) for aspect in ASPECTS),
    scores="dstc9/deam_scores_sample.tsv",
    is_sample=True,
)
CONVAI2 = PublicFile("convai2/convai2_rated.jsonl", "none stated: for research, not to be passed on")
DAILY_DIALOG = tuple(
    PublicFile(
        f"dialogue/dailydialog_{part}.txt",
        LICENCE,
        {f"dialogues_{part}.txt": f"{LAED}/{part}/dialogues.txt"},
        prepare=partial(read_daily_dialog, original=f"dialogues_{part}.txt"),
    )
    for part in ("validation", "test")
)
PERSONA_CHAT = PublicFile(
    "dialogue/personachat_valid.txt",
    LICENCE,
    by_file_name(f"{CDM}/clean_valid.txt"),
    prepare=partial(read_part, start=1078, stop=2078),
)
TOPICAL_CHAT_VALID = PublicFile(
    "dialogue/topicalchat_valid.txt",
    LICENCE,
    by_file_name(f"{CDM}/clean_valid.txt"),
    prepare=partial(read_part, start=0, stop=1078),
)
TOPICAL_CHAT_TEST = PublicFile(
    "dialogue/topicalchat_test.txt",
    LICENCE,
    by_file_name(*(f"{TOPICAL_CHAT}/{name}" for name in TOPICAL_CHAT_PARTS)),
    prepare=read_topical_chat,
)
# Topical-Chat: people on given facts, 20 turns and more (Gopalakrishnan et al. 2019), validation and test part.
# PersonaChat: people who play a given character, lower-cased (Zhang et al. 2018), validation part.
# DailyDialog: everyday talk of language learners' books, tokenised (Li et al. 2017), validation and test part.
# MuTual and DREAM: listening tests (Cui et al. 2020; Sun et al. 2019); MELD: scenes of a television series (Poria et
# al. 2019); Schema-Guided Dialogue: tasks with an assistant (Rastogi et al. 2020). All four are prepared by hand.
TRAINING_FILES: Mapping[str, Sequence[PublicFile]] = {
    "topical_chat": (TOPICAL_CHAT_VALID, TOPICAL_CHAT_TEST),
    "persona_chat": (PERSONA_CHAT,),
    "daily_dialog": DAILY_DIALOG,
    **{
        name: (PublicFile(f"dialogue/{name}.txt", licence),)
        for name, licence in {
            "mutual": "none stated",
            "dream": "for research, not for commercial use",
            "meld": "GPL-3.0",
            "schema_guided": "CC BY-SA 4.0",
        }.items()
    },
}
FILES = (
    *(FED_COHERENCE, FED_OVERALL, FED_SCORES, DSTC9_COHERENCE, DSTC9_OVERALL, DSTC9_SCORES),
    *(*DAILY_DIALOG, PERSONA_CHAT, TOPICAL_CHAT_VALID, TOPICAL_CHAT_TEST),
)
