"""Bradley-Terry strengths: how strong systems are, judged by preferences, and which of them the tests separate.

Strengths are those of Bradley & Terry (1952), "Rank Analysis of Incomplete Block Designs": system i is preferred to j
with the odds exp(s_i - s_j). A tie is half a win of each system. For each compared pair of k systems, 1/(k - 1) of a
tie is added, so that a system that always wins has a finite strength. For two systems the difference of strengths is
then the log odds log((wins + 1/2) / (losses + 1/2)), which has the smallest bias (Firth 1993). A whole tie for each
pair of many systems would outweigh few judgements: the strengths of 20 systems with 200 judgements would be half as far
apart.

Intervals draw inputs and fit the strengths again. Tests are score tests: the strengths are fitted as if the two systems
of a pair were equally strong. If they are, the evidence of an input for one of them (its part of the efficient score)
may have either sign. For two systems this is the exact test that swaps outputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, expit

from meta_eval.bootstrap import BATCH, FEWEST_UNITS, Estimate, Floats, estimate_from, explain_few, resample
from meta_eval.games import Games
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
    """How often a system is preferred: its wins, ties and losses, and its win rate."""

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
    """A test whether strengths fit the comparisons of single pairs. Strengths put the systems into one order."""

    # of Pearson's chi-squared test over pairs, with the variance over inputs; NaN where too few pairs can be tested
    p_value: float
    # the pair that the strengths describe worst, and the win rate of its first system that they expect
    worst: tuple[str, str] | None = None
    expected: float = math.nan


@dataclass(frozen=True)
class PreferenceRanking:
    """The systems, the strongest first, all pairs of them, and how well strengths fit the data."""

    systems: tuple[PreferredSystem, ...]
    pairs: tuple[PreferredPair, ...]
    fit: Fit


def fit_strengths(wins: Floats) -> Floats:
    """Fits Bradley-Terry strengths with mean 0, of shape (rows, systems), by Newton's method on the likelihood.

    `wins` says how often each system beats each other system, of shape (rows, systems, systems). Each system needs a
    chain of wins and a chain of losses to every other one. With such chains the likelihood has a maximum, unless wins
    are below 0; a row without a maximum is NaN.

    >>> fit_strengths(np.array([[[0.0, 3.0], [1.0, 0.0]]])).round(4).tolist()  # their difference is log 3
    [[0.5493, -0.5493]]
    """
    games = wins + wins.swapaxes(1, 2)
    systems = wins.shape[-1]
    strengths = np.zeros(wins.shape[:2])
    enough = 1e-10 * games.sum(axis=(1, 2)).max(initial=1.0)
    is_lost = np.zeros(len(wins), dtype=np.bool_)
    for _ in range(STEPS):
        is_lost |= np.abs(strengths).max(axis=1, initial=0.0) > MOST_STRENGTH
        strengths[is_lost] = 0.0
        wins = np.where(is_lost[:, None, None], games / 2, wins)
        expected = expect_wins(strengths)
        gradient = (wins - games * expected).sum(axis=2)
        if np.abs(gradient).max(initial=0.0) < enough:
            break
        information = find_information(games, expected) + 1 / systems  # 1/systems: the mean stays 0
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        strengths += step / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1.0)
    strengths[is_lost] = np.nan
    return strengths


def expect_wins(strengths: Floats) -> Floats:
    """Computes expected win rates between systems (rows, systems, systems) from strengths (rows, systems)."""
    return expit(strengths[:, :, None] - strengths[:, None, :])


def find_information(games: Floats, expected: Floats) -> Floats:
    """Computes Fisher's information about strengths; all shapes are (rows, systems, systems)."""
    information = -games * expected * (1 - expected)
    diagonal = np.arange(information.shape[-1])
    information[:, diagonal, diagonal] = -information.sum(axis=2)
    return information


def rank_by_preferences(
    given: Preferences,
    resampling: Resampling,
    level: float = 0.05,
) -> PreferenceRanking:
    """Ranks systems by win rates and strengths, and tests all pairs; judgements without an outcome are left out.

    There is no interval of strengths below `FEWEST_UNITS` inputs, nor for a system with fewer than `FEWEST_ON_A_SIDE`
    wins or losses, whose resamples vary only by the added ties. The mean strength of all other systems is 0; such a
    system is left out of this mean, because its error would move all other strengths. Strengths are NaN with a reason
    if no chain of comparisons links two systems.
    """
    given = given.take(~np.isnan(given.outcomes))
    names = given.systems
    games = Games.of(given)
    strengths = estimate_strengths(given, games, resampling)
    p_values = find_p_values(given, games, strengths.values, resampling)
    pairs: list[PreferredPair] = []
    tested: dict[tuple[str, str], float] = {}
    for (name, other), p_value in zip(combinations(names, 2), p_values.tolist(), strict=True):
        wins = count_outcomes(given.between(name, other), given.layout)
        difference = strengths.compare(name, other)
        pairs.append(PreferredPair(*wins, name, other, difference, p_value))
        tested[name, other] = p_value
    cluster = dict.fromkeys(names, "–")
    if strengths.is_known:
        by_name = dict(zip(names, strengths.values.tolist(), strict=True))
        cluster = clusters(by_name, tested, level)
    systems: list[PreferredSystem] = []
    for name in names:
        wins = count_outcomes(given.of(name), given.layout)
        strength = strengths.estimate(name)
        systems.append(PreferredSystem(*wins, name, strength, cluster[name]))
    systems.sort(key=lambda system: system.win_rate.value, reverse=True)
    systems.sort(key=lambda system: np.nan_to_num(system.strength.value), reverse=True)
    fit = measure_fit(given, strengths.values)
    return PreferenceRanking(tuple(systems), tuple(pairs), fit)


@dataclass(frozen=True, eq=False)
class Strengths:
    """The strengths of systems, with those of resamples of the inputs."""

    names: tuple[str, ...]
    # of shape (systems,), and of shape (resamples, systems); empty where they are not known
    values: Floats
    draws: Floats
    inputs: int
    # why there are no intervals, else None
    reason: str | None
    # by system, why it has no interval
    extreme: dict[str, str]

    @property
    def is_known(self) -> bool:
        return len(self.values) > 0

    @cached_property
    def is_usual(self) -> NDArray[np.bool_]:
        """A mask of the systems whose strength has an interval."""
        return np.array([name not in self.extreme for name in self.names])

    @cached_property
    def centre(self) -> float:
        """The number subtracted from each strength, so that the mean strength of the systems with intervals is 0."""
        if not self.is_known or self.is_usual.sum() < 2:
            return 0.0
        return float(self.values[self.is_usual].mean())

    @cached_property
    def centre_of_draws(self) -> Floats:
        """What is subtracted from each strength in each resample; see `centre`."""
        if not self.is_known or self.is_usual.sum() < 2:
            return np.zeros(len(self.draws))
        return self.draws[:, self.is_usual].mean(axis=1)

    def estimate(self, name: str) -> Estimate:
        """Estimates the strength of a system. The mean strength of the systems with intervals is 0."""
        place = self.names.index(name)
        value = math.nan
        if self.is_known:
            value = float(self.values[place] - self.centre)
        why = self.reason or self.extreme.get(name)
        if why is None and self.is_usual.sum() < 2:
            why = next(iter(self.extreme.values()))
        if why:
            return Estimate.undefined(why, value)
        centred = self.draws[:, place] - self.centre_of_draws
        return estimate_from(value, centred, self.inputs)

    def compare(self, name: str, other: str) -> Estimate:
        """Estimates the strength of a system minus the strength of another system."""
        place = self.names.index(name)
        other_place = self.names.index(other)
        value = math.nan
        if self.is_known:
            value = float(self.values[place] - self.values[other_place])
        why = self.reason or self.extreme.get(name) or self.extreme.get(other)
        if why:
            return Estimate.undefined(why, value)
        differences = self.draws[:, place] - self.draws[:, other_place]
        return estimate_from(value, differences, self.inputs)


def estimate_strengths(
    given: Preferences,
    games: Games,
    resampling: Resampling,
) -> Strengths:
    """Fits the strengths of the systems, and those of resamples of inputs."""
    # with scipy's solvers, which other verbs never need
    from scipy.sparse.csgraph import connected_components

    names = given.systems
    reasons = {name: explain_extreme(name, given.of(name)) for name in names}
    extreme = {name: why for name, why in reasons.items() if why is not None}
    units = given.layout.input_count
    values = np.empty(0)
    draws = np.empty((0, len(names)))
    reason: str | None = None
    parts, labels = connected_components(games.added, directed=False)
    if parts > 1:
        one = names[int(np.argmax(labels == 0))]
        other = names[int(np.argmax(labels == 1))]
        reason = f"no chain of comparisons links {one} and {other}"
    else:

        def fit(weights: Floats) -> Floats:
            return fit_strengths(games.add_wins(weights) + games.added)

        values = fit(np.ones((1, units)))[0]
        if units < FEWEST_UNITS:
            reason = explain_few("inputs", units)
        else:
            size = max(len(given), len(names) ** 2)
            draws = resample(fit, units, size, resampling.resamples, resampling.seed)
    return Strengths(
        names=names,
        values=values,
        draws=draws,
        inputs=units,
        reason=reason,
        extreme=extreme,
    )


def explain_extreme(name: str, outcomes: Floats) -> str | None:
    """Returns the reason why the strength of a system with these outcomes has no interval; None if it has one.

    An outcome is NaN if the judgement does not compare the system.
    """
    known = outcomes[~np.isnan(outcomes)]
    counts = {"wins": float(known.sum()), "losses": float((1 - known).sum())}
    for what, count in counts.items():
        if count < FEWEST_ON_A_SIDE:
            rule = f"an interval of its strength needs at least {FEWEST_ON_A_SIDE}"
            return f"{name} has {count:g} {what} (ties count half): {rule}"
    return None


def measure_fit(given: Preferences, strengths: Floats) -> Fit:
    """Tests whether the win rates of pairs follow strengths (systems,), by Pearson's chi-squared test over pairs.

    Pairs with at least `FEWEST_EXPECTED` expected wins and losses count. The variance of their wins is the one over
    inputs, but at least the binomial variance without ties.
    """
    if not len(strengths):
        return Fit(math.nan)
    first, second = given.numbers
    chi_squared = 0.0
    used = 0
    farthest = 0.0
    worst: tuple[str, str] | None = None
    worst_rate = math.nan
    for one, other in combinations(range(len(strengths)), 2):
        as_asked = (first == one) & (second == other)
        turned = (first == other) & (second == one)
        rows = np.flatnonzero(as_asked | turned)
        rate = float(expit(strengths[one] - strengths[other]))
        if len(rows) * min(rate, 1 - rate) < FEWEST_EXPECTED:
            continue
        outcomes = given.outcomes[rows]
        won = np.where(as_asked[rows], outcomes, 1 - outcomes)
        distance = measure_distance(won, rate, given.layout.inputs[rows])
        chi_squared += distance
        used += 1
        if distance > farthest:
            farthest = distance
            worst = given.systems[one], given.systems[other]
            worst_rate = rate
    freedom = used - len(strengths) + 1
    if freedom < 1:
        return Fit(math.nan)
    return Fit(float(chdtrc(freedom, chi_squared)), worst, worst_rate)


def measure_distance(
    won: Floats,
    rate: float,
    inputs: NDArray[np.intp],
) -> float:
    """Computes the squared difference of wins from the number that a win rate expects, divided by their variance."""
    left = won - rate
    by_input = np.bincount(inputs, left)
    binomial = rate * (1 - rate) * float((won != 0.5).sum())
    variance = max(float((by_input**2).sum()), binomial)
    return float(left.sum()) ** 2 / variance if variance > 0 else 0.0


def find_p_values(
    given: Preferences,
    games: Games,
    strengths: Floats,
    resampling: Resampling,
) -> Floats:
    """Computes the adjusted p-value of each pair of systems; 1 if the score and the strengths contradict each other.

    NaN without strengths, and for two systems that were never compared with each other.
    """
    first, second = np.triu_indices(games.systems, 1)
    p_values = np.full(len(first), np.nan)
    if not len(strengths):
        return p_values
    evidence = collect_evidence(games, first, second)
    differences = strengths[first] - strengths[second]
    agrees = np.sign(games.times @ evidence) == np.sign(differences)
    evidence = np.where(agrees, evidence, 0.0)
    was_compared = games.added[first, second] > 0
    names = [*dict.fromkeys(given.inputs)]
    by_name = sorted(range(len(names)), key=lambda place: names[place])  # the same swaps in any order of rows
    p_values[was_compared] = randomisation_p(
        evidence[:, was_compared],
        resampling.resamples,
        resampling.seed,
        fitted=(games.systems - 2) / max(len(given), games.systems),
        rows=games.kind_of[by_name],
    )
    return p_values


def collect_evidence(
    games: Games,
    first: NDArray[np.intp],
    second: NDArray[np.intp],
) -> Floats:
    """Computes the evidence of an input of each kind for the first system of each pair, of shape (kinds, pairs).

    It is the input's part of the efficient score for the difference of both strengths, fitted as if these were equal.
    """
    wins = games.wins + games.added
    evidence = np.empty((games.kind_count, len(first)))
    sizes = np.empty(evidence.shape)
    at_once = max(1, BATCH // max(len(games.outcomes), games.systems**2))
    for start in range(0, len(first), at_once):
        pairs = slice(start, start + at_once)
        fitted = fit_equal(wins, first[pairs], second[pairs])
        expected = expect_wins(fitted)
        rows = np.arange(len(fitted))
        contrast = np.zeros(fitted.shape)
        contrast[rows, first[pairs]] = 1
        contrast[rows, second[pairs]] = -1
        information = find_information(wins + wins.T, expected) + 1 / games.systems
        weights = np.linalg.solve(information, contrast[..., None])[..., 0]
        surprise = games.outcomes - expected[:, games.first, games.second]
        score = surprise * (weights[:, games.first] - weights[:, games.second])
        evidence[:, pairs] = games.add_by_kind(score.T)
        sizes[:, pairs] = games.add_by_kind(np.abs(score).T)
    is_rounding = np.abs(evidence) <= ROUNDING * sizes.max(axis=0, initial=0.0)
    return np.where(is_rounding, 0.0, evidence)


def fit_equal(
    wins: Floats,
    first: NDArray[np.intp],
    second: NDArray[np.intp],
) -> Floats:
    """Fits, for each pair, strengths in which its two systems are equally strong; returns shape (pairs, systems).

    In each pair the index `first` is below `second`.
    """
    systems = len(wins)
    pairs = np.arange(len(first))
    merge = np.zeros((len(first), systems, systems - 1))  # the systems, of which the pair is one
    places = np.arange(systems) - (np.arange(systems) >= second[:, None])
    places[pairs, second] = first
    merge[pairs[:, None], np.arange(systems), places] = 1
    merged = merge.swapaxes(1, 2) @ wins @ merge
    merged[pairs, first, first] = 0
    return (merge @ fit_strengths(merged)[..., None])[..., 0]


def count_outcomes(outcomes: Floats, layout: Layout) -> tuple[int, int, int, int, Estimate]:
    """Counts outcomes of shape (n,), leaving out NaN: returns number, wins, ties, losses and win rate."""
    kept = ~np.isnan(outcomes)
    known = outcomes[kept]
    wins = int((known > 0.5).sum())
    losses = int((known < 0.5).sum())
    ties = len(known) - wins - losses
    rate = Estimate.undefined(UNCOMPARED)
    if len(known):
        rate = share_interval(known, restrict(layout, kept))
    return len(known), wins, ties, losses, rate
