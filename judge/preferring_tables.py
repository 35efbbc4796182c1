"""The tables and sentences about preferences: systems, pairs of systems, judges and what these favour."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from judge.agreement_tables import describe_chance
from judge.tables import Table, format_cell, format_number, join_names, tabulate
from meta_eval.biases import Favour
from meta_eval.bootstrap import Estimate
from meta_eval.preferences import PreferenceAgreement, Verdicts, position_effect
from meta_eval.strengths import PreferenceRanking, PreferredPair


def describe_ranking(ranking: PreferenceRanking, level: float) -> str:
    """The systems that the tests separate, in a sentence."""
    if not any(pair.p_value <= 1 for pair in ranking.pairs):
        return f"the systems are not tested: {ranking.pairs[0].difference.reason}"
    better: dict[str, list[str]] = {}
    separated = [(pair, winner) for pair in ranking.pairs if (winner := find_better(pair, level))]
    for pair, winner in separated:
        better.setdefault(winner, []).append(pair.system_b if winner == pair.system_a else pair.system_a)
    if not better:
        names = [each.system for each in ranking.systems]
        p = format_number(min(pair.p_value for pair in ranking.pairs))
        return f"the tests do not separate {join_names(names)} (p {'at least ' if names[2:] else ''}{p})"
    order = [each.system for each in ranking.systems]
    parts = [
        f"{name} is preferred to {join_names(sorted(better[name], key=order.index))}"
        for name in order
        if name in better
    ]
    rest = ["the tests do not separate the others"] if len(separated) < len(ranking.pairs) else []
    return ", ".join([*parts, *rest])


def find_better(pair: PreferredPair, level: float) -> str | None:
    """The preferred system of a pair; None where the test does not separate the two."""
    if not pair.p_value < level:
        return None
    return pair.system_a if pair.difference.value > 0 else pair.system_b


def describe_judges(found: Mapping[str, PreferenceAgreement]) -> list[str]:
    """Which judges and metrics agree with people better than by chance, in sentences.

    By the interval of kappa, or, below its fewest inputs, by that of the share of judgements without ties.
    """
    verdicts: dict[str, list[str]] = {}
    for name, each in found.items():
        shown, chance, estimate = "kappa", 0.0, each.kappa
        if math.isnan(each.kappa.low):
            shown, chance, estimate = "without ties", 0.5, each.untied
        verdicts.setdefault(describe_chance(estimate, chance), []).append(f"{name} ({shown} {format_cell(estimate)})")
    return [f"{join_names(names)} {'are' if names[1:] else 'is'} {verdict}" for verdict, names in verdicts.items()]


def system_table(ranking: PreferenceRanking) -> Table:
    """The systems, the strongest first."""
    caption = (
        "win_rate has a score interval, strength a bootstrap interval, over inputs. A tie is half a win of each; each "
        "compared pair of k systems counts 1/(k - 1) tie more."
    )
    named = [({"cluster": each.cluster, "system": each.system}, each) for each in ranking.systems]
    return tabulate("Systems by preferences", caption, named, ("n", "wins", "ties", "losses", "win_rate", "strength"))


def pair_table(ranking: PreferenceRanking, level: float, equal: Container[tuple[str, str]] = ()) -> Table:
    """All pairs of systems; `equal` holds those whose win rates are within the margin of 1/2."""
    caption = (
        "Positive where system_a is preferred. difference: of the strengths, which rest on all pairs; win_rate: on the "
        "judgements of this pair. p_value: two-sided, by swaps of inputs, adjusted for all pairs (score test of equal "
        "strengths, step-down of the largest statistic)."
    )
    columns = ("p_value", "difference", "win_rate", "wins", "ties", "losses", "n")
    named = []
    for pair in ranking.pairs:
        verdict = find_better(pair, level) or ("not tested" if math.isnan(pair.p_value) else "not separated")
        if (pair.system_a, pair.system_b) in equal:
            verdict = f"{verdict}, equal within the margin"
        named.append(({"system_a": pair.system_a, "system_b": pair.system_b, "better": verdict}, pair))
    return tabulate("Pairs of systems by preferences", caption, named, columns)


def agreement_table(found: Mapping[tuple[str, str, str], PreferenceAgreement]) -> Table:
    """The agreement of metrics with the preferences."""
    caption = (
        "Equal scores are a tie, which is an outcome; untied counts it half, and .5 is chance. macro_f1 is that of the "
        "output named first in the file. Intervals are over inputs."
    )
    named = [({"metric": name, "system_a": a, "system_b": b}, each) for (name, a, b), each in found.items()]
    return tabulate(
        "Agreement with preferences", caption, named, ("n", "accuracy", "kappa", "macro_f1", "untied", "missing")
    )


def favour_table(found: Mapping[tuple[str, str], Favour]) -> Table:
    """What the judges favour more than people do."""
    caption = (
        "On the n pairs of which one output is longer (in characters), or by a system of the judge's own family; ties "
        "count half. Intervals are over inputs."
    )
    named = [({"judge": name, "favoured": side}, each) for (name, side), each in found.items()]
    return tabulate("What the judges favour", caption, named, ("effect", "by_judge", "by_people", "n"))


def among_table(found: Mapping[str, tuple[int, Estimate]]) -> Table:
    """How far people, and judges, agree among themselves."""
    caption = "Of win, tie and loss. Intervals are over inputs."
    rows = [({"who": who, "raters": number, "alpha": alpha}, None) for who, (number, alpha) in found.items()]
    return tabulate("Agreement among raters", caption, rows)


def judge_table(verdicts: Verdicts | None, inputs: Sequence[str]) -> Table:
    """How the judge answered; of a panel, each of its judges too."""
    rows = []
    for name, first in (verdicts.by_judge if verdicts else {}).items():
        answered = np.asarray(~np.isnan(first).any(axis=1))
        one, other = first[answered, 0], 1 - first[answered, 1]
        cells: dict[str, Any] = {"judge": name, "pairs": len(answered), "unanswered": int((~answered).sum())}
        cells["same_in_both_orders"] = float((one == other).mean()) if answered.any() else math.nan
        rows.append((cells | {"position_effect": position_effect(first, inputs)}, None))
    caption = (
        "Each pair is asked in both orders; the outcome is a tie unless both name the same winner. A panel says in "
        "each order what most of its judges say."
    )
    return tabulate("The judge", caption, rows)
