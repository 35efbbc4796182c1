from collections.abc import Callable
from typing import Any

import pytest

import judge
from report.page import define_columns

SYSTEMS = ("new", "old", "copy")
OUTPUTS: list[dict[str, Any]] = [
    {"system": system, "group": f"q{i}", "text": "A word and " * (i % 3 + k + 1), "references": ["A word or two."]}
    | ({"ratings": {"quality": [(i + k) % 3 + 1, (i * k) % 3 + 1]}} if i < 8 or k else {})
    for i in range(12)
    for k, system in enumerate(SYSTEMS)
]
VERDICTS = [
    {"group": f"q{i}", "system_a": a, "system_b": b, "winner": (a, b, "tie")[(i + k) % 3], "rater": rater}
    | {"judges": {"model": (a, b)[i % 5 < 3]}, "length_a": i + 3, "length_b": 5}
    for i in range(12)
    for a, b in (("new", "old"), ("old", "copy"), ("copy", "new"))
    for k, rater in enumerate(("ann", "bob"))
]
METRICS = ["rouge_l", "word_count"]
DATA = {*METRICS, "quality", *"123"}  # columns that the data name
VERBS: dict[str, Callable[[], Any]] = {
    "agree": lambda: judge.agree([row for row in OUTPUTS if "ratings" in row], METRICS),
    "agree on some": lambda: judge.agree([{**row, "scores": {"j": 1.0}} for row in OUTPUTS]),
    "compare": lambda: judge.compare(OUTPUTS, METRICS),
    "prefer": lambda: judge.prefer(VERDICTS, outputs=OUTPUTS, metrics=METRICS, human_labels=VERDICTS[::4]),
    "prefer, people": lambda: judge.prefer(VERDICTS),
    "audit": lambda: judge.audit(OUTPUTS, METRICS),
    "plan": lambda: judge.plan(),
    "plan labels": lambda: judge.plan(within=0.05, correlation=0.5),
    "score": lambda: judge.score(OUTPUTS, METRICS),
}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("verb", VERBS)
def test_every_column_is_in_the_glossary(verb: str) -> None:
    tables = VERBS[verb]().tables
    assert not {name for table in tables for name in table.columns} - {*define_columns()} - DATA
