"""Cheap cues: what can be counted in a text without a model, and what a metric adds to them.

Length, repetition and overlap explain much of the agreement of metrics with people. Two statistics show how much:
`combine_cues` predicts the ratings by the cues alone, and `agreement_beyond_cues` is the correlation of a metric with
the ratings that remains when the cues are held fixed.

All ranks become normal scores (van der Waerden), and the squares of the cues' normal scores count as cues too: a linear
fit of plain ranks leaves a remainder, in which a metric that only counts would seem to agree with people.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from core.example import Example
from meta_eval.bootstrap import FEWEST_UNITS, Estimate, Floats, bootstrap, number_groups
from meta_eval.correlation import explain_undefined, keep_scored, weigh_ranks

Split = Callable[[str], Sequence[str]]  # a text into its words, or into its characters

NGRAM = 3  # words of a repeated or copied span
SENTENCE_END = re.compile(r"[.!?。！？…]+")
TEXTS_PER_CUE = 4  # for each cue and each square; simulated with fewer units than cues, intervals cover 93 to 98 %
TOLERANCE = 1e-9  # of the variance that the cues leave; below it nothing is left


@dataclass(frozen=True)
class Cues:
    """The cheap cues of n texts: `values` has the shape (n, len(names))."""

    names: tuple[str, ...]
    values: Floats

    def __post_init__(self) -> None:
        if self.values.shape[1:] != (len(self.names),):
            raise ValueError(f"values must have the shape (n, {len(self.names)}), but have {self.values.shape}")

    def join(self, other: "Cues") -> "Cues":
        """These cues, then the other ones of the same texts."""
        return Cues((*self.names, *other.names), np.hstack([self.values, other.values]))


def count_cues(examples: Sequence[Example], split: Split) -> Cues:
    """The cheap cues of examples: of dialogues if all have turns, else of texts, their context and references.

    The cues of a context or of references are there if all examples have them. The name of the system is no cue.

    Args:
        examples: texts or dialogues.
        split: a text into its words; into its characters where words have no blanks between them.
    """
    if all(example.turns for example in examples):
        return dialogue_cues([example.turns for example in examples], split)
    texts = [example.full_text for example in examples]
    found = text_cues(texts, split)
    contexts = [example.context for example in examples if example.context]
    if len(contexts) == len(texts) > 0:
        found = found.join(source_cues(texts, [(context,) for context in contexts], split, "context"))
    if examples and all(example.references for example in examples):
        found = found.join(source_cues(texts, [example.references for example in examples], split, "reference"))
    return found


def text_cues(texts: Sequence[str], split: Split) -> Cues:
    """Cues of texts: length, sentences, repetition, punctuation and case.

    words: how many; sentences: how many; sentence length and its deviation: in words; different words: their share;
    repeated spans: the share of spans of three words that stand earlier in the text; punctuation, upper case: the
    shares of characters.
    """
    names = "words, sentences, sentence length, deviation of sentence length, different words, repeated spans"
    rows: list[tuple[float, ...]] = []
    for text in texts:
        words = _fold(split(text))
        lengths = [len(split(part)) for part in SENTENCE_END.split(text)]
        lengths = [length for length in lengths if length] or [0]
        spans = _spans(words)
        marks = sum(not character.isalnum() and not character.isspace() for character in text)
        rows.append(
            (
                len(words),
                len(lengths),
                float(np.mean(lengths)),
                float(np.std(lengths)),
                _share(len(set(words)), len(words)),
                1 - _share(len(set(spans)), len(spans)) if spans else 0.0,
                _share(marks, len(text)),
                _share(sum(map(str.isupper, text)), len(text)),
            )
        )
    return Cues((*names.split(", "), "punctuation", "upper case"), _to_array(rows, 8))


def source_cues(texts: Sequence[str], sources: Sequence[Sequence[str]], split: Split, name: str) -> Cues:
    """Cues of texts beside their sources, such as a context or several references; of several the largest overlap.

    overlap: the share of different words that are in the source; copied spans: the share of spans of three words that
    are in the source; length ratio: the logarithm of words over words of the source (its mean over several).
    """
    rows: list[tuple[float, ...]] = []
    for text, several in zip(texts, sources, strict=True):
        words = _fold(split(text))
        others = [_fold(split(source)) for source in several]
        rows.append(
            (
                max(_share(len(set(words) & set(other)), len(set(words))) for other in others),
                max(_share(len(set(_spans(words)) & set(_spans(other))), len(set(_spans(words)))) for other in others),
                float(np.mean([np.log((1 + len(words)) / (1 + len(other))) for other in others])),
            )
        )
    return Cues(tuple(f"{cue} with {name}" for cue in ("overlap", "copied spans", "length ratio")), _to_array(rows, 3))


def dialogue_cues(dialogues: Sequence[Sequence[str]], split: Split) -> Cues:
    """Nine cues of dialogues.

    words; turns; words per turn of the first speaker, of the second, and of both; different words: their share; the
    largest overlap of words (Jaccard) of a turn with an earlier one; the mean overlap with the turn before; questions:
    the share of turns with a question mark.
    """
    names = "words, turns, words per turn of the first speaker, words per turn of the second speaker, words per turn"
    names += ", different words, overlap with an earlier turn, overlap with the turn before, questions"
    rows: list[tuple[float, ...]] = []
    for turns in dialogues:
        words = [_fold(split(turn)) for turn in turns]
        lengths, sets = [len(each) for each in words], [set(each) for each in words]
        every = [word for each in words for word in each]
        rows.append(
            (
                len(every),
                len(turns),
                float(np.mean(lengths[::2])),
                float(np.mean(lengths[1::2])) if len(turns) > 1 else 0.0,
                float(np.mean(lengths)),
                _share(len(set(every)), len(every)),
                max((_overlap(a, b) for i, b in enumerate(sets) for a in sets[:i]), default=0.0),
                float(np.mean([_overlap(a, b) for a, b in pairwise(sets)])) if turns[1:] else 0.0,
                _share(sum("?" in turn or "？" in turn for turn in turns), len(turns)),
            )
        )
    return Cues(tuple(names.split(", ")), _to_array(rows, 9))


def combine_cues(
    cues: Cues, ratings: ArrayLike, groups: Sequence[Hashable] | None = None, *, folds: int = 10, seed: int = 0
) -> Floats:
    """Ratings predicted by cues alone, of shape (n,): ridge regression of normal scores, cross-fitted by group.

    No text predicts itself or another text of its group. Each fold is predicted without the mean of its training
    ratings, because means of folds that differ by chance would order the texts. Higher means a better predicted rating.

    Args:
        cues: of n texts.
        ratings: of shape (n,), finite.
        groups: the input of each text; whole groups share a fold.
        folds: at most as many as there are groups.
        seed: of the choice of folds.
    """
    y, (units, number) = np.asarray(ratings, dtype=np.float64), _number(len(cues.values), groups)
    ones = np.ones((1, len(y)))
    design = _expand(np.stack([_normal_scores(column, ones)[0] for column in cues.values.T], axis=-1))
    target = _normal_scores(y, ones)[0]
    fold = (np.random.default_rng(seed).permutation(number) % min(folds, number))[units]
    found = np.zeros(len(y))
    for k in range(min(folds, number)):
        train = fold != k
        if not train.any():
            continue
        x, mean = design[train], design[train].mean(axis=0)
        deviation = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
        z, centred = (x - mean) / deviation, target[train] - target[train].mean()
        weights = np.linalg.solve(z.T @ z + np.sqrt(len(z)) * np.eye(z.shape[1]), z.T @ centred)
        found[~train] = ((design[~train] - mean) / deviation) @ weights
    return found


def agreement_beyond_cues(
    scores: ArrayLike,
    ratings: ArrayLike,
    cues: Cues,
    groups: Sequence[Hashable] | None = None,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> Estimate:
    """The partial correlation of `scores` with `ratings`, both of shape (n,), with the cues held fixed, in [-1, 1].

    All columns are normal scores. The cues' normal scores and their squares are held fixed, fitted anew in each
    resample of whole groups. 0: the metric agrees with people only as far as the cues do.

    Examples with a NaN score are left out. NaN with a reason where there are fewer than four texts for each cue and
    square, or where the cues fix the scores or the ratings; no interval below `FEWEST_UNITS` groups. Simulated for
    metrics that are noisy cues (30 to 125 inputs of 1 to 16 outputs, 9 to 14 cues), intervals cover 0 in 93 to 97 %.
    """
    (x, y), kept = keep_scored(scores=scores, ratings=ratings)
    reason = explain_undefined(scores=x, ratings=y)
    if reason is not None:
        return Estimate.undefined(reason)
    z = cues.values[kept]
    z = z[:, z.min(axis=0) < z.max(axis=0)]
    fixed = 2 * z.shape[1]
    if len(x) < TEXTS_PER_CUE * fixed:
        needed = f"{z.shape[1]} cues and their squares need at least {TEXTS_PER_CUE * fixed} texts"
        return Estimate.undefined(f"{needed}, but there are {len(x)}")
    units = number_groups(len(kept), groups)[kept]
    found = bootstrap(
        lambda weights: {"beyond": correlate_beyond(x, y, z, weights)},
        units,
        resamples=resamples,
        seed=seed,
        fewest=FEWEST_UNITS,
    )["beyond"]
    return Estimate.undefined("the cues fix the scores or the ratings") if np.isnan(found.value) else found


def correlate_beyond(x: Floats, y: Floats, cues: Floats, weights: Floats) -> Floats:
    """The partial correlation of normal scores given the cues' normal scores and their squares, of shape (resamples,).

    Args:
        x, y: of shape (n,).
        cues: of shape (n, cues).
        weights: how often each resample holds each example, of shape (resamples, n).
    """
    block = max(1, 2_000_000 // (len(x) * (2 * cues.shape[1] + 2)))
    parts = [_correlate_block(x, y, cues, weights[i : i + block]) for i in range(0, len(weights), block)]
    return np.concatenate(parts)


def _correlate_block(x: Floats, y: Floats, cues: Floats, weights: Floats) -> Floats:
    scores = [_normal_scores(column, weights) for column in (*cues.T, x, y)]
    columns = np.concatenate([_expand(np.stack(scores[:-2], axis=-1)), np.stack(scores[-2:], axis=-1)], axis=-1)
    share = weights / weights.sum(axis=-1, keepdims=True)
    columns = columns - np.einsum("rn,rnc->rc", share, columns)[:, None]
    weighed = columns * np.sqrt(share)[..., None]
    products = weighed.swapaxes(1, 2) @ weighed
    deviation = np.sqrt(np.diagonal(products, axis1=1, axis2=2))
    products = products / np.where(deviation > 0, deviation, 1.0)[:, :, None]
    products = products / np.where(deviation > 0, deviation, 1.0)[:, None, :]
    fixed, both = products[:, :-2, :-2], products[:, :-2, -2:]
    left = products[:, -2:, -2:] - both.swapaxes(1, 2) @ np.linalg.pinv(fixed, rcond=1e-9, hermitian=True) @ both
    spread = left[:, 0, 0] * left[:, 1, 1]
    is_left = (left[:, 0, 0] > TOLERANCE) & (left[:, 1, 1] > TOLERANCE)
    found = np.full(len(weights), np.nan)
    return np.clip(np.divide(left[:, 0, 1], np.sqrt(np.maximum(spread, 0)), out=found, where=is_left), -1.0, 1.0)


def _normal_scores(x: Floats, weights: Floats) -> Floats:
    """Normal scores within each resample, of shape (resamples, n): the normal quantiles of (rank - 1/2) / draws."""
    total = weights.sum(axis=-1, keepdims=True)
    half = 0.5 / total  # values that a resample does not hold have no weight, but must be finite
    return ndtri(np.clip((weigh_ranks(x, weights) - 0.5) / total, half, 1 - half))


def _expand(scores: Floats) -> Floats:
    """The columns and their squares."""
    return np.concatenate([scores, scores**2], axis=-1)


def _number(n: int, groups: Sequence[Hashable] | None) -> tuple[NDArray[np.intp], int]:
    units = number_groups(n, groups)
    return units, int(units.max(initial=-1)) + 1


def _fold(words: Sequence[str]) -> list[str]:
    return [word.casefold() for word in words]


def _spans(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + NGRAM]) for i in range(len(words) - NGRAM + 1)]


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _overlap(a: set[str], b: set[str]) -> float:
    return _share(len(a & b), len(a | b))


def _to_array(rows: Sequence[Sequence[float]], columns: int) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(len(rows), columns)
