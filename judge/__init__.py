"""The Python API: score, compare, agree, audit, plan and steer in a few lines.

Every function returns the result that the command of the same name shows; a notebook shows its tables. A library is
imported only when it is used, so torch only if a model runs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.example import Example as Example
    from judge.inputs import read as read
    from judge.metrics import load_metric as load_metric
    from judge.verbs.agree import agree as agree
    from judge.verbs.audit import audit as audit
    from judge.verbs.compare import compare as compare
    from judge.verbs.label import label as label
    from judge.verbs.plan import plan as plan
    from judge.verbs.prefer import prefer as prefer
    from judge.verbs.score import score as score
    from judge.verbs.steer import steer as steer

HOMES = {
    "Example": "core.example",
    "agree": "judge.verbs.agree",
    "audit": "judge.verbs.audit",
    "compare": "judge.verbs.compare",
    "label": "judge.verbs.label",
    "load_metric": "judge.metrics",
    "plan": "judge.verbs.plan",
    "prefer": "judge.verbs.prefer",
    "read": "judge.inputs",
    "score": "judge.verbs.score",
    "steer": "judge.verbs.steer",
}
__all__ = sorted(HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module judge has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
