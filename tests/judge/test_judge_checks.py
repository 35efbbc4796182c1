"""Checks of judges in judge.agree: side by side, the gate, one verdict."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import judge
from core.errors import SettingError
from core.example import Example
from meta_eval.estimates import Estimate
from meta_eval.labels import PEOPLE, SingleAgreement
from report.agreement_tables import describe_enough
from report.study import Study
from report.tables import Table

OF_TWO: dict[str, Any] = {"judges": ["judge_good", "judge_mild"]}


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


def find_table(study: Study, title: str) -> Table:
    return next(table for table in study.tables if table.title == title)


@pytest.fixture(scope="module")
def study() -> Study:
    return judge.agree(draw_rows(), **OF_TWO)


def test_judges_side_by_side(study: Study) -> None:
    (row,) = find_table(study, "Judges side by side").rows
    assert (row["judge_a"], row["judge_b"], row["n"]) == ("judge_good", "judge_mild", 240)
    assert row["p_harshness"] < 0.01
    assert row["harshness"].low > 0
    assert "length_effect" not in row
    assert "milder" in study.answer or "harsher" in study.answer


def test_the_gate() -> None:
    rows = draw_rows()
    kept = judge.agree(rows, fail_if="kappa < 0.3", **OF_TWO)
    assert kept.findings == []
    assert not kept.findings
    conditions = ["harshness > 0.1", "accuracy drop > 0.02"]
    failed = judge.agree(rows, fail_if=conditions, baseline="judge_good", **OF_TWO)
    assert sum("shown to lie" in note for note in failed.notes) == 3  # a drop is none of the baseline's own
    assert any("human by judge_mild: harshness is shown to lie above 0.1" in each for each in failed.findings)
    assert "is shown to lie" in failed.findings[0]
    assert not any("judge_good: harshness" in each for each in failed.findings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"fail_if": "kappa drop > 0.1"}, "a drop needs another judge as its baseline"),
        ({"fail_if": "kappa drop > 0.1", "baseline": "nobody"}, "nobody is not a setting of baseline"),
    ],
)
def test_wrong_gates(settings: dict, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        judge.agree(draw_rows(), **settings, **OF_TWO)


def test_a_wrong_gate_is_found_before_anything_is_scored() -> None:
    def score(examples: Sequence[Example]) -> list[float]:
        pytest.fail("the gate is wrong")

    rows = [{**row, "text": row["id"]} for row in draw_rows()]
    with pytest.raises(SettingError, match="fail_if must be conditions"):
        judge.agree(rows, score, fail_if="kapa < 1")


def test_a_gate_needs_labels() -> None:
    rows = [{"text": f"text {i}", "ratings": {"q": i / 7}, "scores": {"m": i % 5}} for i in range(40)]
    with pytest.raises(SettingError, match="no scores are labels that people gave"):
        judge.agree(rows, fail_if="kappa < 0.5", cues=False)


def test_several_people_and_one_verdict() -> None:
    study = judge.agree(draw_rows(people=3), people="rater_0,rater_1,rater_2", **OF_TWO)
    rows = find_table(study, "Agreement on labels").rows
    assert [row["judge"] for row in rows] == ["judge_good", "judge_mild", "always 0 (a constant)", PEOPLE]
    assert not any("people agree with each other" in note for note in study.notes)  # in the answer alone
    verdicts = study.answer.split("people agree with each other")[1]
    assert (verdicts.count("judge_good ("), verdicts.count("judge_mild (")) == (1, 1)


def test_a_judge_a_little_below_people_can_stand_in() -> None:
    """Shown to be below people, and by less than .1. Another judge is shown to be more than .1 below them."""
    kappa = Estimate(0.8, 0.75, 0.85)
    people = SingleAgreement(
        name=PEOPLE,
        n=900,
        accuracy=Estimate(0.9, 0.85, 0.95),
        kappa=kappa,
        beside_people=Estimate.undefined("people"),
    )
    near = replace(people, name="near", beside_people=Estimate(-0.03, -0.05, -0.01))
    far = replace(people, name="far", beside_people=Estimate(-0.2, -0.25, -0.15))
    said = describe_enough([people, near, far], ["near", "far"])
    assert "near (0.800) can stand in for a person here, far (0.800) cannot replace a person here" in said
