"""judge.agree with ratings that are labels: tables by hand, people among themselves, and what is no judge."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import judge
from core.errors import InputError, SettingError
from core.scores import Scores
from meta_eval.design import lay_out
from meta_eval.helped import help_mean
from report.study import Study
from report.tables import Table

YES_NO = [(True, 1)] * 20 + [(True, 0)] * 5 + [(False, 1)] * 10 + [(False, 0)] * 15
LABELS = "Agreement on labels"


def agree(pairs: list[tuple[Any, Any]], **settings: Any) -> tuple[Study, dict[str, Table]]:
    """A study of the ratings q and the scores j, and its tables of labels."""
    rows = [{"text": f"text {i}", "ratings": {"q": q}, "scores": {"j": j}} for i, (q, j) in enumerate(pairs)]
    found = judge.agree(rows, cues=False, **settings)
    return found, {table.title: table for table in found.filled}


def test_two_labels_by_hand() -> None:
    found, tables = agree(YES_NO)
    row, constant = tables[LABELS].rows
    assert (constant["judge"], constant["kappa"]) == ("always 0 (a constant)", 0)
    assert (row["n"], row["accuracy"].value, row["kappa"].value) == (50, 0.7, pytest.approx(0.4))
    assert row["harshness"].value == pytest.approx(0.1)
    assert [*tables] == ["Agreement with ratings", LABELS]
    assert "with_people" not in row
    assert any("q: j is better than chance (kappa 0.400 [" in note and ", p 0.0" in note for note in found.notes)


@pytest.mark.parametrize(
    ("ratings", "scores", "settings", "labels"),
    [
        ([1, 2, 3, 4], [1.2, 2.9, 3.1, 4], {}, 4),
        ([2, 3, 3, 4], [1, 3, 3, 5], {}, 5),  # the judge alone gives 1 and 5
        ([1.5, 2, 3, 4], [1, 2, 3, 4], {}, 0),
        ([0, 1, 0, 1], [3, 9, 4, 8], {}, 0),  # such as numbers of words
        ([0, 50, 0, 100], [10, 60, 0, 90], {"levels": {"q": [0, 50, 100]}}, 3),
        ([0, 1, 0, 1], [0, 1, 1, 1], {"levels": {}}, 0),
        ([0, 1, 0, 1], [0.1, 0.8, 0.4, 1], {}, 2),  # probabilities of yes
        ([0, 2, 3, 4], [0.1, 0.8, 0.4, 1], {}, 0),  # shares, such as ROUGE's
        ([0, 2, 3, 4], [0, 1, 0, 1], {}, 5),  # a harsh judge
    ],
)
def test_what_is_a_label(ratings: list[float], scores: list[float], settings: dict[str, Any], labels: int) -> None:
    judged = agree(list(zip(ratings, scores, strict=True)) * 10, **settings)[0].found.judged
    assert [len(aspect.labelled.labels) for aspect in judged] == ([labels] if labels else [])


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"levels": {"q": [0, 2]}}, "levels of .q. must hold every level, but lack true"),
        ({"levels": {"other": [0, 1]}}, "levels"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], fault: str) -> None:
    with pytest.raises((SettingError, InputError), match=fault):
        agree(YES_NO, **settings)


def test_a_judge_of_an_aspect_is_compared_with_this_one() -> None:
    rows = [{"text": f"text {i}", "ratings": {"q": i % 2, "r": i // 2 % 2}} for i in range(40)]
    own = Scores({name: np.array([row["ratings"][name] for row in rows]) for name in "qr"}, "own")
    scored = judge.read(rows, scores={"own": own, "j": [1, 0] * 20})
    found = judge.agree(scored, cues=False)
    kappas = {
        (aspect.name, name): each.kappa.value
        for aspect in found.found.judged
        for name, each in aspect.agreement.items()
    }
    assert kappas == {("q", "own/q"): 1, ("q", "j"): -1, ("r", "own/r"): 1, ("r", "j"): 0}


@pytest.mark.parametrize("systems", [("a",), ("a", "b")])
def test_the_rate_of_one_system_is_corrected_by_some_labels(systems: Sequence[str]) -> None:
    """People say yes to 3 of 5 texts, the judge to 4: it never sees a fault on every fifth. 100 of 500 are labelled."""
    rows = [
        {"text": f"t{i}", "system": s, "group": f"q{i}", "scores": {"j": float(i % 5 > 0)}}
        | ({"ratings": {"ok": float(i % 5 > 1)}} if i < 100 else {})
        for s in systems
        for i in range(500)
    ]
    found = judge.agree(rows, cues=False)
    assert [row["system"] for row in found.found.judged[0].corrected] == (["a", "b"] if systems[1:] else ["all"])
    row = found.found.judged[0].corrected[0]
    assert (row["texts"], row["labels"], row["by_judge"].value) == (500, 100, pytest.approx(0.8))
    assert (row["by_people"].value, row["corrected"].value) == (pytest.approx(0.6), pytest.approx(0.6))
    labels = [*([0, 0, 1, 1, 1] * 20), *[math.nan] * 400]
    expected = help_mean(labels, [0, 1, 1, 1, 1] * 100, lay_out(500), is_rate=True).estimate
    shown = row["corrected"]
    assert (shown.value, shown.low, shown.high) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=0.02
    )
    assert row["worth"] > 100


def test_five_labels_are_held_against_people_by_distance() -> None:
    """The judge is one point off half of the time: kappa .4, weighted kappa .9."""
    rows = [
        {"text": f"t{i}", "ratings": {"q": 1 + i % 5}, "scores": {"j": float(min(5, 1 + i % 5 + (i // 5) % 2))}}
        for i in range(200)
    ]
    study = judge.agree(rows, cues=False)
    (agreed,) = study.found.judged[0].agreement.values()
    assert agreed.kappa.value == pytest.approx(0.9, abs=0.05)
    assert f"(weighted kappa {agreed.kappa.value:.3f} [" in study.notes[0]
    assert study.answer.endswith("whether that is enough is unknown: no text has labels of two people.")


def test_labels_where_the_judge_said_yes_are_a_warning() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(300):
        said = float(rng.random() < 0.5)
        rows.append({"text": f"t{i}", "scores": {"j": said}})
        if said and i % 3:
            rows[-1]["ratings"] = {"ok": float(rng.random() < 0.7)}
    notes = judge.agree(rows, cues=False).notes
    said = "ok: the labels are no random sample, so figures corrected with j do not hold: the mean verdict of j is"
    assert any(note.startswith(said) for note in notes)


@pytest.mark.parametrize(("first", "last"), [(0, 1), (1, 5)])
def test_a_judge_whose_lower_labels_are_better_is_reflected_within_the_scale(first: int, last: int) -> None:
    pairs: list[tuple[Any, Any]] = [(first, last), (last, first)] * 15 + [(None, first), (None, last)] * 5
    found, tables = agree(pairs, lower_is_better=["j"], fail_if=["kappa < 0.9"])
    row = tables[LABELS].rows[0]
    assert (row["judge"], row["accuracy"].value, row["kappa"].value) == ("j (negated)", 1, pytest.approx(1))
    assert row["harshness"].value == 0
    assert tables["Mean labels by judges and by people"].rows[0]["by_judge"].value == (first + last) / 2
    assert not found.findings
    assert [*found.found.judged[0].labelled.labels] == [first, last]
