"""Annotations of people: Label Studio, and WMT's folders and tables of MQM errors."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from core.errors import setting
from data.columns import name_fields
from data.formats.tool_file import REMARK, Row, Rows, ToolFile, describe, pick, refuse, text_of
from data.label_columns import list_candidates
from data.numeric import is_missing, to_number
from data.text_files import read_lines

NUMBERED = re.compile(r"(?P<stem>.+?)_?(?P<side>1|2|a|b|left|right)", re.IGNORECASE)
SYSTEMS = ("model", "system", "generator", "name")  # of the keys of both systems
SIDES = {"left": "a", "right": "b"}
WEIGHTS = {
    "major": 5.0,
    "minor": 1.0,
    "neutral": 0.0,
    "no-error": 0.0,
    "no error": 0.0,
}
MQM_COLUMNS = frozenset({"system", "doc", "rater", "source", "target", "category", "severity"})
PLANTED = "hotw-test"  # the severity of errors that test the raters


# ---- Label Studio ----


def read_label_studio(rows: Rows, path: Path) -> Rows:
    """Reads one text per task with each annotator's ratings and single choices; pairwise comparisons are judgements.

    Predictions of models, and what can be a label in the data of tasks, are scores. Cancelled annotations are left out.
    """
    listed = list(rows)
    data = [task["data"] for _, task in listed]
    header = list(dict.fromkeys(name for given in data for name in given))
    fields = dict(name_fields(tuple(header)).fields)
    verdicts = [name for name in list_candidates(data, header) if name not in fields]
    for line, task in listed:
        given = task["data"]
        name = str(given.get("id", task["id"]))
        results = list(_list_results(task))
        pairs = [(person, result) for person, result in results if result.get("type") == "pairwise"]
        if pairs:
            yield from _read_pairs(
                given,
                name,
                pairs,
                path,
                line,
            )
            continue
        ratings: dict[str, dict[str, Any]] = defaultdict(dict)
        unread: dict[str, None] = {}
        for person, result in results:
            value = _find_value(result)
            if value is None:
                unread[str(result.get("type"))] = None
            else:
                ratings[str(result.get("from_name"))][person] = value
        row = {
            "id": name,
            **_read_text(
                given,
                results,
                path,
                line,
            ),
            "ratings": dict(ratings),
        }
        scores = {**_read_predictions(task), **{key: given.get(key) for key in verdicts}}
        remark = f"results of the kind {' and '.join(unread)} left out" if unread else ""
        yield (
            line,
            {
                **row,
                "scores": scores,
                REMARK: remark,
            },
        )


def _list_results(task: Row) -> Iterator[tuple[str, Row]]:
    """What each annotator said, with the annotator's name."""
    for annotation in task["annotations"]:
        person = annotation.get("completed_by")
        person = person.get("id") if isinstance(person, Mapping) else person
        if not annotation.get("was_cancelled"):
            yield from ((str(person), result) for result in annotation["result"])


def _find_value(result: Row) -> Any:
    """The number or the single choice of a result; None for anything else."""
    value = result.get("value") or {}
    if result.get("type") in ("rating", "number"):
        return value.get(result["type"])
    choices = value.get("choices") if result.get("type") == "choices" else None
    return choices[0] if choices and len(choices) == 1 else None


def _read_predictions(task: Row) -> Row:
    """What models predicted, by model, or `MODEL/ASPECT` of several aspects."""
    scores: Row = {}
    for prediction in task.get("predictions") or ():
        model = str(prediction.get("model_version") or "prediction")
        values = {str(result.get("from_name")): _find_value(result) for result in prediction["result"]}
        for aspect, value in values.items():
            if value is not None:
                scores[model if len(values) == 1 else f"{model}/{aspect}"] = value
    return scores


def _read_text(
    given: Row,
    results: list[tuple[str, Row]],
    path: Path,
    line: int,
) -> Row:
    """The text of a task: what was annotated, else the key with a usual name, else the only text; and fields beside."""
    fields = name_fields(tuple(given)).fields
    texts = [key for key, cell in given.items() if isinstance(cell, str)]
    candidates = [str(result.get("to_name") or result.get("toName")) for _, result in results]
    candidates += [key for key, name in fields if name == "text"]
    candidates += texts if len(texts) == 1 else []
    text = next((key for key in candidates if key in texts), None)
    if text is None:
        rule = "the data of a task need a text whose key is the name of its tag, or text"
        raise refuse(path, line, f"{rule}, found {describe(given)}; an export as CSV has columns to name")
    beside = ("context", "system", "group", "references")
    return {**{name: given[key] for key, name in fields if name in beside}, "text": given[text]}


def _read_pairs(
    given: Row,
    name: str,
    pairs: list[tuple[str, Row]],
    path: Path,
    line: int,
) -> Rows:
    """A judgement of each annotator, left before right, and both texts."""
    stems: dict[str, dict[str, str]] = defaultdict(dict)
    for key in given:
        match = NUMBERED.fullmatch(key)
        if match:
            stems[match["stem"].lower()][match["side"].lower()] = key
    keys: dict[str, list[str]] = {}
    for stem, sides in stems.items():
        if len(sides) == 2:
            keys[stem] = [sides[side] for side in sorted(sides)]
    systems = next((keys[stem] for stem in SYSTEMS if stem in keys), None)
    if systems is None:
        rule = "a comparison needs the names of both systems in its data, such as model1 and model2"
        raise refuse(path, line, f"{rule}, found {describe(given)}")
    a, b = (str(given[key]) for key in systems)
    texts = next((both for stem, both in keys.items() if stem not in SYSTEMS), [])
    context = text_of(pick(given, "prompt", "question"))
    for system, key in zip((a, b), texts, strict=False):
        yield (
            line,
            {
                "system": system,
                "group": name,
                "text": text_of(given[key]),
                "context": context,
            },
        )
    for person, result in pairs:
        winner = SIDES.get(str((result.get("value") or {}).get("selected")))
        yield (
            line,
            {
                "group": name,
                "system_a": a,
                "system_b": b,
                "winner": winner,
                "rater": person,
            },
        )


# ---- WMT ----


def read_wmt(folder: Path, split: str | None) -> ToolFile:
    """Reads one text per system and segment of a folder of mt-metrics-eval, with ratings and scores.

    `split` is the language pair, if there are several. References are not systems. WMT adds one line to detect training
    on its data; this line is left out.
    """
    pairs = sorted(child.name for child in (folder / "system-outputs").iterdir() if child.is_dir())
    pair = pairs[0] if split is None and len(pairs) == 1 else split
    if pair not in pairs:
        raise refuse(folder, 0, f"{setting('split')} must be a language pair, one of {', '.join(pairs)}, found {split}")
    sources = _read_lines(folder / "sources" / f"{pair}.txt")
    n = len(sources)
    references = {
        file.name.split(".")[1]: _read_lines(file, n) for file in sorted(folder.glob(f"references/{pair}.*.txt"))
    }
    documents = [""] * n
    for file in folder.glob(f"documents/{pair}.docs"):
        documents = _read_lines(file, n)
    human = sorted(folder.glob(f"human-scores/{pair}.*.seg.score"))
    ratings = {file.name.removeprefix(f"{pair}.").removesuffix(".seg.score"): _read_scores(file, n) for file in human}
    metric = sorted(folder.glob(f"metric-scores/{pair}/*.seg.score"))
    scores = {file.name.removesuffix(".seg.score"): _read_scores(file, n) for file in metric}
    rows: list[tuple[int, Row]] = []
    for file in sorted(folder.glob(f"system-outputs/{pair}/*.txt")):
        system = file.stem
        for i, text in enumerate(_read_lines(file, n)) if system not in references else ():
            if "canary" in documents[i]:
                continue
            row: Row = {
                "id": f"{system}-{i + 1}",
                "system": system,
                "group": str(i + 1),
                "text": text,
            }
            row |= {"context": sources[i], "document": documents[i].partition("\t")[2]}
            row["references"] = [lines[i] for lines in references.values() if lines[i].strip()]
            of_people = {name: values[system][i] for name, values in ratings.items() if system in values}
            row["ratings"] = {name: value for name, value in of_people.items() if value is not None}
            row["scores"] = {name: values[system][i] for name, values in scores.items() if system in values}
            rows.append((len(rows) + 1, row))
    if not rows:
        where = folder / "system-outputs" / str(pair)
        raise refuse(where, 0, "the folder needs outputs of systems, SYSTEM.txt, found none")
    return ToolFile.of(f"WMT folder {folder.name}, {pair}", rows)


def _read_lines(file: Path, n: int | None = None) -> list[str]:
    lines = [line for _, line in read_lines(file, keep_end=True)]
    if n not in (None, len(lines)):
        raise refuse(file, 0, f"the file must have {n} lines as the sources, found {len(lines)}")
    return lines


def _read_scores(file: Path, n: int) -> dict[str, list[float | None]]:
    """The scores of each system in the order of lines; None is missing."""
    scores: dict[str, list[float | None]] = defaultdict(list)
    for line, text in enumerate(_read_lines(file), start=1):
        system, _, cell = text.rpartition("\t" if "\t" in text else " ")
        score = to_number(cell)
        if score is None and not is_missing(cell):
            raise refuse(file, line, f"a line must be SYSTEM and SCORE, found {text[:60]!r}")
        scores[system].append(score)
    for name, values in scores.items():
        if len(values) != n:
            raise refuse(file, 0, f"a system needs a line per segment ({n}), found {len(values)} of {name}")
    return scores


def read_mqm(path: Path) -> Rows:
    """Reads one text per system and segment of a table of errors. Each rater's `mqm` is minus the sum of weights.

    A major error weighs 5, a minor one 1, a minor one of punctuation .1, and a non-translation 25 (Freitag et al.
    2021).
    """
    (_, header), *lines = read_lines(path)
    names = header.split("\t")
    rows: dict[tuple[str, str], Row] = {}
    for line, text in lines:
        cells = dict(zip(names, text.split("\t"), strict=False))
        severity = cells.get("severity", "").lower()
        name = pick(cells, "seg_id", "globalSegId")
        if name is None or not (severity in WEIGHTS or severity == PLANTED):
            known = f"a row needs seg_id or globalSegId and a severity among {', '.join(WEIGHTS)}"
            raise refuse(path, line, f"{known}, found {describe(cells.get('severity'))}")
        if severity == PLANTED:
            continue
        weight = WEIGHTS[severity]
        category = cells["category"].lower()
        system = cells["system"]
        if weight and "non-translation" in category:
            weight = 25.0
        elif severity == "minor" and category == "fluency/punctuation":
            weight = 0.1
        plain = {key: re.sub(r"</?v>", "", cells[key]).strip() for key in ("target", "source")}
        row = {
            "id": f"{system}-{name}",
            "system": system,
            "group": name,
            "ratings": {"mqm": defaultdict(float)},
        }
        row = rows.setdefault(
            (system, name),
            {
                **row,
                "text": plain["target"],
                "context": plain["source"],
            },
        )
        row["ratings"]["mqm"][cells["rater"]] -= weight
    return enumerate(rows.values(), 1)
