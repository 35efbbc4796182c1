"""MARS: a candidate's similarity to a human reference and to references augmented from it (Liu et al., ACL 2021)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from core.errors import SettingError
from core.example import Example
from core.metric import BaseMetric
from core.scores import Scores, require
from core.selection import references_of
from core.settings import AscendingRatios, Count, Positive, check
from core.signature import MODEL_LIBRARIES, Setting
from data.documents import DocumentFrequencies
from mars.augmentation import PAPER as FILLING
from mars.augmentation import SelfPlanningAugmenter
from mars.english import VERSION as TAGS
from mars.masking import ALPHA, SHARED_COST, count_corpus, load_documents
from mars.naive import NaiveAugmenter
from mars.references import (
    Augmentation,
    AugmentedReference,
    Augmenter,
    augment_references,
    list_reference_keys,
)
from mars.score import cosine, mars, ratio_weights
from models.causal import CausalLM
from models.encoders import Embedder, load_embedder
from models.loading import tokenizer_fingerprint
from models.masked import MaskedLM

AugmenterName = Literal["self_planning", "naive", "none"]
RATIOS = (0.0, 0.2, 0.4, 0.6)  # stories and news; question answering takes (0, 0.2)
BARE = "mars needs references, found none"
NONE = np.empty((0, 0))  # no cosines yet


@dataclass(frozen=True)
class Compared:
    """The cosines of one example with all its references, human and augmented ones."""

    ratios: tuple[float, ...]  # the masking ratios, a column each
    cosines: Float[NDArray[np.float64], "references ratios"]  # a row for each reference; NaN where a text has no vector
    references: tuple[tuple[AugmentedReference, ...], ...] = ()  # the references of the rows
    # references that could not be augmented, with the reason; they have no row
    refused: Mapping[str, str] = field(default_factory=dict)
    # tokens of the text and its references that the encoder cut. `references` count those of contexts.
    dropped: int = 0
    reason: str | None = None  # why the example has no row, else None


def check_masking(ratios: Sequence[float], q: float) -> None:
    """Raises SettingError for masking ratios, or a weight q, that Eq. 7 does not allow."""
    check(AscendingRatios, ratios=ratios)
    check(Positive, q=q)


@dataclass(frozen=True)
class MARS(BaseMetric):
    """The weighted similarity of a candidate to a human reference and its augmentations; in [-1, 1], higher is better.

    With several references the highest similarity counts. `documents` is the corpus X of Eq. 1, which says how rare a
    word is. Without `documents`, X consists of the references of the call, so that a score depends on these references;
    the signature names X.
    """

    name = "mars"
    requires = require("references")
    libraries = MODEL_LIBRARIES
    augmenter: Augmenter | None  # fills blanks; with None only the human reference counts
    embedder: Embedder  # makes vectors of candidates and references
    described: Mapping[str, str | None]  # the names of the models, for the signature
    ratios: tuple[float, ...] = RATIOS  # masking ratios lambda, ascending, 0 (the human reference) first
    q: float = 0.8  # the weight of each ratio relative to the one before (Eq. 7).
    kept: Path | None = None  # a folder of stages with a cache of augmented references; None keeps none
    # document frequencies of a corpus; None: of the references of each call
    documents: DocumentFrequencies | None = None
    notes: tuple[str, ...] = ()  # what a reader of the scores must know about the models

    def __post_init__(self) -> None:
        check_masking(self.ratios, self.q)
        if self.augmenter is None and len(self.ratios) > 1:
            object.__setattr__(self, "ratios", (0.0,))

    @classmethod
    def from_pretrained(
        cls,
        language_model: str | None,
        encoder: str = "offline",
        augmenter: AugmenterName = "self_planning",
        kept: str | Path | None = None,
        ratios: Sequence[float] = RATIOS,
        q: float = 0.8,
        documents: str | Path | None = None,
        augmentation: Augmentation = FILLING,
        static_vectors: bool = False,
        token_budget: int = 8192,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> "MARS":
        """Builds the metric on a language model and an encoder (`load_embedder`), by hub name or folder.

        The language model is causal, masked for `naive`, and not needed for `none`. `documents` is the file of a corpus
        for the IDF of Eq. 1 (`read_documents`). `static_vectors` takes the encoder's input embeddings as word vectors
        (Table 4).

        Raises SettingError, before any model is loaded, for settings that break a rule, and MissingModelError for a
        model that is not there.
        """
        check(AugmenterName, augmenter=augmenter)
        check_masking(ratios, q)  # before any model is loaded
        check(Count, token_budget=token_budget)
        counted = None if documents is None else load_documents(documents)
        described = {"language_model": language_model, "encoder": encoder}
        filler = None
        if augmenter != "none":
            if language_model is None:
                raise SettingError(f"the augmenter {augmenter} needs a language_model: a hub name or a folder")
            if augmenter == "naive":
                masked = MaskedLM.from_pretrained(language_model, device, dtype)
                filler = NaiveAugmenter(masked, augmentation.use_context, token_budget)
            else:
                lm = CausalLM.from_pretrained(language_model, device, dtype)
                filler = SelfPlanningAugmenter(lm, augmentation, token_budget)
            described["tokenizer"] = tokenizer_fingerprint(filler.lm.tokenizer)
        return cls(
            augmenter=filler,
            embedder=load_embedder(encoder, static_vectors, device, dtype),
            described=described,
            ratios=tuple(map(float, ratios)),
            q=q,
            kept=None if kept is None else Path(kept),
            documents=counted,
            notes=() if filler is None else filler.lm.notes,
        )

    @property
    def settings(self) -> dict[str, Setting]:
        depends = {"augmenter": "none"} if self.augmenter is None else dict(self.augmenter.depends)
        if "model" in depends:
            depends["weights"] = depends.pop("model")
        return {
            **self.described,
            **depends,
            "ratios": ",".join(f"{ratio:g}" for ratio in self.ratios),
            "q": self.q,
            "embedder": self.embedder.name,
            "embedder_identity": self.embedder.identity,
            "tagger": TAGS,
            "documents": "references" if self.documents is None else self.documents.corpus,
            **ALPHA,
            "shared_cost": SHARED_COST,
            "rounding": "ceil",
        }

    def with_corpus(self, examples: Iterable[Example]) -> "MARS":
        """Returns the metric with the references of these examples as corpus X; unchanged if it has `documents`."""
        if self.documents is not None:
            return self
        references = {text for example in examples for text in references_of(example)}
        return replace(self, documents=count_corpus(sorted(references)))

    def score_all(self, examples: Sequence[Example]) -> Scores:
        """Computes the aspect `quality`, using each example's context; NaN for a text without a known word."""
        metric = self.with_corpus(examples)
        return metric.score_compared(metric.compare(examples))

    def score_compared(self, compared: Sequence[Compared]) -> Scores:
        """Computes Eq. 7 from known cosines, so that sweeps over ratios and q cost nothing.

        The ratios and q are this metric's. Raises ValueError for a ratio that was not compared.
        """
        judged = [self._judge(comparison) for comparison in compared]
        values = np.array([value for value, _ in judged], np.float64)
        reasons = [comparison.reason for comparison in compared]
        for i in np.flatnonzero(np.isnan(values)):
            reasons[i] = reasons[i] or f"{self.embedder.name} has no vector for the text or its references"
        return Scores(
            {"quality": values},
            self.signature,
            reasons=reasons,
            dropped_tokens=[comparison.dropped + self._count_dropped(comparison) for comparison in compared],
            explanations=[explanation for _, explanation in judged],
            notes=self.notes,
        )

    def compare(self, examples: Sequence[Example]) -> list[Compared]:
        """Computes the cosines of every example with its references at every masking ratio, in the order given."""
        documents = self.with_corpus(examples).documents
        assert documents is not None
        augmented = augment_references(examples, self.ratios, self.augmenter, documents, self.kept)
        compared: list[Compared] = []
        pairs: list[tuple[str, str]] = []
        for example in examples:
            text = example.full_text
            refused: dict[str, str] = {}
            rows: list[tuple[AugmentedReference, ...]] = []
            for key in list_reference_keys(example):
                row = augmented[key]
                if isinstance(row, str):
                    refused[key[1]] = row
                else:
                    rows.append(row)
                    pairs += [(text, reference.augmented.text) for reference in row]
            dropped = sum(self.embedder.dropped_tokens([text, *(row[0].reference for row in rows)]))
            reason = None if rows else next(iter(refused.values()), BARE)
            compared.append(Compared(self.ratios, NONE, tuple(rows), refused, dropped, reason))
        cosines = compute_cosines(self.embedder, pairs).reshape(-1, len(self.ratios))
        ends = np.cumsum([len(each.references) for each in compared])
        parts = np.split(cosines, ends[:-1]) if compared else []
        return [replace(each, cosines=part) for each, part in zip(compared, parts, strict=True)]

    def _count_dropped(self, comparison: Compared) -> int:
        """The largest number of context tokens that were cut, at this metric's ratios."""
        references = chain.from_iterable(comparison.references)
        counts = [text.augmented.dropped_context for text in references if text.ratio in self.ratios]
        return max(counts, default=0)

    def _judge(self, comparison: Compared) -> tuple[float, dict[str, Any]]:
        """Eq. 7 with the best reference, NaN if there is none, and its explanation."""
        explanation: dict[str, Any] = {}
        if comparison.refused:
            refused = [{"reference": name, "reason": why} for name, why in comparison.refused.items()]
            explanation["refused"] = refused
        columns = [comparison.ratios.index(ratio) for ratio in self.ratios]
        cosines = comparison.cosines[:, columns]
        scores = mars(cosines, self.q)
        if np.isnan(scores).all():
            return float("nan"), explanation
        best = int(np.nanargmax(scores))
        score = float(scores[best])
        references = comparison.references[best]
        weights = ratio_weights(len(self.ratios), self.q)
        parts = zip(columns, weights.tolist(), cosines[best].tolist(), strict=True)
        ratios = [references[column].explain(weight, cosine) for column, weight, cosine in parts]
        return score, {
            "reference": references[0].reference,
            "score": score,
            "ratios": ratios,
            **explanation,
        }


def compute_cosines(embedder: Embedder, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """Computes the cosine of each pair of texts, shape (pairs,); NaN if a text has no vector.

    Embeds equal texts once.
    """
    if not pairs:
        return np.empty(0)
    distinct = dict.fromkeys(text for pair in pairs for text in pair)
    row_of = {text: row for row, text in enumerate(distinct)}
    vectors = embedder.embed(list(distinct))
    first = vectors[[row_of[text] for text, _ in pairs]]
    second = vectors[[row_of[text] for _, text in pairs]]
    return cosine(first, second)
