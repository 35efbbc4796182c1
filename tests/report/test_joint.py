"""The joint table of a sweep, from the run folders of its jobs."""

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
from meta_eval.design import Floats, lay_out
from meta_eval.grouping import difference
from meta_eval.scored_set import ScoredSet
from report import results
from report.agreement_tables import tabulate_agreement
from report.joint import Job, join_jobs
from report.tables import list_reasons

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


COMMAND = ["python", "experiments/run.py", "-m", "model.gamma=0, 1"]


def test_a_row_has_the_settings_that_vary_the_correlation_and_the_paired_difference(jobs: list[Job]) -> None:
    joint = join_jobs(jobs, COMMAND)
    (table,) = filter(lambda table: table.rows, joint.tables)
    assert table.title == "2 jobs"
    first, second, *same = table.rows
    named = {"set": "toys", "aspect": "quality", "metric": "cdm", "n": N}
    assert {name: first[name] for name in ("gamma", *named)} == {"gamma": "0", **named}
    assert "difference" not in first
    recorded = [row["spearman"] for job in jobs for row in job.results["table"] if row["metric"] == "cdm"]
    assert [row["spearman"].value for row in (first, second)] == recorded
    groups = [example.group for example in EXAMPLES]
    expected = difference(draw(10.0), draw(60.0), RATINGS, lay_out(N, inputs=groups))
    found = second["difference"]
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=0.06
    )
    assert expected.low > 0
    assert [row["metric"] for row in same] == ["count", "count"]
    assert joint.notes == ["again: python experiments/run.py -m 'model.gamma=0, 1'"]


@pytest.mark.parametrize("change", [{"text": "another"}, {"group": "another"}, {"ratings": {"quality": 99.0}}])
def test_jobs_with_other_texts_have_no_differences_and_it_is_said(
    jobs: list[Job], tmp_path: Path, change: dict[str, Any]
) -> None:
    changed = (replace(EXAMPLES[0], **change), *EXAMPLES[1:])
    write_run(tmp_path / "2", {"count": np.ones(N), "cdm": draw(5.0)}, changed)
    third = Job.read(tmp_path / "2", {**jobs[0].settings, "model.negatives.sampling.gamma": "2"})
    table = join_jobs([*jobs, third], COMMAND).tables[0]
    assert [(row["gamma"], row["metric"]) for row in table.rows[:3]] == [("0", "cdm"), ("1", "cdm"), ("2", "cdm")]
    assert "no difference: the first job has other texts or ratings" in list_reasons([table])


def as_job(table: dict[str, float], **settings: str) -> Job:
    place = {"set": "s", "aspect": "a"}
    rows = [
        {"metric": m, **place, "spearman": v, "spearman_interval": [v, v], "table": "agreement"}
        for m, v in table.items()
    ]
    other = {"metric": "cdm", **place, "spearman": 9.0, "table": "Correlation of systems"}
    return Job(settings, {"table": [other, *rows], "figures": {"loss": 2.0}}, [])


def test_seeds_have_a_mean_and_a_spread() -> None:
    values = {"0": 0.25, "1": 0.5, "2": 0.75}
    by_seed = [as_job({"low": 0.0, "high": value, "none": np.nan}, seed=seed) for seed, value in values.items()]
    place = {"set": "s", "aspect": "a"}
    assert join_jobs(by_seed, COMMAND).tables[1].rows == [
        {**place, "metric": "low", "seeds": 3, "mean": 0.0, "spread": 0.0},
        {**place, "metric": "high", "seeds": 3, "mean": 0.5, "spread": 0.25},
    ]
    figures = [Job({"seed": seed}, {"figures": {"loss": float(seed), "auc": 1.0}}, []) for seed in ("0", "2")]
    found = join_jobs(figures, COMMAND).tables[1].rows
    assert [(row["metric"], row["mean"]) for row in found] == [("loss", 1.0), ("auc", 1.0)]


def test_without_ratings_a_job_has_its_first_row_with_estimates_or_else_its_figures() -> None:
    first = {"table": "t", "ur": 0.6, "ur_interval": [0.5, 0.7], "perplexity": 9.0, "perplexity_interval": [8.0, 10.0]}
    found = [
        {"table": [{"table": "t", "texts": "human"}, first, {**first, "ur": 0.1}]},
        {"table": [{**first, "ur": 0.8, "ur_interval": [None, None]}], "figures": {"n": 1}},
        {"table": [], "figures": {"loss": 2.0}},
    ]
    jobs = [Job({"alpha": alpha}, each, []) for alpha, each in zip("128", found, strict=True)]
    rows = join_jobs(jobs, COMMAND).tables[0].rows
    shown = [(row["alpha"], row["metric"], row["value"].value) for row in rows]
    assert shown == [
        ("1", "ur", 0.6),
        ("2", "ur", 0.8),
        ("1", "perplexity", 9),
        ("2", "perplexity", 9),
        ("8", "loss", 2),
    ]
