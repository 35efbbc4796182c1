"""The Python API: score, compare, agree, audit, plan and steer in a few lines.

Every function returns the result that the command of the same name shows; a notebook shows its tables. A library is
imported only when it is used, so torch only if a model runs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from judge.commands import agree, demo, label, steer
from judge.verbs.audit import audit
from judge.verbs.compare import compare
from judge.verbs.plan import plan
from judge.verbs.prefer import prefer
from judge.verbs.score import score

if TYPE_CHECKING:
    from core.example import Example
    from judge.inputs import read
    from judge.metrics import load_metric

HOMES = {"Example": "core.example", "load_metric": "judge.metrics", "read": "judge.inputs"}
__all__ = [
    "Example",
    "agree",
    "audit",
    "compare",
    "demo",
    "label",
    "load_metric",
    "plan",
    "prefer",
    "read",
    "score",
    "steer",
]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module judge has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
