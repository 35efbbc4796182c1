"""The aspects of CTRLEval: what each one asks an infilling model about a text, and how it weighs the answers.

A new aspect is a class here and an entry of `ASPECTS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from core.errors import SettingError, format_value
from core.example import Example
from core.scores import Field
from ctrl_eval.ensemble import Weights, relevance_score, relevance_weight, shares
from ctrl_eval.frequency import WordFrequencies, normalised_isf
from ctrl_eval.patterns import Pattern, coherence_patterns, consistency_patterns, relevance_pattern
from ctrl_eval.prompts import Prompts
from data.sentences import Splitter
from models.families import Family

RELEVANCE = "attribute_relevance"


@dataclass(frozen=True)
class Evaluations:
    """The scores and weights of all patterns of one text in one aspect, which explain its score."""

    scores: Float[NDArray[np.float64], " evaluators"]  # one per evaluator
    weights: Float[NDArray[np.float64], " evaluators"]
    patterns: Sequence[Mapping[str, Any]]  # the question of each evaluator, for readers
    remarks: tuple[str, ...] = ()  # anything unusual about the text
    dropped: int = 0  # how many tokens one of them lost at most
    reason: str | None = None  # why the text has no score

    def explanation(self) -> dict[str, Any]:
        """The scores and weights of the patterns, as JSON values."""
        evaluators: list[dict[str, Any]] = []
        for pattern, score, share in zip(self.patterns, self.scores, shares(self.weights), strict=True):
            evaluators.append({**pattern, "score": float(score), "weight": float(share)})
        return {"evaluators": evaluators, "remarks": list(self.remarks)}


@dataclass(frozen=True)
class Material:
    """What the aspects need beside a text."""

    split: Splitter  # text into sentences
    prompts: Prompts | None  # of attribute relevance
    frequencies: WordFrequencies | None  # IWF by token; None weighs all targets alike
    weights: Weights  # of patterns
    family: Family  # of the model, which shows its sources

    @property
    def lacks_frequencies(self) -> bool:
        """Whether the paper's weights are asked for where no table gives them."""
        return self.weights == "paper" and self.frequencies is None


class Aspect(ABC):
    """One aspect: its patterns as gaps with targets, and the evaluations from the targets' log-probabilities."""

    name: ClassVar[str]
    # what it reads of an example beside the text
    reads: ClassVar[tuple[Field, ...]] = ()
    # whether a target includes the token that closes a sentence
    is_closed: ClassVar[bool] = False
    # whether targets weigh by their words (IWF)
    weighs_words: ClassVar[bool] = True

    def find_faults(self, example: Example, material: Material) -> Iterator[str]:
        """Yields what is wrong in an example."""
        yield from ()

    def find_reason(self, example: Example, material: Material) -> str | None:
        """Returns why a text has no score in this aspect; None for a text that has one."""
        return None if any(map(str.isalnum, example.full_text)) else "the text has no words"

    def find_remarks(self, patterns: Sequence[Pattern]) -> list[str]:
        """Returns what is unusual about a text, by its patterns."""
        return []

    @abstractmethod
    def patterns(self, example: Example, material: Material) -> list[Pattern]:
        """Makes the patterns of a text (f and g)."""

    def evaluate(
        self,
        example: Example,
        patterns: Sequence[Pattern],
        log_p: Float[NDArray[np.float64], " patterns"],
        material: Material,
    ) -> Evaluations:
        """Scores each target by its log-probability, in nats, and weighs it by how much it says (Eq. 4-7, 11)."""
        isf = np.ones(len(patterns))
        if material.frequencies is not None:
            isf = material.frequencies.weigh([pattern.target for pattern in patterns])
        questions: list[dict[str, str]] = []
        for pattern in patterns:
            source = material.family.show(pattern.before, pattern.after)
            questions.append({"source": source, "target": pattern.target})
        remarks = self.find_remarks(patterns)
        if not isf.any():
            remarks.append("all weights are zero; its evaluators weigh alike")
        if material.lacks_frequencies:
            remarks.append("no table of word frequencies (iwf), so all targets weigh alike")
        return Evaluations(log_p, normalised_isf(isf), questions, tuple(remarks))


class Coherence(Aspect):
    """Each sentence is the target of the rest of the text (Eq. 2-3)."""

    name = "coherence"
    is_closed = True

    def find_reason(self, example: Example, material: Material) -> str | None:
        is_dialogue = bool(example.turns) and not example.text
        if is_dialogue and len(material.split(example.full_text)) == 1:
            return "coherence needs two sentences, but sentence_split finds only one in all turns"
        return super().find_reason(example, material)

    def patterns(self, example: Example, material: Material) -> list[Pattern]:
        return coherence_patterns(material.split(example.full_text))

    def find_remarks(self, patterns: Sequence[Pattern]) -> list[str]:
        return ["a text of one sentence leaves only the mask to read"] if len(patterns) == 1 else []


class Consistency(Aspect):
    """The prefix is the target of the rest of the text, and the rest that of the prefix (Eq. 9-10)."""

    name = "consistency"
    reads = ("prefix",)

    def find_faults(self, example: Example, material: Material) -> Iterator[str]:
        text = example.full_text
        if not example.prefix or not text.startswith(example.prefix):
            yield f"the prefix must begin the text, found {format_value(example.prefix)} and {format_value(text)}"
        elif not text[len(example.prefix) :].strip():
            yield f"consistency needs text after the prefix, found {format_value(text)}"

    def patterns(self, example: Example, material: Material) -> list[Pattern]:
        return consistency_patterns(example.prefix or "", example.full_text)


class AttributeRelevance(Aspect):
    """The label's words are the targets of prompts about the text (Eq. 12-17)."""

    name = RELEVANCE
    reads = ("label",)
    weighs_words = False

    def find_faults(self, example: Example, material: Material) -> Iterator[str]:
        labels = find_prompts(material).labels
        if example.label not in labels:
            yield f"the label must be one of {', '.join(labels)}, found {format_value(example.label)}"

    def patterns(self, example: Example, material: Material) -> list[Pattern]:
        prompts = find_prompts(material)
        patterns = [relevance_pattern(prompt, example.full_text) for prompt in prompts.prompts]
        return [replace(pattern, target=word) for pattern in patterns for word in prompts.words]

    def evaluate(
        self,
        example: Example,
        patterns: Sequence[Pattern],
        log_p: Float[NDArray[np.float64], " patterns"],
        material: Material,
    ) -> Evaluations:
        """Scores each prompt and verbalizer by the label's share of the words' probability (Eq. 14-15)."""
        prompts = find_prompts(material)
        probabilities = np.exp(log_p).reshape(len(prompts.prompts), len(prompts.words))
        label = prompts.labels.index(example.label or "")
        scores: list[float] = []
        weights: list[float] = []
        questions: list[dict[str, Any]] = []
        for verbalizer in prompts.verbalizers:
            columns = [prompts.words.index(word) for word in verbalizer]
            for row, prompt in zip(probabilities[:, columns], prompts.prompts, strict=True):
                scores.append(relevance_score(row, label))
                weights.append(relevance_weight(row))
                questions.append({"prompt": prompt, "words": list(verbalizer)})
        return Evaluations(np.array(scores), np.array(weights), questions)


def find_prompts(material: Material) -> Prompts:
    """Returns the prompts of attribute relevance. Raises SettingError where there are none."""
    if material.prompts is None:
        raise SettingError(f"{RELEVANCE} needs prompts and verbalizers; set them, or leave the aspect out")
    return material.prompts


# by name, in the order of the paper
ASPECTS: Mapping[str, Aspect] = {aspect.name: aspect for aspect in (Coherence(), Consistency(), AttributeRelevance())}
