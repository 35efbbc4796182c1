"""Tables of compared systems, each with what it shows in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judge.tables import Result, Row, Table, format_number, join_names, pick, tabulate
from meta_eval.intervals import FEWEST_UNITS
from meta_eval.prediction_powered import PoweredEstimate
from meta_eval.step_down import MOST_ENUMERATED
from meta_eval.systems import UNCOUNTED, Pairs, SystemComparison, SystemMean

Margins = Mapping[str, float]  # by metric
POWERED = {  # title and caption by what is estimated
    "mean": (
        "Human means from few ratings",
        "Prediction-powered (PPI++), with 95 % t intervals, which are approximate for skewed ratings; those helped by "
        "scores need {fewest} ratings.",
    ),
    "difference": (
        "Human differences from few ratings",
        "Prediction-powered, system_a minus system_b, with 95 % t intervals; paired where both systems are rated on an "
        "input.",
    ),
}
EQUAL = "equal within: two one-sided t tests, adjusted for all pairs, show that the difference is below the margin. "


@dataclass(frozen=True)
class SystemsCompared(Result):
    """Systems on the same inputs. Ratings of people are one more metric, `human ASPECT`."""

    signature: str
    # of every system by metric, best first
    means: Mapping[str, Sequence[SystemMean]]
    # of systems by metric
    pairs: Mapping[str, Pairs]
    # of aspects that are rated in part, by aspect, metric and system the mean rating, and by two systems its difference
    powered: Mapping[tuple[str, ...], PoweredEstimate]
    level: float
    # by metric, where a margin of equivalence was asked for
    margins: Margins
    notes: tuple[str, ...]

    @property
    def tables(self) -> list[Table]:
        """Means, pairs, and human means from few ratings."""
        tables = [
            mean_table(self.means, self.level),
            system_pair_table(self.pairs, self.level, self.margins),
            *(powered_table(what, self.powered) for what in ("mean", "difference")),
        ]
        return [table for table in tables if table.rows]


def mean_table(means: Mapping[str, Sequence[SystemMean]], level: float) -> Table:
    """The means of all systems by metric, best first."""
    columns = ("system", "cluster", "mean", "n")
    rows = [pick(each, columns, metric=metric) for metric, ranked in means.items() for each in ranked]
    caption = (
        "Means over the n inputs for which every compared system has a score, with 95 % intervals over inputs. "
        f"Clusters are of tests at {level:g} (randomisation by input, adjusted for all pairs). human: ratings by "
        "people."
    )
    return tabulate("Systems, best first", caption, rows)


def system_pair_table(pairs: Mapping[str, Pairs], level: float, margins: Margins) -> Table:
    """The table of all pairs of systems by metric."""
    has_cues = any(each.beyond_cues is not UNCOUNTED for found in pairs.values() for each in found.values())
    columns = ("p_value", *(["beyond_cues"] if has_cues else []), "wins", "ties", "losses", "win_rate", "n")
    rows: list[Row] = []
    for metric, found in pairs.items():
        for (a, b), each in found.items():
            cells = {"metric": metric, "system_a": a, "system_b": b, "difference": each.difference}
            better = judge_pair((a, b), each, level, margins.get(metric))
            rows.append(pick(each, columns, **cells, better=better))
    caption = (
        "Positive where system_a scores higher. p_value: randomisation, two-sided, adjusted for all pairs under a "
        f"metric (step-down of the largest statistic; exact up to {MOST_ENUMERATED} inputs). "
        f"{EQUAL if margins else ''}win_rate has Tango's score interval (Wilson's where nothing ties), difference "
        f"Student's t interval below {FEWEST_UNITS} inputs."
    )
    return tabulate("Systems on the same inputs", caption, rows)


def judge_pair(systems: tuple[str, str], found: SystemComparison, level: float, margin: float | None) -> str:
    """The better system of a pair, or what else the tests show."""
    within = f"within {margin:g}" if found.is_equal else ""
    if found.p_value < level:
        better = systems[0] if found.difference.value > 0 else systems[1]
        return f"{better}, {within}" if within else better
    if math.isnan(found.p_value):
        return "not tested"
    return f"equal {within}" if within else "not separated"


def answer_which_system(
    means: Mapping[str, Sequence[SystemMean]], pairs: Mapping[str, Pairs], level: float, margins: Margins
) -> str:
    """Which system is better by which metrics, and how surely, in one sentence."""
    by_answer: dict[str, list[str]] = {}
    for metric, ranked in means.items():
        by_answer.setdefault(_answer_by_metric(ranked, pairs[metric], level, margins.get(metric)), []).append(metric)
    said = "; ".join(f"by {join_names(metrics)}, {answer}" for answer, metrics in by_answer.items())
    return f"{said[:1].upper()}{said[1:]}."


def _answer_by_metric(ranked: Sequence[SystemMean], pairs: Pairs, level: float, margin: float | None) -> str:
    compared = [each.system for each in ranked if each.n]
    if len(compared) < 2:
        return "no two systems have scores for enough inputs in common"
    best, *others = compared
    against = {other: pairs[best, other] if (best, other) in pairs else pairs[other, best] for other in others}
    if any(math.isnan(each.p_value) for each in against.values()):
        return f"nothing is tested: {next(iter(against.values())).reason}"
    p_values = {other: each.p_value for other, each in against.items()}
    beaten = [other for other in others if p_values[other] < level]
    counted = [other for other in beaten if _is_counted(against[other])]
    alike = [other for other in others if other not in beaten and against[other].ties == against[other].n]
    equal = [other for other in others if against[other].is_equal]
    unsure = [other for other in others if other not in (*beaten, *alike, *equal)]
    most = format_number(max((p_values[other] for other in beaten), default=0))
    least = format_number(min((p_values[other] for other in unsure), default=0))
    within = f"within {margin or 0:g}"
    said = (
        (f"{best} scores higher than ", beaten, f" (p {'at most ' if beaten[1:] else ''}{most})"),
        ("cheap cues may explain all of its difference from ", counted, ""),
        (f"{best} is {within} of ", [other for other in equal if other in beaten], ""),
        (f"{best} and ", alike, " score the same on every input"),
        (f"{best} and ", [other for other in equal if other not in beaten], f" are equal {within}"),
        (f"the tests do not separate {best} from ", unsure, f" (p {'at least ' if unsure[1:] else ''}{least})"),
        ("", [each.system for each in ranked if not each.n], " cannot be compared"),
    )
    return ", and ".join(f"{before}{join_names(names)}{after}" for before, names, after in said if names)


def _is_counted(found: SystemComparison) -> bool:
    """Whether nothing of the difference is shown beyond cheap cues, which make it smaller."""
    beyond = found.beyond_cues
    return beyond.low <= 0 <= beyond.high and abs(beyond.value) < abs(found.difference.value)


def powered_table(what: str, found: Mapping[tuple[str, ...], PoweredEstimate]) -> Table:
    """The table of human means, or differences, from few ratings: by aspect, metric and one system, or two."""
    title, caption = POWERED[what]
    columns = ("aspect", "metric", *(["system"] if what == "mean" else ["system_a", "system_b"]))
    rows = [
        {**dict(zip(columns, names, strict=True)), "rated": each.rated, "unrated": each.unrated}
        | {what: each.estimate, f"{what}_by_ratings": each.classical, "saved": each.saved}
        for names, each in found.items()
        if len(names) == len(columns)
    ]
    return tabulate(title, caption.format(fewest=FEWEST_UNITS), rows)
