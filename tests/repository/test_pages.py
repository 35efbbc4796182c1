"""The built documentation: no dead link, no other host is asked, and it works from the disk on a narrow screen."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium")
pytest.importorskip("mkdocs")
NARROW = """([...document.querySelectorAll('article pre code, article table')].filter(each => {
    const scrolls = [each, each.parentElement].some(box => getComputedStyle(box).overflowX === 'auto');
    return !scrolls && each.getBoundingClientRect().right > innerWidth;
})).map(each => each.textContent)"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built pages."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return folder


@pytest.fixture
def page(site: Path) -> Iterator[Any]:
    """The start page as a file, on a narrow screen."""
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("needs Chromium on the path")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 390, "height": 800})
        opened.goto((site / "index.html").as_uri())
        yield opened
        browser.close()


def test_the_pages_are_built_without_a_warning_and_load_nothing_from_elsewhere(site: Path) -> None:
    loaded = [
        address
        for page in site.rglob("*.html")
        for address in re.findall(
            r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"?(https?://[^\s\">]+)", page.read_text()
        )
    ]
    assert not loaded
    assert (site / "api" / "guidance.html").is_file()


def test_a_page_opened_from_the_disk_is_searched(page: Any) -> None:
    page.locator("label[for=__search]").first.click()
    page.locator("input.md-search__input").press_sequentially("Holm")
    found = page.locator(".md-search-result__link").first
    found.wait_for()
    assert "holm" in found.inner_text().lower()
    assert Path(urlsplit(found.get_attribute("href")).path).is_file()


@pytest.mark.parametrize("name", ["commands", "compare", "score", "cdm_results", "metrics/rouge_l"])
def test_commands_and_tables_scroll_on_a_narrow_screen(page: Any, site: Path, name: str) -> None:
    page.goto((site / f"{name}.html").as_uri())
    page.locator("article table").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(NARROW) == []
