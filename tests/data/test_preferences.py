"""Judgements in files: columns and paths, sides and names, one column per winner, repeated and missing judgements."""

from pathlib import Path
from typing import Any

import pytest

import judge
from core.errors import InputError, SettingError
from data.preferences import read_preferences
from tests.data.sets.small_files import write


def pair(winner: Any, a: Any = "x", b: Any = "y", **more: Any) -> dict[str, Any]:
    return {"id": "q", "system_a": a, "system_b": b, "winner": winner, **more}


def test_columns_are_named_by_fields_paths_and_judges(tmp_path: Path) -> None:
    row = {"prompt": 7, "models": {"a": "x", "b": "y"}, "gpt": "b", "claude": "tie", "verdict": "a"}
    columns: Any = {"group": "prompt", "system_a": "models.a", "system_b": "models.b", "winner": "verdict"}
    found = read_preferences(write(tmp_path / "x.jsonl", row), columns | {"judges": {"gpt": "gpt", "c": "claude"}})
    assert (found.inputs, found.systems_a, found.systems_b) == (("7",), ("x",), ("y",))
    assert {name: each.tolist() for name, each in found.judges.items()} == {"gpt": [0], "c": [0.5]}


def test_a_winner_that_may_be_a_side_or_a_name_is_refused(tmp_path: Path) -> None:
    """Systems called A, B and C: a winner must not be the name of one and the side of the other."""
    same = write(tmp_path / "x.jsonl", pair("A ", "A", "B"), pair("B", "A", "B"), pair(" Tie", "B", "A"))
    assert read_preferences(same).outcomes.tolist() == [1, 0, 0.5]
    path = write(tmp_path / "y.jsonl", pair("A", "A", "B"), pair("A", "B", "A"), pair("model_a", "B", "A"))
    with pytest.raises(InputError, match=r'y.jsonl:2: "winner" must be clear, but "A" is the name .* and a side'):
        read_preferences(path)


def test_whole_numbers_are_names(tmp_path: Path) -> None:
    row = {"group": 3, "system_a": 1, "system_b": 2, "winner": 2, "rater": 9}
    found = read_preferences(write(tmp_path / "x.jsonl", row, row | {"winner": "a"}))
    assert (found.inputs[0], found.systems_a[0], found.systems_b[0], found.raters[0]) == ("3", "1", "2", "9")
    assert found.outcomes.tolist() == [0, 1]


def test_a_column_for_each_winner(tmp_path: Path) -> None:
    header = "id,model_a,model_b,winner_model_a,winner_model_b,winner_tie"
    path = write(tmp_path / "x.csv", header, "1,x,y,1,0,0", "2,x,y,0,1,0", "3,x,y,0,0,1")
    assert read_preferences(path).outcomes.tolist() == [1, 0, 0.5]


def test_lines_without_a_winner_are_left_out_with_a_note(tmp_path: Path) -> None:
    found = read_preferences(write(tmp_path / "x.jsonl", pair("a"), pair(None, group="r"), pair("b", group="s")))
    assert (found.outcomes.tolist(), found.notes) == ([1, 0], ("x.jsonl: 1 row without a winner left out",))


def test_repeated_judgements_are_counted_as_pairs(tmp_path: Path) -> None:
    rows = [pair("a", id=f"q{i}", annotator=who) for i in range(4) for who in ("ann", "bob")]
    found = judge.prefer(str(write(tmp_path / "x.jsonl", *rows)))
    assert "x.jsonl: 8 rows, 4 pairs of outputs, by 2 raters" in found.notes
    assert read_preferences(tmp_path / "x.jsonl").raters[:2] == ("ann", "bob")
    nameless = [{key: value for key, value in row.items() if key != "annotator"} for row in rows]
    (note,) = read_preferences(write(tmp_path / "y.jsonl", *nameless)).notes
    assert note == 'y.jsonl: 8 rows, 4 pairs of outputs, by raters that no column names: columns={"rater": "COLUMN"}'


def test_a_judgement_that_one_rater_gives_twice_counts_once(tmp_path: Path) -> None:
    once = [pair("a", rater="ann"), pair("b", rater="bob")]
    preferences = read_preferences(write(tmp_path / "x.jsonl", *once, once[0]))
    assert preferences.outcomes.tolist() == [1, 0]
    assert "x.jsonl: 1 row left out: exact copies of judgements of the same rater" in preferences.notes
    changed = pair("b", rater="ann")
    assert read_preferences(write(tmp_path / "y.jsonl", *once, changed)).outcomes.tolist() == [1, 0, 0]
    nameless = read_preferences(write(tmp_path / "z.jsonl", pair("a"), pair("a")))
    assert nameless.outcomes.tolist() == [1, 1]  # of two people, as far as the file says


REFUSED: list[tuple[dict[str, Any], dict[str, str], str]] = [
    (pair("a"), {"group": "prompts"}, 'needs the column "prompts" for group, found only id, system_a, system_b'),
    (pair("a"), {"judges.gpt4": "nothing"}, 'columns needs the column "nothing" for judges.gpt4'),
    (pair("a"), {"system_a": "models.a"}, 'columns needs the column "models.a" for system_a'),
    (pair("a", who="w"), {"ratr": "who"}, r"ratr is not a setting of columns .* \(did you mean rater"),
    (pair(None), {}, "needs at least one judgement, found none in 1 rows"),
    (
        {"left": "x", "right": "y", "best": "left"},
        {},
        r"x\.jsonl: judgements of two systems \(system_a, system_b, winner\) are needed, found left, right, best: .*"
        'system_a": "COLUMN"} names a column; answers are in columns chosen and rejected$',
    ),
    (
        {"id": "1", "text": "a", "system": "x", "group": "q"},
        {},
        r'found texts: .* or judge="llm_judge" to judge the texts',
    ),
]


@pytest.mark.parametrize(("row", "columns", "message"), REFUSED)
def test_what_is_no_judgement_is_refused_in_one_message(
    row: dict[str, Any], columns: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises((InputError, SettingError), match=message):
        read_preferences(write(tmp_path / "x.jsonl", row), columns)


@pytest.mark.parametrize(
    ("winners", "systems", "is_said"),
    [
        ([0, 1, 1], "xy", True),
        ([0, 1, "tie"], "xy", True),
        ([0, 1, 1], "01", False),
        ([0, 1, 0.5], "xy", False),
        ([0, 1, "a"], "xy", False),
    ],
)
def test_winners_that_are_0_and_1_are_said_to_be_probabilities(
    winners: list[Any],
    systems: str,
    is_said: bool,
    tmp_path: Path,
) -> None:
    """They may also be meant as the place of the better system, which turns the verdict round."""
    rows = [pair(winner, *systems, id=f"q{i}") for i, winner in enumerate(winners)]
    notes = read_preferences(write(tmp_path / "x.jsonl", *rows)).notes
    assert [note.endswith("1 is read as system_a, 0 as system_b") for note in notes] == [True] * is_said


@pytest.mark.parametrize(
    ("names", "are_models", "said"),
    [
        (("gpt-4o", "claude-3-opus"), True, None),
        (("gpt-4o", "ann"), False, "gpt-4o: by name a model, but counts as a person: columns={"),
        (("author_2", "ann"), False, None),
        (("judge_1", "judge A"), False, None),
        (("Claude", "ann"), False, None),
        (("Gemma Chan",), False, None),
    ],
)
def test_raters_may_be_models_by_their_names(
    names: tuple[str, ...],
    are_models: bool,
    said: str | None,
    tmp_path: Path,
) -> None:
    """Winners of a model are called so, also in a file of our own form that names it as the rater."""
    rows = [pair("a", id=f"q{i}", rater=rater) for i in range(3) for rater in names]
    given = read_preferences(write(tmp_path / "x.jsonl", *rows))
    assert given.by_model is are_models
    notes = " ".join(given.notes)
    assert said in notes if said else "by name" not in notes


def test_rows_without_a_length_are_left_out_of_what_is_said_about_lengths(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    header = "group,system_a,system_b,winner,judges.gpt,length_a,length_b\n"
    rows = [f"g{i},x,y,{'ab'[i % 2]},{'ab'[i // 2 % 2]},{i * 7 % 5 + 1},{i * 3 % 4 + 1}\n" for i in range(20)]
    path.write_text(header + "".join(rows) + "g,x,y,a,a,,3\n")
    found = read_preferences(path)
    assert found.lengths is not None
    assert len(found.lengths) == 21
    note = "x.csv: 1 row without both lengths left out of what is said about lengths"
    assert found.notes == (note,)
    path.write_text(header + "".join(rows))
    whole = judge.prefer(path)
    path.write_text(header + "".join(rows) + "g,x,y,,a,,3\n")
    assert [table.title for table in judge.prefer(path).tables] == [table.title for table in whole.tables]
    path.write_text(header + "g,x,y,a,a,,3\n")
    assert read_preferences(path).lengths is None
