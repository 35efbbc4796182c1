"""The texts and judgements in a file of another tool, and what its readers share.

A reader is a plain function from the tool's rows to rows with our keys. It trusts the layout: a row of another layout
raises KeyError or the like, which `recognition` reports with its line. Values are checked once, as records.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from core.errors import InputError, fault, format_value
from data.numeric import is_missing
from data.records import Located
from data.table_files import DELIMITERS, read_rows
from data.text_files import Objects, read_json, read_json_lines
from data.workbooks import read_workbook

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = Iterable[tuple[int, Row]]
SHOWN_NAMES = 4
REMARK = "remark"  # the key of a sentence about the file in a row
BY_MODEL = ("alpaca_eval annotations", "MT-Bench pairs")  # whose verdicts are a model's
UNSAID = ("arena battles", "chosen and rejected answers")  # who chose stands in no file


@dataclass(frozen=True)
class ToolFile:
    """The texts and the judgements in a file of another tool, with the keys of our own files."""

    tool: str
    texts: Located = ()
    # with `group`, `system_a`, `system_b`, `winner` and perhaps `rater`
    pairs: Located = ()
    # what was left out, as the end of a sentence
    remark: str = ""

    @classmethod
    def of(
        cls,
        tool: str,
        rows: Rows,
        lower_is_better: Collection[str] = (),
    ) -> "ToolFile":
        """Separates rows into texts, which get ids of their own, and judgements, the rows with `system_a`.

        In a file with judgements, the text of a system for an input counts once. Rows without a text or a verdict are
        left out and counted. Scores of which lower is better are negated and renamed.
        """
        listed = list(rows)
        remarks = dict.fromkeys(row.pop(REMARK, "") for _, row in listed)
        judged = [(line, row) for line, row in listed if "system_a" in row]
        answers = [(line, row) for line, row in listed if "system_a" not in row]
        if judged:
            first: dict[Any, tuple[int, Row]] = {}
            for line, row in answers:
                first.setdefault((row["system"], row["group"]), (line, row))
            answers = [(line, {"id": f"{line}-{n}", **row}) for n, (line, row) in enumerate(first.values(), start=1)]
        texts = [(line, row) for line, row in answers if isinstance(row.get("text"), str)]
        pairs = [(line, row) for line, row in judged if row["winner"] is not None or "judges" in map(_stem, row)]
        missing = {"a text": len(answers) - len(texts), "a verdict": len(judged) - len(pairs)}
        left_out = [f"{count} without {what} left out" for what, count in missing.items() if count]
        named = list(_name_texts(texts, lower_is_better))
        return cls(
            tool,
            named,
            pairs,
            ", ".join(filter(None, [*left_out, *remarks])),
        )

    def __str__(self) -> str:
        """One line, such as `lm-eval samples, 40 texts, exact_match as score`."""
        parts = [self.tool]
        if self.texts:
            parts.append(_count(len(self.texts), "text"))
        for noun in ("score", "rating"):
            names = list(dict.fromkeys(name for _, row in self.texts for name in row.get(f"{noun}s") or ()))
            if names:
                more = f" and {len(names) - SHOWN_NAMES} more" if names[SHOWN_NAMES:] else ""
                parts.append(f"{', '.join(names[:SHOWN_NAMES])}{more} as {noun}{'s' * (len(names) > 1)}")
        if self.pairs:
            systems = {row[side] for _, row in self.pairs for side in ("system_a", "system_b")}
            parts.append(f"{_count(len(self.pairs), 'judgement')} of {len(systems)} systems")
        return ", ".join(filter(None, [*parts, self.remark]))


def _stem(key: str) -> str:
    """The name of an object, of which a column may give a part, as in judges.gpt."""
    return key.partition(".")[0]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _name_texts(texts: Located, lower_is_better: Collection[str]) -> Objects:
    """The texts with unique ids, if any, without empty values, and with higher scores better."""
    ids: Counter[str] = Counter()
    for line, row in texts:
        scores: Row = {}
        for metric, value in (row.get("scores") or {}).items():
            score = None if is_missing(value) else value
            if metric in lower_is_better:
                metric, score = f"{metric} (negated)", None if score is None else -score
            scores[metric] = score
        filled = {key: value for key, value in {**row, "scores": scores}.items() if value not in (None, "", [], {})}
        if "id" in row:
            name = str(row["id"])
            ids[name] += 1
            filled["id"] = name if ids[name] == 1 else f"{name} ({ids[name]})"
        yield line, {**filled, "text": row["text"]}


def refuse(path: Path, line: int, what: str) -> InputError:
    """Makes the InputError for a file whose layout its reader does not know."""
    return InputError([fault(path, line, what)])


def leave_out(row: Row, read: Collection[str]) -> Row:
    """Returns what a row holds besides the keys that were read, without empty values and NaN."""
    filled = {key: cell for key, cell in row.items() if cell != "" and (isinstance(cell, str) or not is_missing(cell))}
    return {key: cell for key, cell in filled.items() if key not in read}


def pick(row: Mapping[str, Any], *keys: str) -> Any:
    """Returns the value of the first of these keys that says something; None if none does."""
    return next((row[key] for key in keys if row.get(key) not in (None, "")), None)


def list_values(value: object) -> list[Any]:
    """Lists the elements of a list or the values of an object; empty for anything else."""
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list) else []


def text_of(content: object) -> str | None:
    """Returns the text of a message, which may be a text, an object or a list of parts; None if it has no text."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return text_of(next((content[key] for key in ("message", "content", "value", "text") if key in content), None))
    texts = [text for text in map(text_of, list_values(content)) if text is not None]
    return "\n".join(texts) if texts else None


def list_objects(document: Any, path: Path) -> Located:
    """Lists the objects of a JSON array with their positions. Raises InputError for anything else."""
    if not isinstance(document, list) or not document:
        raise refuse(
            path, 0, f"a JSON file must be an array of objects, or a file of a known tool, found {describe(document)}"
        )
    rows = list(enumerate(document, start=1))
    others = [(line, row) for line, row in rows if not isinstance(row, dict)]
    if others:
        raise InputError(
            fault(path, line, f"an object is needed here, found {format_value(row)}") for line, row in others
        )
    return rows


def iterate_objects(path: Path, form: str, faults: list[str]) -> Objects:
    """Yields the lines of a JSONL file, the objects of a JSON array or the rows of a table, with their numbers."""
    match form:
        case ".jsonl":
            yield from read_json_lines(path, faults)
        case ".json":
            yield from list_objects(read_json(path), path)
        case ".xlsx":
            yield from read_workbook(path)
        case _:
            yield from read_rows(path, DELIMITERS[form], faults)


def describe(value: object) -> str:
    """Describes a value for a message: the keys of an object, or the value itself."""
    return format_value(list(value)[:12] if isinstance(value, Mapping) else value)
