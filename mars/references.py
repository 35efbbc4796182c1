"""Augments human references: at every masking ratio, words are masked and filled (MARS, sections 2.1 and 2.2)."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from math import isinf
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from pydantic import TypeAdapter

from core.example import Example
from core.selection import references_of
from core.settings import Count, Positive, Size, checked_dataclass
from core.stages import Stages, fingerprint
from data.documents import DocumentFrequencies
from mars.masking import Blank, Template, make_templates

log = logging.getLogger(__name__)

AT_ONCE = 512  # jobs between two writes; a killed run loses no more

ReferenceKey: TypeAlias = tuple[str, str]  # context and reference


@checked_dataclass
class Augmentation:
    """The settings of filling blanks; the values are the paper's if it gives them."""

    planning_steps: Size = 3  # k, steps of the hidden state toward the kept text; 0 is the plain model
    xi: Positive = 1.3  # temperature of the planning
    # how far planning moves the next-token distribution: its KL divergence from the plain one, in nats
    kl: Positive = 0.2
    max_guess: Size = 3  # sigma, how many more tokens than masked words are tried
    use_context: bool = True  # whether the model reads the context first
    max_context: Count = 1024  # how many tokens of a context are read at most; the others are cut and counted


@dataclass(frozen=True)
class Job:
    """A template, and its context, which may be empty. One without a blank is the human text, which no model reads."""

    context: str
    template: Template

    @property
    def has_blank(self) -> bool:
        return any(isinstance(part, Blank) for part in self.template)


@dataclass(frozen=True)
class Fill:
    """The text and tokens that fill a blank, and the perplexity of every length that was tried (1, 2, ...).

    A length that would cut a character in two has an infinite perplexity.
    """

    text: str
    tokens: tuple[int, ...]
    perplexities: tuple[float, ...]


@dataclass(frozen=True)
class Augmented:
    """An augmented reference: the text with its blanks filled, and how they were filled."""

    text: str  # the template with its blanks filled
    fills: tuple[Fill, ...] = ()  # one per blank
    # KL divergence of the planned from the plain next-token distribution in nats, averaged over planned tokens
    kl: float = 0.0
    dropped_context: int = 0  # how many tokens at the end of the context did not fit into the model
    # how many tokens were planned, also those that were not kept; tokens whose choice was settled
    # (`mars.planning.is_settled`) were not
    planned: int = 0


AUGMENTED = TypeAdapter(Augmented)


class Augmenter(Protocol):
    """Fills the blanks of references: SelfPlanningAugmenter or NaiveAugmenter."""

    @property
    def depends(self) -> Mapping[str, Any]:
        """The settings on which an augmented text depends, such as `use_context`, as JSON values for signatures."""
        ...

    def augment(self, jobs: Sequence[Job]) -> list[Augmented | str]:
        """Fills the blanks of every job, or says why the model cannot read it; equal jobs give equal results."""
        ...


def mean_kl(references: Iterable[Augmented]) -> float | None:
    """Computes the mean KL divergence (nats) over the planned tokens of all references; None if none was planned.

    >>> mean_kl([Augmented("", (), 0.5, 0, planned=3), Augmented("", (), 0.1, 0, planned=1), Augmented("", (), 0.0, 0)])
    0.4
    """
    total = 0.0
    planned = 0
    for reference in references:
        total += reference.kl * reference.planned
        planned += reference.planned
    return total / planned if planned else None


@dataclass(frozen=True)
class AugmentedReference:
    """One human reference at one masking ratio: its template, and the text with the blanks filled."""

    context: str
    reference: str
    ratio: float
    template: Template
    augmented: Augmented

    @property
    def template_text(self) -> str:
        """The template as text, with `[n]` for a blank of n words."""
        text = ""
        for part in self.template:
            if not isinstance(part, Blank):
                text += part.text
            else:
                text += f" [{part.count}]" if text else f"[{part.count}]"
        return text

    def explain(self, weight: float, cosine: float) -> dict[str, Any]:
        """Returns what this reference contributes to a score, for explanations.

        A length that must not be chosen has perplexity null.
        """
        fills: list[dict[str, Any]] = []
        for fill in self.augmented.fills:
            perplexities = [None if isinf(value) else value for value in fill.perplexities]
            fills.append({"text": fill.text, "perplexities": perplexities})
        return {
            "ratio": self.ratio,
            "weight": weight,
            "cosine": cosine,
            "template": self.template_text,
            "text": self.augmented.text,
            "fills": fills,
            "kl": self.augmented.kl,
        }


# of one reference, by ratio, or the reason why it cannot be augmented
Augmentations: TypeAlias = tuple[AugmentedReference, ...] | str


def list_reference_keys(example: Example) -> list[ReferenceKey]:
    """Lists the keys of an example's references: each with the context of the example."""
    context = (example.context or "").strip()
    return [(context, reference) for reference in references_of(example)]


def augment_references(
    examples: Sequence[Example],
    ratios: Sequence[float],
    augmenter: Augmenter | None,
    documents: DocumentFrequencies,
    kept: Path | None,
) -> dict[ReferenceKey, Augmentations]:
    """Augments every distinct reference at all masking ratios; without an augmenter only ratio 0, the human text.

    The arguments are those of `MARS`. Returns, by (context, reference), the augmented references or why there are none.
    """
    jobs: dict[ReferenceKey, list[Job]] = {}
    for context, reference in dict.fromkeys(key for example in examples for key in list_reference_keys(example)):
        templates = make_templates(reference, context, ratios, documents)
        jobs[context, reference] = [Job(context, template) for template in templates]
    filled: Mapping[Job, Augmented | str] = {}
    if augmenter is not None:
        with_blanks = [job for job in chain.from_iterable(jobs.values()) if job.has_blank]
        filled = load_or_augment(augmenter, with_blanks, kept)
    augmentations: dict[ReferenceKey, Augmentations] = {}
    for key, by_ratio in jobs.items():
        row: list[AugmentedReference] = []
        reasons: list[str] = []
        human = Augmented(key[1])
        for ratio, job in zip(ratios, by_ratio, strict=True):
            text = filled.get(job, human)
            if isinstance(text, str):
                reasons.append(text)
            else:
                row.append(AugmentedReference(*key, ratio, job.template, text))
        augmentations[key] = reasons[0] if reasons else tuple(row)
    refused = [row for row in augmentations.values() if isinstance(row, str)]
    if refused:
        log.warning("%d of %d references cannot be augmented: %s", len(refused), len(jobs), refused[0])
    bare = sum(not context for context, _ in jobs)
    if bare and augmenter is not None and augmenter.depends["use_context"]:
        log.warning("%d of %d references have no context: they are augmented without one", bare, len(jobs))
    return augmentations


def load_or_augment(augmenter: Augmenter, jobs: Sequence[Job], kept: Path | None) -> dict[Job, Augmented | str]:
    """Returns the augmented reference of every job, or the reason why there is none. Equal jobs are done once.

    Results are kept in a cache in the folder `kept`, so that a killed run continues where it stopped.
    """
    keys = {job: _name_job(job) for job in jobs}
    cache = None
    if kept is not None:
        code = [load_or_augment, type(augmenter)]
        cache = Stages(kept).open_cache("augmented_references", augmenter.depends, code=code)
    known = {} if cache is None else cache
    results: dict[Job, Augmented | str] = {}
    for job, key in keys.items():
        if key in known:
            results[job] = AUGMENTED.validate_python(known[key])
    missing = [job for job in keys if job not in results]
    for start in range(0, len(missing), AT_ONCE):
        chunk = missing[start : start + AT_ONCE]
        made = dict(zip(chunk, augmenter.augment(chunk), strict=True))
        results |= made
        if cache is not None:
            cache.add({keys[job]: asdict(text) for job, text in made.items() if isinstance(text, Augmented)})
    return results


def _name_job(job: Job) -> str:
    """A fingerprint of the context and the template."""
    parts = [part.count if isinstance(part, Blank) else part.text for part in job.template]
    return fingerprint([job.context, parts])
