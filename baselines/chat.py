"""Chat models behind one question: an endpoint (`baselines.endpoint`) or a model here (`baselines.local_chat`)."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from baselines.endpoint import Reply
from baselines.verdicts import Form
from core.stages import Cache, Stages, fingerprint


class Chat(Protocol):
    """Answers one question at a time; may be asked from several threads."""

    name: str

    @property
    def depends(self) -> dict[str, Any]:
        """What answers depend on besides the question."""
        ...

    @property
    def most_tokens(self) -> int | None:
        """The most tokens of an answer, where there is such a number."""
        ...

    def ask(self, question: str, repeat: int = 0, form: Form = "number") -> Reply:
        """The answer, with a verdict of this form, to a question that was asked `repeat` times. Raises ChatFault."""
        ...

    def stop(self) -> None:
        """Ends the questions that other threads ask now: they raise ChatFault at once. Later ones are asked."""
        ...


class CachedChat:
    """Keeps the replies of another chat in a cache of a folder of stages, so that a killed run asks nothing twice."""

    def __init__(self, chat: Chat, kept: Path) -> None:
        self.chat, self.name, self.kept = chat, chat.name, kept

    @property
    def depends(self) -> dict[str, Any]:
        return self.chat.depends

    @cached_property
    def cache(self) -> Cache:
        """Opened at the first question."""
        return Stages(self.kept).open_cache("llm_judge", self.depends, code=[type(self.chat)])

    @property
    def most_tokens(self) -> int | None:
        return self.chat.most_tokens

    def ask(self, question: str, repeat: int = 0, form: Form = "number") -> Reply:
        key = fingerprint([question, repeat] if repeat else question)
        kept = self.cache.get(key, lambda: self.chat.ask(question, repeat, form).model_dump(mode="json"))
        return Reply.model_validate(kept, strict=False)

    def stop(self) -> None:
        self.chat.stop()
