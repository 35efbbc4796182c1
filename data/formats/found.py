"""What is found in a file of another tool, and what its readers share."""

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

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = Iterable[tuple[int, Row]]
SHOWN = 4  # names in a line
REMARK = "remark"  # the key of a sentence about the file in a row
BY_MODEL = ("alpaca_eval annotations", "MT-Bench pairs", "Arena-Hard judgments")  # whose verdicts are a model's
UNSAID = ("arena battles", "chosen and rejected answers")  # who chose, people or a model, stands in no file


def _refuse_other(value: Any) -> Any:
    if not isinstance(value, str | int):
        raise ValueError("must be a text or a whole number")
    return value


Name = Annotated[Any, AfterValidator(_refuse_other)]


@dataclass(frozen=True)
class Found:
    """The texts and the judgements in a file, with the keys of lines of our own files."""

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
    ) -> "Found":
        """What rows hold: texts, with ids of their own, and judgements, which have `system_a`.

        Beside judgements, the text of a system for an input (`group`) counts once. Rows with no text or no `winner` are
        left out and counted; an empty text is an answer. Scores of which the lower ones are better are negated, as
        their names say. `REMARK` of a row is said of the file.
        """
        listed, texts, pairs = list(rows), list[tuple[int, Row]](), list[tuple[int, Row]]()
        remarks = [remark for _, row in listed if (remark := row.pop(REMARK, ""))]
        without, ids, outputs = Counter[str](), Counter[str](), set[tuple[str, str]]()
        is_paired = any("system_a" in row for _, row in listed)
        for line, row in listed:
            if "system_a" in row:
                without["a verdict"] += row["winner"] is None
                pairs += [] if row["winner"] is None else [(line, row)]
                continue
            if is_paired:
                if (output := (row["system"], row["group"])) in outputs:
                    continue
                outputs.add(output)
                row = {"id": f"{line}-{len(outputs)}", **row}
            if isinstance(text := row.get("text"), str):
                name = str(row.get("id", line))
                ids[name] += 1
                given = {key: value for key, value in row.items() if value not in (None, "", [], {})}
                if "scores" in given:
                    given["scores"] = _negate(given["scores"], lower_is_better)
                own = {"id": name if ids[name] == 1 else f"{name} ({ids[name]})", "text": text}
                texts.append((line, {**given, **own}))
            else:
                without["a text"] += 1
        left_out = [f"{n} without {what} left out" for what, n in sorted(without.items()) if n]
        return cls(tool, texts, pairs, ", ".join([*left_out, *dict.fromkeys(remarks)]))

    def __str__(self) -> str:
        """One line, such as `lm-eval samples, 40 texts, exact_match as score`."""
        parts = [self.tool]
        if self.texts:
            parts.append(f"{len(self.texts)} text{'s'[: len(self.texts) != 1]}")
        for key, what in (("scores", "score"), ("ratings", "rating")):
            names = list(dict.fromkeys(name for _, row in self.texts for name in row.get(key) or ()))
            if names:
                more = f" and {len(names) - SHOWN} more" if names[SHOWN:] else ""
                parts.append(f"{', '.join(names[:SHOWN])}{more} as {what}{'s'[: len(names) != 1]}")
        if self.pairs:
            systems = {row[side] for _, row in self.pairs for side in ("system_a", "system_b")}
            parts.append(f"{len(self.pairs)} judgement{'s'[: len(self.pairs) != 1]} of {len(systems)} systems")
        return ", ".join([*parts, self.remark] if self.remark else parts)


def _negate(scores: Mapping[str, float | None], lower_is_better: Collection[str]) -> dict[str, float | None]:
    """The scores with higher ones better: others change their sign and are called `NAME (negated)`."""
    found: dict[str, float | None] = {}
    for name, given in scores.items():
        score = drop_nan(given)
        if name in lower_is_better:
            found[f"{name} (negated)"] = None if score is None else -score
        else:
            found[name] = score
    return found


def refuse(
    path: Path,
    line: int,
    what: str,
) -> InputError:
    """The fault of a file that a reader does not know."""
    return InputError([fault(path, line, what)])


def list_values(value: object) -> list[Any]:
    """The elements of a list, the values of an object; none for anything else."""
    return list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []


def text_of(content: object) -> str | None:
    """The text of a message: a text, a message, or a list of parts of which some are texts; None for anything else."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return text_of(next((content[key] for key in ("message", "content", "value", "text") if key in content), None))
    if isinstance(content, list) and content:
        parts = [text for part in content if (text := text_of(part)) is not None]
        return "\n".join(parts) if parts else None
    return None


def list_objects(
    document: Any,
    path: Path,
    kind: type[Record] = Record,
) -> Located:
    """The objects of a JSON array with their positions; raises InputError for anything else, as `check_rows` does."""
    if not isinstance(document, list) or not document:
        raise refuse(path, 0, f"a JSON file must be an array of objects, found {describe(document)}")
    return check_rows(enumerate(document, start=1), path, kind)


def iterate_objects(
    path: Path,
    form: str,
    faults: list[str],
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a JSONL file, the objects of a JSON array or the rows of a table, with their numbers."""
    match form:
        case ".jsonl":
            yield from read_json_lines(path, faults)
        case ".json":
            yield from list_objects(read_json(path), path)
        case ".parquet":
            yield from read_parquet(path)
        case _:
            yield from read_rows(path, DELIMITERS[form], faults)


def describe(value: object) -> str:
    """The keys of an object, or a value, for a message."""
    return format_value(list(value)[:12] if isinstance(value, Mapping) else value)
