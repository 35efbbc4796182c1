"""Human references and their augmentations at every masking ratio (MARS, sections 2.1 and 2.2)."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from core.example import Example
from core.faults import ExampleFaults
from core.selection import references_of
from core.stages import Stages, fingerprint
from data.documents import DocumentFrequencies
from mars.cloze import Augmented, Augmenter, Fill, Job, to_json_numbers
from mars.masking import Blank, Masking, Template, make_templates
from mars.tagging import Tagger

log = logging.getLogger(__name__)

VERSION = 4  # raised whenever the same job and settings would give another text
AT_ONCE = 512  # jobs between two writes; a killed run loses no more

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


def load_or_augment(augmenter: Augmenter, jobs: Sequence[Job], kept: Path | None) -> list[Augmented | str]:
    """The filled reference of every job, or the reason why it cannot be filled.

    References in the cache of the folder of stages `kept` are read and the others are made; without a folder nothing is
    kept. Equal jobs are done once. A run that was killed continues where it stopped.
    """
    keys = [_make_key(job) for job in jobs]
    wanted = dict(zip(keys, jobs, strict=True))
    cache = None
    if kept is not None:
        cache = Stages(kept).open_cache("augmented_references", augmenter.depends, version=VERSION)
    known = {} if cache is None else cache.values
    found: dict[str, Augmented | str] = {key: _read_augmented(known[key]) for key in wanted if key in known}
    missing = [key for key in wanted if key not in found]
    for start in range(0, len(missing), AT_ONCE):
        chunk = missing[start : start + AT_ONCE]
        made, refused = _augment(augmenter, chunk, wanted)
        found |= made | refused
        if cache is not None:
            cache.add({key: asdict(augmented) for key, augmented in made.items()})
    return [found[key] for key in keys]


def _augment(
    augmenter: Augmenter, keys: Sequence[str], jobs: Mapping[str, Job]
) -> tuple[dict[str, Augmented], dict[str, str]]:
    """The filled references by key, and by key the reasons of jobs that the augmenter refuses."""
    try:
        return dict(zip(keys, augmenter.augment([jobs[key] for key in keys]), strict=True)), {}
    except ExampleFaults as faults:
        refused = {keys[i]: what for i, what in faults.at}
    rest = [key for key in keys if key not in refused]
    return dict(zip(rest, augmenter.augment([jobs[key] for key in rest]), strict=True)), refused


def _make_key(job: Job) -> str:
    template = [part.count if isinstance(part, Blank) else part.text for part in job.template]
    return fingerprint([job.context, template])


def _read_augmented(value: Mapping[str, Any]) -> Augmented:
    fills = tuple(Fill(f["text"], tuple(f["tokens"]), tuple(f["perplexities"])) for f in value["fills"])
    return Augmented(**{**value, "fills": fills})
