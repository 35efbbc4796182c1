"""Length control of preferences: how often a system would be preferred if both outputs had the same length.

The model is that of AlpacaEval 2 (Dubois et al. 2024, "Length-Controlled AlpacaEval"), a logistic regression of the
preference q of system a over b on an input x, with the standardised difference d of lengths:

    logit q = theta_a - theta_b + (phi_a + phi_b) tanh(d) + (psi_a - psi_b) gamma_x,

where the difficulty gamma_x of an input counts only if one baseline is in every pair, beside `FEWEST_SYSTEMS` others.
It is fitted first, with psi = 1 for all of them, as in the paper. A length-controlled win rate is the mean of q at a
difference of 0.

Departures: the program of the paper takes difficulties that were fitted to all models of its leaderboard, chooses an
L1 penalty by cross-validation and adds pairs of two models that were asked for long and short answers; a ridge penalty
stands in place of these. The paper's model has one baseline; phi_a + phi_b extends it to any pairs. Intervals are over
inputs (sandwich variance and Student's t); they take the difficulties as known, as the paper does, and cover .92 to .94
of simulated studies of 10 and 27 systems.

Where one of two systems is longer nearly everywhere, the penalty decides what is the length's and what the system's.
There is no figure if the lengths multiply the variance of a system's log odds by more than 1/`LEAST_LEFT` (the variance
inflation factor): of two systems, x with 10 to 150 characters more than y has none, and intervals that are shown cover
.91 or more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack
from scipy.special import expit

from meta_eval.bootstrap import FEWEST_UNITS, NO_SPREAD, Estimate, Floats, explain_few, t_interval
from meta_eval.intervals import keep_share
from meta_eval.preferences import Preferences

PENALTY = 1.0  # half of it is the weight of the squares of phi, psi and gamma
FREE = 1e-6  # the penalty of theta, whose mean is not determined
FEWEST_SYSTEMS = 10  # beside the baseline, from which difficulties are fitted; those of fewer are too noisy
LEAST_LEFT = 0.25  # of the information about a system, beside lengths; chosen by simulation
CONFOUNDED = "the effect of length cannot be separated from that of the system, as one is longer nearly everywhere"
STEPS = 50  # of Newton's method


@dataclass(frozen=True)
class Controlled:
    """How a system is preferred, and how it would be with outputs of equal length."""

    n: int
    # as judged, at equal lengths, and the second minus the first; ties count half
    win_rate: Estimate
    controlled: Estimate
    change: Estimate
    # at equal lengths, in log odds with mean 0 over all with figures: theta, or those against the baseline
    strength: Estimate


def control_length(given: Preferences, lengths: Floats) -> dict[str, Controlled]:
    """The win rates and strengths of each system at equal lengths; judgements without an outcome are left out.

    `lengths` are those of both outputs, of shape (n, 2). No intervals below `FEWEST_UNITS` inputs. Empty if no lengths
    differ, so that there is nothing to control.
    """
    kept = ~np.isnan(given.outcomes) & ~np.isnan(lengths).any(axis=1)
    given, lengths = given.take(kept), lengths[kept]
    k, n, (a, b) = len(given.systems), len(given), given.numbers
    signed = _spread(n, k, a, np.ones(n)) - _spread(n, k, b, np.ones(n))
    gaps = _standardise(lengths[:, 0] - lengths[:, 1], np.minimum(a, b) * k + np.maximum(a, b))
    if not gaps.any():
        return {}
    longer = _spread(n, k, a, gaps) + _spread(n, k, b, gaps)
    y, inputs, m = given.outcomes, given.layout.inputs, given.layout.input_count
    others = [signed, longer]
    baselines = set(range(k)).intersection(*({i, j} for i, j in zip(a.tolist(), b.tolist(), strict=True)))
    is_star = k > FEWEST_SYSTEMS and len(baselines) == 1
    if is_star:
        sign = np.where(b == min(baselines), 1.0, -1.0)
        first = _join(signed, longer, _spread(n, m, inputs, sign))
        penalties = np.repeat([FREE, PENALTY], [k, k + m])
        difficulty = fit_logistic(first, y, penalties)[2 * k :]
        others.append(diags_array(difficulty[inputs]) @ signed)
    design = _join(*others)
    penalties = np.repeat([FREE, PENALTY], [k, k * (len(others) - 1)])
    weights = fit_logistic(design, y, penalties)
    fitted = expit(design @ weights)
    equal = _join(signed, csr_array((n, k)), *others[2:])
    asked = expit(equal @ weights)
    bread = np.linalg.inv(_curvature(design, fitted, penalties))
    free, rest = _curvature(design, fitted, np.full(len(weights), FREE)), np.r_[:k, 2 * k : len(weights)]
    variance, without_lengths = np.linalg.inv(free), np.linalg.inv(free[np.ix_(rest, rest)])
    of_inputs = csr_array((np.ones(n), (inputs, np.arange(n))), shape=(m, n))
    moved = (of_inputs @ diags_array(y - fitted) @ design).toarray() @ bread  # the weights by input, (inputs, weights)

    def estimate(value: float, parts: Floats) -> Estimate:
        if m < FEWEST_UNITS:
            return Estimate.undefined(explain_few("inputs", m), value)
        return t_interval(value, float((parts**2).sum()) * m / (m - 1), m - 1)

    strengths, by_input, reasons = weights[:k].copy(), moved[:, :k].copy(), list[str | None]()
    found: dict[str, tuple[int, Estimate, Estimate, Estimate]] = {}
    for i, name in enumerate(given.systems):
        side = np.where(a == i, 1.0, np.where(b == i, -1.0, 0.0))
        own, number = np.abs(side), int(np.abs(side).sum())
        raw, at_equal = (np.where(side < 0, 1 - each, each) for each in (y, asked))
        rate, controlled = (float(own @ each) / number for each in (raw, at_equal))
        slopes = (equal.T @ (side * asked * (1 - asked))) / number
        of_raw = of_inputs @ (own * (raw - rate)) / number
        of_equal = of_inputs @ (own * (at_equal - controlled)) / number + moved @ slopes
        left = slopes[rest] @ without_lengths @ slopes[rest] / (slopes @ variance @ slopes)
        reasons.append(CONFOUNDED if left < LEAST_LEFT else NO_SPREAD if np.ptp(raw[side != 0]) == 0 else None)
        if is_star:  # theta is the strength on inputs of one difficulty: take the odds against the baseline
            odds, slope = math.log(controlled / (1 - controlled)), controlled * (1 - controlled)
            strengths[i], by_input[:, i] = (0.0, 0.0) if i in baselines else (odds, of_equal / slope)
        change = estimate(controlled - rate, of_equal - of_raw)
        as_judged = keep_share(estimate(rate, of_raw))
        found[name] = (number, as_judged, keep_share(estimate(controlled, of_equal)), change)
    known = np.array([reason is None for reason in reasons])
    shares = known / max(known.sum(), 1)
    strengths -= strengths @ shares
    by_input -= (by_input @ shares)[:, None]
    return {
        name: Controlled(*each, estimate(float(strengths[i]), by_input[:, i]))
        if reason is None
        else Controlled(*each[:2], *[Estimate.undefined(reason)] * 3)
        for i, ((name, each), reason) in enumerate(zip(found.items(), reasons, strict=True))
    }


def fit_logistic(design: csr_array, y: Floats, penalties: Floats) -> Floats:
    """The weights of a logistic regression of y in [0, 1] with a ridge penalty for each, by Newton's method."""
    weights = np.zeros(len(penalties))
    for _ in range(STEPS):
        expected = expit(design @ weights)
        gradient = design.T @ (y - expected) - penalties * weights
        step = np.linalg.solve(_curvature(design, expected, penalties), gradient)
        weights += step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-9:
            break
    return weights


def _curvature(design: csr_array, expected: Floats, penalties: Floats) -> Floats:
    return (design.T @ diags_array(expected * (1 - expected)) @ design).toarray() + np.diag(penalties)


def _spread(n: int, columns: int, at: np.ndarray, values: Floats) -> csr_array:
    """A matrix with one value in each of n rows."""
    return csr_array((values, (np.arange(n), at)), shape=(n, columns))


def _join(*columns: csr_array) -> csr_array:
    return csr_array(hstack(columns))


def _standardise(gaps: Floats, pairs: np.ndarray) -> Floats:
    """tanh of the differences of lengths over their standard deviation within each pair of systems that has one."""
    found = np.zeros(len(gaps))
    for pair in np.unique(pairs):
        there = pairs == pair
        if there.sum() > 1:
            spread = float(gaps[there].std(ddof=1))
            found[there] = np.tanh(gaps[there] / spread) if spread else np.sign(gaps[there])
    return found
