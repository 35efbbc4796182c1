"""Preferences: strengths by closed form and by scipy, agreement and what a judge favours by hand, intervals."""

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import cohen_kappa_score

from core.example import Example
from meta_eval.preferences import (
    Preferences,
    Verdicts,
    agree_on_preferences,
    find_longer,
    list_pairs,
    measure_favour,
    position_effect,
    prefer_by_scores,
)
from meta_eval.scored_set import ScoredSet
from meta_eval.strengths import fit_strengths, rank_by_preferences
from tests.meta_eval.sets import make_pairs


def judgements(rows: list[tuple[str, str, str, float]], raters: list[str] | None = None) -> Preferences:
    """Rows of input, system a, system b and outcome."""
    inputs, a, b, outcomes = zip(*rows, strict=True)
    return Preferences("p", inputs, a, b, np.array(outcomes), tuple(raters or [None] * len(rows)))


def simulate(strengths: list[float], inputs: int, rng: np.random.Generator, spread: float = 0.0) -> Preferences:
    """Each pair of systems on each input; outcomes for one input share a deviation of the strengths."""
    rows = []
    for i in range(inputs):
        own = np.array(strengths) + spread * rng.normal(size=len(strengths))
        for a in range(len(own)):
            for b in range(a):
                rows.append((f"i{i}", f"s{a}", f"s{b}", float(rng.random() < expit(own[a] - own[b]))))
    return judgements(rows)


def simulate_sparse(true: np.ndarray, games: int, rng: np.random.Generator, per_input: int = 1) -> Preferences:
    """Judgements of random pairs, a few for each input."""
    k = len(true)
    a = rng.integers(0, k, games)
    b = (a + rng.integers(1, k, games)) % k
    wins = rng.random(games) < expit(true[a] - true[b])
    return judgements([(f"i{i // per_input}", f"s{a[i]}", f"s{b[i]}", float(wins[i])) for i in range(games)])


def test_two_systems_by_closed_form() -> None:
    """Six wins, two ties and two losses: the difference is log((6 + 1 + 1/2) / (2 + 1 + 1/2))."""
    outcomes = [1.0] * 6 + [0.5] * 2 + [0.0] * 2
    found = rank_by_preferences(make_pairs(outcomes))
    (pair,) = found.pairs
    assert (pair.n, pair.wins, pair.ties, pair.losses) == (10, 6, 2, 2)
    assert pair.win_rate.value == pytest.approx(0.7)
    assert pair.difference.value == pytest.approx(math.log(7.5 / 3.5))
    assert [(each.system, each.strength.value) for each in found.systems] == [
        ("x", pytest.approx(math.log(7.5 / 3.5) / 2)),
        ("y", pytest.approx(-math.log(7.5 / 3.5) / 2)),
    ]
    outcomes = np.array(outcomes) - 0.5
    sums = [abs(np.dot(signs, outcomes)) for signs in product([1, -1], repeat=10)]
    assert pair.p_value == np.mean([total >= abs(outcomes.sum()) for total in sums])  # the exact test of swaps
    assert pair.difference.low < 0 < pair.difference.high


@pytest.mark.parametrize("seed", range(10))
def test_strengths_are_those_of_the_likelihood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wins = rng.integers(0, 10 ** rng.integers(1, 4), (5, 5)).astype(float) + 0.5
    if seed % 2:  # a system that always wins
        wins[:, 0] = 0.5
    np.fill_diagonal(wins, 0)
    found = fit_strengths(wins[None])[0]
    loss = lambda s: -np.sum(wins * np.log(expit(s[:, None] - s[None, :])))  # noqa: E731
    expected = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-9}).x
    assert found.mean() == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(found, expected - expected.mean(), atol=1e-4)


def test_systems_that_no_comparisons_link() -> None:
    rows = [(f"i{k}", *pair, float(k % 2)) for k in range(40) for pair in (("x", "y"), ("u", "v"))]
    found = rank_by_preferences(judgements(rows))
    assert found.systems[0].strength.reason == "no chain of comparisons links x and u"
    assert (found.systems[0].win_rate.value, found.systems[0].cluster) == (0.5, "–")
    assert {pair.win_rate.reason for pair in found.pairs if pair.n == 0} == {"the two systems were never compared"}
    linked = rank_by_preferences(judgements([*rows, ("i0", "y", "u", 1.0)]))
    assert all(math.isfinite(each.strength.high) for each in linked.systems)


def test_agreement_by_hand() -> None:
    human = [1, 1, 0, 0.5, 0.5, 1, math.nan]
    found = np.array([1, 0, 0.5, 0.5, 1, math.nan, 1])
    given = make_pairs(human)
    agreed = agree_on_preferences(given, found)
    assert (agreed.n, agreed.missing) == (5, 1)
    assert agreed.accuracy.value == pytest.approx(2 / 5)
    people, metric = np.array(human[:5]), found[:5]
    assert agreed.kappa.value == pytest.approx(cohen_kappa_score(people.astype(str), metric.astype(str)))
    sides = [("x", "y"), ("y", "x")] * 4
    exchanged = judgements([(f"i{k}", *pair, each) for k, (pair, each) in enumerate(zip(sides, human, strict=False))])
    twice = [np.concatenate([each, 1 - each]).astype(str) for each in (people, metric)]
    assert agree_on_preferences(exchanged, found).kappa.value == pytest.approx(cohen_kappa_score(*twice))
    ties = agree_on_preferences(make_pairs([0.5] * 3), np.full(3, 0.5))
    assert ties.accuracy.value == 1
    assert ties.kappa.reason == "all labels are the same: kappa is not defined"
    none = agree_on_preferences(given, np.full(7, math.nan))
    assert (none.n, none.missing, none.kappa.reason) == (0, 6, "no judgement has a preference of both")


@given(st.integers(2, 5), st.integers(1, 80), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_order_pairs_and_clusters_never_contradict(k: int, games: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sample = simulate_sparse(2 * rng.normal(size=k), games, rng, int(rng.integers(1, 4)))
    sample.outcomes[rng.random(games) < 0.2 * rng.random()] = math.nan
    sample = sample.take(~np.isnan(sample.outcomes))
    if len(sample.systems) < 2:
        return
    found = rank_by_preferences(sample)
    by_name = {each.system: each for each in found.systems}
    order = list(by_name)
    for pair in found.pairs:
        if pair.p_value < 0.05:
            above, below = sorted((pair.system_a, pair.system_b), key=order.index)
            assert (pair.difference.value > 0) == (above == pair.system_a)
            assert int(by_name[above].cluster.split("-")[-1]) < int(by_name[below].cluster.split("-")[0])


def test_p_values_are_those_of_the_fitted_hypothesis() -> None:
    """Each pair by a slow fit: scipy's minimum under equal strengths, efficient scores by its Hessian, all swaps."""
    given = simulate([0.0, 0.4, 1.5], 8, np.random.default_rng(3))
    found = rank_by_preferences(given)
    names, n = list(given.systems), len(given)
    judged = zip(map(names.index, given.systems_a), map(names.index, given.systems_b), strict=True)
    x = np.array([np.eye(3)[i] - np.eye(3)[j] for i, j in [*judged, *permutations(range(3), 2)]])
    won = np.append(given.outcomes, np.ones(6))
    sizes = np.append(np.ones(n), np.full(6, 1 / 4))  # each system beats each other one by a quarter of a judgement

    def loss(s: np.ndarray) -> float:
        return s.sum() ** 2 - sizes @ (won * np.log(expit(x @ s)) + (1 - won) * np.log(expit(-x @ s)))

    scores = {}
    for i, j in combinations(range(3), 2):
        (other,) = {0, 1, 2} - {i, j}
        merge = np.zeros((3, 2))
        merge[[i, j], 0] = merge[other, 1] = 1
        fitted = merge @ minimize(lambda t, merge=merge: loss(merge @ t), np.zeros(2), options={"gtol": 1e-10}).x
        p = expit(x @ fitted)
        hessian = x.T @ (x * (sizes * p * (1 - p))[:, None]) + 2
        weights = np.linalg.solve(hessian, np.eye(3)[i] - np.eye(3)[j])
        each = (won - p) * (x @ weights)
        scores[names[i], names[j]] = np.bincount(given.layout.inputs, each[:n])
    unit = {pair: each / np.linalg.norm(each) for pair, each in scores.items()}
    observed = {pair: abs(each.sum()) * np.sqrt(1 - 1 / n) for pair, each in unit.items()}
    least = 0.0
    for pair in sorted(observed, key=lambda pair: -observed[pair]):
        weaker = [other for other in observed if observed[other] <= observed[pair]]
        flips = [signs for signs in product([1, -1], repeat=8) if len(set(signs)) > 1]
        reached = [max(abs(np.dot(signs, unit[o])) for o in weaker) >= observed[pair] for signs in flips]
        least = max(least, (2 + sum(reached)) / 2**8)
        (of,) = [each for each in found.pairs if (each.system_a, each.system_b) == pair]
        assert of.p_value == pytest.approx(least)


def test_scores_as_preferences() -> None:
    examples = [Example(f"{s}{i}", text="t", system=s, group=i) for i in "12" for s in "xyz"][:5]  # no z for 2
    asked = list_pairs(ScoredSet("outputs", tuple(examples), {}))
    named = list(zip(asked.inputs, asked.systems_a, asked.systems_b, strict=True))
    assert named == [("1", "x", "y"), ("1", "x", "z"), ("1", "y", "z"), ("2", "x", "y")]
    outputs = {(str(e.system), str(e.group)): i for i, e in enumerate(examples)}
    scores = np.array([2, 1, 2, 0, math.nan])
    np.testing.assert_array_equal(prefer_by_scores(asked, outputs, scores), [1, 0.5, 0, math.nan])
    del outputs["z", "1"]
    np.testing.assert_array_equal(prefer_by_scores(asked, outputs, scores), [1, math.nan, math.nan, math.nan])


def test_verdicts_need_both_orders() -> None:
    """A judge that always prefers the first output finds only ties, and its effect is 1/2."""
    nan = math.nan
    first = np.array([[1, 0], [0, 1], [1, 1], [0.5, 0.5], [0.5, 0], [nan, 1]])
    np.testing.assert_array_equal(Verdicts(first, [None] * 6, "s").outcomes, [1, 0, 0.5, 0.5, 0.5, nan])
    always = position_effect(np.ones((30, 2)), [f"i{k}" for k in range(30)])
    assert always.value == 0.5
    assert always.low > 0.3
    assert position_effect(first, list("abcdef")).value == pytest.approx((1 + 1 + 2 + 1 + 0.5) / 10 - 0.5)
    assert position_effect(first[-1:], ["f"]).reason == "no pair was judged in both orders"


def test_the_longer_text_by_hand() -> None:
    """On 5 pairs with a longer text it wins 3.5 times with the judge and 2 times with people."""
    people = make_pairs([1, 0, 0, 0.5, 0.5, 1, math.nan])
    judge = np.array([1, 0, 1, 0.8, 0.5, math.nan, 1])
    lengths = np.array([[9, 3], [9, 3], [9, 3], [9, 3], [3, 9], [9, 3], [9, 3]], dtype=float)
    found = measure_favour(people, judge, find_longer(lengths))
    assert (found.n, found.by_judge.value, found.by_people.value) == (5, 3.5 / 5, 2 / 5)
    assert found.effect.value == pytest.approx((0 + 0 + 1 + 0.5 + 0) / 5)
    assert "at least 10" in (found.effect.reason or "")
    assert measure_favour(people, judge, np.zeros(7)).effect.reason == "no judged pair has one output of this kind"


def test_rounding_of_strengths_is_no_evidence() -> None:
    """good0 and good1 always beat bad; they never meet, or meet as often as each wins."""
    never = [(f"q{i}", f"good{k}", "bad", 1.0) for i in range(16) for k in (0, 1)]
    found = {(pair.system_a, pair.system_b): pair for pair in rank_by_preferences(judgements(never)).pairs}
    alike = found["good0", "good1"]
    assert math.isnan(alike.p_value)  # never compared, so not tested
    assert alike.difference.value == pytest.approx(0, abs=1e-9)
    assert found["good0", "bad"].p_value < 0.05
    met = [*never, *((f"q{i}", "good0", "good1", 0.5) for i in range(16))]
    found = {(pair.system_a, pair.system_b): pair for pair in rank_by_preferences(judgements(met)).pairs}
    assert found["good0", "good1"].p_value == 1


def test_a_system_without_wins_has_an_interval() -> None:
    rng = np.random.default_rng(0)
    rates = {"m0": 0.0, "m1": 0.3, "m2": 0.4}
    rows = [(f"q{i}", name, "base", float(rng.random() < rate)) for i in range(60) for name, rate in rates.items()]
    found = rank_by_preferences(judgements(rows))
    strengths = {each.system: each.strength for each in found.systems}
    assert sum(each.value for each in strengths.values()) == pytest.approx(0, abs=1e-9)
    assert all(each.low < each.value < each.high for each in strengths.values())
    never = strengths["m0"]
    assert never.high - never.low > 2 * (strengths["m1"].high - strengths["m1"].low)


def test_probabilities_are_called_so() -> None:
    with pytest.raises(ValueError, match="are probabilities: set has_probabilities"):
        Verdicts(np.array([[0.7, 0.2]]), [None], "judge")
    assert Verdicts(np.array([[0.7, np.nan]]), [None], "judge", has_probabilities=True).first[0, 0] == 0.7
