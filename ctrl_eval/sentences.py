"""Sentence splitters that need no download: a regular expression, or `english` with its abbreviations."""

import re
from collections.abc import Callable

from core.faults import SettingFault

Splitter = Callable[[str], list[str]]

BOUNDARY = re.compile(r"""(?<=[.!?…])["'”’)\]]*\s+(?=["'“‘(\[]*[A-Z0-9])|(?<=[。！？])""")
TITLES = (
    "mr",
    "mrs",
    "ms",
    "dr",
    "prof",
    "sr",
    "jr",
    "st",
    "gen",
    "col",
    "lt",
    "sgt",
    "capt",
    "rev",
    "hon",
    "gov",
    "sen",
)
SHORT = (
    "mt",
    "vs",
    "etc",
    "inc",
    "ltd",
    "co",
    "corp",
    "no",
    "vol",
    "fig",
    "rep",
    "dept",
    "est",
    "e.g",
    "i.e",
    "p.m",
    "a.m",
)
MONTHS = ("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec")
ABBREVIATIONS = frozenset((*TITLES, *SHORT, *MONTHS, "u.s", "u.k"))


def english(text: str) -> list[str]:
    """Sentences of English text, quotation marks kept with them; no split after titles, initials and the like.

    >>> english("Dr. Wu met J. Smith at 5 p.m. He said: \\"Stay!\\" She left.")
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


NAMED: dict[str, Splitter] = {"english": english}


def splitter(name: str) -> Splitter:
    """A named splitter, or one that splits wherever a regular expression matches.

    Raises SettingFault for what is no name and no regular expression that can split.

    >>> splitter(r"(?<=[.!?])\\s+")("One. Two!  Three")
    ['One.', 'Two!', 'Three']
    """
    if name in NAMED:
        return NAMED[name]
    known = ", ".join(NAMED)
    try:
        pattern = re.compile(name)
    except re.error as error:
        raise SettingFault(
            f"sentence_split must be {known} or a regular expression, but is {name!r}: {error}"
        ) from error
    if pattern.groups:
        raise SettingFault(
            f"a regular expression that splits has no groups (write (?:...)), but sentence_split is {name!r}"
        )
    if re.fullmatch(r"\w+", name):
        raise SettingFault(f"sentence_split must be {known} or a regular expression, but is {name!r}")
    return lambda text: [sentence for sentence in (part.strip() for part in pattern.split(text)) if sentence]
