"""The report page as a person uses it, in headless Chromium."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from core.example import Example
from core.scores import Scores
from experiments.contracts import Study, Table
from meta_eval.agreement import Agreement
from meta_eval.estimates import Estimate
from meta_eval.scored_set import ScoredSet
from report.agreement_tables import tabulate_agreement
from report.page import write_report
from report.results import results, write_plots

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
HOSTILE = "<script>document.title = 'broken in'</script>"


def make_outcome() -> Study:
    estimates = [Estimate(value, value - 0.1, value + 0.1) for value in (0.5, -0.2, 0.9)]
    rows = [Agreement(f"m{i}", "toys", "q", 9, e, e, e, e, 0, 0, False) for i, e in enumerate(estimates)]
    table = Table(
        "Wide",
        f"A caption. {'signature|' * 40}",
        [{"name": HOSTILE, **{f"column_{i}": i * k for i in range(30)}} for k in (2, 10, 1)],
    )
    examples = tuple(Example(str(i), HOSTILE, ratings={"q": float(i)}) for i in range(4))
    turns = [{"turn": 0, "momentum": 1.0, "tokens": [[HOSTILE, 1.0], ["bad", -1.0]]}]
    scores = Scores({"q": np.array([3.0, 2, 1, 0])}, "m", explanations=[{"turns": turns}] * 4)
    scored = ScoredSet("toys", examples, {"m": scores}, synthetic=False)
    return Study(
        tables=[tabulate_agreement(rows), table],
        scored=[scored],
        draw=lambda: {"a_plot": Figure(figsize=(4, 3))},
        notes=[HOSTILE],
        signature="sig",
    )


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    outcome = make_outcome()
    write_plots(outcome, folder)
    run = {"experiment": "toy", "verb": "", "description": "A toy", "seed": 0, "command": ["python"]}
    run |= {"started": "2026-01-02T03:04:05+00:00", "seconds": 5.0, "timings": {"fit": 4.0}}
    write_report(outcome, results(outcome, run), "seed: 0\n", folder)
    return folder / "report.html"


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the path")
def test_a_page_is_sorted_opened_and_asks_nobody(page_file: Path) -> None:
    errors: list[str] = []
    requests: list[str] = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(page_file.as_uri())
        assert page.title().startswith("toy")  # no script of a text has run

        ranked = page.locator("section", has_text="Correlation of scores").first.locator("tbody tr td:first-child")
        assert ranked.all_inner_texts() == ["m2", "m0", "m1"]
        page.get_by_role("button", name="pearson").click()
        page.get_by_role("button", name="pearson").click()
        assert ranked.all_inner_texts() == ["m1", "m0", "m2"]
        page.get_by_role("button", name="column 3", exact=True).click()  # by number: 30, 6, 3 and not 6, 30, 3
        column = page.locator("section", has_text="A caption.").locator("tbody tr td:nth-child(3)")
        assert column.all_inner_texts() == ["30", "6", "3"]

        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390  # wide tables scroll inside their card

        assert page.locator("figure svg").bounding_box()["width"] > 200

        texts = page.locator(".texts")
        assert texts.locator("tbody tr td:first-child").all_inner_texts() == ["0", "1", "2", "3"]
        texts.locator("th button").last.click()  # highest scores first
        texts.locator("th button").last.click()
        assert texts.locator("tbody tr td:first-child").all_inner_texts() == ["3", "2", "1", "0"]
        texts.locator("tbody tr").first.press("Enter")
        assert texts.locator(".opened blockquote").inner_text() == HOSTILE
        assert texts.locator(".opened mark").all_inner_texts() == [HOSTILE, "bad"]
        texts.get_by_role("searchbox").fill("no such")
        assert texts.locator(".pager span").inner_text() == "no such text"

        texts.get_by_role("searchbox").fill("")
        texts.locator("select").select_option(index=1)  # ratings 0 to 3, scores 3 to 0
        assert texts.locator("tbody tr td:first-child").all_inner_texts() == ["0", "3", "1", "2"]
        browser.close()
    assert errors == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
