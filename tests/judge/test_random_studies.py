"""Four hundred random studies keep what every result promises."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import judge
from judge.agreement import AgreementFigures
from judge.comparisons import SystemsCompared
from judge.preference_study import PreferenceFigures
from meta_eval.estimates import Estimate

Rows = list[dict[str, Any]]
Pairs = dict[tuple[str, str], tuple[Estimate, float]]  # by two systems their difference and its p-value
Constants = dict[tuple[str, frozenset[str]], Any]  # what must not change, by its kind and what it is of
LEVEL = 0.05


def holds_value(found: Estimate) -> bool:
    """Whether the interval, if there is one, holds the value."""
    if math.isnan(found.low) or found.reason:
        return True
    slack = 1e-9 * max(1.0, abs(found.low), abs(found.high))
    return found.low - slack <= found.value <= found.high + slack


def is_p(p: float) -> bool:
    return math.isnan(p) or 0 < p <= 1


def cluster_set(cluster: str) -> set[int]:
    """The numbers of clusters that "2" or "2-4" names."""
    if cluster == "–":
        return set()
    ends = [int(end) for end in cluster.split("-")]
    return {*range(ends[0], ends[-1] + 1)}


def contradict_ranking(ranked: dict[str, tuple[float, str]], pairs: Pairs) -> Iterator[str]:
    """What in a ranking, the best first with values and clusters, and in its pairs contradicts itself."""
    values = [value for value, _ in ranked.values()]
    if any(above < below - 1e-9 for above, below in pairwise(values)):
        yield "order"
    for (a, b), (difference, p) in pairs.items():
        if not is_p(p):
            yield "p"
        if not holds_value(difference):
            yield "interval"
        if not ranked.keys() >= {a, b} or math.isnan(difference.value):
            continue
        gap = ranked[a][0] - ranked[b][0]
        if abs(gap - difference.value) > 1e-6 * max(1.0, abs(gap)):
            yield "difference"
        if p < LEVEL and cluster_set(ranked[a][1]) & cluster_set(ranked[b][1]):
            yield "cluster"


def contradict_compare(found: SystemsCompared) -> Iterator[str]:
    """What in a comparison by the metric m contradicts itself."""
    pairs = found.pairs["m"]
    ranked = {each.system: (each.mean.value, each.cluster) for each in found.means["m"] if each.n}
    yield from contradict_ranking(ranked, {names: (pair.difference, pair.p_value) for names, pair in pairs.items()})
    for pair in pairs.values():
        if not holds_value(pair.win_rate):
            yield "interval"
        if pair.p_value <= 1 and pair.wins + pair.ties + pair.losses != pair.n:
            yield "counts"


def contradict_prefer(found: PreferenceFigures) -> Iterator[str]:
    """What in a ranking by preferences contradicts itself."""
    ranked = {each.system: (each.strength.value, each.cluster) for each in found.ranking.systems}
    pairs = found.ranking.pairs
    yield from contradict_ranking(ranked, {(p.system_a, p.system_b): (p.difference, p.p_value) for p in pairs})
    for each in found.ranking.systems:
        if not (holds_value(each.strength) and holds_value(each.win_rate)):
            yield "interval"
        if not (math.isnan(each.win_rate.low) or 0 <= each.win_rate.low <= each.win_rate.high <= 1):
            yield "share"
    if any(pair.n == 0 and not math.isnan(pair.p_value) for pair in pairs):
        yield "never compared"


def contradict_agree(found: AgreementFigures) -> Iterator[str]:
    """What in a study of metrics contradicts itself."""
    for row in found.rows:
        over_all = (row.pearson, row.spearman, row.kendall)
        by_system = (row.within_systems, row.between_systems)
        for each in (*over_all, *by_system, row.beyond_cues):
            if not math.isnan(each.value) and not -1 - 1e-9 <= each.value <= 1 + 1e-9:
                yield "range"
        if not all(map(holds_value, (*over_all, *by_system))):
            yield "interval"
        if not is_p(row.p_chance):
            yield "p"
    for ranking in found.rankings:
        for pair in ranking.pairs:
            if not is_p(pair.p_value):
                yield "p"
            better = ranking.agreement[pair.metric_a].value > ranking.agreement[pair.metric_b].value
            if pair.p_value < LEVEL and (pair.better == pair.metric_a) != better:
                yield "better"


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


def list_compared(found: SystemsCompared) -> Constants:
    constants: Constants = {("n", frozenset({each.system})): each.n > 0 for each in found.means["m"]}
    for pair, each in found.pairs["m"].items():
        constants["p", frozenset(pair)] = each.p_value
        constants["lead", frozenset(pair)] = abs(each.win_rate.value - 0.5)
    return constants


def list_preferred(found: PreferenceFigures) -> Constants:
    return {("p", frozenset((pair.system_a, pair.system_b))): pair.p_value for pair in found.ranking.pairs}


def list_agreed(found: AgreementFigures) -> Constants:
    constants: Constants = {("rho", frozenset({row.metric})): row.spearman.value for row in found.rows}
    constants |= {("p of chance", frozenset({row.metric})): row.p_chance for row in found.rows}
    for pair in (pair for ranking in found.rankings for pair in ranking.pairs):
        constants["p", frozenset((pair.metric_a, pair.metric_b))] = pair.p_value
        constants["better", frozenset((pair.metric_a, pair.metric_b))] = pair.p_value < LEVEL and pair.better
    return constants


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
    ("studies", "seed", "draw", "study", "contradict", "list_constants", "changes"),
    [
        (150, 2024, draw_compared, compare, contradict_compare, list_compared, [shuffle, multiply(-1), multiply(1024)]),
        (150, 77, draw_preferred, prefer, contradict_prefer, list_preferred, [shuffle, exchange_sides]),
        (116, 7, draw_agreed, agree, contradict_agree, list_agreed, [shuffle, multiply(1024)]),
    ],
)
def test_random_studies_never_contradict_themselves(
    studies: int,
    seed: int,
    draw: Callable[[np.random.Generator], Rows],
    study: Callable[[Rows], Any],
    contradict: Callable[[Any], Iterator[str]],
    list_constants: Callable[[Any], Constants],
    changes: list[Callable[[Rows, np.random.Generator], Rows]],
) -> None:
    """The order of rows, sides and units change nothing."""
    rng = np.random.default_rng(seed)
    found: Counter[str] = Counter()
    for _ in range(studies):
        rows = draw(rng)
        drawn = study(rows)
        found.update(contradict(drawn))
        for change in changes:
            others = list_constants(study(change(rows, rng)))
            for key, value in list_constants(drawn).items():
                found[f"{change.__name__}: {key[0]}"] += not same(value, others[key])
    assert not +found


def same(one: Any, other: Any) -> bool:
    return one == other or (isinstance(one, float) and one == pytest.approx(other, rel=0, abs=1e-9, nan_ok=True))
