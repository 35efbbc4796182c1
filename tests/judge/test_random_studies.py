"""Four hundred random studies keep what every result promises."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import judge
from judge.agreement import AgreementFigures
from judge.comparisons import SystemsCompared
from judge.preference_study import PreferenceFigures
from meta_eval.estimates import Estimate

Rows = list[dict[str, Any]]
Estimates = list[Estimate]
Constants = dict[tuple[str, frozenset[str]], Any]  # what must not change, by its kind and what it is of
LEVEL = 0.05


def holds_value(found: Estimate) -> bool:
    """Whether the interval, if there is one, holds the value."""
    if math.isnan(found.low) or found.reason:
        return True
    slack = 1e-9 * max(1.0, abs(found.low), abs(found.high))
    return found.low - slack <= found.value <= found.high + slack


def draw_value(kind: int, rng: np.random.Generator) -> float:
    """Normal, 1 to 5, a rare flag, log-normal, nearly equal, or small beside its size."""
    return (
        float(rng.normal()),
        float(rng.integers(1, 6)),
        float(rng.random() < 0.1),
        float(np.exp(2 * rng.normal())),
        0.5 + float(rng.integers(0, 3)) * 1e-9,
        float(rng.normal() * 1e-6 + 1e3),
    )[kind]


def draw_compared(rng: np.random.Generator) -> Rows:
    systems = int(rng.integers(2, 6))
    inputs = int(rng.choice([3, 5, 6, 10, 15, 16, 29, 30, 31, 60]))
    kind = int(rng.integers(0, 6))
    effects = rng.normal(0, 0.5, systems) * rng.choice([0, 1]) * (kind in (0, 1, 3))
    missing = float(rng.choice([0, 0, 0.1, 0.4]))
    rows: Rows = []
    for i in range(inputs):
        for s in range(systems):
            score = draw_value(kind, rng) + effects[s]
            scores = {"m": None if rng.random() < missing else score}
            rows.append({"text": f"t {s} {i}", "system": f"s{s}", "group": f"q{i}", "scores": scores})
    return rows


def draw_preferred(rng: np.random.Generator) -> Rows:
    systems = int(rng.integers(2, 7))
    games = int(rng.choice([4, 8, 15, 16, 29, 30, 31, 60, 120]))
    inputs = int(rng.choice([games, max(3, games // 3)]))
    strengths = rng.normal(size=systems) * rng.choice([0, 0.5, 1.5])
    ties = float(rng.choice([0, 0.3, 0.9]))
    rows: Rows = []
    for _ in range(games):
        a, b = rng.choice(systems, 2, replace=False)
        wins = rng.random() < 1 / (1 + np.exp(strengths[b] - strengths[a]))
        winner = "tie" if rng.random() < ties else "a" if wins else "b"
        rows.append({"id": f"q{rng.integers(inputs)}", "system_a": f"s{a}", "system_b": f"s{b}", "winner": winner})
    return rows


def draw_agreed(rng: np.random.Generator) -> Rows:
    texts = int(rng.choice([6, 12, 30, 40, 80]))
    kind = int(rng.integers(0, 4))
    metrics = int(rng.integers(1, 4))
    share = float(rng.choice([0, 0.5]))
    rows: Rows = []
    for i in range(texts):
        rating = draw_value(kind, rng)
        scores = {f"m{k}": share * k * rating + draw_value(int(k == 1), rng) for k in range(metrics)}
        group = {"group": f"q{i // 2}"} if texts > 12 else {}
        rows.append({"id": f"{i}", "text": f"text {i}", "ratings": {"q": rating}, "scores": scores, **group})
    return rows


def compare(rows: Rows) -> SystemsCompared:
    return judge.compare(rows).found


def prefer(rows: Rows) -> PreferenceFigures:
    return judge.prefer(rows).found


def agree(rows: Rows) -> AgreementFigures:
    return judge.agree(rows, cues=False).found


def list_compared(found: SystemsCompared) -> tuple[Estimates, Constants]:
    pairs = found.pairs["m"]
    constants: Constants = {("n", frozenset({each.system})): each.n > 0 for each in found.means["m"]}
    for names, each in pairs.items():
        constants["p", frozenset(names)] = each.p_value
        constants["lead", frozenset(names)] = abs(each.win_rate.value - 0.5)
    estimates = [each.mean for each in found.means["m"]]
    return [*estimates, *(each for pair in pairs.values() for each in (pair.difference, pair.win_rate))], constants


def list_preferred(found: PreferenceFigures) -> tuple[Estimates, Constants]:
    pairs = found.ranking.pairs
    estimates = [each for system in found.ranking.systems for each in (system.strength, system.win_rate)]
    constants: Constants = {("p", frozenset((pair.system_a, pair.system_b))): pair.p_value for pair in pairs}
    return [*estimates, *(pair.difference for pair in pairs)], constants


def list_agreed(found: AgreementFigures) -> tuple[Estimates, Constants]:
    constants: Constants = {("rho", frozenset({row.metric})): row.spearman.value for row in found.rows}
    constants |= {("p", frozenset({row.metric})): row.p_chance for row in found.rows}
    for pair in (pair for ranking in found.rankings for pair in ranking.pairs):
        constants["p", frozenset((pair.metric_a, pair.metric_b))] = pair.p_value
        constants["better", frozenset((pair.metric_a, pair.metric_b))] = pair.p_value < LEVEL and pair.better
    names = ("pearson", "spearman", "kendall", "within_systems", "between_systems")
    return [getattr(row, name) for row in found.rows for name in names], constants


def shuffle(rows: Rows, rng: np.random.Generator) -> Rows:
    return [rows[i] for i in rng.permutation(len(rows))]


def multiply(factor: float) -> Callable[[Rows, np.random.Generator], Rows]:
    """Multiplies every score; a missing one stays."""

    def scale(rows: Rows, _: np.random.Generator) -> Rows:
        scores = [{name: x and factor * x for name, x in row["scores"].items()} for row in rows]
        return [{**row, "scores": scaled} for row, scaled in zip(rows, scores, strict=True)]

    return scale


def exchange_sides(rows: Rows, _: np.random.Generator) -> Rows:
    other = {"a": "b", "b": "a", "tie": "tie"}
    return [
        {**row, "system_a": row["system_b"], "system_b": row["system_a"], "winner": other[row["winner"]]}
        for row in rows
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("studies", "seed", "draw", "study", "list_figures", "changes"),
    [
        (150, 2024, draw_compared, compare, list_compared, [shuffle, multiply(-1), multiply(1024)]),
        (150, 77, draw_preferred, prefer, list_preferred, [shuffle, exchange_sides]),
        (116, 7, draw_agreed, agree, list_agreed, [shuffle, multiply(1024)]),
    ],
)
def test_random_studies_never_contradict_themselves(
    studies: int,
    seed: int,
    draw: Callable[[np.random.Generator], Rows],
    study: Callable[[Rows], Any],
    list_figures: Callable[[Any], tuple[Estimates, Constants]],
    changes: list[Callable[[Rows, np.random.Generator], Rows]],
) -> None:
    """The order of rows, sides and units change nothing."""
    rng = np.random.default_rng(seed)
    found: Counter[str] = Counter()
    for _ in range(studies):
        rows = draw(rng)
        estimates, constants = list_figures(study(rows))
        found["interval"] += not all(map(holds_value, estimates))
        found["p"] += any(key[0] == "p" and not (math.isnan(p) or 0 < p <= 1) for key, p in constants.items())
        for change in changes:
            _, others = list_figures(study(change(rows, rng)))
            for key, value in constants.items():
                found[f"{change.__name__}: {key[0]}"] += not same(value, others[key])
    assert not +found


def same(one: Any, other: Any) -> bool:
    return one == other or (isinstance(one, float) and one == pytest.approx(other, rel=0, abs=1e-9, nan_ok=True))
