"""Chat models that answer questions: behind an endpoint (`baselines.endpoint`) or here (`baselines.local_chat`)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from baselines.replies import ChatFault, Reply
from baselines.verdicts import Form
from core.stages import Cache, fingerprint

Replies: TypeAlias = Generator[tuple[int, Reply | ChatFault]]  # by the place of the question, in any order


@dataclass(frozen=True)
class Question:
    """What a chat model is asked, and the verdict that the answer should have."""

    text: str
    form: Form = "number"
    # the least and the greatest number
    scale: tuple[int, int] = (0, 1)
    # what the verdict may stand under beside the usual labels
    label: str = ""

    @property
    def key(self) -> str:
        """Names the question in a cache."""
        return fingerprint(self)


class Chat(Protocol):
    """Answers questions."""

    @property
    def name(self) -> str:
        """What tables call the model."""
        ...

    @property
    def depends(self) -> dict[str, Any]:
        """The settings that change answers, by name."""
        ...

    def ask_all(self, questions: Sequence[Question], parallel: int) -> Replies:
        """Yields the reply to each question, or the reason why there is none, in the order in which they arrive.

        An endpoint is asked at most `parallel` questions at once; a model in this process reads questions in batches.
        """
        ...


def ask_once(
    chat: Chat,
    questions: Sequence[Question],
    parallel: int,
    cache: Cache | None,
) -> Replies:
    """Yields the replies as `Chat.ask_all` does. Those in the cache are not asked for, and new ones are added to it."""
    if cache is None:
        yield from chat.ask_all(questions, parallel)
        return
    missing: list[int] = []
    for place, question in enumerate(questions):
        if question.key in cache:
            yield place, Reply.model_validate(cache[question.key], strict=False)
        else:
            missing.append(place)
    for number, reply in chat.ask_all([questions[place] for place in missing], parallel):
        place = missing[number]
        if isinstance(reply, Reply):
            cache.add({questions[place].key: reply.model_dump(mode="json")})
        yield place, reply
