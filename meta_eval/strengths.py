"""Bradley-Terry strengths: how strong systems are, judged by preferences, and which of them the tests separate.

Strengths are those of Bradley & Terry (1952), "Rank Analysis of Incomplete Block Designs": system i is preferred to j
with the odds exp(s_i - s_j). A tie is half a win of each system. For each compared pair of k systems, 1/(k - 1) of a
tie is added, so that a system that always wins has a finite strength. For two systems the difference of strengths is
then the log odds log((wins + 1/2) / (losses + 1/2)), which has the smallest bias (Firth 1993). A whole tie for each
pair of many systems would outweigh few judgements: the strengths of 20 systems with 200 judgements would be half as far
apart.

An input adds its part of the score, times the inverse of Fisher's information, to the errors of strengths (sandwich);
the added ties are pseudo-units (`meta_eval.estimates`). Tests are score tests: the strengths are fitted as if the two
systems of a pair were equally strong. If they are, the evidence of an input for one of them (its part of the efficient
score) may have either sign. For two systems this is the exact test that swaps outputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import expit

from meta_eval.design import Floats, Indices, Layout
from meta_eval.estimates import BATCH, Estimate, Estimates, clusters, estimate_share, flip_signs, gather
from meta_eval.preferences import Preferences

STEPS = 200  # of Newton's method; ten are the rule
UNCOMPARED = "the two systems were never compared"
ROUNDING = 1e-8  # of the parts of a score: what the fit of strengths leaves undecided


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
    # of Bradley & Terry, in log odds; their mean is 0
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
    # two-sided, that the difference is 0, by flips of inputs, adjusted for all pairs that were compared; NaN for others
    p_value: float


@dataclass(frozen=True)
class PreferenceRanking:
    """The systems, the strongest first, and all pairs of them."""

    systems: tuple[PreferredSystem, ...]
    pairs: tuple[PreferredPair, ...]


def fit_strengths(wins: Floats) -> Floats:
    """Fits Bradley-Terry strengths with mean 0, of shape (rows, systems), by Newton's method on the likelihood.

    `wins` says how often each system beats each other system, of shape (rows, systems, systems). Each system needs a
    chain of wins and a chain of losses to every other one: then the likelihood has a maximum.

    >>> fit_strengths(np.array([[[0.0, 3.0], [1.0, 0.0]]])).round(4).tolist()  # their difference is log 3
    [[0.5493, -0.5493]]
    """
    games = wins + wins.swapaxes(1, 2)
    systems = wins.shape[-1]
    strengths = np.zeros(wins.shape[:2])
    enough = 1e-10 * games.sum(axis=(1, 2)).max(initial=1.0)
    for _ in range(STEPS):
        expected = expect_wins(strengths)
        gradient = (wins - games * expected).sum(axis=2)
        if np.abs(gradient).max(initial=0.0) < enough:
            break
        information = find_information(games, expected) + 1 / systems  # 1/systems: the mean stays 0
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        strengths += step / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1.0)
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


def rank_by_preferences(given: Preferences, seed: int = 0, level: float = 0.05) -> PreferenceRanking:
    """Ranks systems by win rates and strengths, and tests all pairs; judgements without an outcome are left out.

    Strengths are NaN with a reason if no chain of comparisons links two systems.
    """
    given = given.take(~np.isnan(given.outcomes))
    names = given.systems
    strengths = estimate_strengths(given)
    p_values = find_p_values(given, strengths.values, seed)
    first, second = np.triu_indices(len(names), 1)
    differences = strengths.subtract(first, second).show()
    pairs: list[PreferredPair] = []
    tested: dict[tuple[str, str], float] = {}
    for (name, other), p_value, difference in zip(
        combinations(names, 2),
        p_values.tolist(),
        differences,
        strict=True,
    ):
        wins = count_outcomes(given.between(name, other), given.layout)
        pairs.append(
            PreferredPair(
                *wins,
                name,
                other,
                difference,
                p_value,
            )
        )
        tested[name, other] = p_value
    cluster = dict.fromkeys(names, "–")
    if not np.isnan(strengths.values).any():
        by_name = dict(zip(names, strengths.values.tolist(), strict=True))
        cluster = clusters(by_name, tested, level)
    systems: list[PreferredSystem] = []
    for name, strength in zip(names, strengths.show(), strict=True):
        wins = count_outcomes(given.of(name), given.layout)
        systems.append(PreferredSystem(*wins, name, strength, cluster[name]))
    systems.sort(key=lambda system: system.win_rate.value, reverse=True)
    systems.sort(key=lambda system: np.nan_to_num(system.strength.value), reverse=True)
    return PreferenceRanking(tuple(systems), tuple(pairs))


def count_wins(given: Preferences) -> tuple[Floats, Floats]:
    """Counts how often each system beats each other one, and the wins that are added; shapes (systems, systems)."""
    k = len(given.systems)
    first, second = given.numbers
    wins = np.zeros((k, k))
    np.add.at(wins, (first, second), given.outcomes)
    np.add.at(wins, (second, first), 1 - given.outcomes)
    added = np.zeros((k, k))
    added[first, second] = added[second, first] = 1 / (2 * (k - 1))
    return wins, added


def estimate_strengths(given: Preferences) -> Estimates:
    """Estimates the strengths of systems, with mean 0; all judgements have an outcome.

    NaN with a reason if no chain of comparisons links two systems.
    """
    # with scipy's solvers, which other verbs never need
    from scipy.sparse.csgraph import connected_components

    k = len(given.systems)
    layout = given.layout
    wins, added = count_wins(given)
    first, second = given.numbers
    used = gather(np.ones((len(given), 1)), layout)[:, 0] > 0
    parts, groups = connected_components(added, directed=False)
    if parts > 1:
        one = given.systems[int(np.argmax(groups == 0))]
        other = given.systems[int(np.argmax(groups == 1))]
        unknown = np.full(k, np.nan)
        return Estimates(
            shown=unknown,
            values=unknown,
            parts=np.zeros((len(used), k)),
            unseen=np.zeros((0, k)),
            used=used,
            reason=f"no chain of comparisons links {one} and {other}",
        )
    wins += added
    strengths = fit_strengths(wins[None])
    expected = expect_wins(strengths)
    information = find_information(wins + wins.T, expected)
    inverse = np.linalg.inv(information + 1 / k)[0]  # 1/k: the mean strength is 0
    expected = expected[0]
    surprise = given.outcomes - expected[first, second]
    score = np.zeros((len(given), k))
    rows = np.arange(len(given))
    score[rows, first] = surprise
    score[rows, second] -= surprise
    pairs = np.argwhere(np.triu(added) > 0)
    ties = np.zeros((2 * len(pairs), k))  # the scores of a win and a loss of each pair
    for row, (i, j) in enumerate(pairs):
        ties[2 * row, [i, j]] = [1 - expected[i, j], expected[i, j] - 1]
        ties[2 * row + 1, [i, j]] = [-expected[i, j], expected[i, j]]
    return Estimates(
        shown=strengths[0],
        values=strengths[0],
        parts=gather(score, layout) @ inverse,
        unseen=math.sqrt(added.max()) * ties @ inverse,
        used=used,
    )


def find_p_values(given: Preferences, strengths: Floats, seed: int = 0) -> Floats:
    """Computes the adjusted p-value of each pair of systems; 1 if the score and the strengths contradict each other.

    NaN without strengths, and for two systems that were never compared with each other.
    """
    k = len(strengths)
    first, second = np.triu_indices(k, 1)
    p_values = np.full(len(first), np.nan)
    if np.isnan(strengths).any():
        return p_values
    wins, added = count_wins(given)
    evidence = collect_evidence(given, wins + added, first, second)
    differences = strengths[first] - strengths[second]
    agrees = np.sign(evidence.sum(axis=0)) == np.sign(differences)
    was_compared = added[first, second] > 0
    fitted = (k - 2) / max(len(given), k)
    shares = np.where(agrees, evidence, 0.0)[:, was_compared]
    p_values[was_compared] = flip_signs(shares, seed, fitted=fitted)
    return p_values


def collect_evidence(
    given: Preferences,
    wins: Floats,
    first: Indices,
    second: Indices,
) -> Floats:
    """Computes the evidence of each unit for the first system of each pair, of shape (units, pairs).

    It is the unit's part of the efficient score for the difference of both strengths, fitted as if these were equal.
    """
    k = len(wins)
    a, b = given.numbers
    blocks = []
    at_once = max(1, BATCH // max(len(given), k**2))
    for start in range(0, len(first), at_once):
        pairs = slice(start, start + at_once)
        fitted = fit_equal(wins, first[pairs], second[pairs])
        expected = expect_wins(fitted)
        rows = np.arange(len(fitted))
        contrast = np.zeros(fitted.shape)
        contrast[rows, first[pairs]] = 1
        contrast[rows, second[pairs]] = -1
        information = find_information(wins + wins.T, expected) + 1 / k
        weights = np.linalg.solve(information, contrast[..., None])[..., 0]
        surprise = given.outcomes - expected[:, a, b]
        score = (surprise * (weights[:, a] - weights[:, b])).T
        evidence = gather(score, given.layout)
        sizes = gather(np.abs(score), given.layout).max(axis=0, initial=0.0)
        blocks.append(np.where(np.abs(evidence) <= ROUNDING * sizes, 0.0, evidence))
    return np.hstack(blocks)


def fit_equal(wins: Floats, first: Indices, second: Indices) -> Floats:
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
    known = outcomes[~np.isnan(outcomes)]
    wins = int((known > 0.5).sum())
    losses = int((known < 0.5).sum())
    ties = len(known) - wins - losses
    rate = Estimate.undefined(UNCOMPARED)
    if len(known):
        rate = estimate_share(outcomes, layout).only
    return len(known), wins, ties, losses, rate
