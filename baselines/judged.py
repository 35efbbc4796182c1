"""What a judge was asked, and what the replies of its models say: verdicts, or why there are none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from baselines.readings import describe_lack, rate
from baselines.replies import ChatFault, Reply
from baselines.rubrics import Aspect
from baselines.verdicts import Form
from core.errors import OutsideError
from core.scores import LOST
from meta_eval.design import Floats
from meta_eval.preferences import PairAnswer

FEW, FEW_SHARE = 3, 0.01  # lost answers with which scores are still written, whichever are more


@dataclass(frozen=True)
class AspectQuestion:
    """A question about an aspect."""

    aspect: Aspect
    text: str
    form: Form


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


def judge_reply(reply: Reply | ChatFault, question: AspectQuestion) -> Judged:
    """Reads the verdict of a reply on the question, or the reason why there is none."""
    if isinstance(reply, ChatFault):
        return Judged(math.nan, f"{reply}{LOST if reply.passes else ''}")
    tokens = reply.prompt_tokens + reply.answer_tokens
    if reply.instead:
        return Judged(math.nan, f"the judge gave no answer: {reply.instead}", reply.text, tokens)
    aspect = question.aspect
    verdict = rate(reply, question.form, aspect.scale, aspect.name)
    if isinstance(verdict, str):
        lack = describe_lack(reply, question.form, aspect.scale, verdict)
        return Judged(math.nan, lack, reply.text, tokens)
    return Judged(verdict, None, reply.text, tokens)


def list_verdicts(answers: Sequence[Judged]) -> Floats:
    """Returns the verdicts of answers, of shape (n,); NaN for an answer without a verdict."""
    return np.array([answer.verdict for answer in answers])


def check_faults(faults: Sequence[ChatFault], total: int) -> None:
    """Raises OutsideError if no question got an answer, or if more than a few answers were lost."""
    if total and len(faults) == total and all(fault.cause for fault in faults):
        raise OutsideError(f"none of {total} questions got an answer: {faults[-1]}")
    lost = [fault for fault in faults if fault.passes]
    if len(lost) > max(FEW, FEW_SHARE * total):
        what = f"{len(lost)} of {total} answers are lost, the last one because {lost[-1]}"
        raise OutsideError(f"{what}: run again, which asks for the answers that did not come")


def join_reasons(columns: Mapping[str, Sequence[Judged]], place: int) -> str | None:
    """Joins the reasons why ratings of the example at this index are missing; None if none is missing."""
    reasons = [f"{name}: {answers[place].reason}" for name, answers in columns.items() if answers[place].reason]
    return "; ".join(reasons) or None


def join_explanations(columns: Mapping[str, Sequence[Judged]], place: int) -> dict[str, dict[str, Any]]:
    """Joins the explanations of the ratings of the example at this index."""
    return {name: answers[place].explanation for name, answers in columns.items()}


def list_pair_answers(
    rater: str,
    orders: Sequence[tuple[str, str]],
    lacking: Sequence[str | None],
    judged: Mapping[str, Judged],
) -> Iterator[PairAnswer]:
    """Yields a rater's answers about each pair, in the given order of the two texts and in the reverse one."""
    for pair, (both, lack) in enumerate(zip(orders, lacking, strict=True)):
        for is_reversed, question in zip((False, True), both, strict=True):
            answered = Judged(math.nan, lack) if lack else judged[question]
            yield PairAnswer(
                judge=rater,
                pair=pair,
                is_reversed=is_reversed,
                question=question,
                first=answered.verdict,
                answer=answered.answer,
                reason=answered.reason,
            )


def explain_pairs(answers: Sequence[PairAnswer], pairs: int) -> list[str | None]:
    """Returns for each pair the first reason why an answer about it is missing; None for a pair with all answers."""
    reasons: list[str | None] = [None] * pairs
    for answer in answers:
        reasons[answer.pair] = reasons[answer.pair] or answer.reason
    return reasons
