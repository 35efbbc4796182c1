"""Perturbed texts: the negatives that UNION and the discriminator score of CTRLEval's tables learn to recognise.

UNION (Guan & Huang, EMNLP 2020, section 3.1) perturbs human texts in four ways. Here a substitution draws from other
texts; UNION also takes antonyms from a lexicon. CTRLEval (section 4.3) does not say how the negatives of its
discriminator were made. Here their sentences are in another order, or their ending is that of another text.
"""

import random
import re
from collections.abc import Callable, Sequence

from data.damage import choose_share, find_places, permute_anew, replace_ending, replace_places, replace_unit
from data.sentences import split_english
from data.words import LETTERS

Sentences = tuple[str, ...]
Perturbation = Callable[[Sentences, Sentences, random.Random], Sentences | None]  # a text, another text -> a worse text

SUBSTITUTED_SHARE = 0.15  # of the words of a text, as in UNION
AUXILIARIES = "is are was were can could will would do does did has have had should must may might"
AUXILIARY = re.compile(rf"\b({'|'.join(AUXILIARIES.split())})\b(?! not\b)", re.IGNORECASE)
NEGATION = re.compile(r"\b not\b|n't\b|\bnever ", re.IGNORECASE)
NUMBER_SHARES = (0.5, 0.2, 0.2, 0.1)  # of UNION's negatives with one to four perturbations


def repeat_sentence(text: Sentences, other: Sentences, rng: random.Random) -> Sentences | None:
    """Replaces a sentence by a copy of the previous one; None if the text has only one sentence.

    >>> repeat_sentence(("A.", "B."), (), random.Random(0))
    ('A.', 'A.')
    """
    if len(text) < 2:
        return None
    place = rng.randrange(len(text) - 1)
    return replace_unit(text, place + 1, text[place])


def substitute(text: Sentences, other: Sentences, rng: random.Random) -> Sentences | None:
    """Replaces a sentence, or some words, by a sentence or words of another text.

    >>> substitute(("A.",), ("B.",), random.Random(1))
    ('B.',)
    """
    new = [sentence for sentence in other if sentence not in text]
    words = sorted({match[0] for _, match in find_places(LETTERS, other)})
    if new and rng.random() < 0.5:
        return replace_unit(text, rng.randrange(len(text)), rng.choice(new))
    places = find_places(LETTERS, text)
    if not words or not places:
        return None
    chosen = choose_share(places, SUBSTITUTED_SHARE, rng)
    last_first = sorted(chosen, key=lambda place: -place[1].start())
    return replace_places(text, [(place, rng.choice(words)) for place in last_first])


def reorder_sentences(text: Sentences, other: Sentences, rng: random.Random) -> Sentences | None:
    """Shuffles the sentences; None if they have only one order.

    >>> reorder_sentences(("A.", "B."), (), random.Random(0))
    ('B.', 'A.')
    """
    if len(set(text)) < 2:
        return None
    return permute_anew(text, range(len(text)), rng)


def alter_negation(text: Sentences, other: Sentences, rng: random.Random) -> Sentences | None:
    """Removes a negation or adds one; None if no sentence has a negation or an auxiliary verb.

    >>> alter_negation(("It was not good.",), (), random.Random(0))
    ('It was good.',)
    >>> alter_negation(("It was good.",), (), random.Random(0))
    ('It was not good.',)
    """

    options: list[tuple[int, str]] = []
    for place, sentence in enumerate(text):
        altered = negate(sentence)
        if altered != sentence:
            options.append((place, altered))
    if not options:
        return None
    place, altered = rng.choice(options)
    return replace_unit(text, place, altered)


def negate(sentence: str) -> str:
    """Removes the first negation of a sentence, or else adds one after its first auxiliary verb, if it has one."""
    if NEGATION.search(sentence):
        return NEGATION.sub("", sentence, 1)
    return AUXILIARY.sub(r"\1 not", sentence, 1)


def exchange_ending(text: Sentences, other: Sentences, rng: random.Random) -> Sentences | None:
    """Replaces the ending by the ending of another text.

    The ending is the last sentences, or in a text of one sentence the second half of its words.

    >>> exchange_ending(("A.", "B."), ("C.", "D."), random.Random(0))
    ('A.', 'D.')
    >>> exchange_ending(("A dull film.",), ("We left early.",), random.Random(0))
    ('A left early.',)
    """
    if min(len(text), len(other)) < 2:
        return exchange_words(text, other)
    changed = replace_ending(text, rng.randrange(1, len(text)), other)
    return None if changed == text else changed


def exchange_words(text: Sentences, other: Sentences) -> Sentences | None:
    """Joins the first half of a text's words and the last words of another text; None if a text has too few words."""
    words = tuple(" ".join(text).split())
    others = tuple(" ".join(other).split())
    half = len(words) // 2
    changed = replace_ending(words, half, others)
    if not half or len(others) < 2 or changed == words:
        return None
    return (" ".join(changed),)


UNION: dict[Perturbation, float] = {  # how often each is drawn
    repeat_sentence: 0.1,
    substitute: 0.3,
    reorder_sentences: 0.4,
    alter_negation: 0.2,
}
DISCRIMINATOR: dict[Perturbation, float] = {reorder_sentences: 0.5, exchange_ending: 0.5}


def perturb_as_union(texts: Sequence[str], seed: int) -> list[str | None]:
    """UNION's negative of each text: one to four different perturbations; None for a text that none of them changes."""
    return _perturb(texts, UNION, NUMBER_SHARES, seed)


def perturb_for_discriminator(texts: Sequence[str], seed: int) -> list[str | None]:
    """Makes a negative of each text for CTRLEval's discriminator by one perturbation; None if none changes the text."""
    return _perturb(texts, DISCRIMINATOR, (1.0,), seed)


def _perturb(
    texts: Sequence[str],
    kinds: dict[Perturbation, float],
    number_shares: Sequence[float],
    seed: int,
) -> list[str | None]:
    rng = random.Random(f"perturbed {seed}")
    split = [tuple(split_english(text)) for text in texts]
    perturbed: list[str | None] = []
    for place, text in enumerate(split):
        (number,) = rng.choices(range(1, len(number_shares) + 1), number_shares)
        changed = text
        left = dict(kinds)
        while left and number:
            (kind,) = rng.choices(list(left), list(left.values()))
            del left[kind]
            distance = rng.randrange(1, max(2, len(split)))
            other = split[(place + distance) % len(split)]
            worse = kind(changed, other, rng)
            if worse is not None:
                changed = worse
                number -= 1
        perturbed.append(" ".join(changed) if changed != text else None)
    return perturbed
