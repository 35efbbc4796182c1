"""Human references and their augmentations at every masking ratio (MARS, sections 2.1 and 2.2)."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from core.example import Example
from core.selection import references_of
from data.documents import DocumentFrequencies
from mars.cloze import Augmented, Job
from mars.keeping import Augmenter, load_or_augment, to_json_numbers
from mars.masking import Blank, Masking, Template, make_templates
from mars.tagging import Tagger

log = logging.getLogger(__name__)

ReferenceKey: TypeAlias = tuple[str, str]  # context and reference


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

    def explain(self, weight: float, cosine: float) -> dict[str, Any]:
        """Its part in a score, for explanations."""
        fills = [{"text": f.text, "perplexities": to_json_numbers(f.perplexities)} for f in self.augmented.fills]
        return {
            "ratio": self.ratio,
            "weight": weight,
            "cosine": cosine,
            "template": self.shown,
            "text": self.augmented.text,
            "fills": fills,
            "kl": self.augmented.kl,
        }


@dataclass(frozen=True)
class RefusedReference:
    """A human reference that cannot be augmented, and why."""

    context: str
    reference: str
    reason: str


Augmentations: TypeAlias = tuple[AugmentedReference, ...] | RefusedReference  # of one reference, by ratio


def list_reference_keys(example: Example) -> list[ReferenceKey]:
    """The references of an example with its context."""
    context = (example.context or "").strip()
    return [(context, reference) for reference in references_of(example)]


def augment_references(
    examples: Sequence[Example],
    ratios: Sequence[float],
    augmenter: Augmenter | None,
    tagger: Tagger,
    documents: DocumentFrequencies,
    masking: Masking,
    kept: Path | None,
) -> dict[ReferenceKey, Augmentations]:
    """Augments every reference once, at all ratios; a reference that cannot be augmented has a reason instead.

    Arguments as in `MARS`; without an augmenter the only ratio is 0.
    """
    keys = list(dict.fromkeys(key for example in examples for key in list_reference_keys(example)))
    planned = [make_templates(reference, context, ratios, tagger, documents, masking) for context, reference in keys]
    if augmenter is None:
        filled: list[Augmented | str] = [Augmented(reference, (), 0.0, 0) for _, reference in keys]
    else:
        jobs = [Job(context, one) for (context, _), row in zip(keys, planned, strict=True) for one in row]
        filled = load_or_augment(augmenter, jobs, kept)
    found: dict[ReferenceKey, Augmentations] = {}
    reasons: list[str] = []
    rest = iter(filled)
    for key, row in zip(keys, planned, strict=True):
        made = [next(rest) for _ in row]
        refused = [one for one in made if isinstance(one, str)]
        parts = zip(ratios, row, made, strict=True)
        ready = tuple(AugmentedReference(*key, r, t, a) for r, t, a in parts if isinstance(a, Augmented))
        found[key] = RefusedReference(*key, refused[0]) if refused else ready
        reasons += refused[:1]
    if reasons:
        log.warning("%d of %d references cannot be augmented: %s", len(reasons), len(found), reasons[0])
    bare = sum(not context for context, _ in found)
    if bare and augmenter is not None and augmenter.depends["use_context"]:
        log.warning("%d of %d references have no context: they are augmented without one", bare, len(found))
    return found
