"""Negatives made by the rules of earlier metrics of coherence: baselines of Generative CDM (Table 2).

Mesgar et al. (2020) move and replace utterances. Vakulenko et al. (2018) mix two conversations. DEAM (Ghazarian et al.
2022) changes AMR graphs; here rules on words stand in for its four kinds of incoherence, two of which need English
words. Every negative keeps the number of turns, so that it can be read in windows beside its positive.
"""

import random
import re
from collections.abc import Callable, Container, Sequence
from functools import partial
from itertools import chain
from typing import Literal

from cdm.negatives import Dialogue, Negatives
from core.example import UNSPACED
from core.settings import check
from data.damage import permute, replace_ending, replace_unit
from data.words import are_unspaced

Rule = Literal["mesgar", "vakulenko", "deam_like"]
ATTEMPTS = 20  # one turn alone can only be replaced, which is one of four kinds of Mesgar et al.

AUXILIARIES = ("is", "are", "was", "were", "am", "can", "could", "will", "would", "should")
VERBS = ("like", "love", "have", "know", "think", "want", "need", "live", "work")
NEGATED = {
    **{verb: f"{verb} not" for verb in AUXILIARIES},
    **{verb: f"do not {verb}" for verb in VERBS},
}
OTHER_PRONOUN = {
    "i": "he",
    "you": "they",
    "he": "i",
    "she": "it",
    "it": "she",
    "we": "she",
    "they": "you",
    "them": "me",
    "my": "his",
    "your": "their",
    "his": "my",
    "her": "our",
    "our": "her",
    "their": "your",
    "me": "him",
}


def make_rule_negatives(
    dialogues: Sequence[Sequence[str]],
    rule: Rule,
    seed: int,
    prompt_turns: int = 0,
) -> Negatives:
    """Makes a negative of every dialogue that the rule can change; foreign turns and words come from another dialogue.

    The first `prompt_turns` turns, such as the concepts of a CommonGen sentence, stay unchanged and are inserted
    nowhere else.

    Raises SettingError for an unknown rule.
    """
    check(Rule, rule=rule)
    positives = list(map(_join_spaces, dialogues))
    donors = [positive[prompt_turns:] for positive in positives if len(positive) > prompt_turns]
    known: set[str] = set()
    for turn in chain.from_iterable(donors):
        known.update(word.lower() for word in _list_words(turn))
    change: Callable[[Dialogue, Dialogue, random.Random], Dialogue] = {
        "mesgar": _mesgar,
        "vakulenko": _vakulenko,
        "deam_like": partial(_deam_like, known=known),
    }[rule]
    negatives: dict[int, Dialogue] = {}
    for i, positive in enumerate(positives):
        rng = random.Random(f"{rule}/{seed}/{i}")
        kept = positive[:prompt_turns]
        changeable = positive[prompt_turns:]
        for _ in range(ATTEMPTS if changeable else 0):
            changed = change(changeable, rng.choice(donors), rng)
            negative = (*kept, *changed)
            if negative != positive and all(negative):
                negatives[i] = negative
                break
    return Negatives.of(dict(enumerate(positives)), negatives)


def _join_spaces(turns: Sequence[str]) -> Dialogue:
    """The turns with one space for any white space."""
    return tuple(" ".join(turn.split()) for turn in turns)


def _mesgar(turns: Dialogue, other: Dialogue, rng: random.Random) -> Dialogue:
    """All utterances or those of one speaker in another order, one moved, or one of another dialogue."""
    match rng.choice(("order", "order of a speaker", "insertion", "replacement")):
        case "order":
            return permute(turns, range(len(turns)), rng)
        case "order of a speaker":
            return permute(turns, range(rng.randrange(2), len(turns), 2), rng)
        case "insertion":
            moved = list(turns)
            target = rng.randrange(len(moved))
            turn = moved.pop(rng.randrange(len(moved)))
            moved.insert(target, turn)
            return tuple(moved)
        case _:
            return replace_unit(turns, rng.randrange(len(turns)), rng.choice(other))


def _vakulenko(turns: Dialogue, other: Dialogue, rng: random.Random) -> Dialogue:
    """The utterances in another order, or one speaker or the second half of another conversation."""
    lent = [other[i % len(other)] for i in range(len(turns))]
    match rng.choice(("sequence", "vertical", "horizontal")):
        case "sequence":
            return permute(turns, range(len(turns)), rng)
        case "vertical":
            return tuple(lent[i] if i % 2 else turn for i, turn in enumerate(turns))
        case _:
            return replace_ending(turns, len(turns) // 2, tuple(lent))


def _deam_like(
    turns: Dialogue,
    other: Dialogue,
    rng: random.Random,
    known: Container[str],
) -> Dialogue:
    """One to four turns with a contradiction, another pronoun, foreign words, or most of what they say said elsewhere.

    Final punctuation, capitals and nearly the number of words of the dialogue stay, and no word comes in that is not
    `known`: they must not tell what was changed.
    """
    for _ in range(rng.randint(1, 4)):
        i = rng.randrange(len(turns))
        words, between, ending = _split(turns[i])
        changed = list(words)
        match rng.choice(("contradiction", "coreference", "irrelevancy", "disengagement")):
            case "contradiction":
                changed = _contradict(words, known)
            case "coreference":
                for k, word in enumerate(words):
                    pronoun = OTHER_PRONOUN.get(word.lower(), "")
                    if pronoun in known:
                        changed[k] = _like(pronoun, words, k)
            case "irrelevancy":
                foreign = [word for turn in other for word in _list_words(turn) if _says_something(word)]
                for k, word in enumerate(words):
                    if _says_something(word) and rng.random() < 0.5:
                        changed[k] = _like(rng.choice(foreign or words), words, k)
            case _:
                kept = max(1, len(words) // 3)
                elsewhere = rng.randrange(len(turns))
                if elsewhere != i:
                    changed = words[:kept]
                    told, joint, end = _split(turns[elsewhere])
                    longer = joint.join([*told, *words[kept:]])
                    turns = replace_unit(turns, elsewhere, longer + end)
        turns = replace_unit(turns, i, between.join(changed) + ending)
    return turns


ENDING = re.compile(r"\s*[^\w\s]*$")


def _split(turn: str) -> tuple[list[str], str, str]:
    """The words of a turn, what joins them, and its final punctuation; a letter of an unspaced script is a word.

    >>> _split("i like it !"), _split("我们喜欢 NLP。")
    ((['i', 'like', 'it'], ' ', ' !'), (['我', '们', '喜', '欢', ' NLP'], '', '。'))
    """
    body = ENDING.sub("", turn)
    ending = turn[len(body) :]
    if are_unspaced([turn]):
        return [word for word in re.split(f"({UNSPACED.pattern})", body) if word], "", ending
    return body.split(), " ", ending


def _list_words(turn: str) -> list[str]:
    words, _, _ = _split(turn)
    return words


def _like(word: str, words: Sequence[str], at: int) -> str:
    """The word with the capitals of the place `at`, where it stands now: of "I" inside a sentence only "I" has some.

    >>> [_like("he", ["I", "know"], 0), _like("they", ["so", "I"], 1), _like("i", ["She", "hums"], 0)]
    ['He', 'they', 'I']
    """
    starts = at == 0 or words[at - 1][-1] in ".!?"
    is_capital = words[at][0].isupper() and (starts or words[at] != "I")
    if word.lower() == "i":
        is_capital = any(other[0].isupper() for other in words)
    first = word[0].upper() if is_capital else word[0].lower()
    return first + word[1:]


def _contradict(words: Sequence[str], known: Container[str]) -> list[str]:
    """The words without their "not", or with the first verb that has a negation of known words negated.

    >>> _contradict(["I", "Like", "it"], {"do", "not", "like"}), _contradict(["it", "is", "not", "so"], set())
    (['I', 'Do not like', 'it'], ['it', 'is', 'so'])
    """
    if "not" in words:
        return [word for word in words if word != "not"]
    changed = list(words)
    for i, word in enumerate(words):
        negated = NEGATED.get(word.lower(), "")
        if negated and all(part in known for part in negated.split()):
            changed[i] = _like(negated, words, i)
            break
    return changed


def _says_something(word: str) -> bool:
    """Whether it is likely a content word: letters only, more than three where spaces part words, no pronoun."""
    is_long = len(word) > 3 or UNSPACED.match(word)
    return word.isalpha() and bool(is_long) and word.lower() not in OTHER_PRONOUN
