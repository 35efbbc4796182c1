"""Notes on data that mislead a study in silence: repeated texts, raters that differ, groupings that disagree, tails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from judge.wording import format_cell, format_number, join_names
from meta_eval.agreement import CHEAP_CUES, Agreement
from meta_eval.bootstrap import Floats
from meta_eval.scored_set import ScoredSet
from meta_eval.systems import Grid
from meta_eval.ties import subtract

REPEATED = 0.1  # of the texts repeat a context, or another text: they are no longer independent
SEVERE = 0.5  # standard deviations between the means of two raters
OTHER_SCALE = 3.0  # times the spread of another rater
UNEVEN = 0.1  # of the shares of two systems that a rater rated
SKEWED = 0.25  # skewness over the root of n: t intervals cover .92 or less (log-normal differences)
CONFOUNDED = "a difference of the two cannot be told from one of their raters"
WITHIN = {"per_system": "within systems", "per_input": "within inputs", "system_means": "between means of systems"}


def note_repeats(scored: ScoredSet) -> Iterator[str]:
    """A note where contexts or texts repeat and no text names its input: intervals take such texts as independent."""
    if scored.groups is not None:
        return
    contexts = [each.context for each in scored.examples if each.context]
    texts = [each.full_text for each in scored.examples if not each.is_empty]  # empty answers have a note of their own
    for what, values in (("contexts", contexts), ("texts", texts)):
        distinct = len(set(values))
        if len(values) - distinct > REPEATED * len(scored):
            yield (
                f"{len(values)} rows have {distinct} different {what} and no group: intervals and tests take rows as "
                "independent; name what they share as group"
            )
            return


def note_copied_ratings(scored: ScoredSet) -> list[str]:
    """A note for each metric whose scores are the ratings of an aspect themselves."""
    return [
        f"the scores of {name} equal the ratings of {aspect}: are they ratings too?"
        for aspect in scored.aspects
        for name in scored.scores
        if np.array_equal(scored.values(name, aspect), scored.ratings(aspect), equal_nan=True)
    ]


def note_raters(scored: ScoredSet) -> Iterator[str]:
    """Notes where raters use other parts of the scale, and where they rated systems unequally often."""
    for aspect, table in scored.raters.items():
        known = ~np.isnan(table)
        table = table[known.sum(axis=1) > 1]
        known = ~np.isnan(table)
        if len(table) < 2:
            continue
        means = np.nanmean(table, axis=1)
        spreads = np.nanstd(table, axis=1)
        usual = float(np.median(spreads))
        gap = float(np.ptp(means))
        widest = float(spreads.max() / spreads[spreads > 0].min()) if (spreads > 0).any() else 1.0
        is_severe = gap > SEVERE * max(usual, 1e-12) and not known.all()
        if is_severe or widest > OTHER_SCALE:
            lowest, highest = (format_number(float(end)) for end in (means.min(), means.max()))
            yield (
                f"raters of {aspect} use the scale differently: their means lie from {lowest} to {highest}, their "
                f"spreads differ by a factor of {widest:.1f}; a mean over the raters of a text depends on who they are"
            )
        yield from _note_confounded(scored, aspect, known, gap, usual)


def _note_confounded(
    scored: ScoredSet, aspect: str, known: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], gap: float, usual: float
) -> Iterator[str]:
    """A note where no rater rated two systems, or a rater rated one more often than another, and raters differ."""
    names = np.array(scored.systems or [])
    systems = list(dict.fromkeys(names.tolist()))
    if len(systems) < 2:
        return
    confounded = [f"{a} and {b}" for a, b in find_confounded(scored, aspect)]
    if confounded:
        yield f"no rater of {aspect} rated texts of both {join_names(confounded[:3])}: {CONFOUNDED}"
        return
    shares = np.array([known[:, names == system].mean(axis=1) for system in systems])
    if gap <= SEVERE * usual / 2:
        return
    apart = np.ptp(shares, axis=0)
    rater = int(np.argmax(apart))
    if apart[rater] > UNEVEN:
        most = systems[int(np.argmax(shares[:, rater]))]
        least = systems[int(np.argmin(shares[:, rater]))]
        yield (
            f"one rater of {aspect} rated {format_number(float(shares[:, rater].max()))} of the texts of {most} and "
            f"{format_number(float(shares[:, rater].min()))} of {least}, and means of raters differ by "
            f"{format_number(gap)}: a difference of systems may be one of raters"
        )


def find_confounded(scored: ScoredSet, aspect: str) -> list[tuple[str, str]]:
    """The pairs of systems that people rated for an aspect, but no rater rated texts of both: their raters differ.

    Ratings whose raters are not named confound nothing that a file shows.
    """
    if aspect not in scored.raters or scored.systems is None:
        return []
    is_rated = ~np.isnan(scored.raters[aspect])
    names = np.array(scored.systems)
    raters_by_system = {system: is_rated[:, names == system].any(axis=1) for system in dict.fromkeys(names.tolist())}
    rated = [system for system, raters in raters_by_system.items() if raters.any()]
    return [(a, b) for a, b in combinations(rated, 2) if not (raters_by_system[a] & raters_by_system[b]).any()]


def note_groupings(rows: Sequence[Agreement]) -> list[str]:
    """A note for each metric that agrees over all texts and in reverse in another grouping, by both intervals."""
    whole = {(row.metric, row.aspect): row for row in rows if row.grouping == "global" and row.metric != CHEAP_CUES}
    found = []
    for row in rows:
        over_all = whole.get((row.metric, row.aspect))
        if over_all is None or row.grouping == "global":
            continue
        one, other = over_all.spearman, row.spearman
        if (one.low > 0 and other.high < 0) or (one.high < 0 and other.low > 0):
            found.append(
                f"{row.metric} and {row.aspect}: groupings disagree, spearman {format_cell(one)} over all texts and "
                f"{format_cell(other)} {WITHIN[row.grouping]}"
            )
    return found


def note_tails(grid: Grid, columns: Mapping[str, Floats]) -> Iterator[str]:
    """A note for each metric under which the mean difference of two systems rests on a skewed tail."""
    for name, values in columns.items():
        worst = (SKEWED, "", "", np.empty(0))
        for i, j in combinations(range(len(values)), 2):
            gaps = subtract(values[i], values[j])
            gaps = gaps[~np.isnan(gaps)]
            if len(gaps) > 2 and np.ptp(gaps) > 0 and len(np.unique(gaps)) > 3:
                skewness = _measure_skewness(gaps)
                worst = max(worst, (abs(skewness), grid.systems[i], grid.systems[j], gaps), key=lambda each: each[0])
        share, a, b, gaps = worst
        if not len(gaps):
            continue
        extreme = int(np.argmax(np.abs(gaps - np.median(gaps))))
        rest = np.delete(gaps, extreme)
        yield (
            f"{name}: the mean difference of {a} and {b} rests on a tail (skewness {share * len(gaps) ** 0.5:.1f} of "
            f"{len(gaps)} inputs): without one input it is {format_number(float(rest.mean()))} in place of "
            f"{format_number(float(gaps.mean()))}, and its interval may be too narrow"
        )


def _measure_skewness(values: Floats) -> float:
    """The skewness of values over the root of their number."""
    centred = values - values.mean()
    return float((centred**3).mean() / (centred**2).mean() ** 1.5 / np.sqrt(len(values)))
