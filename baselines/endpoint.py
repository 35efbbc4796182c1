"""An OpenAI-compatible endpoint, which may only answer: no redirects, one deadline, a bounded and checked reply.

Python's own HTTP client asks, through the proxy of the environment where there is one; this machine is asked directly.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, fields, replace
from functools import cached_property
from typing import Annotated, Any, Literal
from urllib.error import URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from pydantic import Field, ValidationError

from baselines.verdicts import IS_YES, Form
from core.errors import SettingError, broken_rules, check_names, printable
from core.hosts import is_this_machine
from core.settings import Count, NonNegative, Positive, Seed, Size, Text, check, checked_dataclass
from data.records import Record

LARGEST = 1_000_000  # bytes of an answer
LONGEST = 10_000  # characters of a reply that are kept: its last ones
MOST_TOKENS = 10**9  # that an endpoint may say it has counted
LONGEST_WAIT = 10**6  # seconds that an endpoint may ask for
CONNECTING = 2.0  # seconds of attempts to reach an endpoint that has not answered yet
GIVEN_UP = 20  # questions without an answer for the same cause, before any answer
AGAIN = {408, 409, 429}  # statuses after which a question is asked again; those from 500 on too
SHORTEST_SECRET = 4  # characters
REFUSED = {"400", "422", "501"}  # statuses of an endpoint that does not take a setting
STOPPED = "the run has stopped"
TOP = 20  # alternatives asked for; the most that hosted endpoints give


def _schema(name: str, **kind: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: kind}, "required": [name], "additionalProperties": False}


SCHEMAS: dict[Form, dict[str, Any]] = {  # of answers that are a verdict alone, where an endpoint takes them
    "number": _schema("rating", type="integer"),  # not every endpoint takes its limits; beyond them it is unread
    "letter": _schema("choice", type="string", enum=["A", "B", "C"]),
    "word": _schema("answer", type="string", enum=["yes", "no"]),
}


class ChatFault(Exception):  # noqa: N818, a reason why there is no score
    """There is no answer to a question; the message says why. `cause` is equal for questions that fail alike.

    `passes` says that the same question may get an answer later: the endpoint was busy, slow or cut off.
    """

    def __init__(self, message: str, cause: str = "", passes: bool = False) -> None:
        self.cause, self.passes = cause, passes
        super().__init__(message)


class EndpointFault(RuntimeError):  # noqa: N818 (as ChatFault)
    """The endpoint answers no question, so the run stops; the message is the endpoint's."""


# ---- what is read of an answer; the rest may hold anything ---------------------------------------------------------


Counted = Annotated[int, Field(ge=0, le=MOST_TOKENS)]


class _Token(Record):
    token: str
    logprob: Annotated[float, Field(allow_inf_nan=False, le=1e-3)]  # a rounded 0 may lie above it


class _Position(Record):
    token: str = ""
    # its UTF-8, where it may be a part of a character
    bytes: list[Annotated[int, Field(ge=0, le=255)]] | None = None
    top_logprobs: list[_Token] | None = None


class _Positions(Record):
    content: list[_Position] | None = None


class _Message(Record):
    content: str | None = None


class _Choice(Record):
    message: _Message
    logprobs: _Positions | None = None
    finish_reason: str | None = None


class _Usage(Record):
    prompt_tokens: Counted = 0
    completion_tokens: Counted = 0


class _Completion(Record):
    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage | None = None


class ChosenToken(Record):
    """A token of an answer that is a whole number, a yes or a no."""

    # where it begins in the text of the reply
    place: int
    token: str
    # the likeliest tokens there, with their log-probabilities
    likeliest: tuple[tuple[str, float], ...]


class Reply(Record):
    """What a chat model answered; nothing else of an answer is read or kept."""

    # the last LONGEST characters, after an ellipsis where there were more; of a local model, its likeliest next token
    text: str
    # those tokens of the text whose probabilities are known, in order
    chosen: tuple[ChosenToken, ...] = ()
    # what the question and the answer cost
    prompt_tokens: int = 0
    answer_tokens: int = 0
    # whether the answer ended at the greatest number of tokens
    is_cut: bool = False


def read_reply(body: bytes) -> Reply:
    """The reply in the body of an answer. Raises ChatFault for anything but a chat completion."""
    found = _read_completion(body)
    choice = found.choices[0]
    usage = found.usage or _Usage()
    content = choice.message.content or ""
    text = content if len(content) <= LONGEST else f"…{content[-LONGEST:]}"
    return Reply(
        text=text,
        chosen=tuple(_find_chosen(choice, content, len(text) - len(content))),
        prompt_tokens=usage.prompt_tokens,
        answer_tokens=usage.completion_tokens,
        is_cut=choice.finish_reason == "length",
    )


def _read_completion(body: bytes) -> _Completion:
    try:
        return _Completion.model_validate_json(body)
    except ValidationError as error:
        place, rule, _ = next(broken_rules(error))  # the value may hold a key
        what = f"{'.'.join(map(str, place))} {rule}".strip()
        raise ChatFault(f"the endpoint's answer cannot be read: {what}", "unreadable") from None


def _positions(choice: _Choice) -> list[_Position]:
    """The tokens of an answer with their alternatives; empty where the endpoint gives none."""
    positions = (choice.logprobs and choice.logprobs.content) or []
    return positions if any(position.top_logprobs for position in positions) else []


def _find_chosen(choice: _Choice, content: str, shift: int) -> Iterator[ChosenToken]:
    """The tokens of the content that may be a verdict; none where the tokens do not spell the content.

    Before and after it they may spell more, such as reasoning that the endpoint takes out.
    """
    positions = _positions(choice)
    spelled = [position.token.encode() if position.bytes is None else bytes(position.bytes) for position in positions]
    written = content.encode()
    begin = b"".join(spelled).rfind(written)
    if begin < 0:
        return
    at_byte = -begin
    for position, token in zip(positions, spelled, strict=True):
        if at_byte >= 0 and position.top_logprobs and is_verdict(position.token):
            place = len(written[:at_byte].decode("utf-8", "ignore")) + shift
            likeliest = tuple((each.token, each.logprob) for each in position.top_logprobs)
            if place >= 0:
                yield ChosenToken(place=place, token=position.token, likeliest=likeliest)
        at_byte += len(token)


@checked_dataclass
class Asking:
    """What a question is sent with. None leaves a setting out, for endpoints that refuse it."""

    # maximum tokens of an answer, those of its reasoning included where the endpoint counts them
    answer_tokens: Count | None = 1024
    temperature: NonNegative | None = 0.0
    # whether to ask for the probabilities of tokens, which one question finds out; true: the endpoint must give them
    logprobs: bool | Literal["auto"] = "auto"
    # whether to ask for the verdict alone, as JSON of a schema; as above
    structured: bool | Literal["auto"] = "auto"
    # of a reasoning model, such as low
    reasoning_effort: Text | None = None
    # an instruction before the question
    system: Text | None = None
    seed: Seed | None = None
    # further keys of the request's body, such as {max_completion_tokens: 2048}
    extra: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if taken := sorted({"model", "messages", "stream", "n"} & set(self.extra or {})):
            raise ValueError(f"extra must not have the keys {', '.join(taken)}")

    def body(self, model: str, question: str, repeat: int = 0, form: Form = "number") -> bytes:
        """The body of a request; each repeat has a seed of its own."""
        schema = {"name": "verdict", "strict": True, "schema": SCHEMAS[form]}
        system = [] if self.system is None else [{"role": "system", "content": self.system}]
        settings = {
            "temperature": self.temperature,
            "max_tokens": self.answer_tokens,
            "reasoning_effort": self.reasoning_effort,
            "seed": None if self.seed is None else self.seed + repeat,
            **({"logprobs": True, "top_logprobs": TOP} if self.logprobs else {}),
            "response_format": {"type": "json_schema", "json_schema": schema} if self.structured else None,
        }
        sent = {key: value for key, value in settings.items() if value is not None}
        messages = [*system, {"role": "user", "content": question}]
        return json.dumps({"model": model, "messages": messages, **sent, **(self.extra or {})}).encode()


def to_word(token: str) -> str:
    """A token without the spaces and quotes around it, in small letters and usual digits."""
    return unicodedata.normalize("NFKC", token).strip(" \t\n\"'").lower()


def is_verdict(token: str) -> bool:
    """Whether a token is a whole number, or a yes or no."""
    return to_word(token).isdecimal() or to_word(token) in IS_YES


def _follows_schema(choice: _Choice) -> bool:
    """Whether the answer is JSON of the schema of a number."""
    try:
        found = json.loads(choice.message.content or "")
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and SCHEMAS["number"]["properties"].keys() == found.keys()


HEEDED = {"logprobs": lambda choice: bool(_positions(choice)), "structured": _follows_schema}


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
        self.url, self.place = _split_url(base_url)
        self.key_variable, self.retries, self.timeout = key_variable, retries, timeout
        key = os.environ.get(key_variable, "").strip()
        self.secrets = sorted(_written_forms(key), key=len, reverse=True)
        self.headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if key:
            self.headers["Authorization"] = f"Bearer {key}"
        self.trying, self.lock, self.stopped = threading.Lock(), threading.Lock(), threading.Event()
        self.is_reached, self.has_answered, self.failed = False, False, dict[str, int]()
        self.held_until = 0.0  # by `Retry-After`, on the clock of time.monotonic
        self.open = dict[int, Callable[[], None]]()  # by thread, what ends the connection that it waits for

    @property
    def depends(self) -> dict[str, Any]:
        """What answers depend on besides the question. Raises as `settled`."""
        return {"model": self.model, "endpoint": self.place, **asdict(self.settled)}

    @property
    def settled(self) -> Asking:
        """What questions are sent with. For `logprobs` and for `structured`, one question finds out if they are heeded.

        Raises EndpointFault where the endpoint does not answer that, SettingError where it refuses key or model, and
        where it does not heed what is set to true.
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
                    raise SettingError(f"{name}=true, but {self.place} does not heed it: {name}=auto does without")
        return settled

    def _heeds(self, tried: Asking, is_heeded: Callable[[_Choice], bool]) -> bool:
        try:
            answer = self._send(tried.body(self.model, "Answer with the number 1."))
            return is_heeded(_read_completion(answer).choices[0])
        except ChatFault as fault:
            if fault.cause in REFUSED:
                return False
            raise EndpointFault(f"{self.place} does not answer: {fault}") from fault

    @property
    def most_tokens(self) -> int | None:
        return self.asking.answer_tokens

    def ask(self, question: str, repeat: int = 0, form: Form = "number") -> Reply:
        """The reply. Raises ChatFault where there is none, SettingError where key or model are refused.

        EndpointFault where the endpoint cannot be reached, and where the first GIVEN_UP questions fail alike.
        """
        body = self.settled.body(self.model, question, repeat, form)
        try:
            reply = self._redact(read_reply(self._send(body)))
        except ChatFault as fault:
            with self.lock:
                self.failed[fault.cause] = self.failed.get(fault.cause, 0) + 1
                if not self.has_answered and self.failed[fault.cause] >= GIVEN_UP:
                    self._stop(f"{self.place} answered none of {GIVEN_UP} questions: {fault}")
            raise
        self.has_answered = True
        return reply

    def stop(self) -> None:
        """Ends the questions that are being asked, and their pauses, at once; later questions are asked."""
        with self.lock:
            stopped, self.stopped = self.stopped, threading.Event()
            stopped.set()
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
            after = None
            try:
                left = max(deadline - time.monotonic(), 1e-3)
                sent = (self.url, body, self.headers, left)
                status, after, answer = post(*sent, is_reached=self.is_reached, watch=self._watch)
            except ConnectionError as error:  # cut, or never made
                fault = ChatFault(f"the endpoint failed: {self._shown(str(error))}", "connection", passes=True)
            else:
                self.is_reached = True
                if status < 300:
                    return answer
                fault = self._status_fault(status, answer)
                if not fault.passes:
                    raise fault
            pause = min(0.5 * 2**tries, 8.0)
            now = time.monotonic()
            if not self.is_reached and now - started + pause > CONNECTING:
                self._stop(f"{self.place} cannot be reached: {fault}")
            if after:
                self._hold(now + after)
            else:
                tries += 1
                if tries > self.retries or now + pause > deadline or stopped.wait(pause):
                    raise fault

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
                what = f"the endpoint asks for a pause of {pause:.0f} seconds, and a question has {self.timeout:g}"
                raise ChatFault(what, "429", passes=True)
            if stopped.wait(pause):
                raise ChatFault(STOPPED, "connection", passes=True)

    def _status_fault(self, status: int, answer: bytes) -> ChatFault:
        """What a status says. Raises SettingError where it says so of every question."""
        said = self._shown(answer.decode("utf-8", "replace"))
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
        raise EndpointFault(message)

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


def _split_url(base_url: str) -> tuple[str, str]:
    """Where to ask, and its name."""
    try:
        parts = urlsplit(base_url)
        place = f"{parts.hostname}:{parts.port}{parts.path}"
    except ValueError as error:
        raise SettingError(f"base_url must be a URL, but is {base_url!r}: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingError(f"base_url must begin with http:// or https:// and a host, but is {base_url!r}")
    if parts.username is not None:
        raise SettingError("base_url must have no user and no password: a key belongs into the environment")
    path = quote(parts.path.rstrip("/"), safe="/%") + "/chat/completions"
    return parts._replace(path=path, fragment="").geturl(), place


def _written_forms(secret: str) -> set[str]:
    """How a secret may be written in an answer: as it is, and as JSON, Python and URLs write it."""
    forms = {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], quote(secret, safe="")}
    return forms if len(secret) >= SHORTEST_SECRET else set()


# ---- one request -----------------------------------------------------------------------------------------------------


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    timeout: float,
    is_reached: bool = True,
    watch: Callable[[Callable[[], None]], AbstractContextManager[None]] = nullcontext,
) -> tuple[int, float | None, bytes]:
    """Status, seconds to wait by `Retry-After`, and body of the answer.

    Redirects are not followed, nothing is decompressed. Raises ConnectionError where the connection fails, ChatFault
    for an answer that is not whole after `timeout` seconds, larger than LARGEST, or compressed. An endpoint that is not
    `is_reached` yet has 2 CONNECTING seconds for the connection. An endpoint on this machine is asked without a proxy.
    """
    opener, opened, is_late = OpenerDirector(), list[socket.socket](), threading.Event()
    opener.add_handler(ProxyHandler({} if is_this_machine(urlsplit(url).hostname or "") else None))
    opener.add_handler(_Watched(opened, timeout if is_reached else min(timeout, 2 * CONNECTING)))

    def end() -> None:
        is_late.set()
        for each in opened:
            with suppress(OSError):  # the endpoint may have ended it
                each.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(timeout, end)
    timer.start()
    try:
        with watch(end), opener.open(Request(url, body, dict(headers), method="POST"), timeout=timeout) as answer:
            kind = answer.headers.get("Content-Encoding", "identity").lower()
            content = answer.read(LARGEST + 1)
            after, length = answer.headers.get("Retry-After", ""), answer.headers.get("Content-Length", "")
    except (OSError, http.client.HTTPException, ValueError) as error:
        if is_late.is_set() or isinstance(error, TimeoutError):
            if not opened:
                raise ConnectionError("no connection in time") from None
            raise ChatFault(
                f"the endpoint gave no whole answer in {timeout:.3g} seconds", "timeout", passes=True
            ) from None
        reason = error.reason if isinstance(error, URLError) else error
        raise ConnectionError(f"{type(reason).__name__}: {reason}") from None
    finally:
        timer.cancel()
        for each in opened:
            each.close()
    if is_late.is_set():
        raise ChatFault(f"the endpoint gave no whole answer in {timeout:.3g} seconds", "timeout", passes=True)
    if len(content) > LARGEST:
        raise ChatFault(f"the endpoint's answer has more than {LARGEST} bytes", "size")
    if kind != "identity":
        raise ChatFault("the endpoint's answer is compressed, which was not asked for", "compressed")
    if (promised := _read_count(length, LARGEST)) is not None and len(content) < promised:
        raise ConnectionError("the connection was cut")
    pause = _read_count(after, LONGEST_WAIT)
    return answer.status, None if pause is None else float(pause), content


def _read_count(header: str, most: int) -> int | None:
    """A whole number of a header, `most` for a larger one; None for anything else."""
    if not (header.isascii() and header.isdecimal()):
        return None
    return most if len(header) > len(str(most)) else min(int(header), most)


class _Watched(HTTPSHandler, HTTPHandler):
    """Opens connections whose sockets are known, so that a deadline can end them at any point."""

    def __init__(self, opened: list[socket.socket], connecting: float) -> None:
        super().__init__()
        self.opened, self.connecting = opened, connecting

    def do_open(self, http_class: Any, req: Request, **settings: Any) -> Any:
        def make(host: str, timeout: float, **more: Any) -> Any:
            """A connection that is not made yet."""

            def create(address: tuple[str, int], *_: object) -> socket.socket:
                made = socket.create_connection(address, self.connecting)
                made.settimeout(timeout)
                self.opened.append(made.dup())  # TLS takes the other one over
                return made

            connection = http_class(host, timeout=timeout, **more)
            connection._create_connection = create
            return connection

        return super().do_open(make, req, **settings)  # pyright: ignore[reportArgumentType]
