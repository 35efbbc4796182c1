"""An OpenAI-compatible endpoint as a chat model: which questions are asked again, and when a run stops."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from baselines.asking import HEEDED, Asking
from baselines.chat import Question, Replies, ask_in_threads
from baselines.replies import ChatFault, Choice, Reply, read_completion, read_reply
from baselines.verdicts import Form
from core.errors import OutsideError, SettingError, check_names, printable
from core.extras import suggest_extra
from core.hosts import check_network
from core.settings import Positive, Size, check

if TYPE_CHECKING:
    from openai import OpenAI

GIVEN_UP = 20  # questions without an answer for the same cause, before any answer
AGAIN = {408, 409, 429}  # statuses after which the same question may get an answer; those from 500 on too
FEW_RETRIES = 2  # of an endpoint that has not answered yet
SHORTEST_SECRET = 12  # characters: many local servers take a word as key, which an answer may have by chance
REFUSED = {"400", "422", "501"}  # statuses of an endpoint that does not take a setting


class EndpointChat:
    """A model behind an OpenAI-compatible endpoint (vLLM, llama.cpp, `transformers serve`, hosted ones).

    The openai library asks a question again, at most `retries` times, after 408, 409, 429, 5xx and cut connections. It
    waits as long as the endpoint asks for (`Retry-After`, up to two minutes). Each try has `timeout` seconds for a
    whole answer. The key is read from the environment, goes to `base_url` alone and is never written: where the
    endpoint repeats it, the reply has the variable's name in its place.

    Raises SettingError for a URL that is none, and for other settings.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        key_variable: str = "OPENAI_API_KEY",
        retries: int = 5,
        timeout: float = 60.0,
        **asking: Any,
    ) -> None:
        check(Size, retries=retries)
        check(Positive, timeout=timeout)
        check_names(asking, [each.name for each in fields(Asking)], "an endpoint")
        self.asking = Asking(**asking)
        self.model = self.name = model
        self.url, self.place = split_url(base_url)
        self.key_variable = key_variable
        self.retries = retries
        self.timeout = timeout
        key = os.environ.get(key_variable, "").strip()
        self.secrets = sorted(list_written_forms(key), key=len, reverse=True)
        self.trying = threading.RLock()
        self.is_reached = False
        self.has_answered = False
        self.failed = Counter[str]()  # questions by the cause of their faults

    @cached_property
    def client(self) -> OpenAI:
        """The client, which is opened at the first question: its library takes long to import."""
        with suggest_extra():
            from baselines.posting import open_client

        key = os.environ.get(self.key_variable, "").strip()
        return open_client(self.url, key, timeout=self.timeout, retries=self.retries)

    @property
    def depends(self) -> dict[str, Any]:
        """The settings that change answers, by name. Raises errors as `settled` does."""
        return {"model": self.model, "endpoint": self.place, **asdict(self.settled)}

    @property
    def settled(self) -> Asking:
        """The settings of requests. A test question shows whether the endpoint supports `logprobs` and `structured`.

        Raises OutsideError if the endpoint does not answer the test question. Raises SettingError if it refuses the
        key or the model, or ignores a setting that the user set to true.
        """
        with self.trying:
            return self._settled

    @cached_property
    def _settled(self) -> Asking:
        asked = {name: getattr(self.asking, name) for name in HEEDED}
        settled = replace(self.asking, **dict.fromkeys(asked, False))
        for name, wanted in asked.items():
            if wanted:
                tried = replace(settled, **{name: True})
                if self._heeds(tried, HEEDED[name]):
                    settled = tried
                elif wanted != "auto":
                    raise SettingError(f"{name}=true, but {self.place} ignores it: {name}=auto does without")
        return settled

    def _heeds(self, tried: Asking, is_heeded: Callable[[Choice], bool]) -> bool:
        try:
            answer = self._send(tried.body(self.model, "Answer with the number 1."))
            return is_heeded(read_completion(answer).choices[0])
        except ChatFault as fault:
            if fault.cause in REFUSED:
                return False
            raise OutsideError(f"{self.place} does not answer: {self._shown(str(fault))}") from None

    @property
    def most_tokens(self) -> int | None:
        return self.asking.answer_tokens

    def ask_all(self, questions: Sequence[Question], parallel: int) -> Replies:
        """Yields the replies as they come; raises errors as `ask` does."""
        return ask_in_threads(
            ask=lambda question: self.ask(question.text, question.repeat, question.form),
            questions=questions,
            parallel=parallel,
            stop=self.stop,
        )

    def ask(self, question: str, repeat: int = 0, form: Form = "number") -> Reply:
        """Asks a question. Raises ChatFault if there is no reply, SettingError if the key or the model is refused.

        Raises OutsideError if the endpoint cannot be reached, or if the first GIVEN_UP questions fail for the same
        reason.
        """
        body = self.settled.body(self.model, question, repeat, form)
        try:
            reply = self._redact(read_reply(self._send(body)))
        except ChatFault as fault:
            said = self._shown(str(fault))
            self.failed[fault.cause] += 1
            if not self.has_answered and self.failed[fault.cause] >= GIVEN_UP:
                raise OutsideError(f"{self.place} answered none of {GIVEN_UP} questions: {said}") from None
            raise ChatFault(said, fault.cause, fault.passes) from None
        self.has_answered = True
        return reply

    def stop(self) -> None:
        """Ends the questions that are being asked. Later questions are asked as usual, by a client of their own."""
        if client := self.__dict__.pop("client", None):
            client.close()

    def _send(self, body: dict[str, Any]) -> bytes:
        """The body of the answer; raises as `ask`."""
        with self.trying:
            client = self.client
        from baselines.posting import post

        try:
            status, answer = post(client, body, self.retries if self.is_reached else min(self.retries, FEW_RETRIES))
        except ConnectionError as error:
            said = self._shown(str(error))
            if not self.is_reached:
                raise OutsideError(f"{self.place} cannot be reached: {said}") from None
            raise ChatFault(f"the endpoint failed: {said}", "connection", passes=True) from None
        self.is_reached = True
        if status < 300:
            return answer
        raise self._status_fault(status, answer)

    def _status_fault(self, status: int, body: bytes) -> ChatFault:
        """What a status says. Raises SettingError where it says so of every question."""
        if status in (401, 403):
            raise SettingError(f"{self.place} refuses the key in {self.key_variable} ({status})")
        if status == 404:
            raise SettingError(f"{self.place} has no model {self.model} (404)")
        if status < 400:
            what = "sends the question elsewhere, which is not followed: set base_url to the endpoint itself"
            return ChatFault(f"the endpoint {what} ({status})", str(status))
        said = self._shown(body.decode("utf-8", "replace"))
        passes = status in AGAIN or status >= 500
        return ChatFault(f"the endpoint failed with status {status}: {said}", str(status), passes)

    def _redact(self, reply: Reply) -> Reply:
        """The reply without secrets. Where there was one, its tokens are dropped, as they spell it in parts."""
        text = self._hide(reply.text)
        shown = reply.model_copy(update={"instead": self._shown(reply.instead)})
        return shown if text == reply.text else shown.model_copy(update={"text": text, "chosen": ()})

    def _hide(self, text: str) -> str:
        for form in self.secrets:
            text = text.replace(form, f"<{self.key_variable}>")
        return text

    def _shown(self, text: str) -> str:
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


def list_written_forms(secret: str) -> set[str]:
    """How a secret may be written in an answer: as it is, and as JSON, Python and URLs write it."""
    forms = {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], quote(secret, safe="")}
    return forms if len(secret) >= SHORTEST_SECRET else set()
