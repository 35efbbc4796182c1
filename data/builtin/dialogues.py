"""Built-in dialogues: synthetic English small talk of two speakers, and a rated set of damaged ones.

What the speakers say agrees with what they said before and with the world of `dialogue_world`. Facts are mentioned
again, so that a reader can see a fault in the text alone.
"""

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from core.example import Example
from data.builtin.damage import (
    Turns,
    by_word_count,
    contradict_fact,
    garble_words,
    repeat_turn,
    replace_turn,
    swap_turns,
)
from data.builtin.dialogue_grammar import Dialogue, fact_values, random_dialogue
from data.builtin.dialogue_world import TOPICS
from data.builtin.reserved import is_reserved

LEVELS = 5
LENDERS = 100  # how many further dialogues lend their turns and words to the damages


def generate_dialogues(n: int, seed: int, exclude: Collection[Turns] = ()) -> tuple[Example, ...]:
    """`n` different dialogues of 6 to 12 turns, the same for the same seed everywhere.

    None of them is ever a clean dialogue of `rated_dialogues`, whatever the seeds, and none is in `exclude`. With a
    larger `n` the first dialogues stay the same.

    >>> len(generate_dialogues(3, seed=0))
    3
    """
    dialogues = islice(random_dialogues(random.Random(seed), reserved=False, exclude=exclude), n)
    return tuple(Example(f"builtin-{seed}-{i}", turns=d.turns) for i, d in enumerate(dialogues))


def rated_dialogues(n: int = 400, seed: int = 0) -> tuple[Example, ...]:
    """`n` dialogues of known quality: five levels of damage in equal shares, rated 1 - level / 4.

    The level is the number of damages, each of a different kind (see `data.builtin.damage`) and on different turns;
    `label` joins the kinds by "+", and `group` names the clean dialogue. A damage keeps the number of words and of
    turns, and the levels are dealt out among dialogues of like length, so that length says nothing about quality.
    """
    rng = random.Random(seed)
    dialogues = random_dialogues(rng, reserved=True)
    clean = list(islice(dialogues, n))
    lenders = list(islice(dialogues, LENDERS))
    vocabulary = [word.strip(".,?") for lender in lenders for turn in lender.turns for word in turn.split()]
    pools = {topic: by_word_count(lent_turns(lenders, topic)) for topic in TOPICS}
    levels = _deal_levels([_word_count(dialogue.turns) for dialogue in clean], rng)
    rated: list[Example] = []
    for i, (dialogue, level) in enumerate(zip(clean, levels, strict=True)):
        turns, kinds = _damage(dialogue, level, rng, pools[dialogue.topic], vocabulary)
        rated.append(
            Example(
                f"builtin-rated-{seed}-{i}",
                turns=turns,
                label="+".join(kinds) or None,
                group=f"builtin-clean-{seed}-{i}",
                ratings={"quality": 1 - level / (LEVELS - 1)},
            )
        )
    return tuple(rated)


def random_dialogues(rng: random.Random, reserved: bool, exclude: Collection[Turns] = ()) -> Iterator[Dialogue]:
    """Different dialogues without end, all from the reserved part of the possible ones or all from the rest."""
    seen = set(exclude)
    while True:
        dialogue = random_dialogue(rng)
        if is_reserved("\n".join(dialogue.turns)) == reserved and dialogue.turns not in seen:
            seen.add(dialogue.turns)
            yield dialogue


def _word_count(turns: Turns) -> int:
    return sum(len(turn.split()) for turn in turns)


def lent_turns(lenders: Sequence[Dialogue], topic: str) -> Iterator[str]:
    """The turns of dialogues on other topics that show their topic."""
    for lender in lenders:
        if lender.topic != topic:
            kinds = TOPICS[lender.topic].kinds
            yield from (lender.turns[i] for i in lender.body if any(fact.kind in kinds for fact in lender.facts[i]))


def _deal_levels(word_counts: Sequence[int], rng: random.Random) -> list[int]:
    """A level of damage for each dialogue: every level once among each five dialogues next in length."""
    by_length = sorted(range(len(word_counts)), key=word_counts.__getitem__)
    levels = [0] * len(word_counts)
    for start in range(0, len(by_length), LEVELS):
        block = by_length[start : start + LEVELS]
        for i, level in zip(block, rng.sample(range(LEVELS), len(block)), strict=True):
            levels[i] = level
    return levels


def _damage(
    dialogue: Dialogue,
    level: int,
    rng: random.Random,
    pool: Mapping[int, Sequence[str]],
    vocabulary: Sequence[str],
) -> tuple[Turns, tuple[str, ...]]:
    """The turns with `level` damages of different kinds, and the kinds.

    Kinds are drawn until they fit the dialogue: each on different turns, a copied turn still there beside its copy, a
    contradicted fact still mentioned elsewhere, and as many words as before.
    """
    # A swap comes first, as it needs most room, and a contradiction last, as it needs a second turn left as it was.
    damages: Mapping[str, Callable[..., Turns | None]] = {
        "swapped_turns": swap_turns,
        "foreign_turn": partial(replace_turn, pool=pool),
        "garbled_words": partial(garble_words, vocabulary=vocabulary),
        "repeated_turn": repeat_turn,
        "contradicted_fact": partial(contradict_fact, facts=dialogue.facts, values=fact_values()),
    }
    while True:
        drawn = rng.sample(tuple(damages), level)
        kinds = tuple(kind for kind in damages if kind in drawn)
        turns: Turns | None = dialogue.turns
        for kind in kinds:
            if turns is not None:
                unchanged = [i for i, turn in enumerate(turns) if turn == dialogue.turns[i]]
                turns = damages[kind](turns, rng, free=unchanged)
        if turns is None or _word_count(turns) != _word_count(dialogue.turns):
            continue
        if "repeated_turn" not in kinds or len(set(turns)) < len(turns):
            return turns, kinds
