"""Splits texts into words: one rule per metric, because no rule fits all and scores depend on it.

If a rule is a regular expression, its matches are the words. Sentences are in `data.sentences`.
"""

import re
import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from core.example import UNSPACED

if TYPE_CHECKING:
    import jieba

# Runs of letters, digits and underscores: what a small infilling model of CTRLEval learns to fill in.
RUNS = re.compile(r"\w+")

# Runs of letters: what UNION replaces, and what the negatives of CDM hold of unknown words.
LETTERS = re.compile(r"[^\W\d_]+")

# Runs and single other marks: the vocabulary `words`. There, the regular expressions of `tokenizers` keep the combining
# marks of Devanagari and the like inside words; Python's take them as marks.
RUNS_AND_MARKS = re.compile(r"\w+|[^\w\s]")

# The same, but each CJK character is a word: units in which OUMG makes texts of different origins equally long.
CJK = "\u3040-\u30ff\u3400-\u9fff"
RUNS_CJK_AND_MARKS = re.compile(rf"[{CJK}]|[^\W{CJK}]+|[^\w\s]")

# MARS's adversary Reorder must leave BLEU-1 as it is: text between spaces without the punctuation around it. 10,000 and
# 's stay whole, because BLEU's tokenizer (13a) must split words and marks in the same way at every position. [FEMALE]
# and &amp; keep their marks.
OUTER_MARKS = r"!-&(-,./:-@\[-`{-~"
BLEU_SAFE = re.compile(rf"\S*&\w+;\S*|(?<!\S)\[[A-Z]+\](?!\S)|[^\s{OUTER_MARKS}](?:\S*[^\s{OUTER_MARKS}])?")


def space_letters(texts: Sequence[str]) -> list[str]:
    """Puts spaces around each character of texts if most characters are of scripts without spaces between words.

    >>> space_letters(["我们喜欢 NLP", "我们"]), space_letters(["Mao (毛泽东) wrote"])
    ([' 我  们  喜  欢  NLP', ' 我  们 '], ['Mao (毛泽东) wrote'])
    """
    return [UNSPACED.sub(r" \g<0> ", text) for text in texts] if are_unspaced(texts) else list(texts)


def are_unspaced(texts: Sequence[str]) -> bool:
    """Whether most characters of all texts together are of scripts without spaces between words."""
    if all(map(str.isascii, texts)):
        return False
    joined = "".join(texts)
    return 2 * len(UNSPACED.findall(joined)) > sum(map(str.isalpha, joined))


JOINERS = "\u200c\u200d"  # between the letters of a word, in Persian and Devanagari


class _Unit(dict[int, str]):
    """A table for `str.translate`: 字 for a letter of a script without spaces, x for other letters and digits, ◌ for
    marks that belong to the letter before; space, _ and · for all others.
    """

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in JOINERS or unicodedata.category(character)[0] == "M":
            sign = "◌"
        elif character.isalnum():
            sign = "字" if UNSPACED.match(character) else "x"
        elif character.isspace():
            sign = " "
        else:
            sign = "_" if character == "_" else "·"
        self[code] = sign
        return sign


UNIT = _Unit()
WORDS = re.compile("字◌*|x[x◌]*")  # of the signs of a text
WORDS_AND_MARKS = re.compile("字◌*|[x_][x_◌]*|[·◌]")


def find_words(text: str) -> list[str]:
    """Lists the words of any script for ROUGE: runs of letters and digits with their combining marks.

    A letter of a script without spaces between words is a word.

    >>> find_words("Où est 明月?"), find_words("की_का")
    (['Où', 'est', '明', '月'], ['की', 'का'])
    """
    return [text[match.start() : match.end()] for match in WORDS.finditer(text.translate(UNIT))]


def find_words_and_marks(text: str) -> list[str]:
    """Lists words and marks for METEOR.

    Works as `find_words`, but words may contain underscores, and each other mark is an item of its own.

    >>> find_words_and_marks("It's 明月, snake_case")
    ['It', "'", 's', '明', '月', ',', 'snake_case']
    """
    return [text[match.start() : match.end()] for match in WORDS_AND_MARKS.finditer(text.translate(UNIT))]


SIGNS = {  # of characters that stand for others
    **dict.fromkeys("'’＇׳״", "'"),
    **dict.fromkeys("-‐‑", "-"),
    **dict.fromkeys("\u200b\ufeff", " "),  # zero-width space and byte order mark separate words as a space does
    "\u200d": "\u200d",
}
KINDS = {
    "L": "x",
    "Lu": "X",
    "Lt": "X",
    "M": "◌",
    "Cf": "◌",
    "N": "0",
    "So": "☺",
}  # by category, or its first letter
# They change how a sign looks.
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")

# Ranges written without spaces between words, whose characters are words of their own: kana, bopomofo, Han.
IDEOGRAPHS = "\u3005-\u3007\u3041-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
MORE_IDEOGRAPHS = "\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U0003ffff"
IDEOGRAPH = re.compile(f"[{IDEOGRAPHS}{MORE_IDEOGRAPHS}]")


@dataclass(frozen=True)
class Word:
    """A word or punctuation mark: `text` is the slice from character `start` to before `end` of the whole text."""

    text: str
    start: int
    end: int


class _Shape(dict[int, str]):
    """A table for `str.translate` that maps a character to the sign of its kind in `SHAPED_WORD`.

    ASCII letters and punctuation stand for themselves, x and X for other letters, 0 for digits, ◌ for marks that belong
    to the character before, a zero-width joiner for itself, 字 for a character that is a word, ☺ for pictures and ⚑ for
    the halves of a flag.
    """

    def __missing__(self, code: int) -> str:
        self[code] = sign = _sign(chr(code))
        return sign


def _sign(character: str) -> str:
    category = unicodedata.category(character)
    if character.isspace():
        return " "
    if character in SIGNS or (character.isascii() and not character.isdigit()):
        return SIGNS.get(character, character)
    if IDEOGRAPH.match(character) and category[0] in "LNS":
        return "字"
    if "\U0001f1e6" <= character <= "\U0001f1ff":
        return "⚑"
    if "\U0001f3fb" <= character <= "\U0001f3ff":  # skin tones
        return "◌"
    return KINDS.get(category, KINDS.get(category[0], character))


SHAPE = _Shape()
CLITIC = r"(?i:n't|'(?:s|m|d|re|ve|ll))"
INSIDE = "[A-Za-z0◌\u200d]"
ENDS = re.compile(rf"(?:{INSIDE}['-]?|0[.,:/])\Z")
BEGINS = re.compile(rf"['-]?{INSIDE}|['-]\Z|[.,:/]0")
ALNUM = "[A-Za-z0][A-Za-z0◌\u200d]*"
SHAPED_WORD = re.compile(
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


def split_words(text: str) -> list[Word]:
    """Splits a text into words and punctuation marks, for MARS (section 2.1); only white space lies between them.

    Clitics are separate, as common taggers expect (did n't, Ann 's). Hyphenated words and numbers are whole, and a
    repeated mark (...) is one. Each Chinese character, Japanese kana or emoji is a word. In other scripts without
    spaces (Thai), a word reaches up to the next space or mark.

    >>> split_words("  早 ok")
    [Word(text='早', start=2, end=3), Word(text='ok', start=4, end=6)]
    """
    return [Word(text[m.start() : m.end()], m.start(), m.end()) for m in SHAPED_WORD.finditer(text.translate(SHAPE))]


def ends_in_word(text: str) -> bool:
    """Whether a letter or digit directly after the text would continue the text's last word.

    >>> [ends_in_word(text) for text in ("a car", "well-", "in 7.", "a car.", "(", "春")]
    [True, True, True, False, False, False]
    """
    return ENDS.search(text.translate(SHAPE)) is not None


def begins_inside_word(text: str) -> bool:
    """Whether the text would continue a word directly before it; a clitic does not.

    >>> [begins_inside_word(text) for text in ("pet", "-", "'tis", " pet", ", and", "'s")]
    [True, True, True, False, False, False]
    """
    return BEGINS.match(text.translate(SHAPE)) is not None and not is_clitic(text)


def is_clitic(text: str) -> bool:
    """Whether the text is a clitic that counts as a word: 's, n’t."""
    return re.fullmatch(CLITIC, text.translate(SHAPE)) is not None


def fold(word: str) -> str:
    """Folds a word for comparison: unifies case, compatibility forms, apostrophes and invisible characters."""
    plain = unicodedata.normalize("NFKC", INVISIBLE.sub("", word).casefold())
    return plain.replace("’", "'")


def is_punctuation(word: str) -> bool:
    """Whether a word consists of punctuation and other signs only; emoji and digits do not count as signs."""
    return all(unicodedata.category(c)[0] in "PZC" or unicodedata.category(c) in ("Sc", "Sk", "Sm") for c in word)


Spelling = Literal["as_is", "normal"]

STRAIGHT = str.maketrans("‘’“”", "''\"\"")


def normal_spelling(text: str) -> str:
    """Returns the text in lower case, with straight quotes and without tokenisation's spaces around punctuation.

    A sentence that follows another without a space gets one, and smileys keep theirs. The function is idempotent.

    >>> normal_spelling("It ' s a scale.Airmail , please ! I’m ( not ) sure .")
    "it's a scale. airmail, please! i'm (not) sure."
    """
    text = " ".join(text.translate(STRAIGHT).split())
    text = re.sub(r"(?<=\w) ?' ?(?=(?:s|m|re|ve|ll|d|t)\b)", "'", text, flags=re.IGNORECASE)
    text = re.sub(r"(?<=\d) ([.:](?= \d)|,(?= \d{3}\b)) |(?<=[$£€]) (?=\d)", r"\1", text)
    text = re.sub(r" (?![:;]['-]?[()\[\]DPp])(?=[.,!?;:)\]]|n't\b)", "", text, flags=re.IGNORECASE)
    text = re.sub(r"(?<=[(\[]) ", "", text)
    return re.sub(r"(?<=[a-z][.!?])(?=[A-Z])", " ", text).lower()


def spell(dialogues: Sequence[Sequence[str]], spelling: Spelling) -> list[tuple[str, ...]]:
    """Rewrites the dialogues in a spelling; `as_is` leaves them unchanged."""
    change = normal_spelling if spelling == "normal" else str
    return [tuple(map(change, turns)) for turns in dialogues]


@cache
def _segmenter() -> "jieba.Tokenizer":
    """jieba with its cache in the user's own folder; in the temporary one, its default, others could plant a
    dictionary.
    """
    import pooch

    with warnings.catch_warnings():  # Python warns when it compiles jieba, which pip leaves to the first import
        warnings.filterwarnings("ignore", "invalid escape sequence")
        import jieba  # slow to import, and few need it

    folder = Path(pooch.os_cache("judging-generated-text"))
    folder.mkdir(parents=True, exist_ok=True)
    jieba.setLogLevel("WARNING")  # else it tells each process that it reads its cache
    segmenter = jieba.Tokenizer()
    segmenter.tmp_dir = str(folder)  # pyright: ignore[reportAttributeAccessIssue]; jieba's class says None
    return segmenter


def split_chinese(text: str) -> list[str]:
    """Splits a text by jieba into words and the characters between them."""
    return _segmenter().lcut(text)
