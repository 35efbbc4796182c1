"""Coverage and error rates of the tools' intervals and tests at the smallest studies for which they are shown.

Studies are inputs x outputs per input; outputs for one input are not independent. The default run simulates a few
rounds. The slow tests hold intervals to .93 to .97 and tests to .03 to .07, with half a point for the chance of 1000
rounds. Seeds are fixed. Shares of few inputs take few values, so their coverage is averaged over the truth; exact tests
of few inputs may reject too rarely.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from meta_eval.auditing import audit_damage, audit_edit
from meta_eval.correlation import kendall, pearson, spearman
from meta_eval.design import Floats, lay_out
from meta_eval.estimates import Estimate
from meta_eval.intervals import Resampling, grouped_estimate
from meta_eval.raters import Scale, krippendorff_alpha

Study = tuple[int, int]  # inputs, outputs per input
Rates = Mapping[str, float]
STUDIES: list[Study] = [(30, 1), (100, 1), (30, 8)]
ROUNDS = 1000
SHARED = 0.5  # of the variance, by the outputs for one input


def phi(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


def draw(rng: np.random.Generator, study: Study, *shape: int) -> Floats:
    """Standard normal values of shape (*shape, n), of which outputs for one input share half the variance."""
    inputs, outputs = study
    own = rng.normal(size=(*shape, inputs, outputs))
    if outputs == 1:
        return own.reshape(*shape, inputs)
    common = rng.normal(size=(*shape, inputs, 1))
    return (math.sqrt(SHARED) * common + math.sqrt(1 - SHARED) * own).reshape(*shape, inputs * outputs)


def inputs_of(study: Study) -> list[int]:
    return [i for i in range(study[0]) for _ in range(study[1])]


def holds(estimate: Estimate, truth: float) -> bool:
    assert not math.isnan(estimate.low + estimate.high), estimate.reason
    return estimate.low <= truth <= estimate.high


def rates(rounds: int, once: Callable[[np.random.Generator], Mapping[str, bool]], seed: int = 0) -> Rates:
    """The share of rounds in which each thing happens."""
    rng, counts, seen = np.random.default_rng(seed), Counter[str](), Counter[str]()
    for _ in range(rounds):
        for name, happens in once(rng).items():
            counts[name] += happens
            seen[name] += 1
    return {name: counts[name] / seen[name] for name in seen}


def settings(rng: np.random.Generator) -> Resampling:
    return Resampling(resamples=499, seed=int(rng.integers(1 << 30)))


def check(name: str, found: Rates, rounds: int) -> None:
    """Intervals cover .93 to .97, tests (`reject ...`) reject .03 to .07, but for chance."""
    print(name, {key: round(rate, 3) for key, rate in found.items()})
    slack = 0.005 if rounds >= ROUNDS else 3 * math.sqrt(0.05 * 0.95 / rounds)
    for key, rate in found.items():
        middle = 0.05 if key.startswith("reject") else 0.95
        assert abs(rate - middle) <= 0.02 + slack, f"{name}, {key}: {rate}"


def correlations_of(study: Study, r: float, rounds: int) -> Rates:
    """Correlations of normal scores and ratings: rho = 6/pi asin(r/2), tau = 2/pi asin(r)."""
    truths = {pearson: r, spearman: 6 / math.pi * math.asin(r / 2), kendall: 2 / math.pi * math.asin(r)}
    groups = inputs_of(study)

    def once(rng: np.random.Generator) -> dict[str, bool]:
        x, noise = draw(rng, study, 2)
        y, seed = r * x + math.sqrt(1 - r * r) * noise, int(rng.integers(1 << 30))
        layout, drawing = lay_out(len(x), inputs=groups), Resampling(resamples=499, seed=seed)
        return {
            statistic.__name__: holds(grouped_estimate(statistic, x, y, layout, resampling=drawing), truth)
            for statistic, truth in truths.items()
        }

    return rates(rounds, once)


def audits_of(study: Study, rounds: int) -> Rates:
    """Falls of mean .5 and 1.5, deviations .7 and 1; an edit that shifts by .3."""
    layout = lay_out(study[0] * study[1], inputs=inputs_of(study))
    size = math.sqrt(2 / math.pi) * math.exp(-0.5) + 1 - 2 * phi(-1)  # of a normal value of mean 1 and deviation 1

    def once(rng: np.random.Generator) -> dict[str, bool]:
        before, first, more, other = draw(rng, study, 4)
        falls = np.stack([0.5 + 0.7 * first, 1.5 + 0.7 * first + 0.7 * more])
        damage = audit_damage(3 * before, 3 * (before - falls), layout=layout)
        edit = audit_edit(3 * before, 3 * (before + 0.3 + 0.3 * other), layout=layout)
        return {
            "weak fall": holds(damage.falls[0], 0.5),
            "strong fall": holds(damage.falls[1], 1.5),
            "step": holds(damage.steps[0], 1.0),
            "wins": holds(damage.wins_over_damage, phi(1.5 / math.sqrt(0.98))),
            "shift": holds(edit.shift, 0.3),
            "size": holds(edit.size, 0.3 * size),
        }

    return rates(rounds, once)


def raters_of(study: Study, rounds: int) -> Rates:
    """Three raters of five levels, two of whom correlate by .5 before rounding; the truth is that of 100,000 units."""
    layout = lay_out(study[0] * study[1], inputs=inputs_of(study))

    def rate(rng: np.random.Generator, of: Study) -> Floats:
        quality, *noise = draw(rng, of, 4)
        return np.clip(np.round(1.2 * (quality + np.stack(noise))), -2, 2)

    many = rate(np.random.default_rng(99), (100_000, 1))
    none = Resampling(resamples=20)
    scales: tuple[Scale, ...] = ("nominal", "ordinal", "interval")
    truths: dict[Scale, float] = {scale: krippendorff_alpha(many, scale, none).value for scale in scales}

    def once(rng: np.random.Generator) -> dict[str, bool]:
        table, options = rate(rng, study), settings(rng)
        return {
            f"{scale} alpha": holds(krippendorff_alpha(table, scale, options, layout=layout), truth)
            for scale, truth in truths.items()
        }

    return rates(rounds, once)


SLOW = [
    *((correlations_of, (study, r)) for study in STUDIES for r in (0.0, 0.3, 0.6)),
    *((simulate, (study,)) for simulate in (audits_of, raters_of) for study in STUDIES),
]


@pytest.mark.parametrize(
    ("simulate", "case", "rounds"),
    [
        (audits_of, ((30, 8),), 100),
        *(pytest.param(*each, ROUNDS, marks=pytest.mark.slow) for each in SLOW),
    ],
)
def test_intervals_cover_and_tests_hold_their_level(simulate: Callable[..., Rates], case: tuple, rounds: int):
    found = dict(simulate(*case, rounds))
    check(f"{simulate.__name__} {case}", found, rounds)
