"""Serving the demo: which requests it answers, and the folder of uploaded files."""

import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import safehttpx
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.errors import SettingError

HOST = "127.0.0.1"  # this machine alone
LARGEST_FILE = "5mb"  # of an upload, as gradio reads it
LARGEST_BODY = 32 * 2**20  # bytes of a request: six such files
KEPT_FOR = 3600  # seconds after which an upload is deleted
SWEPT_EVERY = 600  # seconds between two looks for old uploads


class Guard:
    """Refuses a request whose body is larger than `LARGEST_BODY`, or does not state its length, before it is read.

    It tells browsers to show no page of the demo in a frame of another page.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_unframed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["content-security-policy"] = "frame-ancestors 'none'"
            await send(message)

        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        app = self.app
        if "transfer-encoding" in headers:
            app = PlainTextResponse("a body must state its length", 411)
        elif int(headers.get("content-length", 0)) > LARGEST_BODY:
            app = PlainTextResponse(f"a body must have at most {LARGEST_BODY:,} bytes", 413)
        await app(scope, receive, send_unframed)


# a page of a name that was made to lead to this machine (DNS rebinding) still asks by its own name
MIDDLEWARE = [Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"]), Middleware(Guard)]


async def refuse_url(*_: Any, **__: Any) -> None:
    """Stands in for what opens a URL that a request names as a file."""
    raise ValueError("the page opens no URL")


safehttpx.get = safehttpx.async_validate_url = refuse_url  # by which gradio asks other machines


def refuse_unknown_function(_request: Request, error: Exception) -> PlainTextResponse:
    """Answers a request for a function that the page does not have."""
    return PlainTextResponse(f"the page has no function {error}", 404)


@contextmanager
def private_uploads() -> Iterator[None]:
    """Stores uploads in a folder that only this user can read, and deletes it at the end, also after SIGTERM."""
    with tempfile.TemporaryDirectory(prefix="demo-") as folder:
        os.environ["GRADIO_TEMP_DIR"] = folder
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)


def check_port(port: int) -> None:
    """Raises SettingError for a port that another program uses, or that this user may not use."""
    try:
        with socket.create_server((HOST, port)):
            pass
    except OSError as error:
        raise SettingError(f"cannot listen on {HOST}:{port} ({error.strerror}): set port") from error
