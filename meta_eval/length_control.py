"""Length control of preferences: how often a system would be preferred if both outputs had the same length.

The model is that of AlpacaEval 2 (Dubois et al. 2024, "Length-Controlled AlpacaEval"), a logistic regression of the
preference q of system a over b on an input x, with the standardised difference d of lengths:

    logit q = theta_a - theta_b + (phi_a + phi_b) tanh(d) + (psi_a - psi_b) gamma_x,

where the difficulty gamma_x of an input is used only if all pairs have one baseline, with `FEWEST_SYSTEMS` or more
other systems. It is fitted first, with psi = 1 for all of them, as in the paper. A length-controlled win rate is the
mean of q at a difference of 0.

Departures: the program of the paper takes difficulties that were fitted to all models of its leaderboard, chooses an L1
penalty by cross-validation and adds pairs of two models that were asked for long and short answers; a ridge penalty
replaces these. The paper's model has one baseline; phi_a + phi_b extends it to any pairs. Intervals are over inputs
(sandwich variance and Student's t). They take the difficulties as known, as the paper does, and cover .92 to .94 of
simulated studies of 10 and 27 systems.

If one of two systems is longer nearly everywhere, the penalty decides which part of the preference is due to length and
which to the system. There is no figure if the lengths multiply the variance of a system's log odds by more than
1/`LEAST_LEFT` (the variance inflation factor). For two systems, one 10 to 150 characters longer than the other, there
is no figure; intervals that are shown cover .91 or more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack
from scipy.special import expit

from meta_eval.design import Floats, Indices, Mask, lay_out
from meta_eval.estimates import NO_SPREAD, Estimate, estimate_from_parts
from meta_eval.preferences import Preferences

PENALTY = 1.0  # half of it is the weight of the squares of phi, psi and gamma
FREE = 1e-6  # the penalty of theta, whose mean is not determined
FEWEST_SYSTEMS = 10  # beside the baseline, from which difficulties are fitted; those of fewer are too noisy
LEAST_LEFT = 0.25  # of the information about a system, beside lengths; chosen by simulation
CONFOUNDED = "the effect of length cannot be separated from that of the system, as one is longer nearly everywhere"
STEPS = 50  # of Newton's method


@dataclass(frozen=True)
class Controlled:
    """The win rate of a system, as judged and at equal lengths of the outputs; ties count half."""

    n: int
    win_rate: Estimate
    controlled: Estimate


def control_length(given: Preferences, lengths: Floats) -> dict[str, Controlled]:
    """Estimates the win rate of each system at equal lengths; judgements without an outcome are left out.

    `lengths` are those of both outputs, of shape (n, 2). Empty if no lengths differ, because then there is nothing to
    control for. Every figure is a function of the weights of the model and of sums over inputs, so that its error is a
    sum of what each input adds.
    """
    kept = ~np.isnan(given.outcomes) & ~np.isnan(lengths).any(axis=1)
    given = given.take(kept)
    tanh_d = _standardise_gaps(given, lengths[kept])
    if not tanh_d.any():
        return {}
    model = _fit_model(given, tanh_d)
    side = model.side
    is_compared = csr_array(abs(side))
    counts = is_compared.sum(axis=0)
    rows_of_inputs = csr_array(model.of_inputs @ is_compared).toarray()

    def average(outcomes: Floats) -> tuple[Floats, Floats]:
        """The win rates of systems, (k,), and what each input adds to their errors, (m, k)."""
        leads = csr_array(diags_array(outcomes - 0.5) @ side)
        rates = 0.5 + leads.sum(axis=0) / counts
        by_input = csr_array(model.of_inputs @ leads).toarray()
        return rates, (by_input - rows_of_inputs * (rates - 0.5)) / counts

    rates, rate_parts = average(given.outcomes)
    controlled, controlled_parts = average(model.q)
    # the slopes of the controlled rates by the weights: their errors are those of the drawn inputs, and of the weights
    variances = diags_array(model.q * (1 - model.q))
    slopes = (model.at_equal_lengths.T @ variances @ side).toarray() / counts
    controlled_parts = controlled_parts + model.parts @ slopes
    outcomes = [given.of(name) for name in given.systems]
    are_equal = np.array([np.nanmin(won) == np.nanmax(won) for won in outcomes])
    reasons = np.where(_are_confounded(model, slopes), CONFOUNDED, np.where(are_equal, NO_SPREAD, ""))
    inputs = lay_out(given.layout.input_count)
    found = estimate_from_parts(
        np.concatenate([rates, controlled]),
        np.hstack([rate_parts, controlled_parts]),
        inputs,
    ).show()
    k = len(given.systems)
    results: dict[str, Controlled] = {}
    for i, (name, reason) in enumerate(zip(given.systems, reasons.tolist(), strict=True)):
        results[name] = Controlled(
            n=int(counts[i]),
            win_rate=_keep_share(found[i]),
            controlled=Estimate.undefined(reason) if reason else _keep_share(found[k + i]),
        )
    return results


@dataclass(frozen=True, eq=False)
class _Model:
    """The fitted model of k systems, n judgements and m inputs; w weights are thetas, phis and maybe psis."""

    # 1 for system a of a judgement, -1 for b, of shape (n, k)
    side: csr_array
    # the predictors at equal lengths, of shape (n, w), and the q that they give, of shape (n,)
    at_equal_lengths: csr_array
    q: Floats
    # which judgements answer each input, of shape (m, n), as ones
    of_inputs: csr_array
    # what each input adds to the errors of the weights, of shape (m, w)
    parts: Floats
    # the information about the weights, almost without a penalty
    information: Floats


def _fit_model(given: Preferences, tanh_d: Floats) -> _Model:
    """Fits thetas, phis and, against one baseline, psis; `tanh_d` has the shape (n,)."""
    n = len(given)
    k = len(given.systems)
    m = given.layout.input_count
    a, b = given.numbers
    inputs = given.layout.inputs
    of_thetas = _place(a, np.ones(n), columns=k) - _place(b, np.ones(n), columns=k)
    of_phis = _place(a, tanh_d, columns=k) + _place(b, tanh_d, columns=k)
    predictors = [of_thetas, of_phis]
    at_equal_lengths = [of_thetas, csr_array((n, k))]
    baseline = _find_baseline(given)
    if baseline is not None:
        gamma = _fit_difficulties(given, of_thetas, of_phis, baseline)
        of_psis = diags_array(gamma[inputs]) @ of_thetas
        predictors.append(of_psis)
        at_equal_lengths.append(of_psis)
    design = _join(*predictors)
    equal_design = _join(*at_equal_lengths)
    penalised = k * (len(predictors) - 1)
    penalties = np.repeat([FREE, PENALTY], [k, penalised])
    weights = fit_logistic(design, given.outcomes, penalties)
    fitted = expit(design @ weights)
    inverse = np.linalg.inv(_measure_curvature(design, fitted, penalties))
    of_inputs = csr_array((np.ones(n), (inputs, np.arange(n))), shape=(m, n))
    gradients = (of_inputs @ diags_array(given.outcomes - fitted) @ design).toarray()
    return _Model(
        side=csr_array(of_thetas),
        at_equal_lengths=equal_design,
        q=expit(equal_design @ weights),
        of_inputs=of_inputs,
        parts=gradients @ inverse,
        information=_measure_curvature(design, fitted, np.full(len(weights), FREE)),
    )


def _find_baseline(given: Preferences) -> int | None:
    """The only system that is in every pair, beside at least `FEWEST_SYSTEMS` others; else None."""
    k = len(given.systems)
    if k <= FEWEST_SYSTEMS:
        return None
    a, b = given.numbers
    in_every_pair = [i for i in range(k) if ((a == i) | (b == i)).all()]
    return in_every_pair[0] if len(in_every_pair) == 1 else None


def _fit_difficulties(
    given: Preferences,
    of_thetas: csr_array,
    of_phis: csr_array,
    baseline: int,
) -> Floats:
    """The difficulties gamma of inputs, of shape (m,), fitted with psi = 1 for all systems but the baseline."""
    k = len(given.systems)
    m = given.layout.input_count
    _, b = given.numbers
    sign = np.where(b == baseline, 1.0, -1.0)
    of_gammas = _place(given.layout.inputs, sign, columns=m)
    design = _join(of_thetas, of_phis, of_gammas)
    penalties = np.repeat([FREE, PENALTY], [k, k + m])
    weights = fit_logistic(design, given.outcomes, penalties)
    return weights[2 * k :]


def _keep_share(estimate: Estimate) -> Estimate:
    """Clips the interval of a share to [0, 1]."""
    return replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))


def _are_confounded(model: _Model, slopes: Floats) -> Mask:
    """Whether the lengths leave too little information about each system, of shape (k,).

    `slopes` are those of the controlled win rates by the weights, of shape (w, k).
    """
    k = slopes.shape[1]
    but_phis = np.r_[:k, 2 * k : len(slopes)]

    def vary(weights: Indices) -> Floats:
        inverse = np.linalg.inv(model.information[np.ix_(weights, weights)])
        return (slopes[weights] * (inverse @ slopes[weights])).sum(axis=0)

    return vary(but_phis) / vary(np.arange(len(slopes))) < LEAST_LEFT


def fit_logistic(design: csr_array, y: Floats, penalties: Floats) -> Floats:
    """Fits a logistic regression of y in [0, 1] by Newton's method, with a ridge penalty for each weight.

    Returns the weights.

    `design` has the shape (n, weights), y (n,), and the penalties (weights,).
    """
    weights = np.zeros(len(penalties))
    for _ in range(STEPS):
        expected = expit(design @ weights)
        gradient = design.T @ (y - expected) - penalties * weights
        curvature = _measure_curvature(design, expected, penalties)
        step = np.linalg.solve(curvature, gradient)
        largest = float(np.abs(step).max())
        weights += step / max(1.0, largest)
        if largest < 1e-9:
            break
    return weights


def _measure_curvature(design: csr_array, expected: Floats, penalties: Floats) -> Floats:
    """Minus the second derivatives of the penalised likelihood, of shape (weights, weights)."""
    variances = diags_array(expected * (1 - expected))
    information = (design.T @ variances @ design).toarray()
    return information + np.diag(penalties)


def _place(columns_of_rows: Indices, values: Floats, *, columns: int) -> csr_array:
    """A matrix with one value in each row, in the given column."""
    rows = np.arange(len(values))
    return csr_array((values, (rows, columns_of_rows)), shape=(len(values), columns))


def _join(*columns: csr_array) -> csr_array:
    return csr_array(hstack(columns))


def _standardise_gaps(given: Preferences, lengths: Floats) -> Floats:
    """tanh of the differences of lengths over their standard deviation within each pair of systems, of shape (n,).

    0 for a pair that was compared once; the sign where all differences of a pair are equal.
    """
    a, b = given.numbers
    pairs = np.minimum(a, b) * len(given.systems) + np.maximum(a, b)
    gaps = lengths[:, 0] - lengths[:, 1]
    standardised = np.zeros(len(gaps))
    for pair in np.unique(pairs):
        members = np.flatnonzero(pairs == pair)
        if len(members) < 2:
            continue
        spread = float(gaps[members].std(ddof=1))
        if spread:
            standardised[members] = np.tanh(gaps[members] / spread)
        else:
            standardised[members] = np.sign(gaps[members])
    return standardised
