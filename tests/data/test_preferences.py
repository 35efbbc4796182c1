"""Judgements in files: columns and paths, sides and names, one column per winner, repeated and missing judgements."""

import json
from pathlib import Path
from typing import Any

import pytest

import judge
from core.errors import InputError, SettingError
from data.input_file import InputFile
from data.preferences import read_preferences


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def pair(winner: Any, a: Any = "x", b: Any = "y", **more: Any) -> dict[str, Any]:
    return {"id": "q", "system_a": a, "system_b": b, "winner": winner, **more}


def test_columns_are_named_by_fields_paths_and_judges(tmp_path: Path) -> None:
    row = {"prompt": 7, "models": {"a": "x", "b": "y"}, "gpt": "b", "claude": "tie", "verdict": "a"}
    columns: Any = {"group": "prompt", "system_a": "models.a", "system_b": "models.b", "winner": "verdict"}
    found = read_preferences(write(tmp_path / "x.jsonl", row), columns | {"judges": {"gpt": "gpt", "c": "claude"}})
    assert (found.inputs, found.systems_a, found.systems_b) == (("7",), ("x",), ("y",))
    assert {name: each.tolist() for name, each in found.judges.items()} == {"gpt": [0], "c": [0.5]}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"group": "prompts"}, 'columns needs the column "prompts" for group, found only id, system_a, system_b'),
        ({"judges.gpt4": "nothing"}, 'columns needs the column "nothing" for judges.gpt4'),
        ({"system_a": "models.a"}, 'columns needs the column "models.a" for system_a'),
    ],
)
def test_columns_that_do_not_exist_are_refused(tmp_path: Path, columns: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_preferences(write(tmp_path / "x.jsonl", pair("a")), columns)
    (tmp_path / "x.csv").write_text("id,system_a,system_b,winner\nq,x,y,a\n")
    with pytest.raises(InputError, match=message):
        read_preferences(tmp_path / "x.csv", columns)


def test_a_field_that_no_judgement_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"ratr is not a setting of columns .* \(did you mean rater"):
        read_preferences(write(tmp_path / "x.jsonl", pair("a", who="w")), {"ratr": "who"})


def test_one_message_lists_the_columns_of_another_layout(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", *[{"left": "x", "right": "y", "best": "left"}] * 3)
    with pytest.raises(InputError) as caught:
        read_preferences(path)
    rule = "judgements of two systems (system_a, system_b, winner) are needed, found left, right, best"
    answers = 'columns={"chosen": ...} and columns={"rejected": ...} those of answers'
    hint = f'columns={{"system_a": "COLUMN"}} names a column, {answers}'
    assert caught.value.faults == (f"{path}: {rule}: {hint}",)


def test_a_winner_that_may_be_a_side_or_a_name_is_refused(tmp_path: Path) -> None:
    """Systems called A, B and C: a winner must not be the name of one and the side of the other."""
    same = write(tmp_path / "x.jsonl", pair("A ", "A", "B"), pair("B", "A", "B"), pair(" Tie", "B", "A"))
    assert read_preferences(same).outcomes.tolist() == [1, 0, 0.5]
    path = write(tmp_path / "y.jsonl", pair("A", "A", "B"), pair("A", "B", "A"), pair("model_a", "B", "A"))
    with pytest.raises(InputError, match=r'y.jsonl:2: "winner" must be clear, but "A" is the name .* and a side'):
        read_preferences(path)


def test_columns_of_verdicts_that_stay_unread_are_named(tmp_path: Path) -> None:
    rows = [pair("a", id=f"q{i}", gpt4_pref="AB"[i % 2], note="So.", human_pref="tie") for i in range(4)]
    (note,) = read_preferences(write(tmp_path / "x.jsonl", *rows)).notes
    hint = 'columns={"judges.NAME": "gpt4_pref"} reads verdicts of a judge'
    assert note == f"x.jsonl: not read: gpt4_pref, human_pref: {hint}"
    rows = [{"q": "So?", "response_a": "x", "response_b": "y", "human_pref": "AB"[i % 2]} for i in range(4)]
    path = write(tmp_path / "y.jsonl", *rows)
    columns = {"chosen": "response_a", "rejected": "response_b"}
    assert "not read: human_pref" in str(InputFile.of(path, columns=columns).tool_file)


def test_whole_numbers_are_names(tmp_path: Path) -> None:
    row = {"group": 3, "system_a": 1, "system_b": 2, "winner": 2, "rater": 9}
    found = read_preferences(write(tmp_path / "x.jsonl", row, row | {"winner": "a"}))
    assert (found.inputs[0], found.systems_a[0], found.systems_b[0], found.raters[0]) == ("3", "1", "2", "9")
    assert found.outcomes.tolist() == [0, 1]


def test_a_column_for_each_winner(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    header = "id,model_a,model_b,winner_model_a,winner_model_b,winner_tie\n"
    path.write_text(header + "1,x,y,1,0,0\n2,x,y,0,1,0\n3,x,y,0,0,1\n")
    assert read_preferences(path).outcomes.tolist() == [1, 0, 0.5]
    with pytest.raises(InputError, match=r"are read together, but columns=.*winner.* names winner_model_a alone"):
        read_preferences(path, {"winner": "winner_model_a"})


def test_lines_without_a_winner_are_left_out_with_a_note(tmp_path: Path) -> None:
    found = read_preferences(write(tmp_path / "x.jsonl", pair("a"), pair(None, group="r"), pair("b", group="s")))
    assert (found.outcomes.tolist(), found.notes) == ([1, 0], ("x.jsonl: 1 row without a winner left out",))
    with pytest.raises(InputError, match="needs at least one judgement, found none in 1 rows"):
        read_preferences(write(tmp_path / "y.jsonl", pair(None)))


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


def test_texts_in_place_of_judgements_name_the_setting_that_judges_them(tmp_path: Path) -> None:
    texts = write(tmp_path / "x.jsonl", {"id": "1", "text": "a", "system": "x", "group": "q"})
    with pytest.raises(InputError, match=r'found texts: .* or judge="llm_judge" to judge the texts'):
        read_preferences(texts)


@pytest.mark.parametrize("more", [{}, {"rater": "ann"}])
def test_labels_are_planned_from_pairs_that_were_judged_twice(more: dict[str, str]) -> None:
    rows = [pair("ab"[i % 3 == 0], id=f"q{i // 2}", **more) for i in range(80)]
    found = judge.plan(rows, within=0.05)
    assert found.tables[0].rows[0]["quantity"] == "win rate"


def test_prompts_that_repeat_without_a_group_are_said(tmp_path: Path) -> None:
    """Each id is an input, but rows of one prompt are not independent."""
    rows = [{"id": i, "prompt": f"Q{i // 3}", "system_a": "x", "system_b": "y", "winner": "a"} for i in range(9)]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    hint = 'columns={"group": "prompt"} makes prompts the inputs'
    assert read_preferences(path).notes == (
        f"pairs.jsonl: 9 ids have 3 different prompts, but each id is an input of its own: {hint}",
    )
    grouped = read_preferences(path, columns={"group": "prompt"})
    assert (grouped.layout.input_count, len(grouped.notes)) == (3, 1)
    path.write_text("".join(json.dumps({**row, "prompt": f"Q{row['id']}"}) + "\n" for row in rows))
    assert read_preferences(path).notes == ()


def test_winners_that_are_0_and_1_are_said_to_be_probabilities(tmp_path: Path) -> None:
    """They may also be meant as the place of the better system, which turns the verdict round."""
    rows = [pair(winner, id=f"q{i}") for i, winner in enumerate([0, 1, 1])]
    (note,) = read_preferences(write(tmp_path / "x.jsonl", *rows)).notes
    assert note.endswith("1 is read as system_a, 0 as system_b")
    of_names = [pair(winner, a="0", b="1", id=f"q{i}") for i, winner in enumerate([0, 1, 1])]
    assert read_preferences(write(tmp_path / "x.jsonl", *of_names)).notes == ()
    shares = [pair(winner, id=f"q{i}") for i, winner in enumerate([0, 1, 0.5])]
    assert read_preferences(write(tmp_path / "x.jsonl", *shares)).notes == ()


def test_raters_that_are_models_by_their_names_are_no_people(tmp_path: Path) -> None:
    """Winners of a model are called so, also in a file of our own form that names it as the rater."""
    rows = [pair("a", id=f"q{i}", rater=rater) for i in range(3) for rater in ("gpt-4o", "claude-3-opus")]
    given = read_preferences(write(tmp_path / "x.jsonl", *rows))
    assert given.by_model is True
    mixed = [pair("a", id=f"q{i}", rater=rater) for i in range(3) for rater in ("gpt-4o", "ann")]
    given = read_preferences(write(tmp_path / "x.jsonl", *mixed))
    assert given.by_model is False
    assert "gpt-4o is a model by its name, but counts as a person: columns={" in given.notes[0]


@pytest.mark.parametrize("names", [("author_2", "ann"), ("judge_1", "judge A"), ("Claude", "ann"), ("Gemma Chan",)])
def test_people_who_are_called_as_models_are_people(tmp_path: Path, names: tuple[str, ...]) -> None:
    people = [pair("a", id=f"q{i}", rater=rater) for i in range(3) for rater in names]
    given = read_preferences(write(tmp_path / "x.jsonl", *people))
    assert given.by_model is False
    assert "by its name" not in " ".join(given.notes)


def test_sides_without_systems_are_not_called_chosen(tmp_path: Path) -> None:
    """Neither side is the chosen one in every row, so a hint must not lead there."""
    rows = [{"prompt": "So?", "response_a": "x", "response_b": "y", "human_pref": "A"}]
    with pytest.raises(InputError, match="name the columns of the systems of response_a and response_b") as error:
        read_preferences(write(tmp_path / "x.jsonl", *rows))
    assert "chosen" not in str(error.value)
