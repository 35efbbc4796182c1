"""Masking: which words of a human reference become blanks (MARS, section 2.1 and Appendix A). No model here."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from data.documents import DocumentFrequencies, count_documents, read_documents
from data.words import Word, fold, is_punctuation, split_words
from mars.english import PartOfSpeech, tag_words

# alpha of Eq. 1; 4, 3 and 2 are from footnote 3 of the paper, which does not give that of other words
ALPHA: dict[PartOfSpeech, float] = {
    "adjective": 4.0,
    "adverb": 3.0,
    "noun": 2.0,
    "other": 1.0,
}
Values = Float[NDArray[np.float64], " words"]
Costs = Int[NDArray[np.int64], " words"]
Chosen = Bool[NDArray[np.bool_], " words"]
SHARED_COST = 10  # of a word that the context shares in the same order; other words cost 1 (section 2.1)


@dataclass(frozen=True)
class Blank:
    """A run of masked words, [B] in the paper: `count` words, at least one."""

    count: int


@dataclass(frozen=True)
class Kept:
    """A run of kept words, [T] in the paper: a slice of the reference with the white space before it."""

    text: str


Template = tuple[Blank | Kept, ...]
"""Blanks and kept runs in turn. A kept run at the end includes the white space at the end of the reference."""


def fold_words(text: str) -> list[str]:
    """Splits a text into words, and unifies case, apostrophes and the like, so that words can be compared."""
    return [fold(word.text) for word in split_words(text)]


def count_corpus(texts: Sequence[str]) -> DocumentFrequencies:
    """Counts, for each folded word, the texts of the corpus X of Eq. 1 in which it occurs.

    >>> count_corpus(["A cat.", "a dog"]).containing["a"]
    2
    """
    return count_documents(texts, fold_words)


def load_documents(path: Path | str) -> DocumentFrequencies:
    """Counts the words of a corpus file (`read_documents`). Raises InputError for a faulty file."""
    return count_corpus(read_documents(path))


def priorities(reference: Sequence[str], classes: Sequence[PartOfSpeech], documents: DocumentFrequencies) -> Values:
    """Computes v_i = alpha(POS_i) / IDF(x_i, X) of each folded word (Eq. 1). High priorities are masked first.

    Punctuation has priority 0 and is never masked.
    """
    values = np.zeros(len(reference), dtype=np.float64)
    for i, (word, part_of_speech) in enumerate(zip(reference, classes, strict=True)):
        if not is_punctuation(word):
            values[i] = ALPHA[part_of_speech] / documents.idf(word)
    return values


def longest_common_subsequence(context: Sequence[str], reference: Sequence[str]) -> Chosen:
    """Finds which words of the reference lie on a longest common subsequence with the context.

    If there are several, one is chosen by going back from the ends. Equal last words are paired; otherwise the last
    word of the context is dropped if this does not shorten the subsequence, else the last word of the reference.

    >>> longest_common_subsequence(list("abcd"), list("bxd")).tolist()
    [True, False, True]
    >>> longest_common_subsequence(list("ab"), list("ba")).tolist()  # the b of the context goes first
    [False, True]
    """
    numbers = {word: number for number, word in enumerate(dict.fromkeys(reference))}
    ours = np.array([numbers[word] for word in reference], dtype=np.int64)
    theirs = [numbers[word] for word in context if word in numbers]  # other words cannot be paired
    lengths = np.zeros((len(theirs) + 1, len(ours) + 1), dtype=np.int32)
    for i, number in enumerate(theirs):
        above = lengths[i]
        longest = np.maximum(above[1:], above[:-1] + (ours == number))
        np.maximum.accumulate(longest, out=lengths[i + 1, 1:])
    shared = np.zeros(len(ours), dtype=np.bool_)
    i = len(theirs)
    j = len(ours)
    while i and j:
        if theirs[i - 1] == ours[j - 1]:
            i -= 1
            j -= 1
            shared[j] = True
        elif lengths[i - 1, j] == lengths[i, j]:
            i -= 1
        else:
            j -= 1
    return shared


def costs(context: Sequence[str], reference: Sequence[str]) -> Costs:
    """Computes w_i of each word (section 2.1): 10 on the longest common subsequence with the context, else 1.

    >>> costs("a b c d".split(), "b x d".split()).tolist()
    [10, 1, 10]
    """
    return np.where(longest_common_subsequence(context, reference), SHARED_COST, 1)


def budget(ratio: float, count: int) -> int:
    """Computes W = lambda N (section 2.1), rounded up, for a reference of N words and punctuation marks.

    The paper does not say how to round. Rounding up masks words of short references, too, as Table 5 requires.

    >>> budget(0.2, 4), 0.28 * 100, budget(0.28, 100)
    (1, 28.000000000000004, 28)

    Raises ValueError for a ratio outside 0 to 1.
    """
    if not 0 <= ratio <= 1:
        raise ValueError(f"a masking ratio must lie in 0 to 1, but got {ratio}")
    return math.ceil(round(ratio * count, 9))


def knapsack_table(values: Values, costs: Costs, budget: int) -> Float[NDArray[np.float64], "words+1 {budget}+1"]:
    """Computes phi[i, w], the highest value of the first i words within cost w (Eq. 2, Algorithm 1).

    Costs are positive integers. One table serves every budget up to the given one.
    """
    best = np.zeros((len(values) + 1, budget + 1))
    for i, (value, cost) in enumerate(zip(values, costs, strict=True)):
        best[i + 1] = best[i]
        if cost <= budget:
            with_word = best[i, : budget + 1 - cost] + value
            np.maximum(best[i, cost:], with_word, out=best[i + 1, cost:])
    return best


def choose_words(best: Float[NDArray[np.float64], "words_and_none budgets"], costs: Costs, budget: int) -> Chosen:
    """Chooses the words to mask: their values sum to phi[n, budget] of `knapsack_table` (Eq. 2).

    From the last word back, a word is chosen only if it makes the value strictly higher. Algorithm 1 as printed records
    the choice in both branches.
    """
    chosen = np.zeros(len(costs), dtype=np.bool_)
    for i in reversed(range(len(costs))):
        if best[i + 1, budget] > best[i, budget]:
            chosen[i] = True
            budget -= int(costs[i])
    return chosen


def make_template(text: str, reference: Sequence[Word], masked: Sequence[bool] | Chosen) -> Template:
    """Makes the reference with its masked words as blanks (section 2.1); without masked words, it is one kept run.

    >>> words = split_words("A red  kite flew.")
    >>> make_template("A red  kite flew.", words, [False, True, True, False, False])
    (Kept(text='A'), Blank(count=2), Kept(text=' flew.'))
    """
    parts: list[Blank | Kept] = []
    end = 0
    pairs = zip(reference, masked, strict=True)
    for is_masked, group in itertools.groupby(pairs, key=lambda pair: bool(pair[1])):
        run = [word for word, _ in group]
        start = end
        end = run[-1].end
        parts.append(Blank(len(run)) if is_masked else Kept(text[start:end]))
    if not parts:
        return (Kept(text),)
    last = parts[-1]
    if isinstance(last, Kept):
        parts[-1] = Kept(last.text + text[end:])
    return tuple(parts)


def make_templates(
    reference: str,
    context: str,
    ratios: Sequence[float],
    documents: DocumentFrequencies,
) -> list[Template]:
    """Makes one template per masking ratio (section 2.1), all from the knapsack table of the largest ratio.

    Any text is allowed, even an empty one. If the budget can mask no word, the template is one kept run.

    Raises ValueError for a ratio outside 0 to 1.
    """
    words = split_words(reference)
    folded = [fold(word.text) for word in words]
    value = priorities(folded, tag_words([word.text for word in words]), documents)
    cost = costs(fold_words(context), folded)
    budgets = [budget(ratio, len(words)) for ratio in ratios]
    best = knapsack_table(value, cost, max(budgets, default=0))
    return [make_template(reference, words, choose_words(best, cost, w)) for w in budgets]
