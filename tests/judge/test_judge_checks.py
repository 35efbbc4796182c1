"""Checks of judges in judge.agree: side by side, where people are split, slices, the gate, one verdict."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import judge
from core.errors import FindingError, SettingError
from core.example import Example
from judge.metric_study import MetricStudy
from judge.tables import Table

FEW: dict[str, Any] = {"resamples": 60, "permutations": 99}


def draw_rows(n: int = 240, people: int = 0) -> list[dict]:
    """A good judge, a mild one, and a topic in which the good one guesses."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n):
        truth = int(rng.random() < 0.5)
        topic = "abc"[i % 3]
        good = truth if rng.random() < (0.55 if topic == "c" else 0.97) else 1 - truth
        mild = 1 if rng.random() < 0.4 else truth
        row = {"id": f"q{i}", "topic": topic, "judge_good": good, "judge_mild": mild}
        if people:
            row |= {f"rater_{k}": truth if rng.random() < 0.9 else 1 - truth for k in range(people)}
        else:
            row |= {"human": truth}
        rows.append(row)
    return rows


def find_table(study: MetricStudy, title: str) -> Table:
    return next(table for table in study.tables if table.title == title)


@pytest.fixture(scope="module")
def study() -> MetricStudy:
    return judge.agree(draw_rows(), by="topic", **FEW)


def test_judges_side_by_side(study: MetricStudy) -> None:
    (row,) = find_table(study, "Judges side by side").rows
    assert (row["judge_a"], row["judge_b"], row["n"]) == ("judge_good", "judge_mild", 240)
    assert row["p_harshness"] < 0.01
    assert row["harshness"].low > 0
    assert "length_effect" not in row
    good, mild = (np.array([each[name] for each in draw_rows()]) for name in ("judge_good", "judge_mild"))
    truth = np.array([each["human"] for each in draw_rows()])
    assert row["only_a_right"] == int(((good == truth) & (mild != truth)).sum())
    assert (row["b_milder"], row["b_harsher"]) == (int((mild > good).sum()), int((mild < good).sum()))
    (note,) = (note for note in study.notes if "judge_mild beside judge_good: " in note)
    assert note.startswith("human: judge_mild beside judge_good: milder by 0.")
    assert "milder" in study.notes[-1] or "harsher" in study.notes[-1]


def test_a_constant_stands_beside_the_judges(study: MetricStudy) -> None:
    *_, constant = find_table(study, "Agreement on labels").rows
    truth = np.array([each["human"] for each in draw_rows()])
    assert constant["judge"] == f"always {int(truth.mean() > 0.5)} (a constant)"
    assert constant["accuracy"].value == pytest.approx(max(truth.mean(), 1 - truth.mean()))
    assert constant["kappa"] == 0


def test_slices(study: MetricStudy) -> None:
    rows = find_table(study, "By topic").rows
    assert [(row["judge"], row["topic"]) for row in rows] == [
        (name, topic) for name in ("judge_good", "judge_mild") for topic in "abc"
    ]
    by_key = {(row["judge"], row["topic"]): row for row in rows}
    assert by_key["judge_good", "c"]["p_kappa"] < 0.01
    assert by_key["judge_mild", "c"]["p_kappa"] > 0.05
    assert any(note.startswith("human: judge_good differs on c: kappa ") for note in study.notes)
    with pytest.raises(SettingError, match="by must be a column of the texts, but theme is none of id, topic"):
        judge.agree(draw_rows(), by="theme", **FEW)
    small = judge.agree(
        [{**row, "topic": "rare" if i < 9 else "x"} for i, row in enumerate(draw_rows())], by="topic", **FEW
    )
    assert any("judge_good: rare is too small to tell" in note for note in small.notes)


def test_the_gate() -> None:
    rows = draw_rows()
    kept = judge.agree(rows, fail_if="kappa < 0.3", **FEW)
    assert kept.findings == []
    kept.raise_findings()
    conditions = ["harshness > 0.1", "accuracy drop > 0.02"]
    failed = judge.agree(rows, fail_if=conditions, baseline="judge_good", **FEW)
    assert len(failed.checks.gate) == 3  # a drop is none of the baseline's own
    assert any("harshness of judge_mild is shown to lie above 0.1" in each for each in failed.findings)
    with pytest.raises(FindingError, match="is shown to lie"):
        failed.raise_findings()
    outcomes = {(row["judge"], row["condition"]): row["outcome"] for row in find_table(failed, "Gate").rows}
    assert outcomes["judge_good", "harshness > 0.1"] == "kept"
    assert outcomes["judge_mild", "harshness > 0.1"] == "failed"
    assert all("the data could have shown" in each.describe() for each in failed.checks.gate)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"fail_if": "kappa drop > 0.1"}, "a drop needs another judge as its baseline"),
        ({"fail_if": "kappa drop > 0.1", "baseline": "nobody"}, "nobody is not a setting of baseline"),
        ({"fail_if": "kapa < 1"}, "fail_if must be conditions"),
    ],
)
def test_wrong_gates(settings: dict, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        judge.agree(draw_rows(), **settings, **FEW)


def test_a_wrong_gate_is_found_before_anything_is_scored() -> None:
    def score(examples: Sequence[Example]) -> list[float]:
        pytest.fail("the gate is wrong")

    rows = [{**row, "text": row["id"]} for row in draw_rows()]
    with pytest.raises(SettingError, match="fail_if must be conditions"):
        judge.agree(rows, score, fail_if="kapa < 1", **FEW)


def test_a_gate_needs_labels() -> None:
    rows = [{"text": f"text {i}", "ratings": {"q": i / 7}, "scores": {"m": i % 5}} for i in range(40)]
    with pytest.raises(SettingError, match="no scores are labels that people gave"):
        judge.agree(rows, fail_if="kappa < 0.5", cues=False, **FEW)


def test_where_people_are_split_and_one_verdict() -> None:
    study = judge.agree(draw_rows(people=3), **FEW)
    unity = find_table(study, "Accuracy by how united people are").rows
    assert [(row["judge"], row["people"]) for row in unity] == [
        (name, people) for name in ("judge_good", "judge_mild") for people in ("3 of 3", "2 of 3")
    ]
    by_key = {(row["judge"], row["people"]): row["accuracy"].value for row in unity}
    assert by_key["judge_mild", "3 of 3"] > by_key["judge_mild", "2 of 3"]
    disagreements = [row["united"] for row in find_table(study, "Disagreements").rows if row["judge"] == "judge_mild"]
    assert disagreements == sorted(disagreements, reverse=True)
    tests = find_table(study, "Alternative annotator test").rows
    assert [row["judge"] for row in tests] == ["judge_good", "judge_mild"]
    assert all(row["people"] == 3 and 0 <= row["winning_rate"] <= 1 for row in tests)
    verdicts = ("can stand in", "cannot replace", "cannot be told", "cannot be held against")
    for note in (note for note in study.notes[:-1] if "people agree with each other" in note):
        assert sum(verdict in note for verdict in verdicts) == 1


def test_a_judge_that_fails_the_test_cannot_stand_in() -> None:
    """The kappas of this judge may be as people's, but it is not as good as most people: it gets no leave."""
    rng = np.random.default_rng(3)
    rows = []
    for i in range(400):
        truth = int(rng.random() < 0.5)
        people = {f"rater_{k}": truth if rng.random() < 0.75 else 1 - truth for k in range(3)}
        rows.append({"id": f"q{i}", "llm": truth if rng.random() < 0.95 else 1 - truth, **people})
    study = judge.agree(rows, **FEW)
    ((_, test),) = study.labels.alternatives.items()
    assert test.passes
    assert "can stand in for a person here" in study.notes[-1]


def test_a_study_of_metrics_has_no_checks() -> None:
    rows = [{"text": f"text {i}", "ratings": {"q": i / 7}, "scores": {"m": i % 5}} for i in range(40)]
    study = judge.agree(rows, cues=False, **FEW)
    titles = [table.title for table in study.tables]
    assert not {"Judges side by side", "Gate", "Accuracy by how united people are"} & {*titles}
    study.raise_findings()
