"""An OpenAI-compatible endpoint as a chat model: what is sent, and when a run stops."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from baselines.chat import Question, Replies
from baselines.replies import ChatFault, Completion, Reply, read_completion
from core.errors import OutsideError, SettingError, printable
from core.extras import suggest_extra
from core.hosts import check_network
from core.settings import Count, NonNegative, Positive, Size, checked_dataclass
from core.stages import Stages

if TYPE_CHECKING:
    from baselines.posting import Poster

GIVEN_UP = 20  # questions without an answer for the same cause, before any answer
SHORTEST_SECRET = 12  # characters: many local servers take a word as key, which an answer may have by chance
REFUSED = {"400", "422", "501"}  # statuses of an endpoint that does not take a setting
DENIED = {"401": "refuses the key in {key}", "403": "refuses the key in {key}", "404": "has no model {model}"}
TOP = 20  # alternatives asked for; the most that hosted endpoints give
ANSWERED = ""  # no cause of a fault
TRIAL = Question("Answer with the number 1.")


@checked_dataclass
class EndpointChat:
    """A model behind an OpenAI-compatible endpoint (vLLM, llama.cpp, `transformers serve`, hosted ones).

    The openai library asks a question again, at most `retries` times, after 408, 409, 429, 5xx and cut connections. It
    waits as long as the endpoint asks for (`Retry-After`, up to two minutes). Each try has `timeout` seconds for a
    whole answer. The key is read from the environment, goes to `base_url` alone and is never written: where the
    endpoint repeats it, the reply has the variable's name in its place. A setting of a request that is None is left
    out, for endpoints that refuse it.

    Raises SettingError for a URL that is none, and for other settings.
    """

    name: str
    base_url: str
    key_variable: str = "OPENAI_API_KEY"
    retries: Size = 5
    timeout: Positive = 60.0
    # maximum tokens of an answer, those of its reasoning included where the endpoint counts them
    answer_tokens: Count | None = 1024
    temperature: NonNegative | None = 0.0
    # whether to ask for the probabilities of tokens, where the endpoint gives them
    logprobs: bool = True
    # further keys of the request's body, such as {reasoning_effort: low}
    extra: dict[str, Any] | None = None
    # a folder of stages, which keeps whether the endpoint gives probabilities; None keeps nothing
    kept: Path | None = None
    # questions by the cause of their faults; those that were answered have none
    outcomes: Counter[str] = field(
        default_factory=Counter,
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        split_url(self.base_url)
        if taken := sorted({"model", "messages", "stream", "n"} & set(self.extra or {})):
            raise ValueError(f"extra must not have the keys {', '.join(taken)}")

    @property
    def place(self) -> str:
        """The name of the endpoint in messages."""
        return split_url(self.base_url)[1]

    @cached_property
    def poster(self) -> Poster:
        """What sends the questions. It is made at the first one: its library takes long to import."""
        with suggest_extra():
            from baselines.posting import Poster

        return Poster(
            *split_url(self.base_url),
            self.key_variable,
            timeout=self.timeout,
            retries=self.retries,
        )

    @property
    def depends(self) -> dict[str, Any]:
        """The settings that change answers, by name. Raises errors as `gives_probabilities` does."""
        return {**self._asked, "logprobs": self.gives_probabilities}

    @property
    def _asked(self) -> dict[str, Any]:
        return {
            "model": self.name,
            "endpoint": self.place,
            "answer_tokens": self.answer_tokens,
            "temperature": self.temperature,
            "extra": self.extra,
        }

    @cached_property
    def gives_probabilities(self) -> bool:
        """Whether the endpoint is asked for probabilities, and gives them to a test question, now or in an earlier run.

        Raises OutsideError if it does not answer, SettingError if it refuses the key or the model.
        """
        if not self.logprobs:
            return False
        if self.kept is None:
            return self._try_probabilities()
        cache = Stages(self.kept).open_cache("logprobs", self._asked, code=[EndpointChat])
        return cache.get(TRIAL.key, self._try_probabilities)

    def _try_probabilities(self) -> bool:
        try:
            return self._post(TRIAL, has_probabilities=True).has_probabilities
        except ChatFault as fault:
            if fault.cause in REFUSED:
                return False
            raise OutsideError(f"{self.place} does not answer: {fault}") from None

    def _body(self, question: Question, has_probabilities: bool) -> dict[str, Any]:
        """The body of a request."""
        settings: dict[str, Any] = {
            "temperature": self.temperature,
            "max_tokens": self.answer_tokens,
            "logprobs": has_probabilities or None,
            "top_logprobs": TOP if has_probabilities else None,
        }
        sent = {key: value for key, value in settings.items() if value is not None}
        return {
            "model": self.name,
            "messages": [{"role": "user", "content": question.text}],
            **sent,
            **(self.extra or {}),
        }

    def ask(self, question: Question) -> Reply:
        """Asks a question. Raises ChatFault if there is no reply, SettingError if the key or the model is refused.

        Raises OutsideError if the endpoint cannot be reached, or if the first GIVEN_UP questions fail for the same
        reason.
        """
        try:
            reply = self._redact(self._post(question, self.gives_probabilities).to_reply())
        except ChatFault as fault:
            self.outcomes[fault.cause] += 1
            if not self.outcomes[ANSWERED] and self.outcomes[fault.cause] >= GIVEN_UP:
                raise OutsideError(f"{self.place} answered none of {GIVEN_UP} questions: {fault}") from None
            raise
        self.outcomes[ANSWERED] += 1
        return reply

    def ask_all(self, questions: Sequence[Question], parallel: int) -> Replies:
        """Yields the replies as they come; raises errors as `ask` does.

        If the caller ends early, as by Ctrl-C, nobody waits for the questions that are being asked.
        """

        def try_to_ask(question: Question) -> Reply | ChatFault:
            try:
                return self.ask(question)
            except ChatFault as fault:
                return fault

        if self.poster.client.is_closed():  # by a run that ended early, whose threads must not ask again
            del self.__dict__["poster"]
        _ = self.gives_probabilities, self.poster  # made once, before there are threads
        pool = ThreadPoolExecutor(parallel)
        try:
            asked = {pool.submit(try_to_ask, question): place for place, question in enumerate(questions)}
            for answered in as_completed(asked):
                yield asked[answered], answered.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            self.poster.client.close()
            raise
        pool.shutdown()

    def _post(self, question: Question, has_probabilities: bool) -> Completion:
        """The answer to a question. Raises ChatFault without secrets, and OutsideError as `Poster.post` does.

        Raises SettingError if the endpoint refuses the key or the model, and not one question for its text.
        """
        body = self._body(question, has_probabilities)
        try:
            return read_completion(self.poster.post(body))
        except ChatFault as fault:
            said = ChatFault(self._show(str(fault)), fault.cause, fault.passes)
        if said.cause in DENIED:
            if question == TRIAL:
                what = DENIED[said.cause].format(key=self.key_variable, model=self.name)
                raise SettingError(f"{self.place} {what} ({said.cause})")
            self._post(TRIAL, has_probabilities=False)
        raise said

    def _redact(self, reply: Reply) -> Reply:
        """The reply without secrets. Where there was one, its tokens are dropped, as they spell it in parts."""
        text = self._hide(reply.text)
        shown = reply.model_copy(update={"instead": self._show(reply.instead)})
        return shown if text == reply.text else shown.model_copy(update={"text": text, "chosen": ()})

    def _hide(self, text: str) -> str:
        """The text with the name of the variable in place of the key, however it is written."""
        key = os.environ.get(self.key_variable, "").strip()
        if len(key) < SHORTEST_SECRET:
            return text
        forms = {key, json.dumps(key)[1:-1], repr(key)[1:-1], quote(key, safe="")}  # of JSON, Python and URLs
        for form in sorted(forms, key=len, reverse=True):
            text = text.replace(form, f"<{self.key_variable}>")
        return text

    def _show(self, text: str) -> str:
        """The beginning of a text on one line, printable and without secrets."""
        return printable(" ".join(self._hide(text).split())[:200])


def split_url(base_url: str) -> tuple[str, str]:
    """Returns the URL to ask, and the name of the endpoint in messages.

    Raises SettingError for a URL that is none, and for one on another machine without a network.
    """
    try:
        parts = urlsplit(base_url)
        place = f"{parts.hostname}:{parts.port}{parts.path}"
    except ValueError as error:
        raise SettingError(f"base_url must be a URL, but is {base_url!r}: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingError(f"base_url must begin with http:// or https:// and a host, but is {base_url!r}")
    if parts.username is not None:
        raise SettingError("base_url must have no user and no password: a key belongs into the environment")
    check_network("base_url", base_url)
    return parts._replace(path=quote(parts.path.rstrip("/"), safe="/%"), fragment="").geturl(), place
