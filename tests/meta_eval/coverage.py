"""The table of coverages: how often intervals hold the truth, and tests reject what is true, by design and statistic.

`python -m tests.meta_eval.coverage [NAME ...] [--rounds N]` simulates N studies of each design (default 1,000, about an
hour) and prints a line for each statistic: the share of intervals that hold the truth, the share of studies without an
interval, the median width, or the share of false rejections, with its Monte Carlo error. Round i of every design has
the seed i. The smoke test (`test_coverage.py`) runs a few rounds.

The pseudo-units (`meta_eval.estimates`) were chosen on shares of .02 to .9 and kappas of rare and common labels, before
these designs were drawn.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from typing import TypeAlias

import numpy as np
from scipy.special import ndtr

from meta_eval.correlation import CORRELATIONS
from meta_eval.cues import Cues, agreement_beyond_cues
from meta_eval.design import Floats, Layout, lay_out
from meta_eval.estimates import Estimate, estimate_mean, estimate_share
from meta_eval.grouping import estimate_correlation, estimate_correlations
from meta_eval.helped import help_mean
from meta_eval.judges import compare_judges
from meta_eval.labels import agree_with_single, estimate_accuracy, estimate_harshness, estimate_kappa
from meta_eval.length_control import control_length
from meta_eval.permuted import (
    FEWEST_FOR_FLIPS,
    Kind,
    measure_correlation_chance,
    measure_label_chance,
    swap_metrics,
)
from meta_eval.preferences import Preferences
from meta_eval.raters import find_ceiling, krippendorff_alpha
from meta_eval.strengths import rank_by_preferences
from meta_eval.systems import compare_pairs
from tests.meta_eval.sets import make_pairs

Found: TypeAlias = 'Iterator[tuple[str, "Held | bool"]]'  # an interval with its truth, or whether a test rejects
Draw = Callable[[np.random.Generator], Found]
YES = np.array([0.0, 1.0])
FIVE = np.arange(1.0, 6.0)
LEVEL = 0.05


@dataclass(frozen=True)
class Held:
    """An interval, and the truth that it should hold."""

    estimate: Estimate
    truth: float


@dataclass
class Tally:
    """What happened to one statistic in the studies of a design; a test has no `widths`."""

    studies: int = 0
    # intervals that hold the truth, or rejections of what is true
    hits: int = 0
    without: int = 0
    widths: list[float] = field(default_factory=list)

    def add(self, found: Held | bool) -> None:
        if isinstance(found, bool):
            self.studies += 1
            self.hits += found
        elif math.isnan(found.estimate.low):
            self.without += 1
        else:
            self.studies += 1
            slack = 1e-12
            self.hits += found.estimate.low - slack <= found.truth <= found.estimate.high + slack
            self.widths.append(found.estimate.high - found.estimate.low)

    @property
    def share(self) -> float:
        return self.hits / self.studies if self.studies else math.nan

    @property
    def error(self) -> float:
        """The Monte Carlo error of the share."""
        return math.sqrt(max(self.share * (1 - self.share), 0.01) / max(self.studies, 1))

    @property
    def is_bad(self) -> bool:
        """Whether coverage is below .92, or the level above .07, by more than two Monte Carlo errors."""
        if not self.studies:
            return False
        if self.widths:
            return self.share + 2 * self.error < 0.92
        return self.share - 2 * self.error > 0.07

    def __str__(self) -> str:
        kind = f"covers {self.share:.3f}" if self.widths else f"rejects {self.share:.3f}"
        width = f" width {np.median(self.widths):.3f}" if self.widths else ""
        none = f" none {self.without}" if self.without else ""
        return f"{kind} +- {self.error:.3f}{width}{none}{' BAD' if self.is_bad else ''}"


def simulate(draw: Draw, rounds: int) -> dict[str, Tally]:
    """Tallies what happens in studies of one design."""
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for seed in range(rounds):
        for name, found in draw(np.random.default_rng(seed)):
            tallies[name].add(found)
    return dict(tallies)


# Inputs: their sizes, and values that are alike within them.


def draw_sizes(rng: np.random.Generator, inputs: int, kind: str) -> Floats:
    """The numbers of texts of inputs: `1`, `8`, or `uneven` (log-normal)."""
    if kind == "uneven":
        return np.maximum(1, np.round(3 * np.exp(1.2 * rng.normal(size=inputs))))
    return np.full(inputs, float(kind))


def lay_inputs(rng: np.random.Generator, inputs: int, kind: str) -> Layout:
    sizes = draw_sizes(rng, inputs, kind).astype(int)
    return lay_out(int(sizes.sum()), inputs=np.repeat(np.arange(inputs), sizes).tolist())


def draw_normal(rng: np.random.Generator, layout: Layout, alike: float) -> Floats:
    """Normal values of shape (n,), whose correlation within an input is `alike`."""
    common = rng.normal(size=layout.input_count)[layout.inputs]
    own = rng.normal(size=len(layout.inputs))
    return math.sqrt(alike) * common + math.sqrt(1 - alike) * own


# Shares and means.


def draw_share(rng: np.random.Generator, inputs: int, kind: str, share: float, ties: float) -> Found:
    layout = lay_inputs(rng, inputs, kind)
    level = ndtr(draw_normal(rng, layout, 0.5))
    wins = share - ties / 2
    outcomes = np.where(level < wins, 1.0, np.where(level < wins + ties, 0.5, 0.0))
    yield "share", Held(estimate_share(outcomes, layout).only, share)


def draw_mean(rng: np.random.Generator, inputs: int, shape: str) -> Found:
    values = rng.normal(size=inputs)
    if shape == "log-normal":
        values = np.exp(values) - math.exp(0.5)
    found = estimate_mean(values, lay_out(inputs))
    yield "mean", Held(found.only, 0.0)
    if shape == "normal":  # flips test whether values are symmetric
        yield "test", bool(found.test()[0] < LEVEL)


# Labels.


@dataclass(frozen=True)
class Judge:
    """The chance that a judge says yes where people do, and no where they do."""

    sensitivity: float
    specificity: float

    def find_kappa(self, rate: float) -> float:
        said = self.sensitivity * rate + (1 - self.specificity) * (1 - rate)
        chance = rate * said + (1 - rate) * (1 - said)
        return (self.find_right(rate) - chance) / (1 - chance)

    def find_right(self, rate: float) -> float:
        return self.sensitivity * rate + self.specificity * (1 - rate)

    def say(self, rng: np.random.Generator, people: Floats) -> Floats:
        luck = rng.random(len(people))
        return np.where(people == 1, luck < self.sensitivity, luck > self.specificity).astype(np.float64)


def draw_labels(rng: np.random.Generator, rate: float, judge: Judge, n: int) -> Found:
    """A judge beside people, and a gate whose limits are its true figures."""
    people = (rng.random(n) < rate).astype(np.float64)
    said = judge.say(rng, people)
    layout = lay_out(n)
    kappa = estimate_kappa([(people, said)], YES, layout)
    if not math.isnan(kappa.only.value):
        truth = judge.find_kappa(rate)
        yield "kappa", Held(kappa.only, truth)
        yield "gate of kappa", kappa.show(1 - 2 * LEVEL)[0].high < truth
    yield "accuracy", Held(estimate_accuracy(people, said, layout).only, judge.find_right(rate))
    harshness = judge.sensitivity * rate + (1 - judge.specificity) * (1 - rate) - rate
    yield "harshness", Held(estimate_harshness(people, said, YES, layout).only, harshness)


def draw_judges(rng: np.random.Generator, rate: float, a: Judge, b: Judge, n: int) -> Found:
    people = (rng.random(n) < rate).astype(np.float64)
    said = {"a": a.say(rng, people), "b": b.say(rng, people)}
    truth = b.find_kappa(rate) - a.find_kappa(rate)
    (found,) = compare_judges(people, said, YES, lay_out(n))
    yield "difference of kappa", Held(found.differences["kappa"], truth)
    yield "difference of accuracy", Held(found.differences["accuracy"], b.find_right(rate) - a.find_right(rate))
    if truth == 0:
        yield "any difference", bool(np.nanmin([*found.p_values.values()]) < LEVEL)


def rate_five(rng: np.random.Generator, layout: Layout) -> tuple[Floats, Floats]:
    """Ratings of 1 to 5 by two people."""
    quality = draw_normal(rng, layout, 0.5)
    first, second = (np.clip(np.round(3 + 1.2 * (quality + 0.5 * rng.normal(size=len(quality)))), 1, 5) for _ in "ab")
    return first, second


def draw_five(rng: np.random.Generator, inputs: int, kind: str) -> Found:
    layout = lay_inputs(rng, inputs, kind)
    pair = rate_five(rng, layout)
    for is_weighted, truth in zip((False, True), find_five(), strict=True):
        name = "weighted kappa" if is_weighted else "kappa"
        yield name, Held(estimate_kappa([pair], FIVE, layout, is_ordered=is_weighted).only, truth)


@cache
def find_five() -> tuple[float, float]:
    """The true kappas of `rate_five`, from a million texts."""
    pair = rate_five(np.random.default_rng(99), lay_out(1_000_000))
    layout = lay_out(1_000_000)
    plain, weighted = (estimate_kappa([pair], FIVE, layout, is_ordered=each).only.value for each in (False, True))
    return plain, weighted


# Help by a judge, and strengths.


def draw_helped(rng: np.random.Generator, rate: float, judge: Judge, labelled: int, total: int) -> Found:
    people = (rng.random(total) < rate).astype(np.float64)
    verdicts = judge.say(rng, people)
    labels = np.where(np.arange(total) < labelled, people, np.nan)
    yield "helped rate", Held(help_mean(labels, verdicts, lay_out(total), is_rate=True).estimate, rate)


def draw_helped_mean(rng: np.random.Generator, inputs: int, kind: str, shape: str, by: str) -> Found:
    """Ratings of which a third of the inputs, or of the texts, are known, and a judge that sees them with noise."""
    layout = lay_inputs(rng, inputs, kind)
    quality = draw_normal(rng, layout, 0.7)
    n = len(quality)
    if shape == "gamma":
        quality = rng.gamma(4.0, size=n) - 4.0
    verdicts = quality + 0.7 * rng.normal(size=n)
    places = layout.inputs if by == "inputs" else rng.permutation(n)
    known = places < places.max() / 3
    yield "helped mean", Held(help_mean(np.where(known, quality, np.nan), verdicts, layout).estimate, 0.0)


def draw_strengths(rng: np.random.Generator, true: tuple[float, ...], inputs: int, design: str) -> Found:
    """Judgements of all pairs for each input, of the pairs with the first system (a star), or of one pair."""
    k = len(true)
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k) if design != "star" or i == 0]
    rows: list[tuple[str, str, str, float]] = []
    for number in range(inputs):
        asked = [pairs[rng.integers(len(pairs))]] if design == "one" else pairs
        for i, j in asked:
            won = rng.random() < 1 / (1 + math.exp(true[j] - true[i]))
            rows.append((str(number), f"s{i}", f"s{j}", float(won)))
    names, a, b, outcomes = (list(column) for column in zip(*rows, strict=True))
    given = Preferences("p", tuple(names), tuple(a), tuple(b), np.array(outcomes), (None,) * len(rows))
    found = rank_by_preferences(given)
    is_wrong = False
    for pair in found.pairs:
        gap = true[int(pair.system_a[1:])] - true[int(pair.system_b[1:])]
        yield "difference of strengths", Held(pair.difference, gap)
        is_wrong |= gap == 0 and pair.p_value < LEVEL
    if len({*true}) < k:
        yield "equal systems are separated", bool(is_wrong)


# Correlations, differences of metrics, and raters.


def draw_correlations(rng: np.random.Generator, inputs: int, kind: str, r: float) -> Found:
    """Normal scores and ratings: rho = 6/pi asin(r/2), tau = 2/pi asin(r)."""
    layout = lay_inputs(rng, inputs, kind)
    x, noise = (draw_normal(rng, layout, 0.5) for _ in "xy")
    y = r * x + math.sqrt(1 - r * r) * noise
    truths = {"pearson": r, "spearman": 6 / math.pi * math.asin(r / 2), "kendall": 2 / math.pi * math.asin(r)}
    for name, truth in truths.items():
        yield name, Held(estimate_correlation(CORRELATIONS[name], x, y, layout), truth)
    if r == 0:
        yield "dependence", measure_correlation_chance({"m": x}, y, layout)["m"] < LEVEL
        yield (
            "dependent labels",
            measure_label_chance((x > 0).astype(np.float64), (y > 0).astype(np.float64), layout) < LEVEL,
        )


def draw_metrics(rng: np.random.Generator, inputs: int, kind: str, r: float, statistic: Kind) -> Found:
    """Three metrics that correlate equally with ratings."""
    layout = lay_inputs(rng, inputs, kind)
    y = draw_normal(rng, layout, 0.5)
    noise = math.sqrt(1 - r * r)
    columns = [r * y + noise * draw_normal(rng, layout, 0.5) for _ in "abc"]
    found = estimate_correlations(CORRELATIONS[statistic], columns, y, layout).subtract([0, 0, 1], [1, 2, 2])
    yield "difference of metrics", Held(found.show()[0], 0.0)
    p_values = found.test()
    if inputs < FEWEST_FOR_FLIPS:
        p_values = swap_metrics(columns, y, layout, statistic)
    yield "equal metrics differ", bool(p_values.min() < LEVEL)


def draw_raters(rng: np.random.Generator, rate: float, n: int, alpha: float) -> Found:
    """Two people who give a label at this rate, both alike with the chance `alpha`."""
    first = (rng.random(n) < rate).astype(np.float64)
    second = np.where(rng.random(n) < alpha, first, rng.random(n) < rate)
    found = krippendorff_alpha(np.stack([first, second]), "nominal")
    if not math.isnan(found.value):
        yield "alpha", Held(found, alpha)


def find_logit(share: float) -> float:
    return math.log(share / (1 - share))


def draw_ceiling(rng: np.random.Generator, inputs: int, kind: str, between: float) -> Found:
    """Three raters who correlate by `between`."""
    layout = lay_inputs(rng, inputs, kind)
    quality = draw_normal(rng, layout, 0.5)
    ratings = quality + math.sqrt(1 / between - 1) * rng.normal(size=(3, len(quality)))
    yield "ceiling", Held(find_ceiling(ratings, "pearson", layout=layout), math.sqrt(3 * between / (1 + 2 * between)))


def label_by_crowd(rng: np.random.Generator, texts: int, people: int, per_text: int) -> tuple[Floats, Floats]:
    """Labels of people who are right nine times out of ten, and of a judge who is right in .85; half are a yes."""
    is_yes = rng.random(texts) < 0.5
    labels = np.where(rng.random((people, texts)) < 0.9, is_yes, ~is_yes).astype(np.float64)
    places = rng.random((people, texts)).argsort(axis=0)
    judge = np.where(rng.random(texts) < 0.85, is_yes, ~is_yes).astype(np.float64)
    return np.where(places < per_text, labels, np.nan), judge


def draw_crowd(rng: np.random.Generator, texts: int, people: int, per_text: int) -> Found:
    table, judge = label_by_crowd(rng, texts, people, per_text)
    among, beside = agree_with_single(table, {"j": judge}, YES, lay_out(texts))
    yield "people", Held(among.kappa, 0.64)
    yield "judge", Held(beside.kappa, 0.56)
    yield "difference", Held(beside.beside_people, -0.08)


def draw_systems(rng: np.random.Generator, systems: int, inputs: int, shape: str) -> Found:
    """Systems that are equal but for the last one, which is 1 above."""
    values = rng.exponential(size=(systems, inputs)) if shape == "skewed" else rng.normal(size=(systems, inputs))
    if shape == "uneven":
        values *= np.linspace(0.2, 3, systems)[:, None]
    values[-1] += 1
    names = [str(i) for i in range(systems)]
    pairs = compare_pairs(names, values)
    yield (
        "equal systems are separated",
        any(row.p_value < LEVEL for pair, row in pairs.items() if names[-1] not in pair),
    )


def judge_by_length(rng: np.random.Generator, inputs: int, shortest: float) -> tuple[Preferences, Floats]:
    """Two systems, one of which is `shortest` to 150 characters longer, and a judge who prefers the longer text."""
    gaps = rng.uniform(shortest, 150, inputs)
    won = rng.random(inputs) < ndtr(gaps / 60)
    return make_pairs(won), np.stack([500 + gaps, np.full(inputs, 500.0)], axis=1)


def draw_lengths(rng: np.random.Generator, inputs: int, shortest: float) -> Found:
    found = control_length(*judge_by_length(rng, inputs, shortest))
    yield "at equal lengths", Held(found["x"].controlled, 0.5)


def draw_cues(rng: np.random.Generator, inputs: int, number: int, shape: str) -> Found:
    """A metric and ratings that follow length."""
    shapes = {"line": lambda words: words / 20, "curve": lambda words: np.minimum(words, 25) / 10}
    base = rng.normal(size=inputs)
    words = np.round(np.exp(3.2 + 0.3 * base + 0.25 * rng.normal(size=inputs)))
    others = 0.8 * rng.normal(size=(inputs, number - 1)) + (0.3 * np.log(words) + 0.5 * base)[:, None]
    cues = Cues(tuple(map(str, range(number))), np.column_stack([words, others]).astype(np.float64))
    ratings, metric = shapes[shape](words) + rng.normal(size=(2, inputs))
    found = agreement_beyond_cues({"m": metric}, ratings, cues)
    yield "agreement beyond cues", Held(found["m"], 0.0)


def draw_between(rng: np.random.Generator, systems: int, texts: int, spread: float) -> Found:
    """Ratings whose means of systems have this spread, and a metric whose means correlate with them by .6."""
    quality = rng.normal(size=(2, systems))
    names = np.repeat(np.arange(systems), texts)
    ratings = spread * quality[0][names] + rng.normal(size=len(names)) / 10
    scores = (0.6 * quality[0] + 0.8 * quality[1])[names] + rng.normal(size=len(names)) / 10
    layout = lay_out(len(names), names.tolist())
    found = estimate_correlation(CORRELATIONS["spearman"], scores, ratings, layout, grouping="between_systems")
    yield "between systems", Held(found, 6 / math.pi * math.asin(0.3))


Draws = Callable[..., Found]
GOOD = Judge(0.6, 0.99)
BLIND = Judge(0.02, 0.98)
SIZES = ((10, "1"), (30, "1"), (100, "1"), (10, "8"), (30, "8"), (30, "uneven"), (60, "uneven"))
LEVELS = ((0.02, 0.0), (0.1, 0.0), (0.5, 0.0), (0.9, 0.0), (0.5, 0.6), (0.55, 0.9))
STAR = (0.0, find_logit(0.02), find_logit(0.3), find_logit(0.3), 0.0)
KEPT: dict[Draws, Iterable[tuple[object, ...]]] = {  # the arguments of each design
    draw_share: [(*size, *level) for size, level in product(SIZES, LEVELS)],
    draw_mean: [*product((10, 30, 100), ("normal", "log-normal"))],
    draw_labels: [
        (0.02, BLIND, 100),
        (0.02, BLIND, 500),
        (0.02, Judge(0.3, 0.98), 200),
        (0.02, Judge(0.8, 0.99), 200),
        (0.1, Judge(0.1, 0.9), 100),
        (0.1, Judge(0.6, 0.95), 100),
        (0.05, Judge(0.7, 0.98), 100),
        (0.3, Judge(0.9, 0.9), 30),
        (0.5, Judge(0.97, 0.97), 30),
        (0.5, Judge(0.5, 0.5), 30),
        (0.2, Judge(0.9, 0.95), 300),
        (0.5, Judge(0.8, 0.8), 10),
    ],
    draw_judges: [
        (0.02, GOOD, BLIND, 100),
        (0.03, GOOD, Judge(0.3, 0.98), 100),
        (0.02, Judge(0.4, 0.99), BLIND, 200),
        (0.02, Judge(0.5, 0.98), Judge(0.5, 0.98), 100),
        (0.03, Judge(0.6, 0.98), Judge(0.6, 0.98), 200),
        (0.3, Judge(0.9, 0.9), Judge(0.6, 0.9), 300),
        (0.5, Judge(0.8, 0.8), Judge(0.8, 0.8), 30),
    ],
    draw_five: [(30, "8"), (30, "1"), (100, "1")],
    draw_helped: [
        (0.02, Judge(0.9, 0.99), 50, 1000),
        (0.05, Judge(0.9, 0.95), 50, 1000),
        (0.5, Judge(0.8, 0.8), 30, 300),
        (0.9, Judge(0.95, 0.8), 50, 500),
        (0.02, Judge(0.9, 0.99), 200, 2000),
    ],
    draw_helped_mean: [
        (60, "8", "normal", "inputs"),
        (60, "5", "normal", "texts"),
        (300, "1", "gamma", "texts"),
    ],
    draw_strengths: [
        (STAR, 30, "star"),
        (STAR, 100, "star"),
        ((0.0, *[find_logit(0.1)] * 9), 30, "star"),
        ((0.0, 0.5, 1.0, -2.0), 30, "all"),
        ((0.0,) * 5, 40, "all"),
        ((-1.0, -0.5, 0.0, 0.5, 1.0), 200, "one"),
        ((0.0, find_logit(0.97)), 30, "all"),
    ],
    draw_correlations: [
        (*size, r) for size, r in product(((10, "1"), (30, "1"), (30, "8"), (60, "uneven")), (0.0, 0.6, 0.97))
    ],
    draw_metrics: [
        (10, "1", 0.6, "spearman"),
        (30, "1", 0.6, "spearman"),
        (100, "1", 0.6, "pearson"),
        (30, "8", 0.6, "spearman"),
        (30, "8", 0.6, "kendall"),
        (30, "1", 0.9, "pearson"),
        (60, "uneven", 0.6, "spearman"),
        (15, "8", 0.6, "kendall"),
    ],
    draw_raters: [
        (0.02, 200, 0.0),
        (0.02, 200, 0.5),
        (0.1, 100, 0.5),
        (0.5, 30, 0.8),
        (0.5, 10, 0.5),
    ],
    draw_ceiling: [*product((30, 100), ("1", "8"), (0.3, 0.5))],
    draw_crowd: [(60, 40, 3), (200, 100, 2), (200, 60, 5)],
    draw_systems: [*product((3, 8), (10, 30, 100), ("normal", "skewed", "uneven"))],
    draw_lengths: [*product((60, 200), (-25, -50))],
    draw_cues: [*product((112, 500), (4, 8), ("line", "curve"))],
    draw_between: [(10, 10, 1.0), (16, 10, 1.0)],
}


def list_designs() -> dict[str, Draw]:
    """All designs by name: what is drawn, and the arguments."""
    designs: dict[str, Draw] = {}
    for draw, rows in KEPT.items():
        kind = draw.__name__.removeprefix("draw_")
        for row in rows:
            about = ", ".join(map(str, row))
            designs[f"{kind} {about}"] = lambda rng, draw=draw, row=row: draw(rng, *row)
    return designs


def draw_designs(number: int) -> dict[str, Draw]:
    """Random designs of the same kinds, drawn after pseudo-units were chosen; seed 2026."""
    rng = np.random.default_rng(2026)
    designs: dict[str, Draw] = {}
    for place in range(number):
        inputs = int(np.exp(rng.uniform(np.log(10), np.log(300))))
        kind = str(rng.choice(["1", "3", "8", "uneven"])) if inputs >= 30 else "1"
        rate = float(np.round(np.exp(rng.uniform(np.log(0.02), np.log(0.5))), 3))
        judge, other = (Judge(*np.round([rng.uniform(0.3, 1), rng.uniform(0.7, 1)], 2).tolist()) for _ in "ab")
        n = 3 * inputs
        r = float(np.round(rng.uniform(0, 0.9), 2))
        choices: list[tuple[str, partial[Found]]] = [
            ("share", partial(draw_share, inputs=inputs, kind=kind, share=rate, ties=0.0)),
            ("labels", partial(draw_labels, rate=rate, judge=judge, n=n)),
            ("judges", partial(draw_judges, rate=rate, a=judge, b=other, n=n)),
            ("helped", partial(draw_helped, rate=rate, judge=judge, labelled=inputs, total=10 * inputs)),
            ("correlations", partial(draw_correlations, inputs=inputs, kind=kind, r=r)),
            ("metrics", partial(draw_metrics, inputs=inputs, kind=kind, r=r, statistic="spearman")),
            ("alpha", partial(draw_raters, rate=rate, n=n, alpha=r)),
        ]
        name, draw = choices[place % len(choices)]
        about = ", ".join(f"{key} {value}" for key, value in draw.keywords.items())
        designs[f"{place} {name}: {about}"] = draw
    return designs


def main() -> int:
    """Prints the table; returns 1 if a cell is bad."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of designs")
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--random", type=int, help="simulate so many random designs instead")
    given = parser.parse_args()
    is_bad = False
    designs = draw_designs(given.random) if given.random else list_designs()
    for name, draw in designs.items():
        if given.names and not any(part in name for part in given.names):
            continue
        for statistic, tally in simulate(draw, given.rounds).items():
            print(f"{name}: {statistic} {tally}", flush=True)
            is_bad |= tally.is_bad
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
