"""The pages show the figures that docs/results keeps, and these follow from the kept scores."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import spearmanr

from ctrl_eval.released import FIGURES
from docs.results import tables

FIGURE = re.compile(r"(?<![\d.])-?(?:\.\d\d|1\.00) \[[^\]]+\]")
OF_PAPERS = ("README", "cdm", "ctrl_eval", "mars", "oumg", "evidence", "pretrained", "differences")
SETS = sorted({row["set"] for row in tables.read_figures().values()})


def name_page(page: Path) -> str:
    return str(page.relative_to(tables.ROOT))


@pytest.mark.parametrize("page", tables.PAGES, ids=name_page)
def test_the_tables_of_a_page_have_the_kept_figures(page: Path) -> None:
    text = page.read_text("utf-8")
    assert tables.fill_page(text, tables.read_figures()) == text


def test_a_figure_that_is_changed_by_hand_is_found() -> None:
    text = (tables.ROOT / "docs/cdm.md").read_text("utf-8")
    assert text.count("| .60 [.47, .70] |") == 1
    changed = text.replace("| .60 [.47, .70] |", "| .61 [.47, .70] |")
    assert tables.fill_page(changed, tables.read_figures()) == text


@pytest.mark.parametrize(
    ("over", "within", "verdict"),
    [
        ([0.3, 0.1, 0.5], [0.2, 0.1, 0.3], "shown"),
        ([0.3, 0.1, 0.5], [None, None, None], "shown"),  # one system
        ([0.3, 0.1, 0.5], [0.2, -0.1, 0.3], "over all texts alone"),
        ([0.3, 0.0, 0.5], [0.2, 0.1, 0.3], "not shown"),
        ([0.3, None, None], [0.2, None, None], "not shown"),
        ([-0.3, -0.5, -0.1], [-0.3, -0.5, -0.1], "reversed"),
        ([-0.3, -0.5, -0.1], [0.2, -0.1, 0.3], "reversed over all texts alone"),
    ],
)
def test_a_verdict_follows_from_both_intervals(over: list[Any], within: list[Any], verdict: str) -> None:
    assert tables.decide({"spearman": over, "within_systems": within}, is_below=False) == verdict


def test_a_claim_of_the_other_sign_is_reversed() -> None:
    row = {"spearman": [0.3, 0.1, 0.5], "within_systems": [0.2, 0.1, 0.3]}
    assert tables.decide(row, is_below=True) == "reversed"


@pytest.mark.parametrize("page", [page for page in tables.PAGES if page.stem in OF_PAPERS], ids=name_page)
def test_a_figure_with_an_interval_in_a_sentence_is_a_kept_one(page: Path) -> None:
    kept = set()
    for row in tables.read_figures().values():
        kept |= {tables.show(row[column]) for column in tables.COLUMNS if column in row}
    sentences = re.sub(r"\s+", " ", re.sub(r"<!-- .*?<!-- end -->", "", page.read_text("utf-8"), flags=re.DOTALL))
    assert {*FIGURE.findall(sentences)} - kept == set()


@pytest.mark.parametrize("name", SETS)
def test_agreement_over_all_texts_follows_from_the_scores(name: str, shared_data: Path) -> None:
    scored = tables.read_scores(name, str(shared_data))
    rows = [row for row in tables.read_figures().values() if row["set"] == name and row["metric"] in scored.scores]
    alone = [row for row in rows if "minus" not in row]
    assert {row["metric"] for row in alone} == set(scored.scores)
    for row in alone:
        rated = scored.rated(row["aspect"])
        rho: Any = spearmanr(rated.values(row["metric"], row["aspect"]), rated.ratings(row["aspect"]))
        assert row["spearman"][0] == pytest.approx(rho.statistic, abs=1e-4)
        assert row["n"] == len(rated)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_all_figures_follow_from_the_scores(name: str, shared_data: Path) -> None:
    kept = [row for row in tables.read_figures().values() if row["set"] == name]
    measured = [*tables.measure(name, str(shared_data))]
    for row, other in zip(kept, json.loads(json.dumps(measured)), strict=True):
        assert row.keys() == other.keys()
        for key, value in row.items():
            assert other[key] == (pytest.approx(value, abs=1e-3) if key in tables.COLUMNS else value)


def test_every_file_of_scores_is_described_and_measured() -> None:
    page = (tables.HERE / "README.md").read_text("utf-8")
    files = {path.stem for path in tables.HERE.glob("*.jsonl")}
    assert files == {*re.findall(r"`([\w-]+)\.jsonl`", page)}
    assert files - set(tables.OTHER) == set(SETS)


@pytest.mark.parametrize("metric", ["fill_in_the_middle", "fill_in_the_middle_1.5b"])
def test_the_texts_that_figures_6_and_7_prefer_are_preferred_here(metric: str) -> None:
    lines = (tables.HERE / "ctrleval_sentiment.jsonl").read_text("utf-8").splitlines()
    scores: dict[str, Any] = {line["id"]: line["scores"] for line in map(json.loads, lines)}
    printed = [figure for figure in FIGURES if figure.metric == "ctrleval"]
    for first, second in zip(printed[::2], printed[1::2], strict=True):
        ours = [scores[figure.text][metric][figure.aspect] for figure in (first, second)]
        assert (ours[0] > ours[1]) == (first.value > second.value)
