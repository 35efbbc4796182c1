"""Reads the verdict of a reply, weighted by probabilities if the model gives them, or says why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baselines.chat import Question
from baselines.replies import ChatFault, ChosenToken, Reply, to_word
from baselines.verdicts import IS_YES, Form, Lack, Verdict, read_verdict
from core.scores import LOST

SHOWN = 80  # characters of an answer without a verdict: its last ones, where a verdict would be
SIDES = {"a": 1.0, "b": 0.0}  # of a letter; a tie is no side


@dataclass(frozen=True)
class Judged:
    """What one rater answered to a question."""

    # NaN without a verdict
    verdict: float
    # why there is no verdict
    reason: str | None = None
    # what the model wrote, and the tokens of question and answer; none for a question without a reply
    answer: str | None = None
    tokens: int = 0

    @property
    def explanation(self) -> dict[str, Any]:
        """The explanation of the score, as JSON values."""
        return {} if self.answer is None else {"answer": self.answer, "tokens": self.tokens}


def judge_reply(reply: Reply | ChatFault, question: Question) -> Judged:
    """Reads the verdict of a reply on the question, or the reason why there is none."""
    if isinstance(reply, ChatFault):
        return Judged(math.nan, f"{reply}{LOST if reply.passes else ''}")
    tokens = reply.prompt_tokens + reply.answer_tokens
    if reply.instead:
        return Judged(
            math.nan,
            f"the judge gave no answer: {reply.instead}",
            reply.text,
            tokens,
        )
    verdict = rate(
        reply,
        question.form,
        question.scale,
        question.label,
    )
    if isinstance(verdict, str):
        lack = describe_lack(
            reply,
            question.form,
            question.scale,
            verdict,
        )
        return Judged(
            math.nan,
            lack,
            reply.text,
            tokens,
        )
    return Judged(
        verdict,
        None,
        reply.text,
        tokens,
    )


def rate(
    reply: Reply,
    form: Form,
    scale: tuple[int, int],
    label: str = "",
) -> float | Lack:
    """The verdict of an answer, or how many verdicts it has instead of one; with probabilities, the expected verdict.

    The numbers of the scale, 1 for yes and 0 for no, or 1 for A and 0 for B, are weighted by the probabilities that
    their tokens had where the token of the verdict was chosen. A tie stays one. If the scale ends beyond 9, a number of
    several digits must be among those tokens: else "1" may be the beginning of "10", and nothing is weighted.

    >>> four = (("4", math.log(0.6)), ("5", math.log(0.2)), ("!", math.log(0.2)))
    >>> rate(Reply(text="4", chosen=(ChosenToken(place=0, token="4", likeliest=four),)), "number", (1, 5))
    4.25
    >>> yes = (("Yes", math.log(0.6)), ("No", math.log(0.2)))
    >>> rate(Reply(text="Yes", chosen=(ChosenToken(place=0, token="Yes", likeliest=yes),)), "word", (0, 1))
    0.75
    """
    verdict = read_verdict(
        reply.text,
        form,
        scale,
        label,
        reply.is_cut,
    )
    if not isinstance(verdict, Verdict):
        return verdict
    levels = list_levels(form, scale)
    token = next((token for token in reply.chosen if stands_at(token, verdict.place)), None)
    if token is None or levels.get(to_word(token.token)) != verdict.value:
        return verdict.value
    likely = levels.keys() & {to_word(other) for other, _ in token.likeliest}
    if scale[1] > 9 and max(map(len, likely), default=0) < 2:
        return verdict.value
    total = 0.0
    weighted = 0.0
    for other, log_probability in token.likeliest:
        level = levels.get(to_word(other))
        if level is not None:
            total += math.exp(log_probability)
            weighted += level * math.exp(log_probability)
    return round(weighted / total, 12) if total else verdict.value


def list_levels(form: Form, scale: tuple[int, int]) -> Mapping[str, float]:
    """Lists the verdicts that probabilities weight: a number for the word of each token."""
    if form == "number":
        return {str(number): float(number) for number in range(scale[0], scale[1] + 1)}
    return IS_YES if form == "word" else SIDES


def stands_at(token: ChosenToken, place: int | None) -> bool:
    """Whether a token covers the character at a position of the answer."""
    return place is not None and token.place <= place < token.place + len(token.token)


def describe_lack(
    reply: Reply,
    form: Form,
    scale: tuple[int, int],
    lack: Lack = "no",
) -> str:
    """Returns the reason why an answer has no verdict."""
    verdicts = {
        "number": f"number from {scale[0]} to {scale[1]}",
        "letter": "choice of A, B or C",
        "word": "yes or no",
    }
    verdict = verdicts[form]
    if reply.is_cut:
        return f"the judge's answer was cut after {reply.answer_tokens} tokens, before a {verdict}"
    text = " ".join(reply.text.split())
    shown = text if len(text) <= SHOWN else f"…{text[-SHOWN:]}"
    if lack == "no":
        return f"the judge gave {lack} {verdict}, but {shown!r}"
    return f"the judge gave {lack} {verdict}: {shown!r}"
