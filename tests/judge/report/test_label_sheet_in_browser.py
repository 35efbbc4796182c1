"""The page on which people label, in Chromium: keys, what it keeps, and the table it saves."""

import csv
import shutil
from pathlib import Path

import pytest

from core.example import Example
from judge.label_sheets import make_rows, write_page

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
HOSTILE = "</script><script>document.title = 'broken in'</script>"


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the path")
def test_labels_by_keyboard(tmp_path: Path) -> None:
    rows = make_rows([Example(f"q{i}", f"Text {i} {HOSTILE}", context="Why?") for i in range(6)], seed=0)
    path = tmp_path / "sheet.html"
    write_page(rows, path, question="Is it right?", choices=["no", "rather, no", "yes"])
    errors: list[str] = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.as_uri())
        assert page.title() == "sheet"
        assert page.locator(".part.text").inner_text().startswith("Text 0 </script>")
        for key in "31":
            page.keyboard.press(key)
        assert page.inner_text("#count") == "text 3 of 6, 2 labelled"
        page.keyboard.press("4")  # there are three choices
        page.keyboard.press("ArrowRight")
        page.keyboard.press("2")
        page.keyboard.press("n")
        assert page.inner_text("#count") == "text 3 of 6, 3 labelled"
        page.keyboard.press("ArrowLeft")
        assert page.locator("[aria-pressed=true]").inner_text().startswith("no")
        page.keyboard.press("0")
        page.reload()
        assert page.inner_text("#count") == "text 2 of 6, 2 labelled"
        page.fill("#person", "Ann 1")  # digits in a name are no labels
        page.get_by_role("button", name="yes").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Save").click()
        saved = tmp_path / download.value.suggested_filename
        download.value.save_as(saved)
        browser.close()
    assert errors == []
    assert saved.name == "sheet_Ann_1_labels.csv"
    with saved.open(newline="") as file:
        found = [*csv.reader(file)]
    assert found[0] == ["item", "annotator", "label"]
    assert [line[2] for line in found[1:]] == ["yes", "yes", "rather, no"]
    assert [line[0] for line in found[1:]] == [rows[i].item for i in (0, 1, 3)]
