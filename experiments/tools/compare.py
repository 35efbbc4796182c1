"""Comparison of systems on the same inputs, by any metric and with few human ratings (`judge compare`)."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from core.scores import Metric
from data.scored import ScoredFile
from experiments.contracts import Outcome, Run
from judge.report.plots import plot_intervals
from judge.streaming import add_kept_scores
from judge.verbs import compare as compare_verb
from meta_eval.intervals import Resampling


def compare(
    run: Run,
    file: ScoredFile,
    metrics: Mapping[str, Metric],
    resampling: Resampling,
    permutations: int,
    level: float,
    margin: Any,
) -> Outcome:
    """Compares all systems in the file. `metrics` are run on the file; the others have their scores in it."""
    with run.timed("scoring"):
        scored = add_kept_scores(file, metrics, run.stages)
    with run.timed("comparisons"):
        how = {"permutations": permutations, "level": level, "margin": margin, **asdict(resampling)}
        # The file was checked as `incomplete` says.
        found = compare_verb.compare(scored, cues=run.cues, incomplete="drop", **how)
    plots = {}
    for name, ranked in found.means.items():
        best, gaps = ranked[0].system, {}
        for (a, b), each in found.pairs[name].items():
            if best in (a, b):
                gaps[f"{best} - {b if best == a else a}"] = each.difference if best == a else each.difference.negate()
        plots[name] = gaps, f"difference of mean {name}, best minus other, 95 %"
    figures = plot_intervals(plots)
    return Outcome(found.signature, tables=found.tables, scored=[scored], plots=figures, notes=found.notes)
