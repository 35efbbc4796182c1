"""Records of public sets: JSONL files with keys of their own, checked before they become Examples."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.faults import InputFaults, fault, shown
from data.files import numbered_lines, read_text


@dataclass(frozen=True)
class Kind:
    """What a value must be: in words, and as a test."""

    rule: str
    holds: Callable[[Any], bool]

    def or_null(self) -> "Kind":
        """The same, or null."""
        return Kind(f"{self.rule} or null", lambda value: value is None or self.holds(value))

    def list_of(self) -> "Kind":
        """A list with at least one value, all of this kind."""
        return Kind(
            f"a list, every value {self.rule}",
            lambda value: isinstance(value, list) and bool(value) and all(map(self.holds, value)),
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


TEXT = Kind("a text that says something", lambda value: isinstance(value, str) and bool(value.strip()))
NUMBER = Kind("a finite number", _is_number)
OBJECT = Kind("an object that is not empty", lambda value: isinstance(value, dict) and bool(value))


def read_records(path: Path, kinds: Mapping[str, Kind], faults: list[str]) -> list[tuple[int, dict[str, Any]]]:
    """The sound objects of a JSONL file with their lines; a fault is appended for every value of a wrong kind.

    Other keys than those of `kinds` are left alone. An `id`, where it is among them, must be unique.

    Raises InputFaults when there is no such file or it is empty.
    """
    records: list[tuple[int, dict[str, Any]]] = []
    first_line: dict[str, int] = {}
    for line, content in numbered_lines(read_text(path, faults)):
        try:
            record = json.loads(content)
        except (ValueError, RecursionError) as error:
            faults.append(fault(path, line, f"a line must be JSON, but {error}"))
            continue
        if not isinstance(record, dict):
            faults.append(fault(path, line, f"a line must be a JSON object, found {shown(record)}"))
            continue
        problems = problems_of(record, kinds)
        if "id" in kinds and isinstance(record.get("id"), str):
            earlier = first_line.setdefault(record["id"], line)
            if earlier != line:
                problems.append(f"ids must be unique, but {shown(record['id'])} is the id of line {earlier} too")
        faults += [fault(path, line, problem) for problem in problems]
        if not problems:
            records.append((line, record))
    return records


def problems_of(record: Mapping[str, Any], kinds: Mapping[str, Kind]) -> list[str]:
    """What is wrong with the values of an object.

    >>> problems_of({"a": " "}, {"a": TEXT, "b": NUMBER})
    ['"a" must be a text that says something, found " "', '"b" must be a finite number, found null']
    """
    return [
        f'"{name}" must be {kind.rule}, found {shown(record.get(name))}'
        for name, kind in kinds.items()
        if not kind.holds(record.get(name))
    ]


def sound(values: Sequence[Any], faults: Sequence[str]) -> tuple[Any, ...]:
    """The values, if there are no faults.

    Raises InputFaults otherwise.
    """
    if faults:
        raise InputFaults(faults)
    return tuple(values)
