"""Groupings: hand-worked means, a loop over groups as the oracle, names and faults."""

import numpy as np
import pytest
from scipy import stats

from meta_eval.correlation import kendall, pearson, spearman
from meta_eval.grouping import Layout, group, lay_out

# systems a, b, c on inputs 1, 2; a third input has equal ratings
SYSTEMS = list("abcabcabc")
INPUTS = [1, 1, 1, 2, 2, 2, 3, 3, 3]
X = np.array([1.0, 2, 3, 3, 2, 1, 1, 2, 3])
Y = np.array([1.0, 2, 3, 1, 2, 3, 2, 2, 2])
LAYOUT = lay_out(9, SYSTEMS, INPUTS)


def once(statistic, grouping, layout=LAYOUT, x=X, y=Y) -> float:
    return float(group(statistic, x, y, layout, grouping, np.ones((1, layout.input_count)))[0])


def test_by_hand():
    """Per input: r = 1 and -1, the third is not defined: mean 0. System means: scores 5/3, 2, 7/3 and ratings 4/3, 2,
    8/3: r = 1."""
    assert once(pearson, "per_input") == pytest.approx(0.0)
    assert once(pearson, "system_means") == pytest.approx(1.0)
    assert once(pearson, "global") == pytest.approx(stats.pearsonr(X, Y)[0])
    # a: scores 1 3 1, ratings 1 1 2, r = -1/2; b is constant; c: scores 3 1 3, ratings 3 3 2, r = -1/2
    assert once(pearson, "per_system") == pytest.approx(-0.5)


def test_a_metric_that_does_not_vary_in_a_group_agrees_by_0_there():
    """Per input: r = 1, 0 (scores 2 2 2, ratings 1 2 3), and no ratings to order: the mean is 1/2."""
    x = np.where(np.array(INPUTS) == 2, 2.0, X)
    for statistic in (pearson, spearman, kendall):
        assert once(statistic, "per_input", x=x) == pytest.approx(0.5)


@pytest.mark.parametrize("statistic", [pearson, spearman, kendall])
@pytest.mark.parametrize("grouping", ["global", "per_system", "per_input", "system_means"])
def test_resamples_equal_a_loop_over_the_drawn_inputs(statistic, grouping):
    rng = np.random.default_rng(0)
    systems, inputs = np.divmod(np.arange(35), 7)
    keep = rng.random(35) > 0.1  # not every system answers every input
    layout = Layout(systems[keep], inputs[keep])
    x, y = rng.normal(size=keep.sum()), rng.integers(0, 4, keep.sum()).astype(float)
    for _ in range(5):
        draw = rng.integers(0, 7, 7)
        found = group(statistic, x, y, layout, grouping, np.bincount(draw, minlength=7)[None].astype(float))[0]
        assert found == pytest.approx(by_loop(statistic, grouping, layout, x, y, draw), nan_ok=True)


def by_loop(statistic, grouping, layout, x, y, draw) -> float:
    """Copies every drawn output and computes the statistic on lists."""
    cells = {(s, i): at for at, (s, i) in enumerate(zip(layout.systems, layout.inputs, strict=True))}

    def of(pairs: list) -> float:
        at = [cells[pair] for pair in pairs if pair in cells]
        weights = np.bincount(at, minlength=len(x))[None].astype(float)
        return float(statistic(x, y, weights)[0])

    if grouping == "global":
        return of([(s, i) for s in range(5) for i in draw])
    if grouping == "per_input":
        return float(np.nanmean([of([(s, i) for s in range(5)]) for i in draw]))
    if grouping == "per_system":
        return float(np.nanmean([of([(s, i) for i in draw]) for s in range(5)]))
    means = np.array(
        [np.mean([(x[cells[s, i]], y[cells[s, i]]) for i in draw if (s, i) in cells], axis=0) for s in range(5)]
    )
    return float(statistic(means[:, 0].copy(), means[:, 1].copy(), np.ones((1, 5)))[0])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"systems": ["a"]}, r"systems must hold one name per example \(2\), but has 1"),
        ({"inputs": ["a", None]}, r"each example needs a name in inputs, but inputs\[1\] is None"),
    ],
)
def test_faults(names, message):
    with pytest.raises(ValueError, match=message):
        lay_out(2, **names)
