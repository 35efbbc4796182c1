"""Chat models that answer questions: behind an endpoint (`baselines.endpoint`) or here (`baselines.local_chat`)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from baselines.replies import ChatFault, Reply
from baselines.verdicts import Form
from core.stages import Cache, Stages, fingerprint

Replies: TypeAlias = Generator[tuple[int, Reply | ChatFault]]  # by the place of the question, in any order


@dataclass(frozen=True)
class Question:
    """What a chat model is asked."""

    text: str
    # of the verdict that the answer should have
    form: Form = "number"
    # how often the same was asked before
    repeat: int = 0

    @property
    def key(self) -> str:
        """Names the question in a cache."""
        return fingerprint([self.text, self.repeat] if self.repeat else self.text)


class Chat(Protocol):
    """Answers questions."""

    name: str

    @property
    def depends(self) -> dict[str, Any]:
        """The settings that change answers, by name."""
        ...

    @property
    def most_tokens(self) -> int | None:
        """The maximum number of tokens of an answer; None without a limit."""
        ...

    def ask_all(self, questions: Sequence[Question], parallel: int) -> Replies:
        """Yields the reply to each question, or the reason why there is none, in the order in which they arrive.

        An endpoint is asked at most `parallel` questions at once; a model in this process reads questions in batches.
        """
        ...


class CachedChat:
    """Keeps the replies of another chat in a cache on disk, so that a killed run asks no question twice."""

    def __init__(self, chat: Chat, kept: Path) -> None:
        self.chat = chat
        self.name = chat.name
        self.kept = kept

    @property
    def depends(self) -> dict[str, Any]:
        return self.chat.depends

    @cached_property
    def cache(self) -> Cache:
        """The cache on disk; it is opened at the first question."""
        return Stages(self.kept).open_cache("llm_judge", self.depends, code=[type(self.chat)])

    @property
    def most_tokens(self) -> int | None:
        return self.chat.most_tokens

    def ask_all(self, questions: Sequence[Question], parallel: int) -> Replies:
        keys = [question.key for question in questions]
        missing: list[int] = []
        for place, key in enumerate(keys):
            if key in self.cache:
                yield place, Reply.model_validate(self.cache[key], strict=False)
            else:
                missing.append(place)
        with closing(self.chat.ask_all([questions[place] for place in missing], parallel)) as replies:
            for number, reply in replies:
                place = missing[number]
                if isinstance(reply, Reply):
                    self.cache.add({keys[place]: reply.model_dump(mode="json")})
                yield place, reply


def ask_in_threads(
    ask: Callable[[Question], Reply],
    questions: Sequence[Question],
    parallel: int,
    stop: Callable[[], None],
) -> Replies:
    """Yields the replies of `ask`, which is called from several threads and raises ChatFault if there is no reply.

    If the caller ends early, as by Ctrl-C, `stop` ends the questions that are being asked, so that nobody waits for
    them.
    """

    def try_to_ask(question: Question) -> Reply | ChatFault:
        try:
            return ask(question)
        except ChatFault as fault:
            return fault

    pool = ThreadPoolExecutor(parallel)
    try:
        asked = {pool.submit(try_to_ask, question): place for place, question in enumerate(questions)}
        for answered in as_completed(asked):
            yield asked[answered], answered.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        stop()
        raise
    pool.shutdown()
