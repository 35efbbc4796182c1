"""How well a poem keeps its form: lengths, rhyme and tones, as shares in [0, 1]; higher is better.

Compare these scores with those of human poems. Rhymes and tones are those of modern Mandarin (pypinyin), with all
readings of a character. Song Ci had other rhymes and tones, so human poems do not reach 1, either.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import chain

import numpy as np
from pypinyin import Style, pinyin

from oumg.form import MARKS, Form, find_marks, line_ends, split_phrases

LEVEL = frozenset("12")  # tones of the level class (ping); 3 and 4 are oblique (ze)


@cache
def finals(character: str) -> frozenset[str]:
    """Returns the finals (rhyming parts) of all readings of a character, without tones and glides; may be empty.

    >>> sorted(finals("花")), sorted(finals("霞")), sorted(finals("雪")), sorted(finals("心"))
    (['a'], ['a'], ['ie'], ['en'])
    """
    readings = pinyin(
        character,
        style=Style.FINALS,
        heteronym=True,
        strict=True,
        errors="ignore",
    )
    return frozenset(_strip_glide(reading) for reading in chain.from_iterable(readings) if reading)


def _strip_glide(final: str) -> str:
    if final in ("ie", "ve", "üe"):  # these rhyme with one another but not with e
        return "ie"
    bare = final.lstrip("iuvü") or final
    return {"n": "en", "ng": "eng"}.get(bare, bare)  # in, ün and ing rhyme with en and eng


@cache
def tones(character: str) -> frozenset[str]:
    """Returns the tone classes of all readings of a character: `level`, `oblique` or both; empty if it has none.

    >>> sorted(tones("花")), sorted(tones("月"))
    (['level'], ['oblique'])
    """
    readings = pinyin(
        character,
        style=Style.TONE3,
        heteronym=True,
        neutral_tone_with_five=True,
        errors="ignore",
    )
    last = {reading[-1:] for reading in chain.from_iterable(readings)}
    digits = last & set("1234")
    return frozenset("level" if digit in LEVEL else "oblique" for digit in digits)


def keeps_form(text: str, form: Form) -> bool:
    """Whether the poem has exactly this form: every length and every mark."""
    lengths = [len(phrase) for phrase in split_phrases(text)]
    phrases = tuple(zip(lengths, find_marks(text), strict=False))
    return text[-1:] in MARKS and phrases == form.phrases


def phrase_lengths(text: str, form: Form) -> float:
    """Returns the share of phrases with the length of the form; missing and extra phrases count as wrong.

    >>> phrase_lengths("春花，秋月何。", Form(((2, "，"), (2, "。"))))
    0.5
    """
    lengths = [len(phrase) for phrase in split_phrases(text)]
    wanted = [length for length, _ in form.phrases]
    equal = sum(length == due for length, due in zip(lengths, wanted, strict=False))
    return equal / max(len(lengths), len(wanted))


def rhyme_rate(text: str) -> float:
    """Returns the largest share of line ends that have one final in common; NaN for fewer than two lines.

    >>> rhyme_rate("春花。人家。秋月。")
    0.6666666666666666
    """
    ends = line_ends(text)
    if len(ends) < 2:
        return float("nan")
    counts = Counter(final for end in ends for final in finals(end))
    return max(counts.values(), default=0) / len(ends)


def tone_pattern(texts: Sequence[str]) -> list[str | None]:
    """Finds the common tone class at every position of poems with one form; None where there is none.

    A class is common if at least two thirds of the characters with a single class have it.
    """
    rows = map(_list_characters, texts)
    pattern: list[str | None] = []
    for characters in zip(*rows, strict=True):
        counts: Counter[str] = Counter()
        for character in characters:
            classes = tones(character)
            if len(classes) == 1:
                counts.update(classes)
        common = counts.most_common(1)
        is_common = bool(common) and common[0][1] >= 2 * counts.total() / 3
        pattern.append(common[0][0] if is_common else None)
    return pattern


def _list_characters(text: str) -> list[str]:
    return [character for character in text if character not in MARKS]


def tone_rate(text: str, pattern: Sequence[str | None]) -> float:
    """Returns the share of positions where the character can have the pattern's tone class; NaN if it has none."""
    pairs = zip(_list_characters(text), pattern, strict=False)
    fits = [wanted in tones(character) for character, wanted in pairs if wanted]
    return float(np.mean(fits)) if fits else float("nan")
