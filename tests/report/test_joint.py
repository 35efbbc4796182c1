"""The joint table of a sweep, from the run folders of its jobs."""

import csv
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.example import Example
from core.scores import Scores
from experiments.contracts import Study
from meta_eval.agreement import list_agreement
from meta_eval.design import Floats
from meta_eval.estimates import Estimate
from meta_eval.grouping import difference
from meta_eval.scored_set import ScoredSet
from report import results
from report.agreement_tables import tabulate_agreement
from report.joint import Job, average_seeds, join_jobs, list_rows, pivot, split_columns
from report.tables import Table

N = 60
RATINGS = np.arange(N, dtype=float)
EXAMPLES = tuple(
    Example(f"t{i}\u2028", f"text {i}", group=f"input {i // 2}", ratings={"quality": RATINGS[i]}) for i in range(N)
)


def write_run(folder: Path, values: Mapping[str, Floats], examples: tuple[Example, ...] = EXAMPLES) -> None:
    """The run folder of a job whose metrics gave these scores."""
    scores = {name: Scores({"score": np.array(column)}, name) for name, column in values.items()}
    scored = ScoredSet("toys", examples, scores)
    outcome = Study(tables=[tabulate_agreement(list_agreement(scored, has_cues=False))], scored=[scored])
    folder.mkdir()
    results.write_scores(outcome, folder)
    about = {"timings": {}, "seconds": 1.0}
    results.write_json(results.results(outcome, about), folder / "results.json")


def draw(spread: float) -> Floats:
    """Scores that agree with the ratings the less, the larger the spread."""
    return RATINGS + np.random.default_rng(0).normal(scale=spread, size=N)


@pytest.fixture
def jobs(tmp_path: Path) -> list[Job]:
    """Two jobs of a sweep of gamma; `count` scores the same in both, `cdm` agrees better in the second one."""
    found = []
    for number, (gamma, spread) in enumerate({"0": 60.0, "1": 10.0}.items()):
        write_run(tmp_path / str(number), {"count": np.ones(N), "cdm": draw(spread)})
        settings = {"exp": "toy", "model.negatives.sampling.gamma": gamma, "outputs": str(tmp_path)}
        found.append(Job.read(tmp_path / str(number), settings))
    return found


def test_the_joint_table_has_a_row_for_each_job_and_a_column_for_each_metric_that_varies(jobs: list[Job]) -> None:
    agreement, _ = join_jobs(jobs).tables
    assert agreement.title == "Agreement of 2 jobs with quality of toys"
    assert [list(row) for row in agreement.rows] == [["gamma", "cdm"]] * 2
    assert [row["gamma"] for row in agreement.rows] == ["0", "1"]
    recorded = [job.results["table"] for job in jobs]
    expected = [row["spearman"] for table in recorded for row in table if row["metric"] == "cdm"]
    assert [row["cdm"].value for row in agreement.rows] == expected
    assert expected[0] < expected[1]


def test_differences_are_paired_by_inputs(jobs: list[Job]) -> None:
    _, differences = join_jobs(jobs).tables
    assert differences.title == "Differences from gamma=0"
    groups = [example.group for example in EXAMPLES]
    expected = difference(draw(10.0), draw(60.0), RATINGS, groups=groups)
    row = differences.rows[0]["cdm"]
    assert (row.value, row.low, row.high) == pytest.approx((expected.value, expected.low, expected.high), abs=0.06)
    assert expected.low > 0


def test_what_all_jobs_share_stands_below_the_table(jobs: list[Job]) -> None:
    same, settings = join_jobs(jobs).notes
    assert same == "the same in all jobs: count"
    assert settings == "settings of all jobs: exp=toy"


@pytest.mark.parametrize("change", [{"text": "another"}, {"group": "another"}, {"ratings": {"quality": 99.0}}])
def test_jobs_with_other_texts_have_no_differences_and_it_is_said(
    jobs: list[Job], tmp_path: Path, change: dict[str, Any]
) -> None:
    changed = (replace(EXAMPLES[0], **change), *EXAMPLES[1:])
    write_run(tmp_path / "2", {"count": np.ones(N), "cdm": draw(5.0)}, changed)
    third = Job.read(tmp_path / "2", {**jobs[0].settings, "model.negatives.sampling.gamma": "2"})
    joint = join_jobs([*jobs, third])
    assert [row["gamma"] for row in joint.tables[0].rows] == ["0", "1", "2"]
    assert [row["gamma"] for row in joint.tables[1].rows] == ["1"]
    assert "no differences on toys for gamma=2: the first job has other texts or ratings" in joint.notes


def test_the_table_is_written_as_markdown_csv_and_latex(jobs: list[Job], tmp_path: Path) -> None:
    join_jobs(jobs).write(tmp_path)
    markdown = (tmp_path / "joint.md").read_text("utf-8")
    assert "## Agreement of 2 jobs with quality of toys\n\n| gamma | cdm |\n| --- | --- |\n| 0 | 0." in markdown
    assert "\n\n- the same in all jobs: count" in markdown
    assert f"n = {N}. Higher is better." in markdown
    with (tmp_path / "joint.csv").open(encoding="utf-8") as file:
        first, second = (row for row in csv.DictReader(file) if row["metric"] == "cdm")
    assert (first["difference"], first["model.negatives.sampling.gamma"], first["n"]) == ("", "0", str(N))
    assert float(second["difference"]) == pytest.approx(float(second["value"]) - float(first["value"]))
    latex = (tmp_path / "joint.tex").read_text("utf-8")
    assert latex.count(r"\begin{tabular}{lr}") == 2


def test_columns_that_do_not_fit_stand_in_another_part() -> None:
    row = {"gamma": "0.5", **{f"metric_{i}": Estimate(0.5, 0.25, 0.75) for i in range(5)}}
    parts = [*split_columns(Table("t", "", [row]), 60)]
    assert [part.columns for part in parts] == [
        ["gamma", "metric_0", "metric_1"],
        ["gamma", "metric_2", "metric_3"],
        ["gamma", "metric_4"],
    ]


def as_job(gamma: str, table: dict[str, float | None], **settings: str) -> Job:
    place = {"set": "s", "aspect": "a"}
    rows = [
        {"metric": m, **place, "spearman": v, "spearman_interval": [v, v], "table": "agreement"}
        for m, v in table.items()
    ]
    other = {"metric": "cdm", **place, "spearman": 9.0, "table": "Correlation of systems"}
    found = json.loads(json.dumps({"table": [other, *rows], "figures": {"loss": 2.0}}))
    return Job({"x.gamma": gamma, **settings}, found, [])


def test_every_metric_is_a_column_and_a_missing_cell_is_empty() -> None:
    found = [as_job("0.5", {"cdm": 0.25, "count": 0.0}), as_job("-1", {"other": 0.5, "count": None})]
    rows, _ = list_rows(found, ["x.gamma"])
    assert Table("", "", pivot(rows, "value", ["x.gamma"])).to_markdown().splitlines() == [
        "| gamma | cdm | count | other |",
        "| --- | --- | --- | --- |",
        "| 0.5 | 0.250 [0.25, 0.25] | 0.000 [0.00, 0.00] |  |",
        "| -1 |  | – | 0.500 [0.50, 0.50] |",
    ]


def test_seeds_have_a_mean_and_a_spread_by_agreement() -> None:
    jobs = [
        as_job("1", {"low": 0.0, "high": value, "none": None}, seed=seed)
        for seed, value in (("0", 0.25), ("1", 0.5), ("2", 0.75))
    ]
    place = {"set": "s", "aspect": "a"}

    def average(jobs: list[Job], *varied: str) -> list[Any]:
        return average_seeds(list_rows(jobs, varied)[0], varied)

    assert average(jobs, "seed") == [
        {**place, "metric": "high", "seeds": 3, "mean": 0.5, "spread": 0.25},
        {**place, "metric": "low", "seeds": 3, "mean": 0.0, "spread": 0.0},
    ]
    assert average(jobs, "seed", "x.gamma")[0]["x.gamma"] == "1"
    figures = [Job({"seed": seed}, {"figures": {"loss": float(seed), "auc": 1.0}}, []) for seed in ("0", "2")]
    found = average(figures, "seed")
    assert [(row["metric"], row["mean"]) for row in found] == [("loss", 1.0), ("auc", 1.0)]


def test_without_ratings_a_job_has_its_first_row_with_estimates_or_else_its_figures() -> None:
    first = {"table": "t", "ur": 0.6, "ur_interval": [0.5, 0.7], "perplexity": 9.0, "perplexity_interval": [8.0, 10.0]}
    found = [
        {"table": [{"table": "t", "texts": "human"}, first, {**first, "ur": 0.1}]},
        {"table": [{**first, "ur": 0.8, "ur_interval": [None, None]}], "figures": {"n": 1}},
        {"table": [], "figures": {"loss": 2.0}},
    ]
    jobs = [Job({"alpha": alpha}, each, []) for alpha, each in zip("128", found, strict=True)]
    rows = pivot(list_rows(jobs, ["alpha"])[0], "value", ["alpha"])
    shown = [(row["alpha"], row["perplexity"].value, row["ur"].value) for row in rows[:2]]
    assert shown == [("1", 9, 0.6), ("2", 9, 0.8)]
    assert [list(row) for row in rows] == [["alpha", "ur", "perplexity"]] * 2 + [["alpha", "loss"]]
    (table,) = join_jobs(jobs[:2]).tables
    assert (table.title, [*table.rows[0]]) == ("2 jobs", ["alpha", "ur"])
