"""Words of a text with their places, so that its white space can be rebuilt exactly (MARS, section 2.1)."""

import re
import unicodedata
from dataclasses import dataclass

APOSTROPHES = frozenset("'’＇׳״")
HYPHENS = frozenset("-‐‑")
SEPARATORS = frozenset("\u200b\ufeff")  # a zero-width space or byte order mark parts words as a blank does
INVISIBLE = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]"
)  # show how a sign looks, not which it is

# Ranges written without spaces between words, whose characters are words of their own: kana, bopomofo, Han.
IDEOGRAPHS = (
    (0x3005, 0x3007),
    (0x3041, 0x312F),
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
)
MORE_IDEOGRAPHS = ((0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x1B000, 0x1B16F), (0x20000, 0x3FFFF))


@dataclass(frozen=True)
class Word:
    """A word or punctuation mark: `text` is the slice from character `start` to before `end` of the whole text."""

    text: str
    start: int
    end: int


class _Shape(dict[int, str]):
    """A table for `str.translate`: a character as the sign that stands for its kind in `PATTERN`.

    ASCII letters and punctuation stand for themselves, x and X for other letters, 0 for digits, ◌ for marks that belong
    to the character before, a zero-width joiner for itself, 字 for a character that is a word, ☺ for pictures and ⚑ for
    the halves of a flag.
    """

    def __missing__(self, code: int) -> str:
        self[code] = sign = _sign(chr(code))
        return sign


def _sign(character: str) -> str:
    code, category = ord(character), unicodedata.category(character)
    sign = character
    if character.isspace() or character in SEPARATORS:
        sign = " "
    elif character in APOSTROPHES:
        sign = "'"
    elif character in HYPHENS:
        sign = "-"
    elif character.isascii() and not character.isdigit():
        sign = character
    elif any(first <= code <= last for first, last in IDEOGRAPHS + MORE_IDEOGRAPHS) and category[0] in "LNS":
        sign = "字"
    elif 0x1F1E6 <= code <= 0x1F1FF:
        sign = "⚑"
    elif character == "\u200d":
        sign = "\u200d"
    elif category[0] == "M" or category == "Cf" or 0x1F3FB <= code <= 0x1F3FF:  # the last are skin tones
        sign = "◌"
    elif category[0] == "L":
        sign = "X" if category in ("Lu", "Lt") else "x"
    elif category[0] == "N":
        sign = "0"
    elif category == "So":
        sign = "☺"
    return sign


SHAPE = _Shape()
CLITIC = r"(?i:n't|'(?:s|m|d|re|ve|ll))"
ALNUM = "[A-Za-z0][A-Za-z0◌\u200d]*"
PATTERN = re.compile(
    rf"""
      \[[A-Z]+\]                                                         # a stand-in for a name: [FEMALE]
    | [A-Za-z]\.(?:[A-Za-z]\.)+(?![A-Za-z])                              # U.S.
    | [◌\u200d]*{ALNUM}?(?:['-]{ALNUM}?)*?(?=(?:{CLITIC})+(?![A-Za-z0◌]))  # did, before n't
    | {CLITIC}(?![A-Za-z0◌])
    | [◌\u200d]*{ALNUM}(?:(?:['-]|(?<=0)[.,:/](?=0)){ALNUM})*             # o'clock, well-known, 1,000.50, 20-year-old
    | [◌\u200d]*字[◌\u200d]*
    | ☺◌*(?:\u200d☺◌*)*                                                  # a family is one picture
    | ⚑⚑?
    | ([^ ])\1*[◌\u200d]*                                                # ... and !! are one mark each
    """,
    re.VERBOSE,
)


def words(text: str) -> list[Word]:
    """The words and punctuation marks of a text in order; only white space lies between them.

    Clitics are apart, as the usual taggers want them (did n't, Ann 's); hyphened words and numbers are whole; a mark
    repeated (...) is one. A Chinese character or Japanese kana is a word each, so is a picture with its joiners. Other
    scripts without spaces (Thai) come as runs up to the next space or mark.

    >>> [word.text for word in words("Ann didn't pay $1,000, 'cause…")]
    ['Ann', 'did', "n't", 'pay', '$', '1,000', ',', "'", 'cause', '…']
    >>> words("  早 ok")
    [Word(text='早', start=2, end=3), Word(text='ok', start=4, end=6)]
    """
    return [Word(text[m.start() : m.end()], m.start(), m.end()) for m in PATTERN.finditer(text.translate(SHAPE))]


def fold(word: str) -> str:
    """A word for comparing: without case, compatibility forms, kind of apostrophe and invisible signs.

    >>> fold("N’T"), fold("Straße") == fold("STRASSE")
    ("n't", True)
    """
    plain = unicodedata.normalize("NFKC", INVISIBLE.sub("", word).casefold())
    return plain.replace("’", "'")


def is_punctuation(word: str) -> bool:
    """Whether a word is made of punctuation or other signs only; pictures (emoji) and digits are not.

    >>> [is_punctuation(word) for word in ("...", "``", "$", "n't", "7", "☺")]
    [True, True, True, False, False, False]
    """
    return all(unicodedata.category(c)[0] in "PZC" or unicodedata.category(c) in ("Sc", "Sk", "Sm") for c in word)
