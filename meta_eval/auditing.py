"""Audits what fools a metric: cheap cues, damage that it misses, and edits that should change nothing.

Intervals are over inputs (`meta_eval.estimates`). A test by sign flips of the raw changes decides whether scores fall.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.correlation import spearman
from meta_eval.cues import Cues, combine_cues, explain_no_fit
from meta_eval.design import Floats, Layout, lay_out, refuse_large, restrict, to_columns
from meta_eval.estimates import Estimate, divide_known, estimate_mean, estimate_weighted
from meta_eval.grouping import estimate_correlation, explain_undefined
from meta_eval.ties import subtract

LEVEL = 0.05  # of the tests of falls and rises
MAIN = 0.9  # of what all cues explain, by the main ones
MOST_NAMED = 3
FEWEST_TEXTS = 5
CHANGED = 1e-6  # of a standard deviation; a smaller change is rounding


@dataclass(frozen=True)
class CueAudit:
    """How much of a metric's ranks cheap cues explain."""

    n: int
    # the share of the variance of the ranks that the cues predict, in [0, 1]: Spearman's rho of the scores with their
    # cross-fitted prediction, squared, or 0 where rho is negative. Fits on few texts predict less than the cues could:
    # simulated at 100 and 200 texts, the low end lies above the true share in 0 to 1 % of samples, the high end below
    # it in up to 40 %; the mean is .26 for a true share of .38.
    explained: Estimate
    # the cues that explain most, chosen one by one until `MAIN` of the share is reached or `MOST_NAMED` are chosen;
    # none where the interval holds 0
    main_cues: tuple[str, ...]


@dataclass(frozen=True)
class DamageAudit:
    """How much scores fall under damage of growing strength, in standard deviations of the undamaged texts' scores."""

    # number of texts with a score undamaged and at every strength
    n: int
    # the mean fall at each strength; positive if the score falls
    falls: tuple[Estimate, ...]
    # of the fall at the greatest strength: two-sided, by sign flips of the raw falls of inputs; NaN for too few texts
    p_value: float
    # whether the score falls significantly at the greatest strength and rises significantly at no step
    is_monotone: bool


@dataclass(frozen=True)
class EditAudit:
    """How scores change under an edit that should change nothing, in standard deviations of the scores before."""

    # number of texts with a score before and after
    n: int
    # the mean change; positive if the edit raises scores
    shift: Estimate
    # the mean absolute change
    size: Estimate
    # the share of texts whose score changed at all
    changed: float


def audit_cues(
    scores: ArrayLike,
    cues: Cues,
    *,
    layout: Layout | None = None,
    seed: int = 0,
) -> CueAudit:
    """Measures how much cheap cues explain of the ranks of `scores`, of shape (n,), cross-fitted by input.

    Texts with a NaN score are left out. The interval is over inputs, and does not fit the cues again.
    """
    x = np.asarray(scores, dtype=np.float64)
    kept = ~np.isnan(x)
    x = x[kept]
    fitted = Cues(cues.names, cues.values[kept])
    units = restrict(layout or lay_out(len(kept)), kept)
    varied_ratings = np.arange(float(len(x)))
    reason = explain_undefined(x, varied_ratings, units) or explain_no_fit(fitted.values)
    if reason is not None:
        return CueAudit(len(x), Estimate.undefined(reason), main_cues=())
    inputs = units.inputs.tolist()
    once = np.ones((1, len(x)))

    def predict(names: tuple[str, ...]) -> Floats:
        columns = [fitted.names.index(name) for name in names]
        chosen = Cues(names, fitted.values[:, columns])
        return combine_cues(
            chosen,
            x,
            inputs,
            seed=seed,
        )

    def explain(names: tuple[str, ...]) -> float:
        rho = spearman(predict(names), x, once)[0]
        return _square(float(rho))

    rho = estimate_correlation(spearman, predict(fitted.names), x, units)
    explained = replace(
        rho,
        value=_square(rho.value),
        low=_square(rho.low),
        high=_square(rho.high),
    )
    main_cues: tuple[str, ...] = ()
    if explained.low > 0:
        main_cues = _choose_cues(fitted.names, explain, enough=MAIN * rho.value**2)
    return CueAudit(len(x), explained, main_cues)


def _choose_cues(names: Sequence[str], explain: Callable[[tuple[str, ...]], float], enough: float) -> tuple[str, ...]:
    """Chooses the cue that adds most, one after the other, until they explain enough or are `MOST_NAMED`."""
    chosen: tuple[str, ...] = ()
    while len(chosen) < MOST_NAMED:
        if chosen and explain(chosen) >= enough:
            break
        candidates = [(*chosen, name) for name in names if name not in chosen]
        chosen = max(candidates, key=explain)
    return chosen


def _square(rho: float) -> float:
    """The square of a correlation; 0 for a negative one, NaN for NaN."""
    if math.isnan(rho):
        return rho
    return max(rho, 0.0) ** 2


def audit_damage(
    undamaged: ArrayLike,
    damaged: ArrayLike,
    *,
    layout: Layout | None = None,
    seed: int = 0,
) -> DamageAudit:
    """Measures how scores fall from `undamaged`, of shape (n,), to `damaged`, of shape (strengths, n), weakest first.

    Texts without a score at some strength are left out. Without a `layout` each text has an input of its own.
    """
    before = np.asarray(undamaged, dtype=np.float64)
    after = np.asarray(damaged, dtype=np.float64)
    if before.ndim != 1 or after.ndim != 2 or after.shape[1:] != before.shape or not len(after):
        raise ValueError(f"scores must have shapes (n,) and (strengths, n), but have {before.shape} and {after.shape}")
    refuse_large("scores", before, after)
    kept = ~np.isnan(before) & ~np.isnan(after).any(axis=0)
    before = before[kept]
    after = after[:, kept]
    reason = _explain_too_few(before)
    if reason is not None:
        none = Estimate.undefined(reason)
        return DamageAudit(
            n=len(before),
            falls=(none,) * len(after),
            p_value=math.nan,
            is_monotone=False,
        )
    units = restrict(layout or lay_out(len(kept)), kept)
    falls = [_estimate_standardised(before - scores, before, units) for scores in after]
    p_value = _test_mean(before - after[-1], units, seed)
    has_fallen = falls[-1].value > 0 and p_value < LEVEL

    def rises(change: Floats) -> bool:
        return float(change.sum()) > 0 and _test_mean(change, units, seed) < LEVEL

    return DamageAudit(
        n=len(before),
        falls=tuple(falls),
        p_value=p_value,
        is_monotone=bool(has_fallen and not any(map(rises, np.diff(after, axis=0)))),
    )


def _test_mean(changes: Floats, layout: Layout, seed: int) -> float:
    """The p-value that changes of shape (n,) are symmetric around 0, by sign flips of their sums over inputs.

    The scale of `_estimate_standardised` varies with the mean where scores are skewed, and made falls of metrics that
    see nothing; the raw changes do not have it.
    """
    without_rounding = subtract(changes, np.zeros(len(changes)))
    return float(estimate_mean(without_rounding, layout).test(seed)[0])


def audit_edit(before: ArrayLike, after: ArrayLike, *, layout: Layout | None = None) -> EditAudit:
    """Measures how scores, of shape (n,), change under an edit that should change nothing (case, white space)."""
    old, new = to_columns(before=before, after=after)
    kept = ~np.isnan(old) & ~np.isnan(new)
    old = old[kept]
    new = new[kept]
    reason = _explain_too_few(old)
    if reason is not None:
        none = Estimate.undefined(reason)
        return EditAudit(
            len(old),
            shift=none,
            size=none,
            changed=math.nan,
        )
    units = restrict(layout or lay_out(len(kept)), kept)
    changes = new - old
    sizes = np.abs(changes)
    is_changed = sizes > CHANGED * old.std(ddof=1)
    return EditAudit(
        n=len(old),
        shift=_estimate_standardised(changes, old, units),
        size=_estimate_standardised(sizes, old, units),
        changed=float(is_changed.mean()),
    )


def standardised_mean(values: Floats, scores: Floats, weights: Floats) -> Floats:
    """Computes the mean of `values` in standard deviations of `scores`, both of shape (n,), for weights (rows, n).

    The variance has n - 1 in its denominator. NaN if the scores do not vary.
    """
    total = weights.sum(axis=-1)
    means = (weights @ values) / total
    centred = scores - scores.mean()
    squares = weights @ centred**2 - (weights @ centred) ** 2 / total
    variance = divide_known(np.maximum(squares, 0.0), total - 1)
    spread = np.sqrt(variance)
    least = 1e-12 * np.abs(centred).max()
    return divide_known(means, np.where(spread > least, spread, 0.0))


def _estimate_standardised(values: Floats, scores: Floats, layout: Layout) -> Estimate:
    """`standardised_mean` with its interval over inputs."""

    def average(inputs: Floats) -> Floats:
        return standardised_mean(values, scores, inputs[:, layout.inputs])

    return estimate_weighted(average, layout).only


def _explain_too_few(scores: Floats) -> str | None:
    """The reason why changes from these scores cannot be measured, or None."""
    if len(scores) < FEWEST_TEXTS:
        return f"an audit needs at least {FEWEST_TEXTS} texts with a score, but there are {len(scores)}"
    if np.ptp(scores) == 0:
        return f"all {len(scores)} scores are {scores[0]:g}: there is no spread to measure a change by"
    return None
