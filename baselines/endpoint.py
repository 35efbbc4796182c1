"""An OpenAI-compatible endpoint as a chat model: which questions are asked again, and when a run stops."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import Request

from baselines.asking import HEEDED, Asking
from baselines.chat import Question, Replies, ask_in_threads
from baselines.posting import CONNECTING, Answer, post
from baselines.replies import ChatFault, Choice, Reply, read_completion, read_reply
from baselines.verdicts import Form
from core.errors import OutsideError, SettingError, check_names, printable
from core.hosts import check_network
from core.settings import Positive, Size, check

GIVEN_UP = 20  # questions without an answer for the same cause, before any answer
AGAIN = {408, 409, 429}  # statuses after which a question is asked again; those from 500 on too
SHORTEST_SECRET = 12  # characters: many local servers take a word as key, which an answer may have by chance
REFUSED = {"400", "422", "501"}  # statuses of an endpoint that does not take a setting
STOPPED = "the run has stopped"


class EndpointChat:
    """A model behind an OpenAI-compatible endpoint (vLLM, llama.cpp, `transformers serve`, hosted ones).

    A question is asked again, at most `retries` times, after 408, 409, 429, 5xx and cut connections. A pause that the
    endpoint asks for (`Retry-After`) holds all questions, and is no try. A whole answer must come within `timeout`
    seconds, in which all tries and pauses of its question lie. The key is read from the environment, goes to `base_url`
    alone and is never written: where the endpoint repeats it, the reply has the variable's name in its place.

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
        self.headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if key:
            self.headers["Authorization"] = f"Bearer {key}"
        self.trying = threading.Lock()
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.is_reached = False
        self.has_answered = False
        self.failed = dict[str, int]()  # questions by the cause of their faults
        self.held_until = 0.0  # by `Retry-After`, on the clock of time.monotonic
        self.open = dict[int, Callable[[], None]]()  # by thread, what ends the connection that it waits for

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
            raise OutsideError(f"{self.place} does not answer: {fault}") from fault

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

    def ask(
        self,
        question: str,
        repeat: int = 0,
        form: Form = "number",
    ) -> Reply:
        """Asks a question. Raises ChatFault if there is no reply, SettingError if the key or the model is refused.

        Raises OutsideError if the endpoint cannot be reached, or if the first GIVEN_UP questions fail for the same
        reason.
        """
        body = self.settled.body(self.model, question, repeat, form)
        try:
            reply = self._redact(read_reply(self._send(body)))
        except ChatFault as fault:
            self._count(fault)
            raise
        self.has_answered = True
        return reply

    def _count(self, fault: ChatFault) -> None:
        """Ends the run where the first questions fail alike."""
        with self.lock:
            self.failed[fault.cause] = self.failed.get(fault.cause, 0) + 1
            if not self.has_answered and self.failed[fault.cause] >= GIVEN_UP:
                self._stop(f"{self.place} answered none of {GIVEN_UP} questions: {fault}")

    def stop(self) -> None:
        """Ends at once the questions that are being asked, and their pauses. Later questions are asked as usual."""
        with self.lock:
            self.stopped.set()
            self.stopped = threading.Event()
            for end in self.open.values():
                end()

    def _send(self, body: bytes) -> bytes:
        """The body of the answer; raises as `ask`. Tries and pauses end `timeout` seconds after the beginning."""
        stopped = self.stopped
        started = time.monotonic()
        deadline = started + self.timeout
        tries = 0
        while True:
            self._wait_for_turn(deadline, stopped)
            answered = self._try_once(body, deadline)
            if isinstance(answered, bytes):
                return answered
            fault, asked_pause = answered
            pause = min(0.5 * 2**tries, 8.0)
            now = time.monotonic()
            if not self.is_reached and now - started + pause > CONNECTING:
                self._stop(f"{self.place} cannot be reached: {fault}")
            if asked_pause:
                self._hold(now + asked_pause)
                continue
            tries += 1
            if tries > self.retries or now + pause > deadline or stopped.wait(pause):
                raise fault

    def _try_once(self, body: bytes, deadline: float) -> bytes | tuple[ChatFault, float | None]:
        """The body of the answer; or a fault that may pass, and the pause that the endpoint asks for."""
        request = Request(self.url, body, self.headers, method="POST")
        left = max(deadline - time.monotonic(), 1e-3)
        try:
            answer = post(request, left, is_reached=self.is_reached, watch=self._watch)
        except ConnectionError as error:  # cut, or never made
            return ChatFault(f"the endpoint failed: {self._shown(str(error))}", "connection", passes=True), None
        self.is_reached = True
        if answer.status < 300:
            return answer.body
        fault = self._status_fault(answer)
        if not fault.passes:
            raise fault
        return fault, answer.pause

    def _hold(self, until: float) -> None:
        with self.lock:
            self.held_until = max(self.held_until, until)

    @contextmanager
    def _watch(self, end: Callable[[], None]) -> Iterator[None]:
        """Lets `stop` end the connection of this thread."""
        with self.lock:
            self.open[threading.get_ident()] = end
        try:
            yield
        finally:
            with self.lock:
                del self.open[threading.get_ident()]

    def _wait_for_turn(self, deadline: float, stopped: threading.Event) -> None:
        """Waits while the endpoint asks for a pause. Raises ChatFault where that is longer than the question has."""
        if stopped.is_set():
            raise ChatFault(STOPPED, "connection", passes=True)
        while (pause := self.held_until - time.monotonic()) > 0:
            if self.held_until > deadline:
                what = f"the endpoint asks for a pause of {pause:.0f} seconds, but a question may take {self.timeout:g}"
                raise ChatFault(what, "429", passes=True)
            if stopped.wait(pause):
                raise ChatFault(STOPPED, "connection", passes=True)

    def _status_fault(self, answer: Answer) -> ChatFault:
        """What a status says. Raises SettingError where it says so of every question."""
        status = answer.status
        said = self._shown(answer.body.decode("utf-8", "replace"))
        if status in (401, 403):
            raise SettingError(f"{self.place} refuses the key in {self.key_variable} ({status})")
        if status == 404:
            raise SettingError(f"{self.place} has no model {self.model} (404)")
        if status < 400:
            what = "sends the question elsewhere, which is not followed: set base_url to the endpoint itself"
            return ChatFault(f"the endpoint {what} ({status})", str(status))
        passes = status in AGAIN or status >= 500
        return ChatFault(f"the endpoint failed with status {status}: {said}", str(status), passes)

    def _stop(self, message: str) -> None:
        self.stopped.set()  # for the questions of other threads
        raise OutsideError(message)

    def _redact(self, reply: Reply) -> Reply:
        """The reply without secrets. Where there was one, its tokens are dropped, as they spell it in parts."""
        text = self._hide(reply.text)
        return reply if text == reply.text else reply.model_copy(update={"text": text, "chosen": ()})

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
    path = quote(parts.path.rstrip("/"), safe="/%") + "/chat/completions"
    return parts._replace(path=path, fragment="").geturl(), place


def list_written_forms(secret: str) -> set[str]:
    """How a secret may be written in an answer: as it is, and as JSON, Python and URLs write it."""
    forms = {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], quote(secret, safe="")}
    return forms if len(secret) >= SHORTEST_SECRET else set()
