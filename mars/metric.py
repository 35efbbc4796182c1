"""MARS: a candidate's similarity to a human reference and to references augmented from it (Liu et al., ACL 2021)."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from core.example import Example
from core.faults import SettingFault
from core.scores import Scores, fields
from core.selection import references_of, select_complete
from core.settings import ascending_ratios
from core.signature import MODEL_LIBRARIES, signature
from core.stages import fingerprint
from language_models.causal import CausalLM
from language_models.embedders import Embedder, load_embedder
from language_models.masked import MaskedLM
from mars.augmentation import SelfPlanningAugmenter
from mars.cloze import Augmentation, Augmented, Job
from mars.keeping import Augmenter, json_numbers, kept_or_augmented
from mars.masking import Blank, Template, inverse_document_frequency, templates
from mars.naive import NaiveAugmenter
from mars.planning import Rule
from mars.score import cosine, mars, ratio_weights
from mars.tagging import Tagger, load_tagger

log = logging.getLogger(__name__)

AugmenterName = Literal["self_planning", "naive", "none"]
RATIOS = (0.0, 0.2, 0.4, 0.6)  # stories and news; question answering takes (0, 0.2)


@dataclass(frozen=True)
class AugmentedReference:
    """One human reference at one masking ratio: its template, and the text with the blanks filled."""

    context: str
    reference: str
    ratio: float
    template: Template
    augmented: Augmented

    @property
    def shown(self) -> str:
        """The template with `[n]` for a blank of n words."""
        text = ""
        for part in self.template:
            text += part.text if not isinstance(part, Blank) else f"{' ' if text else ''}[{part.count}]"
        return text


@dataclass(frozen=True)
class RefusedReference:
    """A human reference that cannot be augmented, and why."""

    context: str
    reference: str
    reason: str


@dataclass(frozen=True)
class Compared:
    """The cosines of one example with its references.

    Attributes:
        ratios: the masking ratios, a column each.
        cosines: a row for each reference; NaN where a text has no vector.
        references: as long as the rows.
        refused: references that could not be augmented and have no row.
        dropped: tokens of the text and its references that the encoder cut; those of contexts are in `references`.
        reason: why there is no row.
    """

    ratios: tuple[float, ...]
    cosines: Float[NDArray[np.float64], "references ratios"]
    references: tuple[tuple[AugmentedReference, ...], ...] = ()
    refused: tuple[RefusedReference, ...] = ()
    dropped: int = 0
    reason: str | None = None


@dataclass(frozen=True)
class MARS:
    """The weighted similarity of a candidate to a human reference and its augmentations; in [-1, 1], higher is better.

    Several references: the best of them. The set X of Eq. 1, in which words are rare or frequent, is that of the
    references at hand, or `documents`.

    Attributes:
        augmenter: what fills blanks; None where only the human reference counts.
        embedder: makes vectors of candidates and references.
        tagger: gives parts of speech.
        described: names of the models, for the signature.
        ratios: masking ratios lambda, ascending, 0 (the human reference) first.
        q: the weight of each ratio relative to the one before (Eq. 7).
        kept: a folder for augmented references; None keeps none.
        documents: texts to count document frequencies in.
    """

    requires = fields("references")
    augmenter: Augmenter | None
    embedder: Embedder
    tagger: Tagger
    described: Mapping[str, str | None]
    ratios: tuple[float, ...] = RATIOS
    q: float = 0.8
    kept: Path | None = None
    documents: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        ascending_ratios(self.ratios, "ratios")
        ratio_weights(len(self.ratios), self.q)
        if self.augmenter is None and len(self.ratios) > 1:
            object.__setattr__(self, "ratios", (0.0,))

    @classmethod
    def from_pretrained(
        cls,
        language_model: str | None,
        encoder: str = "offline",
        ratios: Sequence[float] = RATIOS,
        q: float = 0.8,
        planning_steps: int = 3,
        use_context: bool = True,
        augmenter: AugmenterName = "self_planning",
        max_guess: int = 3,
        xi: float = 1.3,
        largest_shift: float = 1.0,
        eta: float | None = None,
        reward: Rule = "log_probability",
        tagger: str = "builtin",
        static_vectors: bool = False,
        kept: str | Path | None = None,
        token_budget: int = 8192,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> "MARS":
        """Loads a language model and an encoder by hub name or folder.

        Args:
            language_model: a causal model, or for `naive` a masked one; not needed for `none`.
            encoder: `offline`, a sentence-transformers model, an encoder (mean-pooled), or a file of word vectors.
            ratios: masking ratios lambda, ascending from 0.
            q: weight of each ratio relative to the one before.
            planning_steps: k of Eq. 6; 0 leaves self-planning out, judging stays.
            use_context: whether the model reads the context in front of the reference.
            augmenter: `self_planning`; `naive`, a masked model that fills a token for each word; or `none`.
            max_guess: sigma, how many tokens a fill may have more than the blank had words.
            xi: the temperature of the reward.
            largest_shift: how far a planning step moves the logit that it moves most.
            eta: the length of a step instead, as Eq. 6 has it.
            reward: how Eq. 5 is read, `log_probability` or `cosine`.
            tagger: `builtin`, `nltk` or `spacy:MODEL`.
            static_vectors: use the encoder's input embeddings as word vectors (Table 4).
            kept: a folder in which augmented references are found again; null keeps none.
            token_budget: padded tokens in a batch.
            device, dtype: of the models.

        Raises MissingModel where neither a folder nor a reachable hub has it, and before that SettingFault for
        settings that mean nothing and InputFaults for a tagger that is not installed.
        """
        if augmenter not in get_args(AugmenterName):
            raise SettingFault(f"augmenter must be one of {', '.join(get_args(AugmenterName))}, but is {augmenter!r}")
        if language_model is None and augmenter != "none":
            raise SettingFault(f"the augmenter {augmenter} needs a language_model: a hub name or a folder")
        given = tuple(float(ratio) for ratio in ascending_ratios(ratios, "ratios"))
        ratio_weights(len(given), q)
        settings = Augmentation(planning_steps, xi, largest_shift, eta, max_guess, reward, use_context)
        chosen = load_tagger(tagger)
        filler: Augmenter | None = None
        if augmenter == "self_planning":
            lm = CausalLM.from_pretrained(str(language_model), device, dtype)
            filler = SelfPlanningAugmenter(lm, settings, token_budget)
        elif augmenter == "naive":
            masked = MaskedLM.from_pretrained(str(language_model), device, dtype)
            filler = NaiveAugmenter(masked, use_context, token_budget)
        return cls(
            augmenter=filler,
            embedder=load_embedder(encoder, static_vectors, device, dtype),
            tagger=chosen,
            described={"language_model": language_model, "encoder": encoder},
            ratios=given,
            q=q,
            kept=None if kept is None else Path(kept),
        )

    @property
    def signature(self) -> str:
        """One line: models, settings and versions."""
        depends = {"augmenter": "none"} if self.augmenter is None else dict(self.augmenter.depends)
        return signature(
            "mars",
            libraries=MODEL_LIBRARIES,
            **self.described,
            **{"weights" if name == "model" else name: value for name, value in depends.items()},
            ratios=",".join(f"{ratio:g}" for ratio in self.ratios),
            q=self.q,
            embedder=self.embedder.name,
            tagger=self.tagger.signature,
            documents=None if self.documents is None else fingerprint(list(self.documents)),
        )

    def score(self, examples: Sequence[Example]) -> Scores:
        """The aspect `quality` for the text and references of each example, with its context.

        NaN for a text without references or words the encoder knows. Raises ExampleFaults where no example has
        references.
        """
        return self.scored(self.compared(examples))

    def scored(self, compared: Sequence[Compared]) -> Scores:
        """Eq. 7 with these ratios and this q of cosines that are known already, so that sweeps over q cost nothing.

        Raises ValueError for a ratio that was not compared.
        """
        values = np.array([self._best(one)[0] for one in compared], np.float64)
        unknown = f"{self.embedder.name} has no vector for the text or its references"
        return Scores(
            {"quality": values},
            self.signature,
            [one.reason or (unknown if np.isnan(value) else None) for one, value in zip(compared, values, strict=True)],
            [one.dropped + self._dropped_context(one) for one in compared],
            [self._explained(one) for one in compared],
        )

    def compared(self, examples: Sequence[Example]) -> list[Compared]:
        """The cosines of every example with its references at every masking ratio, in the order of the examples."""
        selection = select_complete(examples, self.requires, "mars")
        chosen = [examples[i] for i in selection.indices]
        nothing = np.empty((0, len(self.ratios)))
        found = [Compared(self.ratios, nothing, reason=reason) for reason in selection.reasons]
        by_reference = self._augmented(chosen)
        of_example = [[by_reference[pair] for pair in self._references(example)] for example in chosen]
        usable = [tuple(row for row in rows if not isinstance(row, RefusedReference)) for rows in of_example]
        pairs = [
            (example.full_text, one.augmented.text)
            for example, rows in zip(chosen, usable, strict=True)
            for row in rows
            for one in row
        ]
        cosines = self._cosines(pairs).reshape(-1, len(self.ratios))
        start = 0
        for index, example, rows, all_rows in zip(selection.indices, chosen, usable, of_example, strict=True):
            refused = tuple(row for row in all_rows if isinstance(row, RefusedReference))
            dropped = sum(self.embedder.dropped_tokens([example.full_text, *(row[0].reference for row in rows)]))
            reason = None if rows else refused[0].reason
            found[index] = Compared(self.ratios, cosines[start : start + len(rows)], rows, refused, dropped, reason)
            start += len(rows)
        return found

    def augmented(self, examples: Sequence[Example]) -> list[tuple[AugmentedReference, ...] | RefusedReference]:
        """Every reference with its context, each once, as the examples come: at every masking ratio, or why not.

        Raises ExampleFaults where no example has references.
        """
        select_complete(examples, self.requires, "mars")
        return list(self._augmented([e for e in examples if references_of(e)]).values())

    def _references(self, example: Example) -> list[tuple[str, str]]:
        context = (example.context or "").strip()
        return [(context, reference) for reference in references_of(example)]

    def _augmented(
        self, examples: Sequence[Example]
    ) -> dict[tuple[str, str], tuple[AugmentedReference, ...] | RefusedReference]:
        """By (context, reference): the augmented references of all ratios, or why there are none."""
        pairs = list(dict.fromkeys(pair for e in examples for pair in self._references(e)))
        documents = sorted({reference for _, reference in pairs}) if self.documents is None else self.documents
        idf = inverse_document_frequency(documents)
        planned = [templates(reference, context, self.ratios, self.tagger, idf) for context, reference in pairs]
        if self.augmenter is None:
            filled: list[Augmented | str] = [Augmented(reference, (), 0.0, 0) for _, reference in pairs]
        else:
            jobs = [Job(context, one) for (context, _), row in zip(pairs, planned, strict=True) for one in row]
            filled = kept_or_augmented(self.augmenter, jobs, self.kept)
        found: dict[tuple[str, str], tuple[AugmentedReference, ...] | RefusedReference] = {}
        rest = iter(filled)
        for pair, row in zip(pairs, planned, strict=True):
            made = [next(rest) for _ in row]
            why = next((one for one in made if isinstance(one, str)), None)
            found[pair] = (
                RefusedReference(*pair, why)
                if why is not None
                else tuple(
                    AugmentedReference(*pair, ratio, template, one)
                    for ratio, template, one in zip(self.ratios, row, made, strict=True)
                    if isinstance(one, Augmented)
                )
            )
        self._told(found)
        return found

    def _told(self, found: Mapping[tuple[str, str], tuple[AugmentedReference, ...] | RefusedReference]) -> None:
        refused = [one for one in found.values() if isinstance(one, RefusedReference)]
        if refused:
            log.warning("%d of %d references cannot be augmented: %s", len(refused), len(found), refused[0].reason)
        bare = sum(not context for context, _ in found)
        if bare and self.augmenter is not None and self.augmenter.depends["use_context"]:
            log.warning("%d of %d references have no context: they are augmented without one", bare, len(found))

    def _cosines(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        if not pairs:
            return np.empty(0)
        distinct = {text: i for i, text in enumerate(dict.fromkeys(text for pair in pairs for text in pair))}
        vectors = self.embedder.embed(list(distinct))
        first, second = (vectors[[distinct[pair[side]] for pair in pairs]] for side in (0, 1))
        return cosine(first, second)

    def _weighted(self, one: Compared) -> Float[NDArray[np.float64], "references ratios"]:
        """The cosines at this metric's ratios."""
        return one.cosines[:, [one.ratios.index(ratio) for ratio in self.ratios]]

    def _dropped_context(self, one: Compared) -> int:
        """How many tokens of the context were cut at most, at this metric's ratios."""
        counted = (each for row in one.references for each in row if each.ratio in self.ratios)
        return max((each.augmented.dropped_context for each in counted), default=0)

    def _best(self, one: Compared) -> tuple[float, int]:
        """Eq. 7 with the best reference, and which one that is; NaN where there is none."""
        scores = mars(self._weighted(one), self.q)
        if np.isnan(scores).all():
            return float("nan"), -1
        best = int(np.nanargmax(scores))
        return float(scores[best]), best

    def _explained(self, one: Compared) -> dict[str, Any]:
        score, best = self._best(one)
        refused = {"refused": [{"reference": r.reference, "reason": r.reason} for r in one.refused]}
        if best < 0:
            return refused if one.refused else {}
        by_ratio = {augmented.ratio: augmented for augmented in one.references[best]}
        weights = ratio_weights(len(self.ratios), self.q)
        return {
            "reference": one.references[best][0].reference,
            "score": score,
            "ratios": [
                {
                    "ratio": ratio,
                    "weight": float(weight),
                    "cosine": float(value),
                    "template": by_ratio[ratio].shown,
                    "text": by_ratio[ratio].augmented.text,
                    "fills": [
                        {"text": fill.text, "perplexities": json_numbers(fill.perplexities)}
                        for fill in by_ratio[ratio].augmented.fills
                    ],
                    "kl": by_ratio[ratio].augmented.kl,
                }
                for ratio, weight, value in zip(self.ratios, weights, self._weighted(one)[best], strict=True)
            ],
            **(refused if one.refused else {}),
        }
