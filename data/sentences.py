"""Sentence splitters: for English prose, for any text with end marks, NLTK's, and by a regular expression.

`split_english` needs capital letters. `split_sentences` also splits lower-cased and tokenised text, but wrongly splits
after abbreviations. The two differ on most lower-cased texts of the public sets, so a metric must not change its
splitter.
"""

import re
from collections.abc import Callable
from functools import partial

from core.errors import SettingError

Splitter = Callable[[str], list[str]]

BOUNDARY = re.compile(r"""(?<=[.!?…])["'”’)\]]*\s+(?=["'“‘(\[]*[A-Z0-9])|(?<=[。！？])""")
TITLES = "mr mrs ms dr prof sr jr st gen col lt sgt capt rev hon gov sen"
SHORT = "mt vs etc inc ltd co corp no vol fig rep dept est e.g i.e p.m a.m u.s u.k"
MONTHS = "jan feb mar apr jun jul aug sep sept oct nov dec"
ABBREVIATIONS = frozenset(f"{TITLES} {SHORT} {MONTHS}".split())
MARKS = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")


def split_english(text: str) -> list[str]:
    """Splits English text into sentences, with their quotation marks. Titles, initials and the like end no sentence."""
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


def split_sentences(text: str) -> list[str]:
    """Splits a text after `.`, `!` or `?` and a space, after the Chinese forms of these marks, and at line breaks."""
    return _split(MARKS, text)


def make_splitter(name: str) -> Splitter:
    """Returns the splitter `english`, `nltk` (Punkt with its English data), or one that splits at a regular expression.

    Raises SettingError for an unknown name, for a regular expression that cannot split, and for `nltk` without its
    data.
    """
    if name == "english":
        return split_english
    if name == "nltk":
        return _load_punkt()
    rule = f"sentence_split must be english, nltk or a regular expression without groups, but is {name!r}"
    try:
        pattern = re.compile(name)
    except re.error as error:
        raise SettingError(f"{rule}: {error}") from error
    if pattern.groups:
        raise SettingError(f"{rule}: write (?:...)")
    if re.fullmatch(r"\w+", name):
        raise SettingError(rule)
    return partial(_split, pattern)


def _load_punkt() -> Splitter:
    """NLTK's sentence splitter for English (Kiss and Strunk 2006), which the released CTRLEval uses."""
    from nltk.tokenize.punkt import PunktTokenizer  # here, because few runs need it

    try:
        return PunktTokenizer("english").tokenize
    except LookupError as error:
        what = "sentence_split=nltk needs NLTK's data, but punkt_tab is not on this machine"
        raise SettingError(f"{what}: run python -m nltk.downloader punkt_tab") from error


def _split(pattern: re.Pattern[str], text: str) -> list[str]:
    return [part.strip() for part in pattern.split(text) if part.strip()]
