"""Masking: which words of a human reference become blanks (MARS, section 2.1 and Appendix A). No model here."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from mars.english import PartOfSpeech
from mars.tagging import Tagger
from mars.words import Word, fold, is_punctuation, split_words

ALPHA: Mapping[PartOfSpeech, float] = {"adjective": 4.0, "adverb": 3.0, "noun": 2.0, "other": 1.0}
"""The weight of each word class in the priority (Eq. 1): 4, 3 and 2 are the paper's (footnote 3), 1 is ours."""
IDF_FLOOR = 0.1
SHARED_COST = 10
"""The cost of masking a word that the context shares in the same order; other words cost 1 (section 2.1)."""


@dataclass(frozen=True)
class Blank:
    """A run of masked words, [B]: `count` of them, at least one."""

    count: int


@dataclass(frozen=True)
class Kept:
    """A run of kept words, [T]: a slice of the reference with the white space before it."""

    text: str


Template = tuple[Blank | Kept, ...]
"""Blanks and kept runs in turn. A kept run at the end includes the white space at the end of the reference."""


@dataclass(frozen=True)
class InverseDocumentFrequency:
    """IDF of any word over a set of documents; called with a folded word. A word of no document has the highest.

    Attributes:
        documents: how many there are, M.
        containing: df, in how many of them each folded word is.
    """

    documents: int
    containing: Mapping[str, int]

    def __call__(self, word: str) -> float:
        """`smoothed_idf` of a folded word."""
        return smoothed_idf(self.documents, self.containing.get(word, 0))


def smoothed_idf(documents: int, containing: int) -> float:
    """IDF as used here: max(log((M + 1) / (df + 1)), 0.1), so that Eq. 1 can divide by it for any word.

    >>> smoothed_idf(4, 4), round(smoothed_idf(4, 1), 5)  # ln(5 / 2)
    (0.1, 0.91629)
    """
    return max(math.log((documents + 1) / (containing + 1)), IDF_FLOOR)


def inverse_document_frequency(documents: Iterable[str]) -> InverseDocumentFrequency:
    """Counts the documents (the set X of references, Eq. 1) that hold each folded word.

    >>> inverse_document_frequency(["A cat.", "a dog"])("cat") == smoothed_idf(2, 1)
    True
    """
    vocabularies = [{fold(word.text) for word in split_words(document)} for document in documents]
    return InverseDocumentFrequency(len(vocabularies), Counter(itertools.chain.from_iterable(vocabularies)))


def priorities(
    reference: Sequence[str], classes: Sequence[PartOfSpeech], idf: InverseDocumentFrequency
) -> Float[NDArray[np.float64], " words"]:
    """v_i = alpha(POS_i) / IDF(x_i, X) of each folded word (Eq. 1); words of high priority are masked first.

    Punctuation has priority 0 and is never masked.
    """
    pairs = zip(reference, classes, strict=True)
    return np.array([0.0 if is_punctuation(word) else ALPHA[pos] / idf(word) for word, pos in pairs], dtype=np.float64)


def longest_common_subsequence(
    context: Sequence[str], reference: Sequence[str]
) -> Bool[NDArray[np.bool_], " reference"]:
    """Which words of the reference lie on a longest common subsequence with the context.

    Of several subsequences, one is found from the ends: equal last words are paired; otherwise the last word of the
    context is dropped if this does not shorten the subsequence, else the last word of the reference.

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
        np.maximum.accumulate(np.maximum(above[1:], above[:-1] + (ours == number)), out=lengths[i + 1, 1:])
    shared = np.zeros(len(ours), dtype=np.bool_)
    i, j = len(theirs), len(ours)
    while i and j:
        if theirs[i - 1] == ours[j - 1]:
            i, j = i - 1, j - 1
            shared[j] = True
        elif lengths[i - 1, j] == lengths[i, j]:
            i -= 1
        else:
            j -= 1
    return shared


def costs(context: Sequence[str], reference: Sequence[str]) -> Int[NDArray[np.int64], " reference"]:
    """w_i of each word of the reference (section 2.1): 10 on the longest common subsequence with the context, else 1.

    >>> costs("a b c d".split(), "b x d".split()).tolist()
    [10, 1, 10]
    """
    return np.where(longest_common_subsequence(context, reference), SHARED_COST, 1)


def budget(ratio: float, count: int) -> int:
    """W = floor(lambda N + 1e-9) for a reference of N words and marks; rounding errors just below an integer vanish.

    >>> budget(0.6, 5), 0.29 * 100, budget(0.29, 100), budget(0.2, 4)
    (3, 28.999999999999996, 29, 0)

    Raises ValueError for a ratio outside 0 to 1.
    """
    if not 0 <= ratio <= 1:
        raise ValueError(f"a masking ratio must lie in 0 to 1, but got {ratio}")
    return math.floor(ratio * count + 1e-9)


def knapsack_table(
    values: Float[NDArray[np.float64], " words"], costs: Int[NDArray[np.int64], " words"], budget: int
) -> Float[NDArray[np.float64], "words+1 {budget}+1"]:
    """phi[i, w]: the highest value of the first i words within cost w (Eq. 2, Algorithm 1).

    Costs are positive integers. One table serves every budget up to the given one.
    """
    best = np.zeros((len(values) + 1, budget + 1))
    for i, (value, cost) in enumerate(zip(values, costs, strict=True)):
        best[i + 1] = best[i]
        if cost <= budget:
            np.maximum(best[i, cost:], best[i, : budget + 1 - cost] + value, out=best[i + 1, cost:])
    return best


def choose_words(
    best: Float[NDArray[np.float64], "words_and_none budgets"], costs: Int[NDArray[np.int64], " words"], budget: int
) -> Bool[NDArray[np.bool_], " words"]:
    """The words that make up phi[n, budget] of `knapsack_table` (Eq. 2): phi_i.

    From the last word back, a word is taken only if the value is strictly higher with it. Algorithm 1 as printed
    records the choice in both branches.
    """
    chosen = np.zeros(len(costs), dtype=np.bool_)
    for i in reversed(range(len(costs))):
        if best[i + 1, budget] > best[i, budget]:
            chosen[i] = True
            budget -= int(costs[i])
    return chosen


def make_template(
    text: str, reference: Sequence[Word], masked: Sequence[bool] | Bool[NDArray[np.bool_], " words"]
) -> Template:
    """The reference with its masked words as blanks (section 2.1); without masked words, one kept run.

    >>> found = split_words("A red  kite flew.")
    >>> make_template("A red  kite flew.", found, [False, True, True, False, False])
    (Kept(text='A'), Blank(count=2), Kept(text=' flew.'))
    """
    parts: list[Blank | Kept] = []
    end = 0
    for hidden, group in itertools.groupby(zip(reference, masked, strict=True), key=lambda pair: bool(pair[1])):
        run = [word for word, _ in group]
        parts.append(Blank(len(run)) if hidden else Kept(text[end : run[-1].end]))
        end = run[-1].end
    if not parts:
        return (Kept(text),)
    if isinstance(last := parts[-1], Kept):
        parts[-1] = Kept(last.text + text[end:])
    return tuple(parts)


def make_templates(
    reference: str, context: str, ratios: Sequence[float], tagger: Tagger, idf: InverseDocumentFrequency
) -> list[Template]:
    """One template per masking ratio (section 2.1), all from one knapsack table at the largest.

    Any text is allowed, even an empty one. A ratio that is too small to mask a word gives one kept run.

    Raises ValueError for a ratio outside 0 to 1.
    """
    found = split_words(reference)
    folded = [fold(word.text) for word in found]
    value = priorities(folded, tagger([word.text for word in found]), idf)
    cost = costs([fold(word.text) for word in split_words(context)], folded)
    budgets = [budget(ratio, len(found)) for ratio in ratios]
    best = knapsack_table(value, cost, max(budgets, default=0))
    return [make_template(reference, found, choose_words(best, cost, w)) for w in budgets]
