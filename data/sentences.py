"""Sentence splitters that need no download: for English prose, for any text with end marks, by a regular expression.

`split_english` needs capital letters. `split_at_marks` also splits lower-cased and tokenised text, and splits after
abbreviations. On the public sets they differ in most lower-cased texts, so metrics keep the one that they had.
"""

import re
from collections.abc import Callable
from functools import partial

from core.faults import SettingFault

Splitter = Callable[[str], list[str]]

BOUNDARY = re.compile(r"""(?<=[.!?…])["'”’)\]]*\s+(?=["'“‘(\[]*[A-Z0-9])|(?<=[。！？])""")
TITLES = "mr mrs ms dr prof sr jr st gen col lt sgt capt rev hon gov sen"
SHORT = "mt vs etc inc ltd co corp no vol fig rep dept est e.g i.e p.m a.m u.s u.k"
MONTHS = "jan feb mar apr jun jul aug sep sept oct nov dec"
ABBREVIATIONS = frozenset(f"{TITLES} {SHORT} {MONTHS}".split())
MARKS = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")


def split_english(text: str) -> list[str]:
    """Sentences of English text, quotation marks kept with them; no split after titles, initials and the like.

    >>> split_english("Dr. Wu met J. Smith at 5 p.m. He said: \\"Stay!\\" She left.")
    ['Dr. Wu met J. Smith at 5 p.m. He said: "Stay!"', 'She left.']
    """
    sentences: list[str] = []
    start = 0
    for match in BOUNDARY.finditer(text):
        end = match.start() + len(match.group().rstrip())
        last = text[start:end].rstrip("\"'”’)]").split()[-1:]
        word = last[0].rstrip(".").lstrip("\"'“‘([").lower() if last else ""
        initial = len(word) == 1 and word.isalpha() and word != "i"
        if last and last[0].endswith(".") and (initial or word in ABBREVIATIONS):
            continue
        sentences.append(text[start:end].strip())
        start = match.end()
    return [sentence for sentence in [*sentences, text[start:].strip()] if sentence]


def split_at_marks(text: str) -> list[str]:
    """Parts of a text, split after `.`, `!`, `?` and a blank, after their Chinese forms, and at line breaks.

    >>> split_at_marks("it is 3.5 m. is it?\\nyes!")
    ['it is 3.5 m.', 'is it?', 'yes!']
    """
    return _split(MARKS, text)


def make_splitter(name: str) -> Splitter:
    """`english`, or a splitter that splits wherever a regular expression matches.

    Raises SettingFault for what is neither that name nor a regular expression that can split.

    >>> make_splitter(r"(?<=[.!?])\\s+")("One. Two!  Three")
    ['One.', 'Two!', 'Three']
    """
    if name == "english":
        return split_english
    rule = f"sentence_split must be english or a regular expression without groups, but is {name!r}"
    try:
        pattern = re.compile(name)
    except re.error as error:
        raise SettingFault(f"{rule}: {error}") from error
    if pattern.groups:
        raise SettingFault(f"{rule}: write (?:...)")
    if re.fullmatch(r"\w+", name):
        raise SettingFault(rule)
    return partial(_split, pattern)


def _split(pattern: re.Pattern[str], text: str) -> list[str]:
    return [part.strip() for part in pattern.split(text) if part.strip()]
