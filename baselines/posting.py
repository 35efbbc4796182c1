"""The client of an endpoint: the openai library, whose answers have a deadline and a bounded size.

Redirects are not followed and nothing is decompressed. An endpoint on this machine is asked without a proxy.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from contextlib import closing, suppress
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
import openai

from baselines.replies import ChatFault
from core.errors import OutsideError
from core.hosts import is_this_machine

LARGEST = 2**24  # bytes of an answer: a token with its alternatives takes some 2,000
CONNECTING = 5.0  # seconds for a connection
FEW_RETRIES = 2  # of an endpoint that has not answered yet
AGAIN = {408, 409, 429}  # statuses after which the same question may get an answer; those from 500 on too
LATE = httpx2.ReadTimeout | httpx2.WriteTimeout | httpx2.PoolTimeout
UNREACHED = httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError


class AnswerError(openai.OpenAIError):
    """An answer is late, too large or compressed. The openai library does not ask again after errors of this class."""

    def __init__(self, what: str, cause: str) -> None:
        self.cause = cause
        super().__init__(f"the endpoint {what}")


class Deadline(threading.Timer):
    """Cuts the connection of a request after some seconds, whatever comes through it until then."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds, self.cut)
        self.daemon = True
        self.late = AnswerError(f"gave no whole answer in {seconds:.3g} seconds", "timeout")
        self.is_over = False
        self.stream: Any = None

    def cut(self) -> None:
        """Ends what is being read or written."""
        self.is_over = True
        if self.stream is not None:
            with suppress(OSError):
                self.stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Notes the stream of a new connection (httpx2 calls this at each step of a request)."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self.stream = info["return_value"]
            if self.is_over:
                raise self.late


class BoundedTransport(httpx2.BaseTransport):
    """Reads a whole answer, its headers too, within `timeout` seconds, and at most LARGEST bytes of it."""

    def __init__(self, inner: httpx2.BaseTransport, timeout: float) -> None:
        self.inner = inner
        self.timeout = timeout

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        deadline = Deadline(self.timeout)
        request.extensions = {**request.extensions, "trace": deadline.trace}
        body = bytearray()
        deadline.start()
        try:
            response = self.inner.handle_request(request)
            with closing(response):
                if response.headers.get("Content-Encoding", "identity").lower() != "identity":
                    raise AnswerError("sent a compressed answer, which was not asked for", "compressed")
                for part in response.iter_raw():
                    body += part
                    if len(body) > LARGEST:
                        raise AnswerError(f"sent more than {LARGEST} bytes", "size")
        except httpx2.TransportError as error:
            if deadline.is_over or isinstance(error, LATE):
                raise deadline.late from None
            raise
        finally:
            deadline.cancel()
        if deadline.is_over:
            raise deadline.late
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            content=bytes(body),
            request=request,
        )

    def close(self) -> None:
        self.inner.close()


class Poster:
    """Sends questions, and the key of the variable `key_variable`, to one endpoint alone."""

    def __init__(
        self,
        base_url: str,
        place: str,
        key_variable: str,
        *,
        timeout: float,
        retries: int,
    ) -> None:
        self.place = place
        self.retries = retries
        self.is_reached = False
        parts = urlsplit(base_url)
        host = parts.hostname or ""
        is_direct = is_this_machine(host) or bool(proxy_bypass(host))
        proxy = None if is_direct else getproxies().get(parts.scheme)
        alone = httpx2.Limits(max_keepalive_connections=0)  # each question has a connection, which its deadline cuts
        transport = BoundedTransport(httpx2.HTTPTransport(proxy=proxy, limits=alone), timeout)
        waits = httpx2.Timeout(timeout, connect=min(timeout, CONNECTING))
        headers: dict[str, Any] = {"Accept-Encoding": "identity"}
        # of hosted accounts, which the library reads from the environment
        headers |= dict.fromkeys(("OpenAI-Organization", "OpenAI-Project"), openai.Omit())
        self.client = openai.OpenAI(
            base_url=parts._replace(query="", fragment="").geturl(),
            default_query=dict(parse_qsl(parts.query)),
            api_key=os.environ.get(key_variable, "").strip() or "none",
            default_headers=headers,
            http_client=httpx2.Client(
                transport=transport,
                timeout=waits,
                follow_redirects=False,
                trust_env=False,
            ),
        )

    def post(self, body: dict[str, Any]) -> bytes:
        """Asks a question; returns the body of the answer.

        Raises ChatFault where no whole answer comes, OutsideError where no connection was ever made.
        """
        retries = self.retries if self.is_reached else min(self.retries, FEW_RETRIES)
        client = self.client.with_options(max_retries=retries)
        try:
            answer = client.post("/chat/completions", body=body, cast_to=httpx2.Response)
        except openai.APIStatusError as error:
            self.is_reached = True
            raise find_fault(error.status_code, error.response.text) from None
        except AnswerError as error:
            raise ChatFault(str(error), error.cause, passes=error.cause == "timeout") from None
        except openai.APIConnectionError as error:
            cause = error.__cause__
            said = f"{type(cause).__name__}: {cause}"
            if isinstance(cause, UNREACHED) and not self.is_reached:
                raise OutsideError(f"{self.place} cannot be reached: {said}") from None
            raise ChatFault(f"the endpoint failed: {said}", "connection", passes=True) from None
        self.is_reached = True
        return answer.content


def find_fault(status: int, said: str) -> ChatFault:
    """Finds what a status says, besides the words of the endpoint."""
    if status < 400:
        what = "sends the question elsewhere, which is not followed: set base_url to the endpoint itself"
        return ChatFault(f"the endpoint {what} ({status})", str(status))
    passes = status in AGAIN or status >= 500
    return ChatFault(f"the endpoint failed with status {status}: {said}", str(status), passes)
