"""What further human references bring to MARS's score (`+exp=mars_references`).

An augmented reference stands for another good answer. Where a set has several human references, these are better ones
than any model writes: if they do not help Eq. 7, no language model will.
"""

from typing import Any

import numpy as np

from core.scores import Scores
from core.settings import Positive, check
from data.corpus import Corpus, RatedSet
from experiments.contracts import Outcome, Run, Table
from experiments.presentation import present
from mars.metric import compute_cosines
from mars.score import mars
from meta_eval.comparison import difference
from meta_eval.scored_set import ScoredSet
from models.encoders import Embedder, load_embedder

ALONE = "reference_alone"
CAPTION = (
    "Eq. 7 with other human references in the place of augmented ones, each weighted q times the one before, against "
    "the first human reference alone: Spearman's rho and its gain with a paired 95 % bootstrap interval over inputs. "
    "best: the highest cosine with any of the references, as MARS takes several. All rows are on texts that have so "
    "many references."
)


def mars_references(run: Run, data: Corpus, encoder: str, q: float) -> Outcome:
    """Scores every rated set with one reference and with several, by Eq. 7 and by the best of them.

    Raises SettingFault for q, MissingModel for an encoder that is not at hand.
    """
    check(Positive, q=q)
    embedder = load_embedder(encoder)
    sets = [score_set(rated, embedder, q) for rated in data.rated]
    rows = [row for each in sets for row in list_gains(each)]
    return present(
        run,
        sets,
        tables=[Table("Gain by further human references", CAPTION, rows)],
        settings={"data": data.name, "encoder": embedder.identity, "q": q},
        synthetic=data.synthetic,
    )


def score_set(rated: RatedSet, embedder: Embedder, q: float) -> ScoredSet:
    """The scores with 1, 2, 3, 5 and n references, of the texts with at least n: as many as the median text has."""
    most = int(np.median([len(example.references) for example in rated.examples]))
    kept = tuple(example for example in rated.examples if len(example.references) >= most)
    pairs = [(example.full_text, reference) for example in kept for reference in example.references[:most]]
    cosines = compute_cosines(embedder, pairs).reshape(-1, most)
    line = f"mars_references|encoder={embedder.identity}|q={q:g}"
    known = np.isfinite(cosines.sum(axis=1))
    unknown = [None if known[i] else "the encoder has no vector for it" for i in range(len(known))]
    values = {ALONE: cosines[:, 0]}
    for n in sorted({2, 3, 5, most} & set(range(2, most + 1))):
        values |= {f"eq7_of_{n}": mars(cosines[:, :n], q), f"best_of_{n}": cosines[:, :n].max(axis=1)}
    scores = {name: Scores({"quality": each}, f"{line}|row={name}", unknown) for name, each in values.items()}
    return ScoredSet(rated.name, kept, scores, rated.synthetic)


def list_gains(scored: ScoredSet) -> list[dict[str, Any]]:
    """The gain of every row over the first reference alone, by rated aspect."""
    rows = []
    for aspect in scored.aspects:
        rated = scored.rated(aspect)
        for name in scored.scores:
            if name != ALONE:
                pair = rated.values(name, aspect), rated.values(ALONE, aspect)
                gain = difference(*pair, rated.ratings(aspect), groups=rated.groups)
                rows.append({"set": scored.name, "aspect": aspect, "row": name, "n": len(rated), "gain": gain})
    return rows
