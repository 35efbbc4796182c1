"""Clozes: templates to fill, settings of the filling, and filled references (MARS, section 2.2)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from typing import Any, Protocol

from core.settings import Count, Positive, Size, checked_dataclass
from mars.masking import Template
from mars.planning import Rule


@checked_dataclass
class Augmentation:
    """How blanks are filled; the values are the paper's where it gives them.

    Attributes:
        planning_steps: k, steps of the hidden state toward the kept text; 0 is the plain model.
        xi: temperature of the planning.
        kl: how far planning moves the next-token distribution: its KL divergence from the plain one, in nats.
        max_guess: sigma, how many more tokens than masked words are tried.
        reward: how Eq. 5 is read.
        use_context: whether the model reads the context first.
        longest_context: how many tokens of a context are read at most; the others are cut and counted.
    """

    planning_steps: Size = 3
    xi: Positive = 1.3
    kl: Positive = 0.2
    max_guess: Size = 3
    reward: Rule = "log_probability"
    use_context: bool = True
    longest_context: Count = 1024


@dataclass(frozen=True)
class Job:
    """A template to fill in view of a context; the context may be empty."""

    context: str
    template: Template


@dataclass(frozen=True)
class Fill:
    """The text and tokens that fill a blank, and the perplexity of every length tried, from 1 on.

    A length that would cut a character in two has an infinite perplexity.
    """

    text: str
    tokens: tuple[int, ...]
    perplexities: tuple[float, ...]


@dataclass(frozen=True)
class Augmented:
    """An augmented reference.

    Attributes:
        text: the template with its blanks filled.
        fills: one per blank.
        kl: KL divergence of the planned from the plain next-token distribution in nats, averaged over planned tokens.
        dropped_context: how many tokens at the end of the context did not fit into the model.
        planned: how many tokens were planned, also those that were not kept.
    """

    text: str
    fills: tuple[Fill, ...]
    kl: float
    dropped_context: int
    planned: int = 0


class Augmenter(Protocol):
    """Fills the blanks of references: SelfPlanningAugmenter or NaiveAugmenter."""

    @property
    def depends(self) -> Mapping[str, Any]:
        """What a text depends on besides its job, for JSON and signatures; has `use_context`."""
        ...

    def augment(self, jobs: Sequence[Job]) -> list[Augmented]:
        """The references with their blanks filled, in the order of the jobs; equal jobs give equal results.

        Raises ExampleFaults, before the model is called, for all jobs that the model cannot read.
        """
        ...


def to_json_numbers(perplexities: Sequence[float]) -> list[float | None]:
    """Perplexities for JSON, which has no infinity: null for a length that may not be chosen.

    >>> to_json_numbers([1.5, float("inf")])
    [1.5, None]
    """
    return [None if isinf(perplexity) else perplexity for perplexity in perplexities]


def mean_kl(references: Iterable[Augmented]) -> float | None:
    """The mean KL divergence (nats) over the planned tokens of all references; None where no token was planned.

    >>> mean_kl([Augmented("", (), 0.5, 0, planned=3), Augmented("", (), 0.1, 0, planned=1), Augmented("", (), 0.0, 0)])
    0.4
    """
    counted = [(one.kl * one.planned, one.planned) for one in references]
    total = sum(planned for _, planned in counted)
    return sum(kl for kl, _ in counted) / total if total else None
