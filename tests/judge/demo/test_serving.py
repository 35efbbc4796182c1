"""Who may talk to the page of the demo, and where uploads lie."""

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors import SettingError
from judge.demo.settings import DemoSettings
from tests.judge.demo.conftest import serve_demo

httpx, starlette = pytest.importorskip("httpx"), pytest.importorskip("starlette.applications")
cors, responses = pytest.importorskip("starlette.middleware.cors"), pytest.importorskip("starlette.responses")
routing, testclient = pytest.importorskip("starlette.routing"), pytest.importorskip("starlette.testclient")
serving = pytest.importorskip("judge.demo.serving")

FOREIGN_HOSTS = ("evil.example", "127.0.0.1.evil.example", "localhost.evil:1", "", "lab.exampl")
FOREIGN_ORIGINS = ("http://localhost:1234", "http://127.0.0.1", "http://evil.example", "null")
HERE = "http://127.0.0.1:7860"


@pytest.fixture(scope="module")
def client() -> Any:
    """Asks a guarded app that would answer everybody."""
    answer = routing.Route("/", lambda _: responses.PlainTextResponse("secret"), methods=["GET", "POST"])
    lax = starlette.Starlette(routes=[answer])
    lax.add_middleware(cors.CORSMiddleware, allow_origins=["*"], allow_credentials=True)
    return testclient.TestClient(serving.guard(lax, ("lab.example",)), base_url=HERE)


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_request_to_another_host_is_refused(client: Any, host: str) -> None:
    answer = client.get("/", headers={"host": host, "origin": f"http://{host}"})
    assert (answer.status_code, answer.text) == (400, "Invalid host header")


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_page_of_another_origin_gets_nothing(client: Any, origin: str, method: str) -> None:
    answer = client.request(method, "/", headers={"origin": origin, "access-control-request-method": "POST"})
    assert (answer.status_code, answer.text) == (403, "a page of another origin must not ask")
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("site", ["cross-site", "same-site", ""])
def test_a_link_or_a_picture_of_another_site_gets_nothing(client: Any, site: str) -> None:
    assert client.get("/", headers={"sec-fetch-site": site}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": HERE, "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
        {"host": "lab.example", "origin": "https://lab.example"},
    ],
)
def test_the_page_itself_and_a_named_host_get_an_answer_that_no_frame_shows(
    client: Any, headers: dict[str, str]
) -> None:
    answer = client.get("/", headers=headers)
    assert (answer.text, answer.headers["content-security-policy"]) == ("secret", "frame-ancestors 'none'")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_page_for_other_machines_needs_the_names_that_they_use(host: str) -> None:
    with pytest.raises(SettingError, match="hosts must name"):
        DemoSettings(models="x", host=host)
    assert DemoSettings(models="x", host=host, hosts=["lab.example"]).trusted_hosts == ("lab.example",)
    assert DemoSettings(models="x", host="10.0.0.5").trusted_hosts == ("10.0.0.5",)


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


@pytest.fixture(scope="module", params=[signal.SIGINT, signal.SIGTERM])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of the page of `judge demo` and its temporary folder, which is empty after the end."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "tmp").mkdir()
    settings = ("--models", "none", "--hosts", "lab.example")
    with serve_demo(folder, *settings, end=request.param, TMPDIR=str(folder / "tmp")) as address:
        yield address, folder / "tmp"
    assert not [path for path in (folder / "tmp").rglob("*") if path.is_file()]


@pytest.mark.slow
def test_the_command_serves_a_guarded_page_with_private_uploads(served: tuple[str, Path]) -> None:
    address, temporary = served
    for path in ("/config", "/gradio_api/info", "/gradio_api/startup-events"):
        assert httpx.get(address + path).status_code == 200
        assert httpx.get(address + path, headers={"host": "evil.example"}).status_code == 400
        assert httpx.get(address + path, headers={"origin": "http://localhost:1"}).status_code == 403
    assert httpx.get(f"{address}/config", headers={"host": "lab.example"}).status_code == 200
    for index in (99, -1):
        asked = {"data": [], "fn_index": index, "session_hash": "x"}
        answer = httpx.post(f"{address}/gradio_api/queue/join", json=asked)
        assert (answer.status_code, answer.text) == (404, f"the page has no function {index}")
    (kept,) = httpx.post(f"{address}/gradio_api/upload", files={"files": ("a.jsonl", b"x")}).json()
    (folder,) = temporary.glob("demo-*")
    assert Path(kept).is_relative_to(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
