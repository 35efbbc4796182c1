"""Cheap cues: what can be counted in a text without a model, and what a metric adds to them.

Length, repetition and overlap explain much of the agreement of metrics with people. Two statistics show how much:
`combine_cues` predicts the ratings by the cues alone, and `agreement_beyond_cues` is the correlation of a metric with
the ratings that remains when the cues are held fixed.

All ranks become normal scores z (van der Waerden). The size of z counts as a cue too, so that a metric that likes a
middle length does not seem to agree with people; with many texts so do the parts of z beyond `KNOT` on either side.
What is held fixed is a sum of curves, one of each cue. Functions of several cues together (a product, the smaller of
two) and cues that are not counted here are not: simulated, metrics of this kind keep an agreement beyond the cues.
"""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import ArrayLike

from core.example import UNSPACED, Example
from meta_eval.bootstrap import (
    FEWEST_UNITS,
    Estimate,
    Floats,
    Mask,
    bootstrap,
    explain_few,
    number_groups,
    t_interval,
)
from meta_eval.correlation import average_ranks
from meta_eval.grouping import explain_undefined, lay_out
from meta_eval.intervals import USUAL, Resampling

Parts = tuple[Floats, Floats, Floats]  # scores, ratings and cues of the same texts
ARE_CUES = "the row is the cheap cues themselves, so nothing can be left beyond them"
NOTHING_LEFT = "cheap cues alone determine the scores or the ratings, so nothing is left beyond them"
WORD = re.compile(r"\w+(?:['’]\w+)*")
NGRAM = 3  # words of a repeated or copied span
SENTENCE_END = re.compile(r"[.!?。！？…]+")
FOLDS = 10  # of the cross-fitted prediction by cues
TEXTS_PER_CUE = 8  # that a fit of cues needs
INPUTS_PER_COLUMN = 4  # that a fit of differences needs for each cue, and for its normal scores
TEXTS_PER_CURVE = 20  # for each cue; with fewer texts a line and a size must do
KNOT = 0.8  # normal scores beyond which the line of a cue may bend; about a fifth of the texts on either side
LESSER_SIDE = 0.1  # of the inputs, on which the sign of a cue's difference must be the rarer one, or 0
VERSION = 2  # of what is held fixed
TOLERANCE = 1e-9  # of a variance; below it nothing is left
BLOCK = 2_000_000  # numbers held at once: 16 MB


@dataclass(frozen=True)
class Cues:
    """The cheap cues of n texts: `values` has the shape (n, len(names))."""

    names: tuple[str, ...]
    values: Floats

    def join(self, other: "Cues") -> "Cues":
        """These cues, then the other ones of the same texts."""
        return Cues((*self.names, *other.names), np.hstack([self.values, other.values]))


def count_cues(examples: Sequence[Example]) -> Cues:
    """The cheap cues of examples: of dialogues if all have turns, else of texts, their context and references.

    The cues of a context or of references are there if all examples have them. The name of the system is no cue.
    """
    if all(example.turns for example in examples):
        rows = [_count_dialogue(example.turns) for example in examples]
    else:
        has_context, has_references = (all(getattr(e, name) for e in examples) for name in ("context", "references"))
        rows = []
        for each in examples:
            words = list_words(each.full_text)
            rows.append(_count_text(each.full_text, words))
            if has_context:
                rows[-1] |= _count_overlap(words, [each.context or ""], "context")
            if has_references:
                rows[-1] |= _count_overlap(words, each.references, "reference")
    names = tuple(rows[0]) if rows else ()
    return Cues(names, np.array([[*row.values()] for row in rows], dtype=np.float64).reshape(len(rows), len(names)))


def list_words(text: str) -> list[str]:
    """The words that cues count, in lower case: runs of letters and digits; letters of scripts without blanks alone.

    >>> list_words("It's 3 o'clock, 明月!")
    ["it's", '3', "o'clock", '明', '月']
    """
    return WORD.findall(UNSPACED.sub(r" \g<0> ", text).casefold())


def _count_text(text: str, words: Sequence[str]) -> dict[str, float]:
    """Length, sentences (in words), repetition, punctuation and case of a text.

    repeated spans: the share of spans of three words that stand earlier in the text; punctuation, upper case: the
    shares of characters.
    """
    lengths = [length for part in SENTENCE_END.split(text) if (length := len(list_words(part)))] or [0]
    spans = _list_spans(words)
    return {
        "words": len(words),
        "sentences": len(lengths),
        "sentence length": float(np.mean(lengths)),
        "deviation of sentence length": float(np.std(lengths)),
        "different words": _share(len(set(words)), len(words)),
        "repeated spans": 1 - _share(len(set(spans)), len(spans)) if spans else 0.0,
        "punctuation": _share(sum(not each.isalnum() and not each.isspace() for each in text), len(text)),
        "upper case": _share(sum(map(str.isupper, text)), len(text)),
    }


def _count_overlap(words: Sequence[str], sources: Sequence[str], name: str) -> dict[str, float]:
    """Cues of a text beside its sources, such as a context or several references; of several the largest overlap.

    overlap: the share of different words that are in the source; copied spans: the share of spans of three words that
    are in the source; length ratio: the logarithm of words over words of the source (its mean over several).
    """
    others = [list_words(source) for source in sources]
    own, spans = set(words), set(_list_spans(words))
    ratios = [np.log((1 + len(words)) / (1 + len(other))) for other in others]
    return {
        f"overlap with {name}": max(_share(len(own & set(other)), len(own)) for other in others),
        f"copied spans with {name}": max(_share(len(spans & set(_list_spans(other))), len(spans)) for other in others),
        f"length ratio with {name}": float(np.mean(ratios)),
    }


def _count_dialogue(turns: Sequence[str]) -> dict[str, float]:
    """Nine cues of a dialogue: length, repetition (overlaps are Jaccard's), and the share of turns that ask."""
    words = [list_words(turn) for turn in turns]
    lengths, sets = [len(each) for each in words], [set(each) for each in words]
    every = [word for each in words for word in each]
    following = [_overlap(*two) for two in pairwise(sets)]
    return {
        "words": len(every),
        "turns": len(turns),
        "words per turn of the first speaker": float(np.mean(lengths[::2])),
        "words per turn of the second speaker": float(np.mean(lengths[1::2] or [0])),
        "words per turn": float(np.mean(lengths)),
        "different words": _share(len(set(every)), len(every)),
        "overlap with an earlier turn": max((_overlap(a, b) for a, b in combinations(sets, 2)), default=0.0),
        "overlap with the turn before": float(np.mean(following or [0])),
        "questions": _share(sum("?" in turn or "？" in turn for turn in turns), len(turns)),
    }


def combine_cues(cues: Cues, ratings: ArrayLike, groups: Sequence[Hashable] | None = None, *, seed: int = 0) -> Floats:
    """Ratings predicted by cues alone, of shape (n,): ridge regression of normal scores, cross-fitted by group.

    No text predicts itself or another text of its group (its input). Each fold is predicted without the mean of its
    training ratings, because means of folds that differ by chance would order the texts. `seed` chooses the folds.
    """
    y, units = np.asarray(ratings, dtype=np.float64), number_groups(len(cues.values), groups)
    number = int(units.max(initial=-1)) + 1
    folds = min(FOLDS, number)
    fold = (np.random.default_rng(seed).permutation(number) % max(folds, 1))[units]
    design, target, found = _expand(_normal_scores(cues.values)), _normal_scores(y[:, None])[:, 0], np.zeros(len(y))
    for k in range(folds if folds > 1 else 0):
        train = fold != k
        mean, deviation = design[train].mean(axis=0), design[train].std(axis=0)
        z = (design - mean) / np.where(deviation > 0, deviation, 1.0)
        x, centred = z[train], target[train] - target[train].mean()
        found[~train] = z[~train] @ np.linalg.solve(x.T @ x + np.sqrt(len(x)) * np.eye(x.shape[1]), x.T @ centred)
    return found


def agreement_beyond_cues(
    scores: Mapping[str, ArrayLike],
    ratings: ArrayLike,
    cues: Cues,
    groups: Sequence[Hashable] | None = None,
    resampling: Resampling = USUAL,
) -> dict[str, Estimate]:
    """The partial correlation of each metric with `ratings`, of shape (n,), with the cues held fixed, in [-1, 1].

    All columns are normal scores. Those of the cues and their sizes are held fixed, and where there are
    `TEXTS_PER_CURVE` texts for each cue, curves of the cues; they are fitted anew in each resample of whole groups. 0:
    the metric agrees with people only as far as a sum of such curves does.

    Examples with a NaN score or rating are left out. NaN with a reason where there are fewer than `TEXTS_PER_CUE`
    texts for each cue, or where the cues determine the scores or the ratings; no interval below `FEWEST_UNITS` groups.
    Simulated for metrics that are noisy cues, or a curve of one (80 to 700 inputs of 1 to 8 outputs, 9 to 14 cues),
    intervals cover 0 in 90 to 98 %.
    """
    y = np.asarray(ratings, dtype=np.float64)
    units, found = number_groups(len(y), groups), dict[str, Estimate]()
    columns: dict[bytes, dict[str, Floats]] = {}  # metrics that score the same texts share the fit of the cues
    for metric, values in scores.items():
        x = np.asarray(values, dtype=np.float64)
        kept = ~np.isnan(x + y)
        reason = explain_undefined(x[kept], y[kept], lay_out(int(kept.sum()))) or explain_no_fit(cues.values[kept])
        if reason is None:
            columns.setdefault(kept.tobytes(), {})[metric] = x[kept]
        else:
            found[metric] = Estimate.undefined(reason)
    for mask, together in columns.items():
        kept = np.frombuffer(mask, dtype=np.bool_)
        parts = np.stack([*together.values()], axis=-1), y[kept], cues.values[kept]

        def beyond(weights: Floats, names: Iterable[str] = together, parts: Parts = parts) -> dict[str, Floats]:
            return dict(zip(names, correlate_beyond(*parts, weights).T, strict=True))

        estimates = bootstrap(beyond, units[kept], resamples=resampling.resamples, seed=resampling.seed)
        fixed = Estimate.undefined(NOTHING_LEFT)
        found |= {metric: fixed if np.isnan(each.value) else each for metric, each in estimates.items()}
    return {metric: found[metric] for metric in scores}


def difference_beyond_cues(differences: ArrayLike, first: Cues, second: Cues) -> Estimate:
    """The part of the mean difference between two systems that cheap cues do not explain, in units of the scores.

    It is the intercept of a linear regression, over inputs, of the differences of scores on the differences of cues:
    the difference between texts with equal cues.

    The interval over inputs is Student's t on the variance HC2 (MacKinnon & White 1985), which holds where the spread
    depends on the cues. Simulated for differences that come from cues alone, along lines and curves (32 to 1000 inputs,
    3 to 14 cues with their normal scores), it covers 0 in 94 to 96 %.

    NaN with a reason where there are fewer than `INPUTS_PER_COLUMN` inputs for each cue, or where a cue is larger (or
    smaller) in one system at nearly every input (`LESSER_SIDE`): texts with equal cues then lie outside the data.
    Simulated for a metric that is the logarithm of length, intervals cover 0 in .93 or more where a tenth of the inputs
    lies on the other side, in .68 where 3 % do, and never where none does. No interval below `FEWEST_UNITS` inputs.

    `differences` have the shape (inputs,); `first` and `second` are the cues of the two systems' texts for these
    inputs, as `add_normal_scores` gives them.
    """
    y, gaps = np.asarray(differences, dtype=np.float64), first.values - second.values
    differs = (gaps != 0).any(axis=0)
    gaps, names = gaps[:, differs], [name for name, is_kept in zip(first.names, differs, strict=True) if is_kept]
    needed = max(INPUTS_PER_COLUMN * gaps.shape[1], 2)
    if len(gaps) < needed:
        reason = f"{gaps.shape[1]} cues (with normal scores) need at least {needed} inputs, but there are {len(gaps)}"
        return Estimate.undefined(reason)
    sides = np.minimum((gaps <= 0).mean(axis=0), (gaps >= 0).mean(axis=0))
    if (beyond := sides < LESSER_SIDE).any():
        share, name = 1 - sides[beyond][0], names[int(np.argmax(beyond))]
        return Estimate.undefined(f"{name} differs in one direction at {share:.0%} of the inputs: too few are alike")
    x = np.column_stack([np.ones(len(y)), gaps / np.sqrt((gaps**2).mean(axis=0))])
    values, vectors = np.linalg.eigh(x.T @ x)
    kept = values > TOLERANCE * values[-1]  # cues may repeat one another
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    slopes = inverse @ (x.T @ y)
    intercept, n, freedom = float(slopes[0]), len(y), len(y) - int(kept.sum())
    if n < FEWEST_UNITS:
        return Estimate.undefined(explain_few("inputs", n), intercept)
    left = np.maximum(1 - ((x @ inverse) * x).sum(axis=1), TOLERANCE)  # 1 minus the leverage of each input
    variance = float(((x @ inverse[0]) ** 2 * (y - x @ slopes) ** 2 / left).sum())
    return t_interval(intercept, variance, freedom)


def add_normal_scores(cues: Cues) -> Cues:
    """The cues, then their normal scores among all texts, so that a regression may follow a cue along a curve."""
    return cues.join(Cues(tuple(f"normal score of {name}" for name in cues.names), _normal_scores(cues.values)))


def explain_no_fit(cues: Floats) -> str | None:
    """The reason why cues cannot be fitted to ratings, or None."""
    varied = int(_vary(cues).sum())
    if not varied:
        return "no cheap cue differs between these texts"
    needed = TEXTS_PER_CUE * varied
    return None if len(cues) >= needed else f"{varied} cues need at least {needed} texts, but there are {len(cues)}"


def _vary(cues: Floats) -> Mask:
    """Whether each cue differs between texts, of shape (cues,)."""
    return (cues != cues[:1]).any(axis=0)


def correlate_beyond(x: Floats, y: Floats, cues: Floats, weights: Floats) -> Floats:
    """Partial correlations of normal scores given the cues' normal scores, of shape (resamples, metrics).

    NaN where the cues fix the scores x, of shape (n, metrics), or the ratings y, of shape (n,).
    """
    cues = cues[:, _vary(cues)]
    block = max(1, BLOCK // (len(y) * (4 * cues.shape[1] + x.shape[1] + 1)))
    parts = [_correlate_block(x, y, cues, weights[i : i + block]) for i in range(0, len(weights), block)]
    return np.concatenate(parts)


def _correlate_block(x: Floats, y: Floats, cues: Floats, weights: Floats) -> Floats:
    fixed = _expand(_normal_scores(cues, weights))
    columns, cut = np.concatenate([fixed, _normal_scores(np.column_stack([y, x]), weights)], axis=-1), fixed.shape[-1]
    share = (weights / weights.sum(axis=-1, keepdims=True))[..., None]
    columns = (columns - (share * columns).sum(axis=1, keepdims=True)) * np.sqrt(share)
    products = columns.swapaxes(1, 2) @ columns
    deviation = np.sqrt(np.diagonal(products, axis1=1, axis2=2))
    deviation = np.where(deviation > 0, deviation, 1.0)
    products = products / (deviation[:, :, None] * deviation[:, None, :])
    both = products[:, :cut, cut:]
    explained = both.swapaxes(1, 2) @ np.linalg.pinv(products[:, :cut, :cut], rcond=TOLERANCE, hermitian=True) @ both
    left = products[:, cut:, cut:] - explained
    own = np.diagonal(left, axis1=1, axis2=2)  # the share of each variance that the cues leave
    is_left = (own[:, 1:] > TOLERANCE) & (own[:, :1] > TOLERANCE)
    spread = np.sqrt(np.where(is_left, own[:, 1:] * own[:, :1], 1.0))
    return np.where(is_left, np.clip(left[:, 0, 1:] / spread, -1.0, 1.0), np.nan)


def _normal_scores(columns: Floats, weights: Floats | None = None) -> Floats:
    """Normal scores of columns of shape (n, columns): the normal quantiles of (rank - 1/2) / draws.

    Within each resample they have the shape (resamples, n, columns), without weights that of the columns.
    """
    given = np.ones((1, len(columns))) if weights is None else weights
    total = given.sum(axis=-1)[:, None, None]
    half = 0.5 / total  # values that a resample does not hold have no weight, but must be finite
    ranks = np.stack([average_ranks(column, given) for column in columns.T], axis=-1)
    from scipy.special import ndtri  # takes longer to import than many runs, which need no cues

    found = ndtri(np.clip((ranks - 0.5) / total, half, 1 - half))
    return found[0] if weights is None else found


def _expand(scores: Floats) -> Floats:
    """The columns and their sizes; where there are enough texts, also how far they lie beyond `KNOT` on either side."""
    parts = [scores, np.abs(scores)]
    if scores.shape[-2] >= TEXTS_PER_CURVE * scores.shape[-1]:
        parts += [np.maximum(scores - KNOT, 0.0), np.maximum(-scores - KNOT, 0.0)]
    return np.concatenate(parts, axis=-1)


def _list_spans(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + NGRAM]) for i in range(len(words) - NGRAM + 1)]


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _overlap(a: set[str], b: set[str]) -> float:
    return _share(len(a & b), len(a | b))
