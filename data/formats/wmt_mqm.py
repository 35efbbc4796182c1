"""WMT's MQM tables: a row per error that a rater marked in a translation."""

import re
from collections import defaultdict
from pathlib import Path

from data.formats.found import Row, Rows, describe, refuse
from data.text_files import read_lines

KEYS = frozenset({"system", "doc", "rater", "source", "target", "category", "severity"})
WEIGHTS = {"major": 5.0, "minor": 1.0, "neutral": 0.0, "no-error": 0.0, "no error": 0.0}
TAG = re.compile(r"</?v>")


def read(path: Path) -> Rows:
    """A text per system and segment, rated `mqm` by each rater: minus the weights of the errors (Freitag et al. 2021).

    Major errors weigh 5, minor ones 1, of punctuation .1; a non-translation 25.
    """
    lines = read_lines(path)
    names = lines[0][1].split("\t")
    segment = next((name for name in ("seg_id", "globalSegId") if name in names), None)
    rows: dict[tuple[str, str], Row] = {}
    for line, text in lines[1:]:
        cells = dict(zip(names, text.split("\t"), strict=False))
        severity, category = cells.get("severity", "").lower(), cells.get("category", "").lower()
        if segment is None or len(cells) < len(KEYS) or (severity not in WEIGHTS and severity != "hotw-test"):
            known = f"a row needs seg_id or globalSegId and a severity among {', '.join(WEIGHTS)}"
            raise refuse(path, line, f"{known}, found {describe(cells.get('severity'))}")
        if severity == "hotw-test":
            continue  # a planted error that tests the rater
        weight = WEIGHTS[severity]
        if weight and "non-translation" in category:
            weight = 25.0
        elif severity == "minor" and category == "fluency/punctuation":
            weight = 0.1
        system, name = cells["system"], cells[segment]
        plain = {key: TAG.sub("", cells[key]).strip() for key in ("source", "target")}
        new = {"id": f"{system}-{name}", "system": system, "group": name, "ratings": {"mqm": defaultdict(float)}}
        row = rows.setdefault((system, name), {**new, "text": plain["target"], "context": plain["source"]})
        row["ratings"]["mqm"][cells["rater"]] -= weight
    return enumerate(rows.values(), 1)
