"""How much the page of the demo accepts, who may read its answers, and where uploads lie."""

import asyncio
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.judge.browser.conftest import serve_demo

httpx, starlette = pytest.importorskip("httpx"), pytest.importorskip("starlette.applications")
responses = pytest.importorskip("starlette.responses")
routing, testclient = pytest.importorskip("starlette.routing"), pytest.importorskip("starlette.testclient")
serving = pytest.importorskip("judge.browser.serving")

LARGEST = 32 * 1024 * 1024


@pytest.fixture(scope="module")
def client() -> Any:
    """Asks an app that says how long the body is that it read, behind the limit."""

    async def measure(request: Any) -> Any:
        return responses.PlainTextResponse(str(len(await request.body())))

    routes = [routing.Route("/", measure, methods=["GET", "POST"])]
    app = starlette.Starlette(routes=routes, middleware=serving.MIDDLEWARE)
    return testclient.TestClient(app, base_url="http://127.0.0.1:7860")


@pytest.mark.parametrize(("size", "code"), [(0, 200), (LARGEST, 200), (LARGEST + 1, 413)])
def test_a_body_has_a_limit(client: Any, size: int, code: int) -> None:
    answer = client.post("/", content=b" " * size)
    assert (answer.status_code, answer.text) == (
        code,
        f"{size}" if code == 200 else "a body must have at most 33,554,432 bytes",
    )


@pytest.mark.parametrize(
    ("host", "code"),
    [("127.0.0.1:7860", 200), ("localhost", 200), ("evil.example:7860", 400), ("127.0.0.1.evil.example", 400)],
)
def test_a_name_that_leads_to_this_machine_by_rebinding_is_refused(client: Any, host: str, code: int) -> None:
    assert client.get("/", headers={"host": host}).status_code == code


def test_no_page_of_others_shows_the_demo_in_a_frame(client: Any) -> None:
    assert client.get("/").headers["content-security-policy"] == "frame-ancestors 'none'"


def test_a_body_must_state_its_length(client: Any) -> None:
    answer = client.post("/", content=iter([b"one", b"two"]))
    assert (answer.status_code, answer.text) == (411, "a body must state its length")


def test_uploads_lie_in_a_private_folder_that_is_deleted_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", "before")
    seen: list[Path] = []

    def serve() -> None:
        with serving.private_uploads():
            seen.append(Path(os.environ["GRADIO_TEMP_DIR"]))
            assert stat.S_IMODE(seen[0].stat().st_mode) == 0o700
            (seen[0] / "upload").mkdir()
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        serve()
    assert not seen[0].exists()


def test_no_request_makes_the_page_ask_another_machine(tmp_path: Path) -> None:
    """By what gradio does for a URL in a body, and in the address of a file."""
    processing, routes = pytest.importorskip("gradio.processing_utils"), pytest.importorskip("gradio.route_utils")
    for host in ("files.example", "huggingface.co"):
        with pytest.raises(ValueError, match="opens no URL"):
            asyncio.run(processing.async_ssrf_protected_download(f"http://{host}/a.txt", str(tmp_path)))
        with pytest.raises(Exception, match="File not allowed"):
            asyncio.run(routes.secure_url_stream_response(f"http://{host}/a.txt", SimpleNamespace(headers={})))


@pytest.fixture(scope="module", params=[signal.SIGINT, signal.SIGTERM])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of the page of `judge demo` and its temporary folder, which is empty after the end."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "tmp").mkdir()
    with serve_demo(folder, "--models", "none", end=request.param, TMPDIR=str(folder / "tmp")) as address:
        yield address, folder / "tmp"
    assert not [path for path in (folder / "tmp").rglob("*") if path.is_file()]


@pytest.mark.slow
def test_the_command_serves_a_page_with_limits_and_private_uploads(served: tuple[str, Path]) -> None:
    address, temporary = served
    assert address.startswith("http://127.0.0.1:")
    assert httpx.get(f"{address}/config").headers["content-security-policy"] == "frame-ancestors 'none'"
    assert httpx.get(f"{address}/config", headers={"host": "evil.example"}).status_code == 400
    foreign = httpx.get(f"{address}/config", headers={"origin": "http://evil.example"})
    assert foreign.headers.get("access-control-allow-origin") != "http://evil.example"  # no browser shows it that page
    large = httpx.post(f"{address}/gradio_api/queue/join", content=b" " * (LARGEST + 1))
    assert (large.status_code, large.text) == (413, "a body must have at most 33,554,432 bytes")
    too_large = httpx.post(f"{address}/gradio_api/upload", files={"files": ("a.jsonl", b"x" * 6_000_000)})
    assert too_large.status_code == 413
    for index in (99, -1):
        asked = {"data": [], "fn_index": index, "session_hash": "x"}
        answer = httpx.post(f"{address}/gradio_api/queue/join", json=asked)
        assert (answer.status_code, answer.text) == (404, f"the page has no function {index}")
    (kept,) = httpx.post(f"{address}/gradio_api/upload", files={"files": ("a.jsonl", b"x")}).json()
    (folder,) = temporary.glob("demo-*")
    assert Path(kept).is_relative_to(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
