"""What the replies of chat models say about a question: verdicts, or why there are none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from baselines.chat import Question
from baselines.readings import describe_lack, rate
from baselines.replies import ChatFault, Reply
from core.errors import OutsideError
from core.scores import LOST
from meta_eval.design import Floats

FEW, FEW_SHARE = 3, 0.01  # lost answers with which scores are still written, whichever are more


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
        return Judged(math.nan, f"the judge gave no answer: {reply.instead}", reply.text, tokens)
    verdict = rate(reply, question.form, question.scale, question.label)
    if isinstance(verdict, str):
        lack = describe_lack(reply, question.form, question.scale, verdict)
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


def join_reasons(answers: Mapping[str, Judged]) -> str | None:
    """Joins the reasons why ratings of a text are missing, by the name of the rating; None if none is missing."""
    return "; ".join(f"{name}: {judged.reason}" for name, judged in answers.items() if judged.reason) or None
