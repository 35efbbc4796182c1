"""AlpacaEval: `model_outputs.json`, and `annotations.json` with the verdicts of a judge on two outputs."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from data.formats.found import REMARK, Located, Rows, refuse
from data.records import String, Text, drop_nan, layout

OUTPUTS = layout({"instruction": Text, "output": String | None, "generator": Text})
TEXTS = {"instruction": Text, "output_1": String, "output_2": String, "generator_1": Text, "generator_2": Text}
Preference = Annotated[float, Field(ge=0, le=2)]  # from 1, the first output is better; a tie is 1.5, in older files 0
ANNOTATIONS = layout({**TEXTS, "preference": Annotated[Preference | None, BeforeValidator(drop_nan)]}, annotator=Text)


def read_outputs(rows: Located, path: Path) -> Rows:
    """A text per row; its input is the instruction."""
    seen: Counter[tuple[str, ...]] = Counter()
    for line, row in rows:
        asked, system = row["instruction"], row["generator"]
        group = _name_input(seen, asked, system)
        yield line, {"text": row["output"], "context": asked, "system": system, "group": group}


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
    """A judgement and both outputs per row; `winner` is the judge's probability that the first one is better."""
    seen: Counter[tuple[str, ...]] = Counter()
    copies = len(rows) - len({json.dumps(row, sort_keys=True) for _, row in rows})
    for line, row in rows:
        asked, a, b, preference = row["instruction"], row["generator_1"], row["generator_2"], row["preference"]
        preference = None if preference is None or math.isnan(preference) else preference
        group = _name_input(seen, asked, a, b)
        for system, text in {a: row["output_1"], b: row["output_2"]}.items():
            yield line, {"system": system, "group": group, "context": asked, "text": text}
        if preference is not None and 0 < preference < 1:
            raise refuse(path, line, f'"preference" must be from 1 to 2, or 0 for a tie, found {preference}')
        winner = 2 - preference if preference else None if preference is None else 0.5
        judged = {"group": group, "system_a": a, "system_b": b, "winner": winner, "rater": row.get("annotator")}
        more = f"{copies} exact cop{'y' if copies == 1 else 'ies'} of another row" if copies else ""
        yield line, {**judged, REMARK: more}
