"""Serving: who may talk to the page of the demo, and where the files lie that people upload."""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HERE = ("127.0.0.1", "localhost")


class SameOrigin:
    """Refuses what a page of another origin asks for, which browsers name, and keeps its own out of foreign frames.

    A browser names the origin of a page that posts (`Origin`), and for each request whether it comes from the same site
    (`Sec-Fetch-Site`; `none` where the user typed the address). Programs send neither.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] in ("http", "websocket") else {}
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        is_own = origin is None or urlsplit(origin).netloc == headers.get("host")
        if not is_own or site not in ("none", "same-origin"):
            await PlainTextResponse("a page of another origin must not ask", 403)(scope, receive, send)
            return

        async def send_unframed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["content-security-policy"] = "frame-ancestors 'none'"
            await send(message)

        await self.app(scope, receive, send_unframed)


def guard(app: ASGIApp, hosts: tuple[str, ...]) -> ASGIApp:
    """The app for requests to the named hosts only, and from its own pages only.

    A foreign name that a page makes lead to this machine (DNS rebinding) is refused, because it is not among `hosts`.
    """
    return TrustedHostMiddleware(SameOrigin(app), [*HERE, *hosts], www_redirect=False)


def refuse_unknown_function(_request: Request, error: Exception) -> PlainTextResponse:
    """The answer to a request that names a function by an index which the page has not."""
    return PlainTextResponse(f"the page has no function {error}", 404)


@contextmanager
def private_uploads() -> Iterator[None]:
    """Uploads lie in a folder that only this user can read; it is deleted at the end, also after SIGTERM."""
    with tempfile.TemporaryDirectory(prefix="demo-") as folder:
        os.environ["GRADIO_TEMP_DIR"] = folder
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)
