"""Four hundred random studies keep what every result promises; a result that was tampered with is found out."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import judge
from judge.comparisons import SystemsCompared
from judge.preference_study import PreferenceFigures
from judge.verbs.agree import AgreementFigures
from meta_eval.estimates import Estimate

Rows = list[dict[str, Any]]
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


def contradict_compare(found: SystemsCompared) -> Iterator[str]:
    """What in a comparison by the metric m contradicts itself."""
    ranked = found.means["m"]
    means = [each.mean.value for each in ranked if each.n]
    by_name = {each.system: each for each in ranked}
    if any(above < below for above, below in pairwise(means)):
        yield "order"
    for (a, b), pair in found.pairs["m"].items():
        if not is_p(pair.p_value):
            yield "p"
        if not (holds_value(pair.difference) and holds_value(pair.win_rate)):
            yield "interval"
        if pair.p_value <= 1 and pair.wins + pair.ties + pair.losses != pair.n:
            yield "counts"
        one, other = by_name[a], by_name[b]
        if not (one.n and other.n) or math.isnan(pair.difference.value):
            continue
        gap = one.mean.value - other.mean.value
        if abs(gap - pair.difference.value) > 1e-6 * max(1.0, abs(gap)):
            yield "difference"
        is_separated = pair.p_value < LEVEL
        if is_separated and cluster_set(one.cluster) & cluster_set(other.cluster):
            yield "cluster"


def contradict_prefer(found: PreferenceFigures) -> Iterator[str]:
    """What in a ranking by preferences contradicts itself."""
    systems = {each.system: each for each in found.ranking.systems}
    strengths = [each.strength.value for each in found.ranking.systems]
    if not any(map(math.isnan, strengths)) and any(above < below - 1e-9 for above, below in pairwise(strengths)):
        yield "order"
    for each in systems.values():
        if not (holds_value(each.strength) and holds_value(each.win_rate)):
            yield "interval"
        if not (math.isnan(each.win_rate.low) or 0 <= each.win_rate.low <= each.win_rate.high <= 1):
            yield "share"
    for pair in found.ranking.pairs:
        if not is_p(pair.p_value):
            yield "p"
        if pair.n == 0 and not math.isnan(pair.p_value):
            yield "never compared"
        if not holds_value(pair.difference):
            yield "interval"
        one, other = systems[pair.system_a], systems[pair.system_b]
        if not math.isnan(pair.difference.value):
            gap = one.strength.value - other.strength.value
            if abs(gap - pair.difference.value) > 1e-6:
                yield "difference"
            if pair.p_value < LEVEL and cluster_set(one.cluster) & cluster_set(other.cluster):
                yield "cluster"


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
    return judge.compare(rows, cues=False).found


def scale(rows: Rows, change: Callable[[float], float]) -> Rows:
    """The rows with changed scores; a missing one stays."""
    changed = []
    for row in rows:
        score = row["scores"]["m"]
        changed.append({**row, "scores": {"m": None if score is None else change(score)}})
    return changed


@pytest.mark.slow
def test_random_comparisons_never_contradict_themselves() -> None:
    rng = np.random.default_rng(2024)
    found: Counter[str] = Counter()
    for _ in range(150):
        rows = draw_compared(rng)
        study = compare(rows)
        found.update(contradict_compare(study))
        shuffled = compare([rows[i] for i in rng.permutation(len(rows))])
        compared = [{each.system for each in one.means["m"] if each.n} for one in (study, shuffled)]
        found["row order: systems"] += compared[0] != compared[1]
        negated = compare(scale(rows, lambda score: -score))
        enlarged = compare(scale(rows, lambda score: 1024 * score))
        others = {frozenset(pair): each for pair, each in shuffled.pairs["m"].items()}
        for pair, each in study.pairs["m"].items():
            found["row order: p"] += not same(each.p_value, others[frozenset(pair)].p_value)
            found["scale: p"] += not same(each.p_value, enlarged.pairs["m"][pair].p_value)
            found["negation: p"] += not same(each.p_value, negated.pairs["m"][pair].p_value)
            mirrored = 1 - negated.pairs["m"][pair].win_rate.value
            found["negation: win rate"] += not same(each.win_rate.value, mirrored)
    assert not +found


@pytest.mark.slow
def test_random_preferences_never_contradict_themselves() -> None:
    rng = np.random.default_rng(77)
    found: Counter[str] = Counter()
    for _ in range(150):
        rows = draw_preferred(rng)
        study = judge.prefer(rows).found
        found.update(contradict_prefer(study))
        shuffled = judge.prefer([rows[i] for i in rng.permutation(len(rows))]).found
        others = {frozenset((pair.system_a, pair.system_b)): pair for pair in shuffled.ranking.pairs}
        for pair in study.ranking.pairs:
            other = others[frozenset((pair.system_a, pair.system_b))]
            found["row order: p"] += not same(pair.p_value, other.p_value)
        exchanged = judge.prefer([exchange_sides(row) for row in rows]).found
        others = {frozenset((pair.system_a, pair.system_b)): pair for pair in exchanged.ranking.pairs}
        for pair in study.ranking.pairs:
            other = others[frozenset((pair.system_a, pair.system_b))]
            found["exchanged sides: p"] += not same(pair.p_value, other.p_value)
    assert not +found


def exchange_sides(row: dict[str, Any]) -> dict[str, Any]:
    other = {"a": "b", "b": "a", "tie": "tie"}
    return {**row, "system_a": row["system_b"], "system_b": row["system_a"], "winner": other[row["winner"]]}


@pytest.mark.slow
def test_random_studies_of_metrics_never_contradict_themselves() -> None:
    rng = np.random.default_rng(7)
    found: Counter[str] = Counter()
    for _ in range(116):
        rows = draw_agreed(rng)
        study = agree(rows)
        found.update(contradict_agree(study))
        shuffled = agree([rows[i] for i in rng.permutation(len(rows))])
        enlarged = agree([{**row, "scores": {name: 1024 * x for name, x in row["scores"].items()}} for row in rows])
        for change, changed in (("row order", shuffled), ("scale", enlarged)):
            found.update(f"{change}: {what}" for what in differ(study, changed))
    assert not +found


def agree(rows: Rows) -> AgreementFigures:
    return judge.agree(rows, cues=False).found


def differ(study: AgreementFigures, changed: AgreementFigures) -> Iterator[str]:
    """What differs between two studies that should say the same."""
    others = {(row.metric, row.aspect): row for row in changed.rows}
    for row in study.rows:
        other = others[row.metric, row.aspect]
        if not same(row.spearman.value, other.spearman.value):
            yield "agreement"
        if not same(row.p_chance, other.p_chance):
            yield "p of chance"
    for ranking, changed_ranking in zip(study.rankings, changed.rankings, strict=True):
        by_pair = {frozenset((pair.metric_a, pair.metric_b)): pair for pair in changed_ranking.pairs}
        for pair in ranking.pairs:
            other = by_pair[frozenset((pair.metric_a, pair.metric_b))]
            if not same(pair.p_value, other.p_value):
                yield "p"
            if pair.p_value < LEVEL and pair.better != other.better:
                yield "better"


def same(one: float, other: float) -> bool:
    return (math.isnan(one) and math.isnan(other)) or abs(one - other) < 1e-9


def test_a_comparison_that_was_tampered_with_is_found_out() -> None:
    """The positive control: each change breaks one promise."""
    rng = np.random.default_rng(0)
    rows = [
        {"text": f"{s}{i}", "system": s, "group": f"q{i}", "scores": {"m": float(rng.normal() + 2 * (s == "a"))}}
        for i in range(40)
        for s in "ab"
    ]
    study = compare(rows)
    assert not [*contradict_compare(study)]
    ((names, pair),) = study.pairs["m"].items()
    tampered = {
        "order": replace(study, means={"m": study.means["m"][::-1]}),
        "p": replace(study, pairs={"m": {names: replace(pair, p_value=0.0)}}),
        "counts": replace(study, pairs={"m": {names: replace(pair, wins=pair.wins + 1)}}),
        "interval": replace(study, pairs={"m": {names: replace(pair, win_rate=Estimate(0.9, 0.1, 0.2))}}),
        "difference": replace(study, pairs={"m": {names: replace(pair, difference=pair.difference.negate())}}),
        "cluster": replace(study, means={"m": [replace(each, cluster="1") for each in study.means["m"]]}),
    }
    for promise, changed in tampered.items():
        assert promise in [*contradict_compare(changed)]


def test_a_ranking_that_was_tampered_with_is_found_out() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"id": f"q{i}", "system_a": a, "system_b": b, "winner": a if rng.random() < 0.8 else b}
        for i in range(60)
        for a, b in ("xy", "yz", "xz")
    ]
    study = judge.prefer(rows).found
    assert not [*contradict_prefer(study)]
    systems, pairs = study.ranking.systems, study.ranking.pairs
    wide = replace(systems[0], win_rate=Estimate(0.5, -0.1, 0.9))
    tampered = {
        "order": replace(study.ranking, systems=systems[::-1]),
        "share": replace(study.ranking, systems=(wide, *systems[1:])),
        "never compared": replace(study.ranking, pairs=(replace(pairs[0], n=0), *pairs[1:])),
        "difference": replace(
            study.ranking, pairs=(replace(pairs[0], difference=Estimate(9.0, 8.0, 10.0)), *pairs[1:])
        ),
    }
    for promise, ranking in tampered.items():
        changed = replace(study, ranking=ranking)
        assert promise in [*contradict_prefer(changed)]


def test_a_study_of_metrics_that_was_tampered_with_is_found_out() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(60):
        rating = float(rng.normal())
        scores = {"close": rating + 0.3 * float(rng.normal()), "noise": float(rng.normal())}
        rows.append({"text": f"text {i}", "ratings": {"q": rating}, "scores": scores})
    study = agree(rows)
    assert not [*contradict_agree(study)]
    row, *others = study.rows
    (ranking,) = study.rankings
    (pair,) = ranking.pairs
    assert pair.better == "close"
    assert pair.p_value < LEVEL
    tampered = {
        "range": replace(study, rows=(replace(row, spearman=Estimate(1.2, 1.1, 1.3)), *others)),
        "interval": replace(study, rows=(replace(row, kendall=Estimate(0.9, 0.1, 0.2)), *others)),
        "p": replace(study, rows=(replace(row, p_chance=0.0), *others)),
        "better": replace(study, rankings=(replace(ranking, pairs=(replace(pair, better="noise"),)),)),
    }
    for promise, changed in tampered.items():
        assert promise in [*contradict_agree(changed)]
