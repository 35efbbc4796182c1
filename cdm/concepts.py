"""Makes bad sentences about given concepts: two concepts exchange their places, and no concept is lost.

CommonGen-trinity's bad sentences exchange the roles of their concepts ("The field runs a drill while the team
observes"). Negatives that redraw a segment mostly drop concepts instead, so that a discriminator learns coverage.
"""

import random
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from cdm.infilling import Pair
from cdm.momentum import degraded_log_probabilities
from cdm.negatives import Dialogue, Negatives
from cdm.sampling import Sampling
from cdm.segments import Gap, find_words
from core.errors import SettingError
from data.damage import replace_unit
from data.words import LETTERS
from models.model import ConditionalLM

ENDINGS = ("", "s", "ed", "ing")
Words = tuple[str, ...]


@dataclass(frozen=True)
class Mention:
    """A word of a sentence that mentions a concept."""

    concept: str
    # the position of its word in the sentence, split at spaces
    place: int
    ending: str


@dataclass(frozen=True)
class Question:
    """Which concept takes the place of a mention: the mention in the gap, and the other mentions as candidates."""

    concepts: str  # as they are given, joined by ", "
    words: Words  # of the sentence, split at spaces
    here: Mention  # the mention in the gap
    others: Sequence[Mention]  # the candidates


def inflect(concept: str, ending: str) -> str:
    """Adds a regular English ending to a concept.

    >>> [inflect(word, "ing") for word in ("run", "dance", "throw")], inflect("party", "s"), inflect("catch", "s")
    (['running', 'dancing', 'throwing'], 'parties', 'catches')
    """
    if not ending:
        return concept
    stem = concept[:-1]
    last = concept[-1:]
    ends_in_consonant_y = last == "y" and stem[-1:] not in "aeiou"
    if ending == "s":
        if concept.endswith(("s", "x", "z", "ch", "sh")):
            return f"{concept}es"
        return f"{stem}ies" if ends_in_consonant_y else f"{concept}s"
    if last == "e":
        return f"{stem}{ending}"
    if ends_in_consonant_y and ending == "ed":
        return f"{stem}ied"
    vowels = [letter in "aeiou" for letter in concept]
    is_short = sum(vowels) == 1 and vowels[-2:] == [True, False] and last not in "wxy"
    doubled = last if is_short else ""
    return f"{concept}{doubled}{ending}"


def find_mentions(concepts: Sequence[str], words: Sequence[str]) -> list[Mention]:
    """Finds for each concept the first word of the sentence that is a regular form of it, ignoring punctuation.

    If two concepts match one word, only the last one counts.

    >>> find_mentions(["team", "run"], ["the", "teams", "run."])
    [Mention(concept='team', place=1, ending='s'), Mention(concept='run', place=2, ending='')]
    """
    matches = [LETTERS.search(word) for word in words]
    bare = [match[0].lower() if match else "" for match in matches]
    mentions: dict[int, Mention] = {}
    for concept in concepts:
        forms = {inflect(concept, ending): ending for ending in reversed(ENDINGS)}
        place = next((i for i, word in enumerate(bare) if word in forms), None)
        if place is not None:
            mentions[place] = Mention(concept, place, forms[bare[place]])
    return list(mentions.values())


def exchange(
    words: Words,
    first: Mention,
    second: Mention,
) -> Words:
    """Swaps two concepts; each takes the ending and the punctuation of its new position.

    >>> exchange(("the", "dog", "catches", "balls."), Mention("dog", 1, ""), Mention("ball", 3, "s"))
    ('the', 'ball', 'catches', 'dogs.')
    """
    for here, other in ((first, second), (second, first)):
        new = put(words[here.place], other.concept, here.ending)
        words = replace_unit(words, here.place, new)
    return words


def put(
    word: str,
    concept: str,
    ending: str,
) -> str:
    """Replaces the letters of a word by a concept with the given ending."""
    return LETTERS.sub(inflect(concept, ending), word, count=1)


def share_that_lose_concepts(negatives: Negatives) -> float:
    """Returns the share of negatives that lack a concept which their positive mentions; 0 without negatives."""

    def list_mentioned(turns: Dialogue) -> set[str]:
        concepts, sentence = turns
        mentions = find_mentions(concepts.split(", "), sentence.split())
        return {mention.concept for mention in mentions}

    losses: list[bool] = []
    for positive, negative in zip(negatives.positives, negatives.negatives, strict=True):
        losses.append(bool(list_mentioned(positive) - list_mentioned(negative)))
    return float(np.mean(losses)) if losses else 0.0


def find_known(texts: Sequence[Sequence[str]]) -> frozenset[str]:
    """Finds the words, in lower case, that occur in at least two sentences. A sentence is the last turn of a text.

    >>> sorted(find_known([("dog, run", "A dog runs"), ("cat", "a cat runs")]))
    ['a', 'runs']
    """
    sentences: Counter[str] = Counter()
    for turns in texts:
        sentences.update(set(LETTERS.findall(turns[-1].lower())))
    return frozenset(word for word, count in sentences.items() if count > 1)


def find_exchanges(turns: Sequence[str], known: Container[str]) -> dict[Mention, list[Mention]]:
    """Finds for each mention of a concept the mentions with which it may be swapped; empty if no pair may be swapped.

    All four words, before and after the swap, must be `known`: a regular form need not be a word ("actored"), and
    unseen words would show which sentences are negatives.
    """
    if len(turns) != 2:
        return {}
    concepts, sentence = turns
    mentions = find_mentions(concepts.split(", "), sentence.split())

    def may_exchange(one: Mention, other: Mention) -> bool:
        if one == other:
            return False
        forms = [inflect(mention.concept, ending) for mention in (one, other) for ending in (one.ending, other.ending)]
        return all(form in known for form in forms)

    exchanges: dict[Mention, list[Mention]] = {}
    for here in mentions:
        others = [other for other in mentions if may_exchange(here, other)]
        if others:
            exchanges[here] = others
    return exchanges


def check_exchangeable(texts: Sequence[Sequence[str]], known: Container[str]) -> None:
    """Raises SettingError if no sentence mentions two concepts that can be swapped."""
    if not any(find_exchanges(turns, known) for turns in texts):
        raise SettingError(
            "strategy exchange needs sentences with two of their concepts that are words of the training text when "
            "they are swapped, but there is none"
        )


def exchange_concepts(
    pair: Pair,
    texts: Sequence[Sequence[str]],
    known: Container[str],
    sampling: Sampling,
    seed: int,
) -> Negatives:
    """Makes a negative of every sentence with two concepts to swap; the swap is drawn by the distribution of Eq. 4.

    A text is two turns: concepts joined by ", ", and a sentence. One mention is chosen at random. The candidates are
    the other mentions that may take its place, with its ending (`find_exchanges`). Their probabilities are those of Eq.
    4 over whole candidates, with `sampling.temperature`; the other fields of `sampling` have no effect.

    Raises SettingError as `check_exchangeable` does.
    """
    positives = pair.decode(pair.tokenise(texts).dialogues)
    check_exchangeable(positives, known)
    rngs = [random.Random(f"exchange/{seed}/{i}") for i in range(len(positives))]
    questions: dict[int, Question] = {}
    for i, (turns, rng) in enumerate(zip(positives, rngs, strict=True)):
        exchanges = find_exchanges(turns, known)
        if exchanges:
            here = rng.choice(list(exchanges))
            questions[i] = Question(turns[0], tuple(turns[1].split()), here, exchanges[here])
    weights = weigh(pair, list(questions.values()), sampling)
    negatives: dict[int, Dialogue] = {}
    for (i, question), shares in zip(questions.items(), weights, strict=True):
        (other,) = rngs[i].choices(question.others, shares.tolist())
        words = exchange(question.words, question.here, other)
        negative = (question.concepts, " ".join(words))
        if negative != positives[i]:
            negatives[i] = negative
    return Negatives.of(positives, negatives)


def weigh(
    pair: Pair,
    questions: Sequence[Question],
    sampling: Sampling,
) -> list[Float[NDArray[np.float64], " candidates"]]:
    """Computes the probabilities of the candidates of every question, by Eq. 4 over these candidates alone."""
    tokenised = pair.tokenise([(question.concepts, " ".join(question.words)) for question in questions])
    tasks: list[tuple[Sequence[int], list[int]]] = []
    for turns, question in zip(tokenised.dialogues, questions, strict=True):
        here = question.here
        _, pieces = tokenised.to_pieces(turns)
        start, stop = find_words(pieces)[here.place]
        source = tokenised.task(turns, Gap(1, start, stop)).source
        space = " " if here.place else ""
        word = question.words[here.place]
        texts = [space + put(word, other.concept, here.ending) for other in question.others]
        ids = pair.amateur.tokenizer(texts, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        tasks += [(source, pair.infilling.target(row)) for row in ids]
    ends = np.cumsum([len(question.others) for question in questions])[:-1]

    def log_p(lm: ConditionalLM) -> list[Tensor]:
        """log p of each candidate, normalised over those of its question."""
        rows = lm.log_probabilities(tasks, given=len(pair.infilling.opening))
        sums = np.array([row.sum(dtype=np.float64) for row in rows])
        return [torch.from_numpy(part).log_softmax(-1) for part in np.split(sums, ends)]

    amateur = log_p(pair.amateur)
    expert = amateur if sampling.gamma == 0 else log_p(pair.expert)
    degraded = (degraded_log_probabilities(a, e, sampling.gamma) for a, e in zip(amateur, expert, strict=True))
    return [(row / sampling.temperature).softmax(-1).numpy() for row in degraded]
