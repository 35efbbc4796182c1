"""Bradley-Terry: how strong systems are by preferences, and which of them the tests separate.

Strengths are those of Bradley & Terry (1952), "Rank Analysis of Incomplete Block Designs": system i is preferred to j
with the odds exp(s_i - s_j). A tie is half a win of each system. Each compared pair of k systems counts 1/(k - 1) tie
more, so that a system that always wins has a finite strength; for two systems the difference of strengths is then the
log odds log((wins + 1/2) / (losses + 1/2)), which has the smallest bias (Firth 1993). A whole tie for each pair of many
systems would outweigh few judgements: of 20 systems with 200 judgements, strengths would be half as far apart.

Intervals draw inputs and fit the strengths anew. Tests are score tests: the strengths are fitted as if the two systems
of a pair were equally strong, and what an input then says for one of them (its part of the efficient score) could as
well be turned round. For two systems this is the exact test that swaps outputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import chdtrc, expit

from meta_eval.bootstrap import BATCH, FEWEST_UNITS, Estimate, Floats, estimate_from, explain_few, resample
from meta_eval.grouping import Layout, restrict
from meta_eval.intervals import Resampling, share_interval
from meta_eval.preferences import Preferences
from meta_eval.step_down import clusters, randomisation_p

STEPS = 200  # of Newton's method; ten are the rule
UNCOMPARED = "the two systems were never compared"
FEWEST_ON_A_SIDE = 5  # wins, and losses, of a system whose strength has an interval; ties count half
MOST_STRENGTH = 15.0  # in log odds; beyond it the likelihood has no maximum
ROUNDING = 1e-8  # of the parts of a score: what the fit of strengths leaves undecided
FEWEST_EXPECTED = 5  # wins, and losses, of a pair that says whether strengths fit


@dataclass(frozen=True)
class Wins:
    """How often a system is preferred."""

    n: int
    wins: int
    ties: int
    losses: int
    # ties count half
    win_rate: Estimate


@dataclass(frozen=True)
class PreferredSystem(Wins):
    """How often a system is preferred to the others."""

    system: str
    # of Bradley & Terry, in log odds; the mean of those that have an interval is 0, else that of all
    strength: Estimate
    # as `clusters` numbers them; a dash without tests
    cluster: str


@dataclass(frozen=True)
class PreferredPair(Wins):
    """How often system a is preferred to system b."""

    system_a: str
    system_b: str
    # the strength of a minus that of b, which follows from all pairs
    difference: Estimate
    # two-sided, that the difference is 0, by swaps of inputs, adjusted for all pairs that were compared; NaN for others
    p_value: float


@dataclass(frozen=True)
class Fit:
    """Whether strengths, which put the systems in one order, describe the comparisons of single pairs."""

    # of Pearson's chi-squared test over pairs, with the variance over inputs; NaN where too few pairs can be tested
    p_value: float
    # the pair that the strengths describe worst, and the win rate of its first system that they expect
    worst: tuple[str, str] | None = None
    expected: float = math.nan


@dataclass(frozen=True)
class PreferenceRanking:
    """The systems, the strongest first, and all pairs of them."""

    systems: tuple[PreferredSystem, ...]
    pairs: tuple[PreferredPair, ...]
    fit: Fit


def fit_strengths(wins: Floats) -> Floats:
    """Bradley-Terry strengths with mean 0, of shape (rows, systems), by Newton's method on the likelihood.

    `wins` says how often each system wins against each other one, of shape (rows, systems, systems). Each system needs
    a chain of wins and a chain of losses to every other one. A row is NaN where the likelihood has no maximum, which
    only wins below 0 can cause beside such chains.

    >>> fit_strengths(np.array([[[0.0, 3.0], [1.0, 0.0]]])).round(4).tolist()  # their difference is log 3
    [[0.5493, -0.5493]]
    """
    games, k = wins + wins.swapaxes(1, 2), wins.shape[-1]
    found, enough = np.zeros(wins.shape[:2]), 1e-10 * games.sum(axis=(1, 2)).max(initial=1.0)
    is_lost = np.zeros(len(wins), dtype=np.bool_)
    for _ in range(STEPS):
        is_lost |= np.abs(found).max(axis=1, initial=0.0) > MOST_STRENGTH
        found[is_lost] = 0.0
        wins = np.where(is_lost[:, None, None], games / 2, wins)
        expected = expit(found[:, :, None] - found[:, None, :])
        gradient = (wins - games * expected).sum(axis=2)
        if np.abs(gradient).max(initial=0.0) < enough:
            break
        step = np.linalg.solve(find_information(games, expected) + 1 / k, gradient[..., None])[..., 0]  # 1/k: mean 0
        found += step / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1.0)
    found[is_lost] = np.nan
    return found


def find_information(games: Floats, expected: Floats) -> Floats:
    """Fisher's information about strengths; all shapes are (rows, systems, systems)."""
    found = -games * expected * (1 - expected)
    at = np.arange(found.shape[-1])
    found[:, at, at] = -found.sum(axis=2)
    return found


def rank_by_preferences(given: Preferences, resampling: Resampling, level: float = 0.05) -> PreferenceRanking:
    """Win rates and strengths of the systems, and tests of all pairs; judgements without an outcome are left out.

    No interval of strengths below `FEWEST_UNITS` inputs, nor for a system with fewer than `FEWEST_ON_A_SIDE` wins or
    losses: its resamples vary by the added ties only. Such a system is left out of the mean that is 0, because its
    error would move all other strengths. NaN with a reason where no chain of comparisons links two systems.
    """
    given = given.take(~np.isnan(given.outcomes))
    names, layout = given.systems, given.layout
    strengths, draws, reason = _estimate_strengths(given, resampling)
    p_values = _test_pairs(given, strengths, resampling)
    extreme = {name: why for name in names if (why := _explain_extreme(name, given.of(name)))}
    is_usual = np.array([name not in extreme for name in names])
    if len(strengths) and is_usual.sum() > 1:
        strengths = strengths - strengths[is_usual].mean()
        draws = draws - draws[:, is_usual].mean(axis=1, keepdims=True)

    def estimate(*signs: tuple[str, int]) -> Estimate:
        """A sum of strengths with signs."""
        weights = np.zeros(len(names))
        weights[[names.index(name) for name, _ in signs]] = [sign for _, sign in signs]
        value = float(strengths @ weights) if len(strengths) else math.nan
        why = reason or next((extreme[name] for name, _ in signs if name in extreme), None)
        if why is None and len(signs) == 1 and is_usual.sum() < 2:
            why = next(iter(extreme.values()))
        return Estimate.undefined(why, value) if why else estimate_from(value, draws @ weights, layout.input_count)

    pairs, tested = [], {}
    for (a, b), p in zip(combinations(names, 2), p_values.tolist(), strict=True):
        pairs.append(PreferredPair(*_count(given.between(a, b), layout), a, b, estimate((a, 1), (b, -1)), p))
        tested[a, b] = p
    cluster = dict.fromkeys(names, "–")
    if len(strengths):
        cluster = clusters(dict(zip(names, strengths.tolist(), strict=True)), tested, level)
    systems = [
        PreferredSystem(*_count(given.of(name), layout), name, estimate((name, 1)), cluster[name]) for name in names
    ]
    order = sorted(systems, key=lambda each: (-np.nan_to_num(each.strength.value), -each.win_rate.value))
    return PreferenceRanking(tuple(order), tuple(pairs), measure_fit(given, strengths))


def _explain_extreme(name: str, outcomes: Floats) -> str | None:
    """Why the strength of a system with these outcomes, NaN where it is not compared, has no interval; else None."""
    known = outcomes[~np.isnan(outcomes)]
    for what, count in (("wins", float(known.sum())), ("losses", float((1 - known).sum()))):
        if count < FEWEST_ON_A_SIDE:
            return (
                f"{name} has {count:g} {what} (ties count half): "
                f"an interval of its strength needs at least {FEWEST_ON_A_SIDE}"
            )
    return None


def measure_fit(given: Preferences, strengths: Floats) -> Fit:
    """Whether the win rates of pairs follow strengths of shape (systems,), by Pearson's chi-squared test over pairs.

    Pairs with at least `FEWEST_EXPECTED` expected wins and losses count; the variance of their wins is that over
    inputs, and at least the binomial one without ties.
    """
    if not len(strengths):
        return Fit(math.nan)
    a, b = given.numbers
    expected = expit(strengths[a] - strengths[b])
    untied = given.outcomes != 0.5
    chi_squared = 0.0
    used = 0
    worst: tuple[float, tuple[str, str] | None, float] = (0.0, None, math.nan)
    for one, other in combinations(range(len(strengths)), 2):
        rows = np.flatnonzero(((a == one) & (b == other)) | ((a == other) & (b == one)))
        rate = float(expit(strengths[one] - strengths[other]))
        if len(rows) * min(rate, 1 - rate) < FEWEST_EXPECTED:
            continue
        sides = np.where(a[rows] == one, 1.0, -1.0)
        left = sides * (given.outcomes[rows] - expected[rows])
        by_input = np.bincount(given.layout.inputs[rows], left)
        binomial = rate * (1 - rate) * float(untied[rows].sum())
        variance = max(float((by_input**2).sum()), binomial)
        distance = float(left.sum()) ** 2 / variance if variance > 0 else 0.0
        chi_squared += distance
        used += 1
        worst = max(worst, (distance, (given.systems[one], given.systems[other]), rate), key=lambda each: each[0])
    freedom = used - len(strengths) + 1
    if freedom < 1:
        return Fit(math.nan)
    return Fit(float(chdtrc(freedom, chi_squared)), worst[1], worst[2])


def _estimate_strengths(given: Preferences, resampling: Resampling) -> tuple[Floats, Floats, str | None]:
    """The strengths of shape (systems,), those of the resamples, and why either is missing, which is then empty."""
    k, (counted, compared) = len(given.systems), count_wins(given)
    from scipy.sparse.csgraph import connected_components  # with scipy's solvers, which other verbs never need

    parts, labels = connected_components(compared, directed=False)
    if parts > 1:
        one, other = (given.systems[int(np.argmax(labels == part))] for part in (0, 1))
        return np.empty(0), np.empty((0, k)), f"no chain of comparisons links {one} and {other}"
    inputs, units = given.layout.inputs, given.layout.input_count

    def strengths(weights: Floats) -> Floats:
        return fit_strengths((weights[:, inputs] @ counted).reshape(-1, k, k) + compared)

    value = strengths(np.ones((1, units)))[0]
    if units < FEWEST_UNITS:
        return value, np.empty((0, k)), explain_few("inputs", units)
    return value, resample(strengths, units, max(len(given), k * k), resampling.resamples, resampling.seed), None


def count_wins(given: Preferences) -> tuple[csr_array, Floats]:
    """The wins of each judgement, of shape (n, systems²), and the wins that are added, of shape (systems, systems)."""
    k, n, (a, b) = len(given.systems), len(given), given.numbers
    cells = np.concatenate([a * k + b, b * k + a])
    shares = np.concatenate([given.outcomes, 1 - given.outcomes])
    added = np.zeros((k, k))
    added[a, b] = added[b, a] = 1 / (2 * (k - 1))
    return csr_array((shares, (np.tile(np.arange(n), 2), cells)), shape=(n, k * k)), added


def _test_pairs(given: Preferences, strengths: Floats, resampling: Resampling) -> Floats:
    """The adjusted p-value of each pair of systems, 1 where score and strengths contradict.

    NaN without strengths, and for two systems that were never compared: their strengths follow from others alone.
    """
    k, n, (a, b) = len(given.systems), len(given), given.numbers
    first, second = np.triu_indices(k, 1)
    if not len(strengths):
        return np.full(len(first), np.nan)
    counted, added = count_wins(given)
    wins = (np.ones(n) @ counted).reshape(k, k) + added
    of_inputs = csr_array((np.ones(n), (given.layout.inputs, np.arange(n))), shape=(given.layout.input_count, n))
    was_compared = added[first, second] > 0
    evidence = np.empty((given.layout.input_count, len(first)))
    sizes = np.empty(evidence.shape)
    at_once = max(1, BATCH // max(n, k * k))
    for start in range(0, len(first), at_once):
        pairs = slice(start, start + at_once)
        i, j = first[pairs], second[pairs]
        fitted = _fit_equal(wins, i, j)
        expected = expit(fitted[:, :, None] - fitted[:, None, :])
        contrast = np.zeros((len(i), k))
        contrast[np.arange(len(i)), i], contrast[np.arange(len(i)), j] = 1, -1
        weights = np.linalg.solve(find_information(wins + wins.T, expected) + 1 / k, contrast[..., None])[..., 0]
        score = (given.outcomes - expected[:, a, b]) * (weights[:, a] - weights[:, b])
        evidence[:, pairs] = of_inputs @ score.T
        sizes[:, pairs] = of_inputs @ np.abs(score).T
    evidence = np.where(np.abs(evidence) <= ROUNDING * sizes.max(axis=0, initial=0.0), 0.0, evidence)
    agrees = np.sign(evidence.sum(axis=0)) == np.sign(strengths[first] - strengths[second])
    evidence = np.where(agrees, evidence, 0.0)
    found = np.full(len(first), np.nan)
    names = [*dict.fromkeys(given.inputs)]
    by_name = sorted(range(len(names)), key=lambda i: names[i])  # the same swaps in any order of rows
    evidence = evidence[by_name][:, was_compared]
    fitted = (k - 2) / max(n, k)
    found[was_compared] = randomisation_p(evidence, resampling.resamples, resampling.seed, fitted)
    return found


def _fit_equal(wins: Floats, first: NDArray[np.intp], second: NDArray[np.intp]) -> Floats:
    """The strengths of shape (pairs, systems) with equally strong systems in each pair, first < second."""
    k, pairs = len(wins), np.arange(len(first))
    merge = np.zeros((len(first), k, k - 1))  # the systems, of which the pair is one
    places = np.arange(k) - (np.arange(k) >= second[:, None])
    places[pairs, second] = first
    merge[pairs[:, None], np.arange(k), places] = 1
    merged = merge.swapaxes(1, 2) @ wins @ merge
    merged[pairs, first, first] = 0
    return (merge @ fit_strengths(merged)[..., None])[..., 0]


def _count(outcomes: Floats, layout: Layout) -> tuple[int, int, int, int, Estimate]:
    """Number, wins, ties, losses and win rate of outcomes of shape (n,); NaN is left out."""
    kept = ~np.isnan(outcomes)
    found = outcomes[kept]
    wins, ties, losses = (int((np.sign(found - 0.5) == side).sum()) for side in (1, 0, -1))
    rate = share_interval(found, restrict(layout, kept)) if len(found) else Estimate.undefined(UNCOMPARED)
    return len(found), wins, ties, losses, rate
