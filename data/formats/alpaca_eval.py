"""AlpacaEval: `model_outputs.json`, and `annotations.json` with the verdicts of a judge on two outputs."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from data.formats.tool_file import REMARK, Located, Rows, refuse
from data.records import String, Text, drop_nan, layout

OUTPUTS = layout(
    {
        "instruction": Text,
        "output": String | None,
        "generator": Text,
    }
)
Preference = Annotated[float, Field(ge=0, le=2)]  # from 1, the first output is better; a tie is 1.5, in older files 0
ANNOTATIONS = layout(
    {
        "instruction": Text,
        "output_1": String,
        "output_2": String,
        "generator_1": Text,
        "generator_2": Text,
        "preference": Annotated[Preference | None, BeforeValidator(drop_nan)],
    },
    annotator=Text,
)


def read_outputs(rows: Located, path: Path) -> Rows:
    """Reads one text per row; the instruction is its input (`group`)."""
    seen: Counter[tuple[str, ...]] = Counter()
    for line, row in rows:
        answer = {
            "text": row["output"],
            "context": row["instruction"],
            "system": row["generator"],
            "group": _name_input(seen, row["instruction"], row["generator"]),
        }
        yield line, answer


def _name_input(
    seen: Counter[tuple[str, ...]],
    instruction: str,
    *systems: str,
) -> str:
    """The instruction; where these systems are asked it again, with the number of times."""
    seen[instruction, *systems] += 1
    count = seen[instruction, *systems]
    return instruction if count == 1 else f"{instruction} ({count})"


def read_annotations(rows: Located, path: Path) -> Rows:
    """Reads one judgement and both outputs per row. `winner` is the judge's probability that the first is better."""
    seen: Counter[tuple[str, ...]] = Counter()
    remark = _describe_copies(rows)
    for line, row in rows:
        instruction = row["instruction"]
        first = row["generator_1"]
        second = row["generator_2"]
        group = _name_input(seen, instruction, first, second)
        outputs = {first: row["output_1"], second: row["output_2"]}
        for system, text in outputs.items():
            yield (
                line,
                {
                    "system": system,
                    "group": group,
                    "context": instruction,
                    "text": text,
                },
            )
        preference = drop_nan(row["preference"])
        if preference is not None and 0 < preference < 1:
            raise refuse(path, line, f'"preference" must be from 1 to 2, or 0 for a tie, found {preference}')
        judgement = {
            "group": group,
            "system_a": first,
            "system_b": second,
            "winner": _to_probability(preference),
            "rater": row.get("annotator"),
            REMARK: remark,
        }
        yield line, judgement


def _describe_copies(rows: Located) -> str:
    distinct = {json.dumps(row, sort_keys=True) for _, row in rows}
    copies = len(rows) - len(distinct)
    if not copies:
        return ""
    noun = "copy" if copies == 1 else "copies"
    return f"{copies} exact {noun} of another row"


def _to_probability(preference: float | None) -> float | None:
    """The probability that the first output is better; None without a verdict."""
    if preference is None:
        return None
    return 2 - preference if preference else 0.5
