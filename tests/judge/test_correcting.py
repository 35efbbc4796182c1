"""Rankings corrected for a judge that favours one system, by labels of some pairs and for lengths."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge
from core.errors import InputError, SettingError
from data.sets.judged_pairs import load_alpaca_eval
from judge.correcting import WINNER
from meta_eval.length_control import CONFOUNDED
from meta_eval.preferences import JUDGE
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


def test_few_labels_correct_a_biased_judge():
    verdicts, people = study()
    found = judge.prefer(verdicts, human_labels=people[::3][:40] + people[1::3][40:80] + people[2::3][80:120])
    systems = found.found.corrections.by_labels[JUDGE]
    assert [each["system"] for each in systems] == ["x", "y", "z"]
    assert systems[2]["rank_by_judge"] == 1
    assert (found.found.corrections.labels, found.found.corrections.pairs) == (120, 900)
    truth = judge.prefer(people).found.ranking.systems
    for each, true in zip(systems, truth, strict=True):
        assert each["corrected"].low < true.win_rate.value < each["corrected"].high
        assert each["strength"].low < true.strength.value < each["strength"].high
        assert each["labels"] == 80
    assert found.found.corrections.notes[0].endswith("corrected with 120 labels, it is x, y, z")
    assert not found.found.corrections.by_length  # all texts are of one length


def test_an_order_that_is_not_known_is_not_told():
    """Four labels have no intervals, so no order is told, and a judge that always ties puts two systems in no order."""
    verdicts, people = study()
    few = judge.prefer(verdicts, human_labels=people[:4])
    assert not few.found.corrections.notes
    assert all(math.isnan(row["strength"].low) for row in few.found.corrections.by_labels[JUDGE])
    pairs = [{"id": f"q{i}", "system_a": "x", "system_b": "y", "winner": "x", "judges": {"j": "tie"}} for i in range(9)]
    assert judge.prefer(pairs).found.corrections.notes == ["as judged, j orders x = y; people's order is x, y"]


def test_labels_may_stand_beside_the_verdicts():
    """Rows without a winner are pairs that only the judge has judged."""
    verdicts, people = study(60)
    rows = [
        row | {"winner": person["winner"] if i < 90 else None, "judges": {"j": row["winner"]}}
        for i, (row, person) in enumerate(zip(verdicts, people, strict=True))
    ]
    found = judge.prefer(rows)
    apart = judge.prefer(verdicts, human_labels=people[:90])
    assert found.found.corrections.by_labels["j"] == apart.found.corrections.by_labels[JUDGE]
    assert sum(each.n for each in found.found.ranking.systems) == 2 * 90


def test_a_number_of_labels_is_drawn():
    people = [row | {"judges": {"j": row["winner"]}} for row in study(60)[1]]
    found = [judge.prefer(people, human_labels=50, seed=seed).found.corrections for seed in (0, 0, 1)]
    assert all(each.labels == 50 for each in found)
    assert found[0] == found[1]
    assert found[0] != found[2]
    with pytest.raises(SettingError, match="from 1 to 180, but is 181"):
        judge.prefer(people, human_labels=181)


def test_very_few_labels_have_no_worth():
    people = [row | {"judges": {"j": row["winner"]}} for row in study(60)[1]]
    rows = next(each.rows for each in judge.prefer(people, human_labels=3).tables if "worth" in each.columns)
    assert np.isnan([row["worth"] for row in rows]).any()


def test_a_label_of_an_unknown_pair_is_refused():
    verdicts, people = study(10)
    with pytest.raises(InputError, match="has no verdict on w and x for the input q0"):
        judge.prefer(verdicts, human_labels=[people[0] | {"system_a": "w", "system_b": "x", "winner": "w"}])


def test_labels_of_unknown_pairs_are_counted_and_named():
    verdicts, people = study(40)
    lost = people[0] | {"id": "q99"}
    found = judge.prefer(verdicts, human_labels=[*people[:100], lost])
    said = "preferences: 100 of 101 labels joined by input and systems to 120 verdicts; without a verdict: y and x"
    assert any(note.startswith(said.replace("preferences", "human_labels", 1)) for note in found.notes)
    assert found.found.corrections.labels == 100


def test_labels_by_the_id_of_a_pair(tmp_path: Path) -> None:
    """Rows of an id and a winner say what rows with inputs and systems say, whatever their order."""
    verdicts, people = study(40)
    named = [{**row, "group": row["id"], "id": f"pair-{i:03}"} for i, row in enumerate(verdicts)]
    labels = [{"id": f"pair-{i:03}", "label": row["winner"]} for i, row in enumerate(people)][:90]
    path = tmp_path / "labels.csv"
    path.write_text("id,label\n" + "".join(f"{row['id']},{row['label']}\n" for row in reversed(labels)))
    right = judge.prefer(verdicts, human_labels=people[:90])
    for given in (labels, path):
        found = judge.prefer(named, human_labels=given)
        assert found.found.corrections == right.found.corrections
    sides = [{"id": f"q{i}", "winner": "b" if i % 3 else "tie"} for i in range(30)] + [{"id": "q77", "winner": "a"}]
    pairs = [{"id": f"q{i}", "system_a": "x", "system_b": "y", "winner": "xy"[i % 2]} for i in range(40)]
    by_input = judge.prefer(pairs, human_labels=sides)
    assert by_input.found.corrections.labels == 30
    assert by_input.found.corrections.by_labels[JUDGE][0]["system"] == "y"
    assert "human_labels: labels without a verdict: q77" in by_input.notes


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([{"winner": "x"}], "labels need the systems .* or a column with the ids of the judged pairs, such as id"),
        (
            [{"id": "q1", "one": "x", "two": "y"}],
            "the labels in human_labels need one column winner, found one and two",
        ),
        ([{"id": "z9", "winner": "x"}], "labels must have ids of judged pairs, but none matches: z9 there and q0, q1"),
        ([{"id": "q1", "winner": "z"}], '"winner" must be "x", "y"'),
    ],
)
def test_labels_of_pairs_that_cannot_be_joined(labels: list[dict[str, Any]], message: str) -> None:
    pairs = [{"id": f"q{i}", "system_a": "x", "system_b": "y", "winner": "xy"[i % 2]} for i in range(40)]
    with pytest.raises((InputError, SettingError), match=message):
        judge.prefer(pairs, human_labels=labels)


def test_a_system_that_is_always_longer_has_no_rank_at_equal_lengths():
    """x is 100 characters longer than y on every input: a sentence stands in place of figures."""
    rows = [
        {"id": f"q{i}", "system_a": "x", "system_b": "y", "winner": "xxy"[i % 3], "length_a": 200, "length_b": 100}
        for i in range(60)
    ]
    found = judge.prefer(rows)
    table = found["At equal lengths"]
    assert [(row["system"], row["n"]) for row in table.rows] == [("x", 60), ("y", 60)]
    assert np.isnan([row["rank"] for row in table.rows]).all()
    assert [*list_reasons([table])] == [f"no controlled, no change and no strength: {CONFOUNDED}"]
    assert not found.found.corrections.notes


def test_length_control_of_alpaca_eval(shared_data):
    found = judge.prefer(load_alpaca_eval(shared_data)[0])
    systems = found.found.corrections.by_length[WINNER]
    assert next(iter(systems)) == "FuseChat-Gemma-2-9B-Instruct"
    table = {row["system"]: (row["rank"], row["rank_as_judged"]) for row in found["At equal lengths"].rows}
    assert list(systems)[2] == "gpt4_1106_preview"
    assert table["gpt4_1106_preview"] == (3, 3)
    assert table["alpaca-7b_concise"][0] < table["alpaca-7b_concise"][1]


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
    found = judge.prefer(verdicts, human_labels=[people[i] for i in at[:90]]).found.corrections
    is_warned = any("the labels are no random sample" in note for note in found.notes)
    assert is_warned == bool(found.unrepresentative) == (chosen != "at random")
    assert any("corrected with" in note and "it is" in note for note in found.notes) == (chosen == "at random")


def test_labels_at_random_are_seldom_called_otherwise() -> None:
    warned = 0
    for seed in range(40):
        verdicts, _ = study(40, seed)
        warned += bool(judge.prefer(verdicts, human_labels=60, seed=seed).found.corrections.unrepresentative)
    assert warned <= 3


def test_a_corrected_order_without_intervals_is_not_told() -> None:
    verdicts, people = study(100)
    found = judge.prefer(verdicts, human_labels=people[:24]).found.corrections
    assert all(math.isnan(row["strength"].low) for row in found.by_labels[JUDGE])
    assert not any("it is" in note for note in found.notes)
