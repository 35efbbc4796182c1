"""Negatives of sentences about given concepts: two concepts exchange their places, and nothing is lost.

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
    """A concept in a sentence."""

    concept: str
    # the position of its word in the sentence, split at spaces
    place: int
    ending: str


@dataclass(frozen=True)
class Question:
    """A gap at one mention, and the mentions of the other concepts, which could stand there."""

    concepts: str  # as they are given, joined by ", "
    words: Words  # of the sentence, split at spaces
    here: Mention  # the mention in the gap
    others: Sequence[Mention]  # the candidates


def inflect(concept: str, ending: str) -> str:
    """The concept with a regular English ending.

    >>> [inflect(word, "ing") for word in ("run", "dance", "throw")], inflect("party", "s"), inflect("catch", "s")
    (['running', 'dancing', 'throwing'], 'parties', 'catches')
    """
    if not ending:
        return concept
    before, last = concept[-2:-1], concept[-1:]
    if ending == "s":
        if concept.endswith(("s", "x", "z", "ch", "sh")):
            return f"{concept}es"
        return f"{concept[:-1]}ies" if last == "y" and before not in "aeiou" else f"{concept}s"
    if last == "e":
        return f"{concept[:-1]}{ending}"
    if last == "y" and before not in "aeiou" and ending == "ed":
        return f"{concept[:-1]}ied"
    vowels = [letter in "aeiou" for letter in concept]
    is_short = sum(vowels) == 1 and vowels[-2:] == [True, False] and last not in "wxy"
    return f"{concept}{last if is_short else ''}{ending}"


def find_mentions(concepts: Sequence[str], words: Sequence[str]) -> list[Mention]:
    """The first word of the sentence that is a regular form of each concept, whatever punctuation stands beside it.

    Of two concepts at one place only the last counts.

    >>> find_mentions(["team", "run"], ["the", "teams", "run."])
    [Mention(concept='team', place=1, ending='s'), Mention(concept='run', place=2, ending='')]
    """
    bare = [letters[0].lower() if (letters := LETTERS.search(word)) else "" for word in words]
    found: dict[int, Mention] = {}
    for concept in concepts:
        forms = {inflect(concept, ending): ending for ending in reversed(ENDINGS)}
        place = next((i for i, word in enumerate(bare) if word in forms), None)
        if place is not None:
            found[place] = Mention(concept, place, forms[bare[place]])
    return list(found.values())


def exchange(
    words: Words,
    first: Mention,
    second: Mention,
) -> Words:
    """Both concepts in each other's place, each with the ending and the punctuation of that place.

    >>> exchange(("the", "dog", "catches", "balls."), Mention("dog", 1, ""), Mention("ball", 3, "s"))
    ('the', 'ball', 'catches', 'dogs.')
    """
    for here, other in ((first, second), (second, first)):
        words = replace_unit(words, here.place, put(words[here.place], other.concept, here.ending))
    return words


def put(
    word: str,
    concept: str,
    ending: str,
) -> str:
    """The word with a concept in place of its letters."""
    return LETTERS.sub(inflect(concept, ending), word, count=1)


def share_that_lose_concepts(negatives: Negatives) -> float:
    """The share of negatives that no longer mention some concept which the positive mentions; 0 without negatives."""

    def mentioned(turns: Dialogue) -> set[str]:
        return {mention.concept for mention in find_mentions(turns[0].split(", "), turns[1].split())}

    pairs = zip(negatives.positives, negatives.negatives, strict=True)
    return float(np.mean([bool(mentioned(good) - mentioned(bad)) for good, bad in pairs] or [False]))


def find_known(texts: Sequence[Sequence[str]]) -> frozenset[str]:
    """The words, in lower case, that two or more of the sentences have, which stand last in their texts.

    >>> sorted(find_known([("dog, run", "A dog runs"), ("cat", "a cat runs")]))
    ['a', 'runs']
    """
    sentences = Counter(word for turns in texts for word in set(LETTERS.findall(turns[-1].lower())))
    return frozenset(word for word, count in sentences.items() if count > 1)


def find_exchanges(turns: Sequence[str], known: Container[str]) -> dict[Mention, list[Mention]]:
    """The mentions in the sentence after its concepts, each with those that may take its place; none in other texts.

    All four words, those that stand there and those that come, must be `known`: a regular form may be no word
    ("actored"), and unseen words must not tell negatives from positives.
    """
    mentions = find_mentions(turns[0].split(", "), turns[1].split()) if len(turns) == 2 else []

    def may_exchange(one: Mention, other: Mention) -> bool:
        both = (one, other)
        return one != other and all(inflect(m.concept, at.ending) in known for m in both for at in both)

    found = {here: [other for other in mentions if may_exchange(here, other)] for here in mentions}
    return {here: others for here, others in found.items() if others}


def check_exchangeable(texts: Sequence[Sequence[str]], known: Container[str]) -> None:
    """Raises SettingError where no sentence mentions two of its concepts that can exchange their places."""
    if not any(find_exchanges(turns, known) for turns in texts):
        raise SettingError(
            "strategy exchange needs sentences that mention two of their concepts, which in each other's place are "
            "words of the training text, but none does"
        )


def exchange_concepts(
    pair: Pair,
    texts: Sequence[Sequence[str]],
    known: Container[str],
    sampling: Sampling,
    seed: int,
) -> Negatives:
    """A negative of every sentence that mentions two of its concepts: the degraded distribution draws which exchange.

    A text is two turns: concepts joined by ", ", and a sentence. The gap is a random mention. The candidates are the
    other mentions that may take its place (`find_exchanges`), with its ending. Eq. 4 is taken over whole candidates and
    divided by `sampling.temperature`; the other fields of `sampling` have no effect.

    Raises SettingError as `check_exchangeable`.
    """
    positives = pair.decode(pair.tokenise(texts).dialogues)
    check_exchangeable(positives, known)
    rngs = [random.Random(f"exchange/{seed}/{i}") for i in range(len(positives))]
    questions: dict[int, Question] = {}
    for i, (turns, rng) in enumerate(zip(positives, rngs, strict=True)):
        if exchanges := find_exchanges(turns, known):
            here = rng.choice(list(exchanges))
            questions[i] = Question(turns[0], tuple(turns[1].split()), here, exchanges[here])
    negatives: dict[int, Dialogue] = {}
    for (i, asked), shares in zip(questions.items(), weigh(pair, list(questions.values()), sampling), strict=True):
        (other,) = rngs[i].choices(asked.others, shares.tolist())
        negatives[i] = (asked.concepts, " ".join(exchange(asked.words, asked.here, other)))
    return Negatives.of(positives, {i: each for i, each in negatives.items() if each != positives[i]})


def weigh(
    pair: Pair,
    questions: Sequence[Question],
    sampling: Sampling,
) -> list[Float[NDArray[np.float64], " candidates"]]:
    """The shares of the candidates of every question, by Eq. 4 over them alone; they sum to 1."""
    tokenised = pair.tokenise([(asked.concepts, " ".join(asked.words)) for asked in questions])
    tasks: list[tuple[Sequence[int], list[int]]] = []
    for turns, asked in zip(tokenised.dialogues, questions, strict=True):
        place = asked.here.place
        source = tokenised.task(turns, Gap(1, *find_words(tokenised.to_pieces(turns)[1])[place])).source
        texts = [f"{' ' if place else ''}{put(asked.words[place], o.concept, asked.here.ending)}" for o in asked.others]
        ids = pair.amateur.tokenizer(texts, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        tasks += [(source, pair.infilling.target(row)) for row in ids]
    ends = np.cumsum([len(asked.others) for asked in questions])[:-1]

    def log_p(lm: ConditionalLM) -> list[Tensor]:
        """log p of each candidate, normalised over those of its question."""
        rows = lm.log_probabilities(tasks, given=len(pair.infilling.opening))
        split = np.split(np.array([row.sum(dtype=np.float64) for row in rows]), ends)
        return [torch.from_numpy(part).log_softmax(-1) for part in split]

    amateur = log_p(pair.amateur)
    expert = amateur if sampling.gamma == 0 else log_p(pair.expert)
    degraded = (degraded_log_probabilities(a, e, sampling.gamma) for a, e in zip(amateur, expert, strict=True))
    return [(row / sampling.temperature).softmax(-1).numpy() for row in degraded]
