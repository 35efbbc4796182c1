"""Planning: how many inputs, systems, raters and labels a study needs (`judge plan`)."""

from collections.abc import Sequence
from dataclasses import asdict

from experiments.contracts import Outcome, Run
from judge.label_plans import PlanSettings
from judge.verbs import plan as plan_verb
from meta_eval.preferences import Preferences
from meta_eval.scored_set import ScoredSet


def plan(
    run: Run, settings: PlanSettings, pilot: ScoredSet | Preferences | None, aspect: str, systems: Sequence[str]
) -> Outcome:
    """Plans studies that compare two metrics or two systems, or with `within` the labels that are needed."""
    with run.timed("power"):
        found = plan_verb.plan(pilot, aspect, systems, seed=run.seed, **asdict(settings))
    return Outcome(found.signature, tables=found.tables, notes=found.notes)
