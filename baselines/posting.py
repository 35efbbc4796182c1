"""One request to an endpoint, which may only answer: no redirects, one deadline, an answer of bounded size.

Python's own HTTP client asks, through the proxy of the environment where there is one; this machine is asked directly.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from baselines.replies import ChatFault
from core.hosts import is_this_machine

LARGEST = 2**24  # bytes of an answer: a token with its alternatives takes some 2,000
LONGEST_WAIT = 10**6  # seconds that an endpoint may ask for
CONNECTING = 2.0  # seconds of attempts to reach an endpoint that has not answered yet


@dataclass(frozen=True)
class Answer:
    """An answer as it came."""

    status: int
    # seconds to wait before another question (`Retry-After`); None where the endpoint says none
    pause: float | None
    body: bytes


def post(
    request: Request,
    timeout: float,
    *,
    is_reached: bool = True,
    watch: Callable[[Callable[[], None]], AbstractContextManager[None]] = nullcontext,
) -> Answer:
    """The answer to a request.

    Redirects are not followed, nothing is decompressed. Raises ConnectionError where the connection fails, ChatFault
    for an answer that is not whole after `timeout` seconds, larger than LARGEST, or compressed. An endpoint that is not
    `is_reached` yet has 2 CONNECTING seconds for the connection. An endpoint on this machine is asked without a proxy.
    `watch` gets what ends the connection at once.
    """
    connections = Connections(connecting=timeout if is_reached else min(timeout, 2 * CONNECTING))
    opener = OpenerDirector()
    opener.add_handler(ProxyHandler({} if is_this_machine(urlsplit(request.full_url).hostname or "") else None))
    opener.add_handler(WatchedHandler(connections))
    late = ChatFault(f"the endpoint gave no whole answer in {timeout:.3g} seconds", "timeout", passes=True)
    timer = threading.Timer(timeout, connections.end)
    timer.start()
    try:
        with watch(connections.end), opener.open(request, timeout=timeout) as response:
            body = response.read(LARGEST + 1)
            headers = response.headers
    except (OSError, http.client.HTTPException, ValueError) as error:
        if connections.is_ended or isinstance(error, TimeoutError):
            if not connections.opened:
                raise ConnectionError("no connection in time") from None
            raise late from None
        reason = error.reason if isinstance(error, URLError) else error
        raise ConnectionError(f"{type(reason).__name__}: {reason}") from None
    finally:
        timer.cancel()
        connections.close()
    if connections.is_ended:
        raise late
    check_whole(body, headers)
    pause = read_count(headers.get("Retry-After", ""), LONGEST_WAIT)
    return Answer(response.status, None if pause is None else float(pause), body)


def check_whole(body: bytes, headers: Mapping[str, str]) -> None:
    """Raises ChatFault for a body that is too large or compressed, ConnectionError for a body that was cut."""
    if len(body) > LARGEST:
        raise ChatFault(f"the endpoint's answer has more than {LARGEST} bytes", "size")
    if headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ChatFault("the endpoint's answer is compressed, which was not asked for", "compressed")
    promised = read_count(headers.get("Content-Length", ""), LARGEST)
    if promised is not None and len(body) < promised:
        raise ConnectionError("the connection was cut")


def read_count(header: str, most: int) -> int | None:
    """Returns the whole number in a header, at most `most`; None for a header that is not a whole number."""
    if not (header.isascii() and header.isdecimal()):
        return None
    return most if len(header) > len(str(most)) else min(int(header), most)


@dataclass
class Connections:
    """The sockets of one request, which a deadline can end at any point."""

    # seconds for the connection alone
    connecting: float
    opened: list[socket.socket] = field(default_factory=list)
    is_ended: bool = False

    def end(self) -> None:
        """Ends the request at once, whichever thread waits for it."""
        self.is_ended = True
        for opened in self.opened:
            with suppress(OSError):  # the endpoint may have ended it
                opened.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes the sockets."""
        for opened in self.opened:
            opened.close()


class WatchedHandler(HTTPSHandler, HTTPHandler):
    """Opens HTTP and HTTPS connections and records their sockets in `connections`, so that a deadline can end them."""

    def __init__(self, connections: Connections) -> None:
        super().__init__()
        self.connections = connections

    def do_open(
        self,
        http_class: Any,
        req: Request,
        **settings: Any,
    ) -> Any:
        """Opens a connection, records its socket, and returns the answer."""

        def make(
            host: str,
            timeout: float,
            **more: Any,
        ) -> Any:
            """Makes a connection that opens, and records its socket, when it is first used."""

            def create(address: tuple[str, int], *_: object) -> socket.socket:
                made = socket.create_connection(address, self.connections.connecting)
                made.settimeout(timeout)
                self.connections.opened.append(made.dup())  # TLS takes the other one over
                return made

            connection = http_class(host, timeout=timeout, **more)
            connection._create_connection = create
            return connection

        return super().do_open(make, req, **settings)  # pyright: ignore[reportArgumentType]
