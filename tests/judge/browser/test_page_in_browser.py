"""The page of the demo as a person uses it, in headless Chromium; the page is served by the real command."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.judge.browser.conftest import serve_demo

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("gradio")
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("needs Chromium on the path", allow_module_level=True)
HOSTILE = "<img src=x onerror=\"document.title='broken in'\">"
PATIENCE = 60_000  # milliseconds


@pytest.fixture(scope="module")
def address(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("demo")
    with serve_demo(folder, "--models", str(tiny_run / "models")) as address:
        yield f"{address}/"


@pytest.fixture
def page(address: str) -> Iterator[Any]:
    """The page; at the end no error was on the console, no other host was asked, and no script of a text has run."""
    errors: list[str] = []
    requests: list[str] = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(address)
        page.get_by_role("tab", name="Steer").wait_for()
        yield page
        assert page.title() == "Judging generated text"
        browser.close()
    assert not errors
    assert not [url for url in requests if not url.startswith((address, "data:", "blob:"))]


def test_a_person_steers_and_judges(page: Any) -> None:
    page.get_by_role("textbox", name="prompt").fill(f"The food {HOSTILE}")
    page.get_by_role("button", name="Write").click()
    page.wait_for_function("document.querySelectorAll('.textfield .token').length >= 6")
    page.wait_for_timeout(1000)
    page.locator(".textfield").first.locator(".token").nth(2).click()
    page.get_by_role("heading", name="Step 2").wait_for()
    assert page.locator(".result:visible tr").count() > 10

    page.get_by_role("tab", name="Judge").click()
    text = page.get_by_role("textbox", name="one turn on each line")
    text.fill(f"The soup was hot. I liked it. {HOSTILE}")
    page.get_by_role("button", name="Score").click()
    page.locator(".result li").first.wait_for()
    assert "extra_id" not in page.locator(".result ul").first.inner_text()
    text.fill(" ")
    page.get_by_role("button", name="Score").click()
    page.get_by_role("alert").filter(has_text="text must not be blank").wait_for()
    assert page.locator(".result table:visible").count() == 0  # no older result beside a fault
