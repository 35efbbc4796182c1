"""Probe of the built-in rated sets: how far cheap cues, length and a classifier of words predict the ratings.

`python -m tests.data.builtin.probe` prints the table of docs/builtin.md.
"""

from collections.abc import Iterator
from itertools import chain, combinations

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

from core.example import Example
from data.sets.builtin import SOURCES
from meta_eval.cues import combine_cues, count_cues, list_words
from tests.data.builtin.kinds import rate
from tests.meta_eval.sets import rho

LEARNED = 4000  # texts of another seed, which the classifier learns
CONCEPTS = 1200  # as many concept sentences: there are 415 reserved concept sets, of three sentences each
LEARNED_SEED = 77
ORDER = 3  # of n-grams
LEAST = 3  # texts that a feature is in


def list_features(example: Example) -> Iterator[str]:
    """Yields what may show damage: n-grams, pairs of words anywhere, and the two words before a repeated word.

    A repeated word says whether the same speaker says it again.
    """
    given = (example.label, example.context) if not example.turns else ()
    units = [*filter(None, given), *(example.turns or (example.text,))]
    words = [["^", *list_words(unit)] for unit in units]
    for unit in words:
        for n in range(1, ORDER + 1):
            for i in range(len(unit) - n + 1):
                yield " ".join(unit[i : i + n])
    for pair in combinations(sorted(set(chain(*words))), 2):
        yield "+".join(pair)
    for (i, one), (j, other) in combinations(enumerate(words), 2):
        speaker = (j - i) % 2
        for word in {*one[1:]} & {*other[1:]}:
            before = one[one.index(word) - 1]
            again = other[other.index(word) - 1]
            yield f"{before}>{again} {speaker}"
            yield f"{word} {speaker}"


def solve(name: str, aspect: str, seed: int) -> float:
    """Spearman's rho of the ratings with a ridge regression on the features, learned from texts of another seed."""
    source = SOURCES[name]
    assert source.rate is not None
    rated = rate(name, seed)
    known = {source.key(example) for example in rated}
    n = CONCEPTS if name == "builtin_concepts" else LEARNED
    learned = [example for example in source.rate(n, seed=LEARNED_SEED) if source.key(example) not in known]
    vectors = TfidfVectorizer(analyzer=list_features, min_df=LEAST)  # pyright: ignore[reportArgumentType]
    model = Ridge(alpha=0.1, solver="sparse_cg", tol=1e-3)
    model.fit(vectors.fit_transform(learned), [example.ratings[aspect] for example in learned])
    predicted = model.predict(vectors.transform(rated))
    return rho(predicted.tolist(), [example.ratings[aspect] for example in rated])


def measure_cues(name: str, aspect: str, seed: int) -> dict[str, float]:
    """Spearman's rho of the ratings with all cheap cues together (cross-fitted), with each cue, and with the words."""
    rated = rate(name, seed)
    quality = [example.ratings[aspect] for example in rated]
    cues = count_cues(rated)
    together = combine_cues(cues, quality, [example.group or example.id for example in rated])
    columns = {"together": together, **dict(zip(cues.names, cues.values.T, strict=True))}
    return {cue: rho(column.tolist(), quality) for cue, column in columns.items() if np.ptp(column)}


def main() -> None:
    """Prints a row for each aspect of each built-in rated set, for the seeds 0 and 1."""
    print("| set | aspect | cheap cues together | best single cue | words | classifier |\n" + "| --- " * 6 + "|")
    for name, source in SOURCES.items():
        if source.rate is None:
            continue
        for aspect in rate(name, 0)[0].ratings:
            found = [measure_cues(name, aspect, seed) for seed in (0, 1)]
            cells = [[f"{cues.pop('together', 0):.2f}" for cues in found]]
            cells.append([])
            for cues in found:
                best = max(cues, key=lambda cue: abs(cues[cue]), default="none")
                cells[-1].append(f"{cues.get(best, 0):.2f} ({best})")
            cells.append([f"{cues.get('words', 0):.2f}" for cues in found])
            cells.append([f"{solve(name, aspect, seed):.2f}" for seed in (0, 1)])
            print("|", " | ".join([name, aspect, *map(", ".join, cells)]), "|", flush=True)


if __name__ == "__main__":
    main()
