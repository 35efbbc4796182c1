"""Tables of compared systems, each with its finding in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from meta_eval.estimates import ENUMERATED, Estimate
from meta_eval.helped import HelpedEstimate
from meta_eval.systems import UNCOUNTED, Pairs, SystemComparison, SystemMean
from report.tables import Row, Table, pick
from report.wording import format_number, join_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEANS_CAPTION = (
    "Means over the n inputs for which every compared system has a score, with 95 % intervals over inputs. Clusters "
    "are of tests at {level:g} (randomisation by input, adjusted for all pairs). human: ratings by people, for "
    "these raters."
)
MEAN_CELLS = ("system", "cluster", "mean", "n")
PAIRS_CAPTION = (
    "Positive where system_a scores higher. p_value: randomisation, two-sided, adjusted for all pairs under a metric "
    f"(step-down of the largest statistic; exact up to {ENUMERATED} inputs). Equal within a margin: two one-sided "
    "tests, adjusted for all pairs, show that the difference is smaller. 95 % intervals over inputs."
)
PAIR_CELLS = ("p_value", "beyond_cues", "wins", "ties", "losses", "win_rate", "n")
PAIR_SHOWN = ("metric", "system_a", "system_b", "better", "p_value", "difference", "n", "beyond_cues")
POWERED = {  # title and caption by what is estimated
    "mean": (
        "Human means from few ratings",
        "Prediction-powered (PPI++), with 95 % t intervals, which are approximate for skewed ratings.",
    ),
    "difference": (
        "Human differences from few ratings",
        "Prediction-powered, system_a minus system_b, with 95 % t intervals; paired where both systems are rated on an "
        "input.",
    ),
}


@dataclass(frozen=True)
class SystemsCompared:
    """Systems on the same inputs. Ratings of people count as a metric, `human ASPECT`."""

    # of every system by metric, best first
    means: Mapping[str, Sequence[SystemMean]]
    # of systems by metric
    pairs: Mapping[str, Pairs]
    # of aspects that are rated in part, by aspect, metric and system the mean rating, and by two systems its difference
    powered: Mapping[tuple[str, ...], HelpedEstimate]
    level: float
    # a difference that does not matter; None without one
    margin: float | None
    # how many there are; a metric compares those for which every system that it compares has a score
    inputs: int

    @property
    def tables(self) -> list[Table]:
        """Tables of means, of pairs of systems, and of human means estimated from few ratings."""
        means = [pick(mean, MEAN_CELLS, metric=metric) for metric, ranked in self.means.items() for mean in ranked]
        tables = [
            Table("Systems, best first", MEANS_CAPTION.format(level=self.level), means),
            Table("Systems on the same inputs", PAIRS_CAPTION, [*self._list_pairs()], PAIR_SHOWN),
        ]
        for what, (title, caption) in POWERED.items():
            tables.append(Table(title, caption, [*self._list_powered(what)]))
        return tables

    @property
    def answer(self) -> str:
        """Says in one sentence which system is better by which metrics."""
        metrics_by_answer: dict[str, list[str]] = {}
        for metric, ranked in self.means.items():
            answer = _answer_by_metric(ranked, self.pairs[metric], self.level, self.margin)
            if 0 < ranked[0].n < self.inputs:
                answer = f"on {ranked[0].n} of {self.inputs} inputs, {answer}"
            metrics_by_answer.setdefault(answer, []).append(metric)
        said = "; ".join(f"by {join_names(metrics)}, {answer}" for answer, metrics in metrics_by_answer.items())
        return f"{said[:1].upper()}{said[1:]}."

    def draw(self) -> dict[str, Figure]:
        """Plots, for each metric, the differences between the best system and each other system."""
        from report.plots import plot_intervals

        plots = {}
        for name, ranked in self.means.items():
            best, *others = [mean.system for mean in ranked]
            gaps = {f"{best} - {other}": _subtract(self.pairs[name], best, other) for other in others}
            plots[name] = gaps, f"difference of mean {name}, best minus other, 95 %"
        return plot_intervals(plots)

    def _list_pairs(self) -> Iterator[Row]:
        """All pairs of systems by metric."""
        for metric, pairs in self.pairs.items():
            for (a, b), pair in pairs.items():
                cells = {"metric": metric, "system_a": a, "system_b": b, "difference": pair.difference}
                row = pick(pair, PAIR_CELLS, **cells, better=judge_pair((a, b), pair, self.level, self.margin))
                if pair.beyond_cues is UNCOUNTED:
                    del row["beyond_cues"]
                yield row

    def _list_powered(self, what: str) -> Iterator[Row]:
        """Human means, or differences, from few ratings: by aspect, metric and one system, or two."""
        columns = ("aspect", "metric", *(["system"] if what == "mean" else ["system_a", "system_b"]))
        for names, found in self.powered.items():
            if len(names) == len(columns):
                cells = {"rated": found.rated, "unrated": found.unrated, what: found.estimate}
                cells |= {f"{what}_by_ratings": found.by_labels, "saved": found.saved}
                yield {**dict(zip(columns, names, strict=True)), **cells}


def _subtract(pairs: Pairs, a: str, b: str) -> Estimate:
    """The mean of system a minus that of system b."""
    return pairs[a, b].difference if (a, b) in pairs else pairs[b, a].difference.negate()


def judge_pair(systems: tuple[str, str], pair: SystemComparison, level: float, margin: float | None) -> str:
    """Names the better system of a pair, or says that the tests find no difference, or that both are equal."""
    within = f"within {margin:g}" if pair.is_equal else ""
    if pair.p_value < level:
        better = systems[0] if pair.difference.value > 0 else systems[1]
        return f"{better}, {within}" if within else better
    if math.isnan(pair.p_value):
        return "not tested"
    return f"equal {within}" if within else "not separated"


def _answer_by_metric(ranked: Sequence[SystemMean], pairs: Pairs, level: float, margin: float | None) -> str:
    """What the tests of one metric show about its best system and each other one, in a sentence without its end."""
    compared = [mean.system for mean in ranked if mean.n]
    if len(compared) < 2:
        return "no two systems have scores for enough inputs in common"
    best, *others = compared
    against = {other: _find_pair(pairs, best, other) for other in others}
    untested = [other for other in others if math.isnan(against[other].p_value)]
    why = "; ".join(dict.fromkeys(against[other].reason or "" for other in untested))
    if untested == others:
        return f"{best} is not tested against {join_names(others)}: {why}"
    tested = [other for other in others if other not in untested]
    beaten = [other for other in tested if against[other].p_value < level]
    counted = [other for other in beaten if _is_counted(against[other])]
    alike = [other for other in tested if other not in beaten and against[other].ties == against[other].n]
    equal = [other for other in tested if against[other].is_equal]
    unsure = [other for other in tested if other not in (*beaten, *alike, *equal)]
    within = f"within {margin or 0:g}"
    clauses = (
        (f"{best} scores higher than ", beaten, f" ({_bound_p(against, beaten, is_most=True)})"),
        ("cheap cues may explain all of its difference from ", counted, ""),
        (f"{best} is {within} of ", [other for other in equal if other in beaten], ""),
        (f"{best} scores the same as ", alike, " on every input"),
        (f"{best} equals ", [other for other in equal if other not in beaten], f" {within}"),
        (f"the tests do not separate {best} from ", unsure, f" ({_bound_p(against, unsure, is_most=False)})"),
        ("", [mean.system for mean in ranked if not mean.n], " cannot be compared"),
        (f"{best} is not tested against ", untested, f" ({why})"),
    )
    return ", and ".join(f"{before}{join_names(names)}{after}" for before, names, after in clauses if names)


def _find_pair(pairs: Pairs, a: str, b: str) -> SystemComparison:
    """The comparison of two systems, in whichever order it was made."""
    return pairs[a, b] if (a, b) in pairs else pairs[b, a]


def _bound_p(against: Mapping[str, SystemComparison], others: Sequence[str], *, is_most: bool) -> str:
    """The p-value of these comparisons: of several the largest, or the smallest."""
    p_values = [against[other].p_value for other in others]
    if not p_values:
        return ""
    bound = max(p_values) if is_most else min(p_values)
    if len(p_values) == 1 or (not is_most and bound >= 1):
        return f"p {format_number(bound)}"
    return f"p {'at most' if is_most else 'at least'} {format_number(bound)}"


def _is_counted(pair: SystemComparison) -> bool:
    """Whether nothing of the difference is shown beyond cheap cues, which make it smaller."""
    beyond = pair.beyond_cues
    return beyond.low <= 0 <= beyond.high and abs(beyond.value) < abs(pair.difference.value)
