"""Replies of chat models: what is read of an answer, its text and the probabilities of its verdict's tokens."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, ValidationError

from baselines.verdicts import CHOICES, IS_YES, Form
from core.errors import broken_rules
from data.records import Record

LONGEST = 10_000  # characters of a reply that are kept: its last ones
MOST_TOKENS = 10**9  # that an endpoint may say it has counted
WITHOUT_CONTENT = {  # why an answer ended without content
    "content_filter": "the endpoint's filter withheld the answer",
    "tool_calls": "the model called a tool",
}


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
    # whether the answer ended at the greatest number of tokens
    is_cut: bool = False
    # what the endpoint says in place of an answer: a refusal, its filter, a call of a tool
    instead: str = ""


def to_word(token: str) -> str:
    """Strips spaces and quotes from a token, and unifies case and digits."""
    return unicodedata.normalize("NFKC", token).strip(" \t\n\"'").lower()


def is_verdict(token: str, form: Form | None = None) -> bool:
    """Whether a token can be a verdict of a form.

    A verdict is a whole number (`number`), a yes or no (`word`), or the capital letter of a text or of a tie
    (`letter`). Without a form, any of these counts.

    >>> is_verdict(" A"), is_verdict(" a"), is_verdict("A", "number")
    (True, False, False)
    """
    word = to_word(token)
    is_of_form = {
        "number": word.isdecimal(),
        "word": word in IS_YES,
        "letter": word in CHOICES and word.upper() in token,
    }
    return any(is_of_form.values()) if form is None else is_of_form[form]


# ---- what is read of the answer of an endpoint; the rest may hold anything -------------------------------------------


Counted = Annotated[int, Field(ge=0, le=MOST_TOKENS)]


class Token(Record):
    """A token that might have stood at a position, with its log-probability in nats."""

    token: str
    logprob: Annotated[float, Field(allow_inf_nan=False, le=1e-3)]  # a rounded 0 may lie above it


class Position(Record):
    """A token of the answer."""

    token: str = ""
    # its UTF-8, where it may be a part of a character
    bytes: list[Annotated[int, Field(ge=0, le=255)]] | None = None
    top_logprobs: list[Token] | None = None


class Positions(Record):
    """The tokens of the answer, one by one."""

    content: list[Position] | None = None


class Message(Record):
    """The answer itself, or a refusal in its place."""

    content: str | None = None
    refusal: str | None = None


class Choice(Record):
    """One of the answers to a question."""

    message: Message
    logprobs: Positions | None = None
    finish_reason: str | None = None


class Usage(Record):
    """What the question and the answer cost."""

    prompt_tokens: Counted = 0
    completion_tokens: Counted = 0


class Completion(Record):
    """The body of an answer: its choices, and what they cost."""

    choices: Annotated[list[Choice], Field(min_length=1)]
    usage: Usage | None = None


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


def describe_lack_of_content(choice: Choice) -> str:
    """Says what an endpoint gives in place of an answer; "" for an answer."""
    if choice.message.content:
        return ""
    if choice.message.refusal:
        return f"the model refused: {choice.message.refusal}"
    return WITHOUT_CONTENT.get(choice.finish_reason or "", "")


def read_reply(body: bytes) -> Reply:
    """Reads the reply in the body of an answer. Raises ChatFault as `read_completion` does."""
    completion = read_completion(body)
    choice = completion.choices[0]
    usage = completion.usage or Usage()
    content = choice.message.content or ""
    text = content if len(content) <= LONGEST else f"…{content[-LONGEST:]}"
    return Reply(
        text=text,
        chosen=tuple(find_chosen(choice, content, len(text) - len(content))),
        prompt_tokens=usage.prompt_tokens,
        answer_tokens=usage.completion_tokens,
        is_cut=choice.finish_reason == "length",
        instead=describe_lack_of_content(choice),
    )


def list_positions(choice: Choice) -> list[Position]:
    """Lists the tokens of an answer with their alternatives; empty if the endpoint gives no alternatives."""
    if choice.logprobs is None or choice.logprobs.content is None:
        return []
    positions = choice.logprobs.content
    return positions if any(position.top_logprobs for position in positions) else []


def find_chosen(
    choice: Choice,
    content: str,
    shift: int,
) -> Iterator[ChosenToken]:
    """Yields those tokens of an answer that may state its verdict (see `is_verdict`).

    `content` is the answer; `choice` holds the tokens, which may include more text before and after it, such as
    reasoning. Yields nothing if the text of the tokens does not contain `content`. `shift` is the position in the
    reply's text at which `content` begins.
    """
    positions = list_positions(choice)
    spelled = [spell(position) for position in positions]
    written = content.encode()
    begin = b"".join(spelled).rfind(written)
    if begin < 0:
        return
    at_byte = -begin
    for position, token in zip(positions, spelled, strict=True):
        if at_byte >= 0 and position.top_logprobs and is_verdict(position.token):
            place = len(written[:at_byte].decode("utf-8", "ignore")) + shift
            likeliest = tuple((other.token, other.logprob) for other in position.top_logprobs)
            if place >= 0:
                yield ChosenToken(place=place, token=position.token, likeliest=likeliest)
        at_byte += len(token)


def spell(position: Position) -> bytes:
    """Returns the bytes of a token in UTF-8."""
    return position.token.encode() if position.bytes is None else bytes(position.bytes)
