"""Rounding errors of means: equal means are merged, and a system without outputs has none."""

import numpy as np

from meta_eval.ties import merge_ties

NAN = np.nan


def test_a_missing_mean_stays_missing() -> None:
    means = np.array([[NAN, 0.2, 0.7], [0.1 + 0.2, NAN, 0.3], [NAN, NAN, NAN]])
    np.testing.assert_array_equal(
        merge_ties(means, np.array([0.1, 0.6])), [[NAN, 0.2, 0.7], [0.3, NAN, 0.3], [NAN] * 3]
    )
