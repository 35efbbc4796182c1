"""An OpenAI-compatible endpoint as a chat model: what is sent, which questions are asked again, when a run stops."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlsplit

from baselines.chat import Question, Replies
from baselines.replies import ChatFault, Completion, Reply, read_completion
from baselines.verdicts import Form
from core.errors import OutsideError, SettingError, printable
from core.extras import suggest_extra
from core.hosts import check_network
from core.settings import Count, NonNegative, Positive, Seed, Size, Text, checked_dataclass

if TYPE_CHECKING:
    from baselines.posting import Poster

GIVEN_UP = 20  # questions without an answer for the same cause, before any answer
SHORTEST_SECRET = 12  # characters: many local servers take a word as key, which an answer may have by chance
REFUSED = {"400", "422", "501"}  # statuses of an endpoint that does not take a setting
TOP = 20  # alternatives asked for; the most that hosted endpoints give
ANSWERED = ""  # no cause of a fault
SENT = ("answer_tokens", "temperature", "reasoning_effort", "system", "seed", "extra")
TRIAL = Question("Answer with the number 1.")
Wish = bool | Literal["auto"]
# of answers that are a verdict alone, by form; not every endpoint takes the limits of a number
SCHEMAS: Mapping[Form, tuple[str, dict[str, Any]]] = {
    "number": ("rating", {"type": "integer"}),
    "letter": ("choice", {"type": "string", "enum": ["A", "B", "C"]}),
    "word": ("answer", {"type": "string", "enum": ["yes", "no"]}),
}


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
    # whether to ask for the probabilities of tokens, which one question finds out; true: the endpoint must give them
    logprobs: Wish = "auto"
    # whether to ask for the verdict alone, as JSON of a schema; as above
    structured: Wish = "auto"
    # of a reasoning model, such as low
    reasoning_effort: Text | None = None
    # an instruction before the question
    system: Text | None = None
    seed: Seed | None = None
    # further keys of the request's body, such as {max_completion_tokens: 2048}
    extra: dict[str, Any] | None = None
    # questions by the cause of their faults; those that were answered have none
    outcomes: Counter[str] = field(default_factory=Counter, init=False, repr=False, compare=False)

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

        return Poster(*split_url(self.base_url), self.key_variable, timeout=self.timeout, retries=self.retries)

    @property
    def depends(self) -> dict[str, Any]:
        """The settings that change answers, by name. Raises errors as `heeded` does."""
        sent = {name: getattr(self, name) for name in SENT}
        return {"model": self.name, "endpoint": self.place, **sent, **self.heeded}

    @property
    def most_tokens(self) -> int | None:
        return self.answer_tokens

    @cached_property
    def heeded(self) -> dict[str, bool]:
        """Whether requests ask for `logprobs`, and for `structured` answers; test questions show what is supported.

        Raises OutsideError if the endpoint does not answer them. Raises SettingError if it refuses the key or the
        model, or ignores a setting that the user set to true.
        """
        found = {"logprobs": False, "structured": False}
        for name in found:
            wanted: Wish = getattr(self, name)
            if not wanted:
                continue
            answer = self._try({**found, name: True})
            found[name] = answer is not None and HEEDED[name](answer)
            if wanted is True and not found[name]:
                raise SettingError(f"{name}=true, but {self.place} ignores it: {name}=auto does without")
        return found

    def _try(self, heeded: Mapping[str, bool]) -> Completion | None:
        """The answer to the test question; None if the endpoint does not take the settings."""
        try:
            return self._post(TRIAL, heeded)
        except ChatFault as fault:
            if fault.cause in REFUSED:
                return None
            raise OutsideError(f"{self.place} does not answer: {fault}") from None

    def _body(
        self,
        question: Question,
        logprobs: bool,
        structured: bool,
    ) -> dict[str, Any]:
        """The body of a request; each repeat of a question has a different seed."""
        settings: dict[str, Any] = {
            "temperature": self.temperature,
            "max_tokens": self.answer_tokens,
            "reasoning_effort": self.reasoning_effort,
            "seed": None if self.seed is None else self.seed + question.repeat,
            "logprobs": logprobs or None,
            "top_logprobs": TOP if logprobs else None,
            "response_format": write_schema(question.form) if structured else None,
        }
        sent = {key: value for key, value in settings.items() if value is not None}
        messages = [{"role": "user", "content": question.text}]
        if self.system is not None:
            messages.insert(0, {"role": "system", "content": self.system})
        return {"model": self.name, "messages": messages, **sent, **(self.extra or {})}

    def ask(self, question: Question) -> Reply:
        """Asks a question. Raises ChatFault if there is no reply, SettingError if the key or the model is refused.

        Raises OutsideError if the endpoint cannot be reached, or if the first GIVEN_UP questions fail for the same
        reason.
        """
        try:
            reply = self._redact(self._post(question, self.heeded).to_reply())
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

        _ = self.heeded, self.poster  # made once, before there are threads
        pool = ThreadPoolExecutor(parallel)
        try:
            asked = {pool.submit(try_to_ask, question): place for place, question in enumerate(questions)}
            for answered in as_completed(asked):
                yield asked[answered], answered.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            if poster := self.__dict__.pop("poster", None):  # later questions are sent by a new one
                poster.client.close()
            raise
        pool.shutdown()

    def _post(self, question: Question, heeded: Mapping[str, bool]) -> Completion:
        """The answer to a question. Raises ChatFault without secrets, and errors as `Poster.post` does."""
        body = self._body(question, **heeded)
        try:
            return read_completion(self.poster.post(body))
        except ChatFault as fault:
            raise ChatFault(self._show(str(fault)), fault.cause, fault.passes) from None

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


def write_schema(form: Form) -> dict[str, Any]:
    """Writes the schema of an answer that is a verdict alone, for a request."""
    name, kind = SCHEMAS[form]
    schema = {"type": "object", "properties": {name: kind}, "required": [name], "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}


def follows_schema(answer: Completion) -> bool:
    """Whether the answer to the test question is JSON of the schema of a number."""
    try:
        verdict = json.loads(answer.content or "")
    except (ValueError, RecursionError):
        return False
    return isinstance(verdict, dict) and [*verdict] == ["rating"]


# by setting, what tells that an answer heeds it
HEEDED: Mapping[str, Callable[[Completion], bool]] = {
    "logprobs": lambda answer: answer.has_probabilities,
    "structured": follows_schema,
}


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
