"""Example: one judged text and what is known about it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from core.errors import list_first, setting

SHOWN_COLUMNS = 50  # columns in a message

# Letters of scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana and Han.
UNSPACED = re.compile(
    "[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


# A character that shows something: no space, no control, and none that only changes how others are shown.
VISIBLE = re.compile(
    r"[^\s\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def is_invisible(text: str) -> bool:
    r"""Whether a text that is not blank has no visible character, such as a lone zero-width space.

    >>> is_invisible("\u200b"), is_invisible("a\u200b"), is_invisible(" ")
    (True, False, False)
    """
    return bool(text.strip()) and not says_something(text)


def says_something(text: str) -> bool:
    """Whether a text has a visible character."""
    return VISIBLE.search(text) is not None


def refuse_surrogates(text: str) -> str:
    r"""Returns the text. Raises ValueError for half of a surrogate pair, which JSON allows and UTF-8 does not.

    >>> refuse_surrogates("\ud83d")
    Traceback (most recent call last):
    ValueError: must be Unicode text, but contains half of a surrogate pair
    """
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("must be Unicode text, but contains half of a surrogate pair") from None
    return text


def count_words(text: str) -> int:
    """Counts the words of a text, split at spaces. Every table that reports lengths uses this count.

    In scripts without spaces, such as Chinese, each character counts as a word, except punctuation.

    >>> count_words(" Well, I  do.\\n"), count_words("明月几时有？把酒问青天。")
    (3, 10)
    """
    if text.isascii():
        return len(text.split())
    rest, letters = UNSPACED.subn(" ", text)
    words = rest.split()
    if not letters:
        return len(words)
    return letters + sum(any(map(str.isalnum, word)) for word in words)


@dataclass(frozen=True)
class Example:
    """One text to judge, with everything that a metric may need. All fields except `extra` are keys of a JSONL line.

    Metrics judge `text`, or `turns` for a dialogue. An example without both is an empty answer. Raises ValueError for
    texts that UTF-8 cannot hold.
    """

    # unique within a file
    id: str
    # the judged text
    text: str = ""
    # the utterances of a judged dialogue, in order
    turns: tuple[str, ...] = ()
    # what the text answers or continues (an article, a question, the start of a story)
    context: str | None = None
    # the words the text had to begin with
    prefix: str | None = None
    # the attribute the text should have (a sentiment, a topic)
    label: str | None = None
    # human texts for the same input
    references: tuple[str, ...] = ()
    # the name of the system that wrote the text
    system: str | None = None
    # the input that the text answers; texts of one group compete with each other
    group: str | None = None
    # human ratings by aspect, higher is better
    ratings: Mapping[str, float] = field(default_factory=dict, hash=False)
    # what else its line holds, as JSON values; `judge score` writes it into the output
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("turns", "references"):
            value = getattr(self, name)
            if isinstance(value, tuple):
                continue
            if isinstance(value, str):  # it would count as a list of characters
                raise TypeError(f"{name} must be a sequence of strings, but {self.id!r} has the string {value!r}")
            object.__setattr__(self, name, tuple(value))
        texts = (self.id, self.text, *self.turns, *self.references, self.context, self.prefix, self.label)
        refuse_surrogates("\n".join(filter(None, texts)))

    @classmethod
    def of_checked(cls, values: Mapping[str, Any]) -> "Example":
        """Makes an Example without checks, from values that are known to be valid."""
        made = object.__new__(cls)
        for name, value in {
            "ratings": {},
            "extra": {},
            **values,
        }.items():  # the class has the other defaults
            object.__setattr__(made, name, value)
        return made

    @property
    def full_text(self) -> str:
        """The judged text as one string: `text`, or the turns, one per line.

        >>> Example("a", turns=("Hi!", "Hello.")).full_text
        'Hi!\\nHello.'
        """
        return self.text or "\n".join(self.turns)

    @property
    def is_empty(self) -> bool:
        """Whether the text says nothing: an empty answer.

        >>> Example("a", " ").is_empty, Example("a", turns=("Hi!",)).is_empty
        (True, False)
        """
        return not self.full_text.strip()

    @property
    def word_count(self) -> int:
        """The words of `full_text`, as `count_words` counts them."""
        return count_words(self.full_text)


def hint_column(name: str, columns: Iterable[str]) -> str:
    """The end of a message: which setting names the column of a missing field. Empty if there are no unread columns.

    >>> hint_column("system", ["bot", "mark"])
    ': columns={"system": "COLUMN"} names its column; unread are bot, mark'
    """
    spare = [column for column in columns if column not in ("ratings", "file_scores")]
    if not spare:
        return ""
    return f": {setting(f'columns.{name}', 'COLUMN')} names its column; unread are {list_first(spare, SHOWN_COLUMNS)}"


Examples: TypeAlias = tuple[Example, ...]
