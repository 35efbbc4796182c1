"""Replies of chat models: what is read of an answer, its text and the probabilities of its verdict's tokens."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AliasPath, Field, ValidationError

from baselines.verdicts import CHOICES, IS_YES
from core.errors import broken_rules
from data.records import Record

LONGEST = 10_000  # characters of a reply that are kept: its last ones
MOST_TOKENS = 10**9  # that an endpoint may say it has counted


class ChatFault(Exception):  # noqa: N818, a reason why there is no score
    """A question got no answer; the message says why. Questions that fail for one reason have an equal `cause`.

    `passes` says that the same question may get an answer later: the endpoint was busy, slow or cut off.
    """

    def __init__(
        self,
        message: str,
        cause: str = "",
        passes: bool = False,
    ) -> None:
        self.cause, self.passes = cause, passes
        super().__init__(message)


class ChosenToken(Record):
    """A token of an answer that may be a verdict: a whole number, a yes or no, or the letter of a text or of a tie."""

    # where it begins in the text of the reply
    place: int
    token: str
    # the likeliest tokens there, with their log-probabilities
    likeliest: tuple[tuple[str, float], ...]


class Reply(Record):
    """What is kept of a chat model's response: its text, the tokens that may be a verdict, and numbers of tokens."""

    # the last LONGEST characters, after an ellipsis where there were more
    text: str
    # those tokens of the text whose probabilities are known, in order
    chosen: tuple[ChosenToken, ...] = ()
    # what the question and the answer cost
    prompt_tokens: int = 0
    answer_tokens: int = 0
    # whether the answer ended at the greatest number of tokens, or at the endpoint's filter
    is_cut: bool = False
    # what the endpoint says in place of an answer: a refusal or its filter
    instead: str = ""


def to_word(token: str) -> str:
    """Strips spaces and quotes from a token, and unifies case and digits."""
    return unicodedata.normalize("NFKC", token).strip(" \t\n\"'").lower()


def is_verdict(token: str) -> bool:
    """Whether a token can be a verdict: a whole number, a yes or no, or the capital letter of a text or of a tie.

    >>> is_verdict(" A"), is_verdict(" a")
    (True, False)
    """
    word = to_word(token)
    return word.isdecimal() or word in IS_YES or (word in CHOICES and word.upper() in token)


# ---- what is read of the answer of an endpoint; the rest may hold anything -------------------------------------------


Counted = Annotated[int, Field(ge=0, le=MOST_TOKENS)]


class Token(Record):
    """A token that might have stood at a position, with its log-probability in nats."""

    token: str
    logprob: Annotated[float, Field(allow_inf_nan=False, le=1e-3)]  # a rounded 0 may lie above it


class Position(Record):
    """A token of the answer, with the likeliest tokens there."""

    token: str = ""
    # its UTF-8, where it may be a part of a character
    bytes: list[Annotated[int, Field(ge=0, le=255)]] | None = None
    top_logprobs: list[Token] | None = None

    def spell(self) -> bytes:
        """Returns the bytes of the token in UTF-8."""
        return self.token.encode() if self.bytes is None else bytes(self.bytes)


def of_choice(*path: str) -> Any:
    """Returns the field of a completion at a path inside its first choice; None where there is none."""
    return Field(None, validation_alias=AliasPath("choices", 0, *path))


class Completion(Record):
    """The body of an answer: the first of its choices, and what it cost."""

    message: dict[str, Any] = Field(validation_alias=AliasPath("choices", 0, "message"))
    content: str | None = of_choice("message", "content")
    refusal: str | None = of_choice("message", "refusal")
    positions: list[Position] | None = of_choice("logprobs", "content")
    finish_reason: str | None = of_choice("finish_reason")
    prompt_tokens: Counted = Field(0, validation_alias=AliasPath("usage", "prompt_tokens"))
    answer_tokens: Counted = Field(0, validation_alias=AliasPath("usage", "completion_tokens"))

    @property
    def has_probabilities(self) -> bool:
        """Whether the tokens of the answer come with their alternatives."""
        return any(position.top_logprobs for position in self.positions or ())

    def to_reply(self) -> Reply:
        """Returns what is kept of the answer."""
        content = self.content or ""
        text = content if len(content) <= LONGEST else f"…{content[-LONGEST:]}"
        instead = ""
        if not content and self.finish_reason == "content_filter":
            instead = "the endpoint's filter withheld the answer"
        if not content and self.refusal:
            instead = f"the model refused: {self.refusal}"
        return Reply(
            text=text,
            chosen=tuple(find_chosen(self, content, len(text) - len(content))),
            prompt_tokens=self.prompt_tokens,
            answer_tokens=self.answer_tokens,
            is_cut=self.finish_reason in ("length", "content_filter"),
            instead=instead,
        )


def read_completion(body: bytes) -> Completion:
    """Reads the body of an answer. Raises ChatFault for anything but a chat completion."""
    try:
        return Completion.model_validate_json(body)
    except ValidationError as error:
        if (said := find_error(body)) is not None:
            raise ChatFault(f"the endpoint says in place of an answer: {said}", "error", passes=True) from None
        place, rule, _ = next(broken_rules(error))  # the value may hold a key
        what = f"{'.'.join(map(str, place))} {rule}".strip()
        raise ChatFault(f"the endpoint's answer cannot be read: {what}", "unreadable") from None


def find_error(body: bytes) -> str | None:
    """Finds what a body says of an error, in the form of OpenAI; None if it says nothing."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    error = content.get("error") if isinstance(content, dict) else None
    said = error.get("message") if isinstance(error, dict) else error
    return said if isinstance(said, str) else None


def find_chosen(completion: Completion, content: str, shift: int) -> Iterator[ChosenToken]:
    """Yields those tokens of an answer that may state its verdict (see `is_verdict`).

    `content` is the answer; the tokens of the completion may include more text before and after it, such as reasoning.
    Yields nothing if the text of the tokens does not contain `content`. `shift` is the position in the reply's text at
    which `content` begins.
    """
    positions = completion.positions or []
    written = content.encode()
    begin = b"".join(position.spell() for position in positions).rfind(written)
    if begin < 0:
        return
    at_byte = -begin
    for position in positions:
        if at_byte >= 0 and position.top_logprobs and is_verdict(position.token):
            place = len(written[:at_byte].decode("utf-8", "ignore")) + shift
            likeliest = tuple((other.token, other.logprob) for other in position.top_logprobs)
            if place >= 0:
                yield ChosenToken(place=place, token=position.token, likeliest=likeliest)
        at_byte += len(position.spell())
