"""The client of an endpoint: the openai library, whose answers have a deadline and a bounded size.

Redirects are not followed and nothing is decompressed. An endpoint on this machine is asked without a proxy.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
import openai

from baselines.replies import ChatFault
from core.hosts import is_this_machine

LARGEST = 2**24  # bytes of an answer: a token with its alternatives takes some 2,000
CONNECTING = 5.0  # seconds for a connection


class AnswerError(openai.OpenAIError):
    """An answer is late, too large or compressed. The openai library does not ask again after errors of this class."""

    def __init__(self, what: str, cause: str) -> None:
        self.cause = cause
        super().__init__(f"the endpoint {what}")


class BoundedTransport(httpx2.BaseTransport):
    """Reads a whole answer within `timeout` seconds, and at most LARGEST bytes of it."""

    def __init__(self, inner: httpx2.BaseTransport, timeout: float) -> None:
        self.inner = inner
        self.timeout = timeout

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        late = AnswerError(f"gave no whole answer in {self.timeout:.3g} seconds", "timeout")
        deadline = time.monotonic() + self.timeout
        body = bytearray()
        try:
            response = self.inner.handle_request(request)
            with closing(response):
                if response.headers.get("Content-Encoding", "identity").lower() != "identity":
                    raise AnswerError("sent a compressed answer, which was not asked for", "compressed")
                for part in response.iter_raw():
                    body += part
                    if len(body) > LARGEST:
                        raise AnswerError(f"sent more than {LARGEST} bytes", "size")
                    if time.monotonic() > deadline:
                        raise late
        except (httpx2.ReadTimeout, httpx2.WriteTimeout, httpx2.PoolTimeout):
            raise late from None
        return httpx2.Response(response.status_code, headers=response.headers, content=bytes(body), request=request)

    def close(self) -> None:
        self.inner.close()


def open_client(base_url: str, key: str, *, timeout: float, retries: int) -> openai.OpenAI:
    """Opens a client that sends questions and the key to one endpoint alone."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    is_direct = is_this_machine(host) or bool(proxy_bypass(host))
    proxy = None if is_direct else getproxies().get(parts.scheme)
    transport = BoundedTransport(httpx2.HTTPTransport(proxy=proxy), timeout)
    waits = httpx2.Timeout(timeout, connect=min(timeout, CONNECTING))
    headers: dict[str, Any] = {"Accept-Encoding": "identity"}
    # of hosted accounts, which the library reads from the environment
    headers |= dict.fromkeys(("OpenAI-Organization", "OpenAI-Project"), openai.Omit())
    return openai.OpenAI(
        base_url=parts._replace(query="", fragment="").geturl(),
        default_query=dict(parse_qsl(parts.query)),
        api_key=key or "none",
        default_headers=headers,
        max_retries=retries,
        http_client=httpx2.Client(transport=transport, timeout=waits, follow_redirects=False, trust_env=False),
    )


def post(client: openai.OpenAI, body: dict[str, Any], retries: int) -> tuple[int, bytes]:
    """Asks an endpoint; returns the status and the body of its last answer.

    Raises ConnectionError where no connection is made, ChatFault where no whole answer comes.
    """
    try:
        asking = client.with_options(max_retries=retries)
        answer = asking.post("/chat/completions", body=body, cast_to=httpx2.Response)
        return answer.status_code, answer.content
    except openai.APIStatusError as error:
        return error.status_code, error.response.content
    except AnswerError as error:
        raise ChatFault(str(error), error.cause, passes=error.cause == "timeout") from None
    except openai.APIConnectionError as error:
        cause = error.__cause__
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
            raise ConnectionError(f"{type(cause).__name__}: {cause}") from None
        raise ChatFault(f"the endpoint failed: {type(cause).__name__}: {cause}", "connection", passes=True) from None
