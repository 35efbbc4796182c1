"""Cheap cues: features that can be counted in a text without a model, and what a metric adds to them.

Length, repetition and overlap explain much of the agreement of metrics with people. Two statistics show how much:
`combine_cues` predicts the ratings by the cues alone, and `agreement_beyond_cues` is the correlation of a metric with
the ratings that remains when the cues are controlled for.

All ranks become normal scores z (van der Waerden). The size of z also counts as a cue, so that a metric that likes a
middle length does not seem to agree with people. With many texts, the parts of z beyond `KNOT` on either side count,
too. A sum of curves, one of each cue, is controlled for. Functions of several cues together (a product, the smaller of
two) and cues that are not counted here are not: in simulations, metrics of this kind keep an agreement beyond the cues.
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise

import numpy as np
from numpy.typing import ArrayLike

from core.example import UNSPACED, Example
from meta_eval.correlation import average_ranks
from meta_eval.design import Floats, Layout, Mask, lay_out, number_groups, restrict
from meta_eval.estimates import Estimate, estimate_weighted
from meta_eval.grouping import explain_undefined

ARE_CUES = "the row is the cheap cues themselves, so nothing can be left beyond them"
NOTHING_LEFT = "cheap cues alone determine the scores or the ratings, so nothing is left beyond them"
WORD = re.compile(r"\w+(?:['’]\w+)*")
NGRAM = 3  # words of a repeated or copied span
SENTENCE_END = re.compile(r"[.!?。！？…]+")
FOLDS = 10  # of the cross-fitted prediction by cues
TEXTS_PER_CUE = 8  # that a fit of cues needs
TEXTS_PER_CURVE = 20  # for each cue; with fewer texts a line and a size must do
KNOT = 0.8  # normal scores beyond which the line of a cue may bend; about a fifth of the texts on either side
VERSION = 2  # of what is held fixed
TOLERANCE = 1e-9  # of a variance; below it nothing is left
BLOCK = 2_000_000  # numbers held at once: 16 MB


@dataclass(frozen=True)
class Cues:
    """The cheap cues of n texts: `values` has the shape (n, len(names))."""

    names: tuple[str, ...]
    values: Floats


def count_cues(examples: Sequence[Example]) -> Cues:
    """Counts the cheap cues of examples: of dialogues if all have turns, else of texts, their context and references.

    Cues of a context or of references are counted if all examples have them. The name of the system is not a cue.
    """
    if all(example.turns for example in examples):
        rows = [_count_dialogue(example.turns) for example in examples]
    else:
        rows = _count_texts(examples)
    names = tuple(rows[0]) if rows else ()
    values = np.zeros((len(rows), len(names)))
    for i, row in enumerate(rows):
        values[i] = [*row.values()]
    return Cues(names, values)


def _count_texts(examples: Sequence[Example]) -> list[dict[str, float]]:
    """The cues of each text, with those of its context and references if all examples have them."""
    has_context = all(example.context for example in examples)
    has_references = all(example.references for example in examples)
    rows = []
    for example in examples:
        words = list_words(example.full_text)
        row = _count_text(example.full_text, words)
        if has_context:
            row |= _count_overlap(words, [example.context or ""], "context")
        if has_references:
            row |= _count_overlap(words, example.references, "reference")
        rows.append(row)
    return rows


def list_words(text: str) -> list[str]:
    """Lists the words that cues count, in lower case: runs of letters and digits, or letters of scripts without spaces.

    >>> list_words("It's 3 o'clock, 明月!")
    ["it's", '3', "o'clock", '明', '月']
    """
    return WORD.findall(UNSPACED.sub(r" \g<0> ", text).casefold())


def _count_text(text: str, words: Sequence[str]) -> dict[str, float]:
    """Counts length, sentences (in words), repetition, punctuation and case of a text.

    repeated spans: the share of spans of three words that stand earlier in the text; punctuation, upper case: the
    shares of characters.
    """
    sentences = [list_words(part) for part in SENTENCE_END.split(text)]
    lengths = [len(sentence) for sentence in sentences if sentence] or [0]
    spans = _list_spans(words)
    different_spans = _share(len(set(spans)), len(spans))
    punctuation = [not character.isalnum() and not character.isspace() for character in text]
    return {
        "words": len(words),
        "sentences": len(lengths),
        "sentence length": float(np.mean(lengths)),
        "deviation of sentence length": float(np.std(lengths)),
        "different words": _share(len(set(words)), len(words)),
        "repeated spans": 1 - different_spans if spans else 0.0,
        "punctuation": _share(sum(punctuation), len(text)),
        "upper case": _share(sum(map(str.isupper, text)), len(text)),
    }


def _count_overlap(words: Sequence[str], sources: Sequence[str], name: str) -> dict[str, float]:
    """Compares a text with its sources, such as a context or references; of several sources the largest overlap counts.

    overlap: the share of different words that are in the source; copied spans: the share of spans of three words that
    are in the source; length ratio: the logarithm of words over words of the source (its mean over several).
    """
    different = set(words)
    spans = set(_list_spans(words))
    overlaps = []
    copied = []
    ratios = []
    for source in sources:
        source_words = list_words(source)
        shared_words = different & set(source_words)
        shared_spans = spans & set(_list_spans(source_words))
        overlaps.append(_share(len(shared_words), len(different)))
        copied.append(_share(len(shared_spans), len(spans)))
        ratio = (1 + len(words)) / (1 + len(source_words))
        ratios.append(np.log(ratio))
    return {
        f"overlap with {name}": max(overlaps),
        f"copied spans with {name}": max(copied),
        f"length ratio with {name}": float(np.mean(ratios)),
    }


def _count_dialogue(turns: Sequence[str]) -> dict[str, float]:
    """Counts nine cues of a dialogue: length, repetition (overlaps are Jaccard's), and the share of turns that ask."""
    words_of_turns = [list_words(turn) for turn in turns]
    lengths = [len(words) for words in words_of_turns]
    sets = [set(words) for words in words_of_turns]
    all_words = [*chain(*words_of_turns)]
    with_any_earlier = [_overlap(earlier, later) for earlier, later in combinations(sets, 2)]
    with_turn_before = [_overlap(before, turn) for before, turn in pairwise(sets)]
    questions = sum("?" in turn or "？" in turn for turn in turns)
    return {
        "words": len(all_words),
        "turns": len(turns),
        "words per turn of the first speaker": float(np.mean(lengths[::2])),
        "words per turn of the second speaker": float(np.mean(lengths[1::2] or [0])),
        "words per turn": float(np.mean(lengths)),
        "different words": _share(len(set(all_words)), len(all_words)),
        "overlap with an earlier turn": max(with_any_earlier, default=0.0),
        "overlap with the turn before": float(np.mean(with_turn_before or [0])),
        "questions": _share(questions, len(turns)),
    }


def combine_cues(
    cues: Cues,
    ratings: ArrayLike,
    groups: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
) -> Floats:
    """Predicts ratings, of shape (n,), by cues alone: ridge regression of normal scores, cross-fitted by group.

    No text is used to predict itself or another text of its group (its input). The predictions of a fold leave out the
    mean of the training ratings, because such means differ between folds by chance and would order the texts. `seed`
    chooses the folds.
    """
    y = np.asarray(ratings, dtype=np.float64)
    units = number_groups(len(cues.values), groups)
    number = int(units.max(initial=-1)) + 1
    folds = min(FOLDS, number)
    predicted = np.zeros(len(y))
    if folds < 2:
        return predicted
    shuffled = np.random.default_rng(seed).permutation(number)
    fold_of_text = (shuffled % folds)[units]
    columns = _expand(_normal_scores(cues.values))
    target = _normal_scores(y[:, None])[:, 0]
    for fold in range(folds):
        is_training = fold_of_text != fold
        slopes, z = _fit_ridge(columns, target, is_training)
        predicted[~is_training] = z[~is_training] @ slopes
    return predicted


def _fit_ridge(columns: Floats, target: Floats, is_training: Mask) -> tuple[Floats, Floats]:
    """The slopes of a ridge regression on the training texts, and all columns as these standardise them.

    The penalty is the root of the number of training texts.
    """
    mean = columns[is_training].mean(axis=0)
    deviation = columns[is_training].std(axis=0)
    z = (columns - mean) / np.where(deviation > 0, deviation, 1.0)
    x = z[is_training]
    y = target[is_training]
    centred = y - y.mean()
    texts, cues = x.shape
    penalty = np.sqrt(texts) * np.eye(cues)
    slopes = np.linalg.solve(x.T @ x + penalty, x.T @ centred)
    return slopes, z


def agreement_beyond_cues(
    scores: Mapping[str, ArrayLike],
    ratings: ArrayLike,
    cues: Cues,
    groups: Sequence[Hashable] | None = None,
) -> dict[str, Estimate]:
    """Computes the partial correlation of each metric with `ratings`, of shape (n,), given the cues; in [-1, 1].

    0 means that the metric agrees with people only as far as the cues do. All columns are normal scores. The cues and
    their sizes are controlled for and, with `TEXTS_PER_CURVE` texts for each cue, curves of the cues. They are fitted
    again without each group.

    Examples with a NaN score or rating are left out. The value is NaN with a reason if there are fewer than
    `TEXTS_PER_CUE` texts for each cue, or if the cues determine the scores or the ratings.
    """
    y = np.asarray(ratings, dtype=np.float64)
    layout = lay_out(len(y), inputs=groups)
    estimates: dict[str, Estimate] = {}
    # metrics that score the same texts, by the bytes of the mask of these, share the fit of the cues
    columns_by_mask: dict[bytes, dict[str, Floats]] = {}
    for metric, values in scores.items():
        x = np.asarray(values, dtype=np.float64)
        kept = ~np.isnan(x + y)
        independent = lay_out(int(kept.sum()))
        reason = explain_undefined(x[kept], y[kept], independent)
        reason = reason or explain_no_fit(cues.values[kept])
        if reason is None:
            columns_by_mask.setdefault(kept.tobytes(), {})[metric] = x[kept]
        else:
            estimates[metric] = Estimate.undefined(reason)
    for mask, columns in columns_by_mask.items():
        kept = np.frombuffer(mask, dtype=np.bool_)
        estimates |= _estimate_beyond(
            columns,
            ratings=y[kept],
            cues=cues.values[kept],
            layout=restrict(layout, kept),
        )
    return {metric: estimates[metric] for metric in scores}


def _estimate_beyond(
    columns: Mapping[str, Floats],
    ratings: Floats,
    cues: Floats,
    layout: Layout,
) -> dict[str, Estimate]:
    """`agreement_beyond_cues` of metrics that score the same texts, whose columns have the shape (n,) without NaN."""
    scores = np.stack([*columns.values()], axis=-1)  # (n, metrics)

    def correlate(inputs: Floats) -> Floats:
        return correlate_beyond(scores, ratings, cues, inputs[:, layout.inputs])

    estimates = estimate_weighted(correlate, layout, scale="correlation", reason=NOTHING_LEFT)
    return dict(zip(columns, estimates.show(), strict=True))


def explain_no_fit(cues: Floats) -> str | None:
    """Returns the reason why cues cannot be fitted to ratings; None if they can."""
    varied = int(_vary(cues).sum())
    if not varied:
        return "no cheap cue differs between these texts"
    needed = TEXTS_PER_CUE * varied
    if len(cues) < needed:
        return f"{varied} cues need at least {needed} texts, but there are {len(cues)}"
    return None


def _vary(cues: Floats) -> Mask:
    """Whether each cue differs between texts, of shape (cues,)."""
    return (cues != cues[:1]).any(axis=0)


def correlate_beyond(
    x: Floats,
    y: Floats,
    cues: Floats,
    weights: Floats,
) -> Floats:
    """Computes the partial correlations of normal scores given the cues, of shape (resamples, metrics).

    NaN if the cues determine the scores x, of shape (n, metrics), or the ratings y, of shape (n,).
    """
    cues = cues[:, _vary(cues)]
    columns = 4 * cues.shape[1] + x.shape[1] + 1  # of a resample, with the curves of the cues
    batch = max(1, BLOCK // (len(y) * columns))
    blocks = []
    for start in range(0, len(weights), batch):
        blocks.append(_correlate_block(x, y, cues, weights[start : start + batch]))
    return np.concatenate(blocks)


def _correlate_block(
    x: Floats,
    y: Floats,
    cues: Floats,
    weights: Floats,
) -> Floats:
    """`correlate_beyond` of few resamples: C, the correlations of all columns, less those that the cues explain.

    With the cues c and the ratings and scores r, what is left of C_rr is C_rr - C_rc C_cc⁻¹ C_cr.
    """
    fixed = _expand(_normal_scores(cues, weights))  # (resamples, n, columns)
    ratings_and_scores = _normal_scores(np.column_stack([y, x]), weights)
    correlations = _correlate_columns(np.concatenate([fixed, ratings_and_scores], axis=-1), weights)
    cut = fixed.shape[-1]
    c_cc = correlations[:, :cut, :cut]
    c_cr = correlations[:, :cut, cut:]
    c_rr = correlations[:, cut:, cut:]
    inverse = np.linalg.pinv(c_cc, rcond=TOLERANCE, hermitian=True)
    residual = c_rr - c_cr.swapaxes(1, 2) @ inverse @ c_cr
    variances = np.diagonal(residual, axis1=1, axis2=2)  # the share of each variance that the cues leave
    of_ratings = variances[:, :1]
    of_scores = variances[:, 1:]
    is_left = (of_scores > TOLERANCE) & (of_ratings > TOLERANCE)
    spread = np.sqrt(np.where(is_left, of_scores * of_ratings, 1.0))
    covariances = residual[:, 0, 1:]
    partial = np.clip(covariances / spread, -1.0, 1.0)
    return np.where(is_left, partial, np.nan)


def _correlate_columns(columns: Floats, weights: Floats) -> Floats:
    """The correlations of columns of shape (resamples, n, columns) by weights of shape (resamples, n).

    A column that does not vary has no correlation, and 0 in place of it.
    """
    total = weights.sum(axis=-1, keepdims=True)
    share = (weights / total)[..., None]
    means = (share * columns).sum(axis=1, keepdims=True)
    centred = (columns - means) * np.sqrt(share)
    products = centred.swapaxes(1, 2) @ centred
    deviation = np.sqrt(np.diagonal(products, axis1=1, axis2=2))
    deviation = np.where(deviation > 0, deviation, 1.0)
    return products / (deviation[:, :, None] * deviation[:, None, :])


def _normal_scores(columns: Floats, weights: Floats | None = None) -> Floats:
    """Normal scores of columns of shape (n, columns): the normal quantiles of (rank - 1/2) / draws.

    Within each resample they have the shape (resamples, n, columns), without weights that of the columns.
    """
    if weights is None:
        once = np.ones((1, len(columns)))
        return _normal_scores(columns, once)[0]
    from scipy.special import ndtri  # takes longer to import than many runs, which need no cues

    total = weights.sum(axis=-1)[:, None, None]
    ranks_of_columns = [average_ranks(column, weights) for column in columns.T]
    ranks = np.stack(ranks_of_columns, axis=-1)
    # values that a resample does not hold have no weight, but must be finite
    least = 0.5 / total
    levels = np.clip((ranks - 0.5) / total, least, 1 - least)
    return ndtri(levels)


def _expand(scores: Floats) -> Floats:
    """The columns and their sizes; where there are enough texts, also how far they lie beyond `KNOT` on either side."""
    parts = [scores, np.abs(scores)]
    texts, cues = scores.shape[-2:]
    if texts >= TEXTS_PER_CURVE * cues:
        above = np.maximum(scores - KNOT, 0.0)
        below = np.maximum(-scores - KNOT, 0.0)
        parts += [above, below]
    return np.concatenate(parts, axis=-1)


def _list_spans(words: Sequence[str]) -> list[tuple[str, ...]]:
    starts = range(len(words) - NGRAM + 1)
    return [tuple(words[start : start + NGRAM]) for start in starts]


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _overlap(a: set[str], b: set[str]) -> float:
    return _share(len(a & b), len(a | b))
