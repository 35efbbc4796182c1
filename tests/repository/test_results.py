"""The pages show the figures that docs/results keeps, and these follow from the kept scores."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import spearmanr

from ctrl_eval.released import FIGURES
from docs.results import tables

FIGURE = re.compile(r"(?<![\d.])-?(?:\.\d{2,3}|1\.00)(?!\d)(?: \[[^\]]+\])?")
TABLE = re.compile(r"<!-- \w+: .*?<!-- end -->", re.DOTALL)
OF_PAPERS = ("README", "cdm", "ctrl_eval", "mars", "oumg", "evidence", "pretrained", "differences", "tuned")
SETS = sorted({key.partition("/")[0] for key in tables.read_figures()})


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
def test_a_figure_in_a_sentence_is_kept_or_stands_in_a_table_of_the_page(page: Path) -> None:
    text = page.read_text("utf-8")
    in_tables = FIGURE.findall("".join(TABLE.findall(text)))
    known = {*in_tables, *tables.SPEC["printed"].get(page.stem, ())}
    known |= {figure.partition(" ")[0] for figure in in_tables}
    for row in tables.read_figures().values():
        shown = [tables.show(row[column]) for column in tables.COLUMNS if column in row]
        known |= {figure for figure in shown if "[" in figure}
    sentences = re.sub(r"\s+", " ", TABLE.sub("", text))
    assert {*FIGURE.findall(sentences)} - known == set()


@pytest.mark.parametrize("name", SETS)
def test_agreement_over_all_texts_follows_from_the_scores(name: str, shared_data: Path) -> None:
    scored = tables.read_scores(name, str(shared_data))
    for key, row in tables.read_figures().items():
        of_set, aspect, metric = key.split("/", 2)
        if of_set == name and metric in scored.scores:
            rated = scored.rated(aspect)
            rho: Any = spearmanr(rated.values(metric, aspect), rated.ratings(aspect))
            assert row["spearman"][0] == pytest.approx(rho.statistic, abs=1e-4)
            assert row["n"] == len(rated)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_all_figures_follow_from_the_scores(name: str, shared_data: Path) -> None:
    kept = {key: row for key, row in tables.read_figures().items() if key.startswith(f"{name}/")}
    measured = json.loads(json.dumps(dict(tables.measure(name, str(shared_data)))))
    assert measured.keys() == kept.keys()
    for key, row in kept.items():
        for column, value in row.items():
            expected = pytest.approx(value, abs=1e-3) if column in tables.COLUMNS else value
            assert measured[key][column] == expected


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
