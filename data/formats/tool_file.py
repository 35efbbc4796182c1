"""The texts and judgements in a file of another tool, and functions that its readers share."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator

from core.errors import InputError, fault, format_value
from data.records import Located, Record, check_rows, drop_nan
from data.table_files import DELIMITERS, read_parquet, read_rows
from data.text_files import read_json, read_json_lines
from data.workbooks import read_workbook

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = Iterable[tuple[int, Row]]
SHOWN_NAMES = 4  # names in a line
REMARK = "remark"  # the key of a sentence about the file in a row
BY_MODEL = ("alpaca_eval annotations", "MT-Bench pairs", "Arena-Hard judgments")  # whose verdicts are a model's
UNSAID = ("arena battles", "chosen and rejected answers")  # who chose, people or a model, stands in no file
EMPTY = (None, "", [], {})  # values that say nothing


def _refuse_other(value: Any) -> Any:
    if not isinstance(value, str | int):
        raise ValueError("must be a text or a whole number")
    return value


Name = Annotated[Any, AfterValidator(_refuse_other)]


@dataclass(frozen=True)
class ToolFile:
    """The texts and the judgements in a file of another tool, with the keys of our own files."""

    # the tool and the kind of file
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
        """Separates rows into texts, which get new ids, and judgements, the rows with `system_a`.

        In a file with judgements, the text of a system for an input (`group`) is kept once. Rows without a text or a
        `winner` are left out and counted; an empty text is an answer. Scores of which lower is better are negated and
        renamed. The `REMARK` of a row becomes a note on the file.
        """
        listed = list(rows)
        remarks = dict.fromkeys(row.pop(REMARK, "") for _, row in listed)
        judgements = [(line, row) for line, row in listed if "system_a" in row]
        answers = [(line, row) for line, row in listed if "system_a" not in row]
        if judgements:
            answers = _keep_first_outputs(answers)
        pairs = [(line, row) for line, row in judgements if row["winner"] is not None]
        texts = _name_texts(answers, lower_is_better)
        missing = {"a text": len(answers) - len(texts), "a verdict": len(judgements) - len(pairs)}
        left_out = [f"{count} without {what} left out" for what, count in missing.items() if count]
        remark = ", ".join(filter(None, [*left_out, *remarks]))
        return cls(tool, texts, pairs, remark)

    def __str__(self) -> str:
        """One line, such as `lm-eval samples, 40 texts, exact_match as score`."""
        parts = [self.tool]
        if self.texts:
            parts.append(f"{len(self.texts)} {_plural('text', len(self.texts))}")
        for noun in ("score", "rating"):
            names = self._list_names(f"{noun}s")
            if names:
                more = f" and {len(names) - SHOWN_NAMES} more" if names[SHOWN_NAMES:] else ""
                parts.append(f"{', '.join(names[:SHOWN_NAMES])}{more} as {_plural(noun, len(names))}")
        if self.pairs:
            systems = {row[side] for _, row in self.pairs for side in ("system_a", "system_b")}
            parts.append(f"{len(self.pairs)} {_plural('judgement', len(self.pairs))} of {len(systems)} systems")
        if self.remark:
            parts.append(self.remark)
        return ", ".join(parts)

    def _list_names(self, key: str) -> list[str]:
        """The names of all scores or ratings of the texts, each once."""
        names = (name for _, row in self.texts for name in row.get(key) or ())
        return list(dict.fromkeys(names))


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def _keep_first_outputs(answers: Located) -> list[tuple[int, Row]]:
    """The first text of each system for each input, with an id of its own."""
    kept: list[tuple[int, Row]] = []
    outputs: set[tuple[str, str]] = set()
    for line, row in answers:
        output = (row["system"], row["group"])
        if output in outputs:
            continue
        outputs.add(output)
        kept.append((line, {"id": f"{line}-{len(outputs)}", **row}))
    return kept


def _name_texts(answers: Located, lower_is_better: Collection[str]) -> list[tuple[int, Row]]:
    """The rows that have a text, with unique ids and without empty values; the others are left out."""
    texts: list[tuple[int, Row]] = []
    ids: Counter[str] = Counter()
    for line, row in answers:
        text = row.get("text")
        if not isinstance(text, str):
            continue
        name = str(row.get("id", line))
        ids[name] += 1
        unique = name if ids[name] == 1 else f"{name} ({ids[name]})"
        filled = {key: value for key, value in row.items() if value not in EMPTY}
        if "scores" in filled:
            filled["scores"] = _negate(filled["scores"], lower_is_better)
        texts.append(
            (
                line,
                {
                    **filled,
                    "id": unique,
                    "text": text,
                },
            )
        )
    return texts


def _negate(scores: Mapping[str, float | None], lower_is_better: Collection[str]) -> dict[str, float | None]:
    """The scores with higher ones better: others change their sign and are called `NAME (negated)`."""
    directed: dict[str, float | None] = {}
    for name, value in scores.items():
        score = drop_nan(value)
        if name in lower_is_better:
            directed[f"{name} (negated)"] = None if score is None else -score
        else:
            directed[name] = score
    return directed


def refuse(
    path: Path,
    line: int,
    what: str,
) -> InputError:
    """Makes the InputError for a file whose layout its reader does not know."""
    return InputError([fault(path, line, what)])


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
        inner = (content[key] for key in ("message", "content", "value", "text") if key in content)
        return text_of(next(inner, None))
    if isinstance(content, list):
        texts = [text for text in map(text_of, content) if text is not None]
        return "\n".join(texts) if texts else None
    return None


def list_objects(
    document: Any,
    path: Path,
    kind: type[Record] = Record,
) -> Located:
    """Lists the objects of a JSON array with their positions. Raises InputError for anything else."""
    if not isinstance(document, list) or not document:
        raise refuse(path, 0, f"a JSON file must be an array of objects, found {describe(document)}")
    return check_rows(enumerate(document, start=1), path, kind)


def iterate_objects(
    path: Path,
    form: str,
    faults: list[str],
    part: str | None = None,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the lines of a JSONL file, the objects of a JSON array or the rows of a table, with their numbers.

    `part` is the sheet to read from a workbook with several sheets.
    """
    match form:
        case ".jsonl":
            yield from read_json_lines(path, faults)
        case ".json":
            yield from list_objects(read_json(path), path)
        case ".parquet":
            yield from read_parquet(path)
        case ".xlsx":
            yield from read_workbook(path, part)
        case _:
            yield from read_rows(path, DELIMITERS[form], faults)


def describe(value: object) -> str:
    """Describes a value for a message: the keys of an object, or the value itself."""
    if isinstance(value, Mapping):
        return format_value(list(value)[:12])
    return format_value(value)
