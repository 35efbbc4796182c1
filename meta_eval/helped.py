"""Help by a judge: what people would say of all texts, from their labels of some texts and a judge's verdicts on all.

Prediction-powered inference (PPI++ of Angelopoulos, Duchi & Zrnic 2023): the mean label is corrected by the judge's
mean verdict on labelled texts minus that on all texts, whose true value is 0, with the factor of least variance
(`Estimates.help`). The estimate is valid for any judge if the labelled texts are a random sample of all texts; a
better judge makes it surer.

Departures from the paper's program (ppi-python): the factor is not clipped to [0, 1], because a judge may have another
scale or direction than the labels. Intervals are over inputs, with Student's t, and the fitted factor costs a degree of
freedom. A rate has pseudo-units (`meta_eval.estimates`). The difference of two systems is helped by the verdicts on
both.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.design import Floats, Layout, lay_out, to_columns
from meta_eval.estimates import (
    PRIOR,
    Estimate,
    Estimates,
    divide_known,
    estimate_mean,
    estimate_share,
    gather,
    linearise,
    measure_design_effects,
)

NOBODY = "no text has a label"
AGREED = 1.5  # of the two pseudo-texts with a label, on which the judge says the same
# texts with a label, labels, verdicts, and all texts and verdicts: yes and yes, no and no, yes and no, no and yes
PSEUDO_TEXTS = np.array([[1.0, 1, 1, 0, 0], [1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0]])


@dataclass(frozen=True)
class HelpedEstimate:
    """A figure by people's labels alone, and helped by a judge's verdicts."""

    # the number of texts with a label, of two systems together
    rated: int
    estimate: Estimate
    by_labels: Estimate
    # the number of labels that would give the same variance alone; infinite for a judge without error, NaN for few
    # inputs
    effective_n: float

    @property
    def cells(self) -> dict[str, Estimate | float]:
        """The estimates from labels alone and with a judge, as cells of a table, by column."""
        worth = self.effective_n
        if math.isfinite(worth):
            worth = round(worth)
        return {
            "labels": self.rated,
            "by_people": self.by_labels,
            "corrected": self.estimate,
            "worth": worth,
        }


def help_mean(
    labels: ArrayLike,
    verdicts: ArrayLike,
    layout: Layout | None = None,
    *,
    is_rate: bool = False,
) -> HelpedEstimate:
    """Estimates the mean label of all texts; labels and verdicts have the shape (n,), with NaN for none.

    A text without a verdict counts as if it had the mean one. With `is_rate`, labels are 1, 0, or .5 for a tie, and the
    estimate lies in [0, 1]. Raises ValueError for wrong shapes and infinities.
    """
    y, f = to_columns(labels=labels, verdicts=verdicts)
    layout = layout or lay_out(len(y))
    estimates = _estimate_with_zero(
        y,
        f,
        layout,
        is_rate=is_rate,
    )
    by_labels = estimate_share(y, layout) if is_rate else estimate_mean(y, layout)
    return _compare_precision(estimates, by_labels.only, rated=~np.isnan(y))


def help_difference(
    labels_a: ArrayLike,
    labels_b: ArrayLike,
    verdicts_a: ArrayLike,
    verdicts_b: ArrayLike,
) -> HelpedEstimate:
    """Estimates the mean label of system a minus that of b on the same inputs; all arrays have the shape (inputs,).

    The labelled inputs of a and of b may differ.
    """
    y_a, y_b, f_a, f_b = to_columns(
        labels_a=labels_a,
        labels_b=labels_b,
        verdicts_a=verdicts_a,
        verdicts_b=verdicts_b,
    )
    layout = lay_out(len(y_a))
    a = _estimate_with_zero(y_a, f_a, layout)
    b = _estimate_with_zero(y_b, f_b, layout)
    both = replace(a.join(b), used=min(a.used, b.used, key=np.sum))
    gap_and_zeros = np.array([[1.0, 0, 0], [0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    difference = both.contrast(gap_and_zeros)
    rated = ~np.isnan(np.append(y_a, y_b))
    return _compare_precision(difference, difference.take([0]).only, rated)


def _estimate_with_zero(
    labels: Floats,
    verdicts: Floats,
    layout: Layout,
    *,
    is_rate: bool = False,
) -> Estimates:
    """The mean label, and the mean verdict on labelled texts minus that on all texts, whose true value is 0.

    The pseudo-units of a rate are two texts with each label. On most of them the judge agrees (`AGREED`), so that a
    good judge leaves little of them.
    """
    is_missing = np.isnan(verdicts)
    usual = 0.0 if is_missing.all() else float(np.nanmean(verdicts))
    f = np.where(is_missing, usual, verdicts)
    known = ~np.isnan(labels)
    y = np.where(known, labels, 0.0)
    columns = np.stack([known, y, known * f, np.ones(len(f)), f], axis=1)
    sums = gather(columns.astype(np.float64), layout)
    has_labels = sums[:, 0] > 0
    has_texts = sums[:, 3] > 0
    pseudo = np.zeros(0)
    if is_rate:
        size = measure_design_effects(labels[:, None], layout)[0]
        sums = np.vstack([sums, size * PSEUDO_TEXTS])
        pseudo = np.array([AGREED, AGREED, PRIOR - AGREED, PRIOR - AGREED])

    def average(weights: Floats) -> Floats:
        labelled, of_labels, of_verdicts, texts, of_all = (weights @ sums).T
        mean = divide_known(of_labels, labelled)
        zero = divide_known(of_verdicts, labelled) - divide_known(of_all, texts)
        return np.stack([mean, zero], axis=1)

    estimates = linearise(
        average,
        has_texts,
        pseudo,
        scale="share" if is_rate else "mean",
    )
    units, labelled = max(int(has_texts.sum()), 1), max(int(has_labels.sum()), 1)
    # the jackknife left out units of all texts, but nearly all of the error comes from those with labels
    shrunk = (1 - 1 / labelled) / (1 - 1 / units) if units > 1 else 1.0
    return replace(estimates, parts=shrunk * estimates.parts, used=has_labels)


def _compare_precision(estimates: Estimates, by_labels: Estimate, rated: np.ndarray) -> HelpedEstimate:
    of_people = estimates.take([0])
    helped = estimates.help()
    n = int(rated.sum())
    before = float(of_people.variances[0])
    after = float(helped.variances[0])
    effective_n = n * before / after if after > 0 else math.inf
    if helped.few is not None:
        effective_n = math.nan
    elif not before > 0:
        effective_n = float(n)
    return HelpedEstimate(
        rated=n,
        estimate=helped.only if n else Estimate.undefined(NOBODY),
        by_labels=by_labels if n else Estimate.undefined(NOBODY),
        effective_n=effective_n,
    )
