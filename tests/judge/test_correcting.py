"""Rankings corrected for a judge that favours one system, by labels of some pairs and for lengths."""

import math
from typing import Any

import numpy as np
import pytest

import judge
from core.errors import InputError
from meta_eval.length_control import CONFOUNDED
from meta_eval.preferences import JUDGE
from report.study import Study
from report.tables import list_reasons

PAIRS = [("x", "y"), ("y", "z"), ("z", "x")]


def study(inputs: int = 300, seed: int = 0) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Verdicts of a judge that takes z for the best system, and people's, who prefer x to y and y to z in .7."""
    rng, verdicts, people = np.random.default_rng(seed), [], []
    order = "xyz"
    for i in range(inputs):
        for a, b in PAIRS:
            better, worse = sorted((a, b), key=order.index)
            wins = better if rng.random() < 0.7 else worse
            said = "z" if "z" in (a, b) and rng.random() < 0.6 else wins
            pair = {"id": f"q{i}", "system_a": a, "system_b": b}
            verdicts.append(pair | {"winner": said, "length_a": len(a), "length_b": 1})
            people.append({"id": f"q{i}", "system_a": b, "system_b": a, "winner": wins})
    return verdicts, people


def count_labels(found: Study) -> int:
    """The labels of x by the first judge."""
    return next(row["labels"] for row in found["Systems by judges and by people"].rows if row["system"] == "x")


def test_few_labels_correct_a_biased_judge():
    verdicts, people = study()
    found = judge.prefer(verdicts, human_labels=people[::3][:40] + people[1::3][40:80] + people[2::3][80:120])
    systems = found.found.corrected[JUDGE]
    assert [each["system"] for each in systems] == ["x", "y", "z"]
    assert max(systems, key=lambda row: row["by_judge"].value)["system"] == "z"
    truth = judge.prefer(people).found.ranking.systems
    for each, true in zip(systems, truth, strict=True):
        assert each["corrected"].low < true.win_rate.value < each["corrected"].high
        assert each["labels"] == 80
    assert not any(found.found.by_length.values())  # all texts are of one length


def test_labels_may_stand_beside_the_verdicts():
    """Rows without a winner are pairs that only the judge has judged."""
    verdicts, people = study(60)
    rows = [
        row | {"winner": person["winner"] if i < 90 else None, "judges": {"j": row["winner"]}}
        for i, (row, person) in enumerate(zip(verdicts, people, strict=True))
    ]
    found = judge.prefer(rows)
    apart = judge.prefer(verdicts, human_labels=people[:90])
    assert found.found.corrected["j"] == apart.found.corrected[JUDGE]
    assert sum(each.n for each in found.found.ranking.systems) == 2 * 90


def test_very_few_labels_have_no_worth_and_no_interval():
    verdicts, people = study(60)
    rows = judge.prefer(verdicts, human_labels=people[:3])["Systems by judges and by people"].rows
    assert np.isnan([row["worth"] for row in rows]).any()
    assert all(math.isnan(row["corrected"].low) for row in rows)


def test_a_label_of_an_unknown_pair_is_refused():
    verdicts, people = study(10)
    with pytest.raises(InputError, match="has no verdict on w and x for the input q0"):
        judge.prefer(verdicts, human_labels=[people[0] | {"system_a": "w", "system_b": "x", "winner": "w"}])


def test_labels_without_systems_are_refused() -> None:
    pairs = [{"id": f"q{i}", "system_a": "x", "system_b": "y", "winner": "xy"[i % 2]} for i in range(40)]
    with pytest.raises(InputError, match="system_a"):
        judge.prefer(pairs, human_labels=[{"id": "q1", "winner": "x"}])


def test_a_system_that_is_always_longer_has_no_rank_at_equal_lengths():
    """x is 100 characters longer than y on every input: a sentence stands in place of figures."""
    rows = [
        {"id": f"q{i}", "system_a": "x", "system_b": "y", "winner": "xxy"[i % 3], "length_a": 200, "length_b": 100}
        for i in range(60)
    ]
    found = judge.prefer(rows)
    table = found["At equal lengths"]
    assert [(row["system"], row["n"]) for row in table.rows] == [("x", 60), ("y", 60)]
    assert [*list_reasons([table])] == [f"no controlled: {CONFOUNDED}"]
    turned = [{**row, "system_a": "y", "system_b": "x", "winner": "xxy"[i % 3]} for i, row in enumerate(rows)]
    assert [row["system"] for row in judge.prefer(turned)["At equal lengths"].rows] == ["x", "y"]


@pytest.mark.parametrize("chosen", ["at random", "where the judge said a", "of one pair of systems"])
def test_labels_that_are_visibly_no_random_sample_are_a_warning(chosen: str) -> None:
    """The judge favours z; with such labels the corrected order was wrong in all of 100 studies, without a word."""
    verdicts, people = study(100)
    rng = np.random.default_rng(1)
    at = rng.permutation(300)
    if chosen == "where the judge said a":
        at = [i for i in at if verdicts[i]["winner"] == verdicts[i]["system_a"]]
    elif chosen == "of one pair of systems":
        at = [i for i in at if i % 3 == 0]
    found = judge.prefer(verdicts, human_labels=[people[i] for i in at[:90]])
    is_warned = any("the labels are no random sample" in note for note in found.notes)
    assert is_warned == bool(found.found.unrepresentative[JUDGE]) == (chosen != "at random")
