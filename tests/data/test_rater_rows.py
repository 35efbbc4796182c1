"""Rows by rater: joined by id, or by input and system, refused where they contradict each other."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge
from core.errors import InputError
from data.scored import read_scored

NAN = math.nan


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def row(text: str, rating: Any, **more: Any) -> dict[str, Any]:
    return {"text": text, "ratings": {"q": rating}, **more}


def test_rows_with_a_rater_are_one_text(tmp_path: Path) -> None:
    rows = [
        row("a", 1, id="i", worker="x", note="n"),
        row("b", 3, id="j", worker="x"),
        row("a", 2, id="i", worker="y", note="m"),
    ]
    found = read_scored(write(tmp_path / "x.jsonl", *rows))
    assert [(each.text, each.ratings["q"]) for each in found.examples] == [("a", 1.5), ("b", 3)]
    np.testing.assert_array_equal(found.raters["q"], [[1, 3], [2, NAN]])
    assert found.notes == ("x.jsonl: 3 rows, 2 texts; their raters are in worker",)
    assert dict(found.examples[0].extra) == {"ratings": {"q": {"x": 1, "y": 2}}}
    assert [line for _, line in found.places] == [1, 2]


def test_equal_texts_by_raters_need_ids(tmp_path: Path) -> None:
    rows = [row("a", 1, worker="x"), row("a", 2, worker="y")]
    with pytest.raises(InputError, match=r"rows by worker need a column with the id of their text.*columns=.*id"):
        read_scored(write(tmp_path / "x.jsonl", *rows))


def test_equal_texts_of_different_tasks_are_two(tmp_path: Path) -> None:
    rows = [
        row("a", rating, WorkerId=who, HITId=task)
        for rating, who, task in ((1, "x", "t"), (2, "y", "t"), (3, "x", "u"))
    ]
    found = read_scored(write(tmp_path / "x.jsonl", *rows))
    np.testing.assert_array_equal(found.raters["q"], [[1, 3], [2, NAN]])


def test_a_rater_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,text,who,good\n1,a,x,1\n1,a,y,2\n")
    columns = {"rater": "who", "ratings.q": "good"}
    found = read_scored(path, columns=columns)
    np.testing.assert_array_equal(found.raters["q"], [[1], [2]])
    assert found.notes == ("x.csv: 2 rows, 1 text; their raters are in rater",)
    with pytest.raises(InputError, match='columns needs the column "whom" for rater, found only id, text, who, good'):
        read_scored(path, columns={**columns, "rater": "whom"})


def test_rows_that_share_an_id_need_a_rater(tmp_path: Path) -> None:
    rows = [row("a", 1, id="i", who="x"), row("a", 2, id="i", who="y"), row("b", 3, id="j", who="x")]
    with pytest.raises(InputError) as caught:
        read_scored(write(tmp_path / "x.jsonl", *rows))
    hint = 'columns={"rater": "COLUMN"} names its column; unread are who'
    assert [problem.removeprefix(f"{tmp_path}/") for problem in caught.value.faults] == [
        'x.jsonl:2: ids must be unique, but "i" is the id of line 1 too',
        f"x.jsonl: lines with one id must each name its rater, but no column does: {hint}",
    ]
    found = read_scored(tmp_path / "x.jsonl", columns={"rater": "who"})
    np.testing.assert_array_equal(found.raters["q"], [[1, 3], [2, NAN]])


def test_rows_of_one_id_with_different_texts_are_refused(tmp_path: Path) -> None:
    rows = [row("a", 1, id="i"), row("b", 2, id="i"), row("a", 2, id="i", group="s")]
    path = write(tmp_path / "x.jsonl", *({**each, "rater": f"r{i}"} for i, each in enumerate(rows)))
    with pytest.raises(InputError) as caught:
        read_scored(path)
    rule = 'rows with the id "i" are one text with several raters, but'
    assert caught.value.faults == (
        f'{path}:2: {rule} text is "b" here and "a" in line 1',
        f'{path}:3: {rule} group is "s" here and null in line 1',
    )


def test_score_says_who_reads_rows_by_rater(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", row("a", 1, id="i", worker="x"), row("a", 2, id="i", worker="y"))
    hint = "rows by rater, with one text, are for judge agree, which joins and scores them"
    with pytest.raises(InputError, match=f'ids must be unique, but "i" is the id of line 1 too: {hint}'):
        judge.score(str(path), "word_count", output=tmp_path / "out.jsonl")
    assert judge.agree(str(path), "word_count", cues=False).found.rows[0].n == 1


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([row("a", 1, id="i", rater="x"), row("a", 2, id="i")], ':2: "rater" is needed here, as in other lines'),
        (
            [row("a", 1, id="i", rater="x"), row("a", [2, 1], id="i", rater="y")],
            ":2: a row by a rater must have one rating",
        ),
        (
            [row("a", 1, id="i", rater="x", scores={"m": 1}), row("a", 2, id="i", rater="y", scores={"m": 2})],
            ":2: rows of one text must have the same scores, but m differs",
        ),
    ],
)
def test_rows_by_rater_have_a_form(tmp_path: Path, rows: list[dict[str, Any]], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        read_scored(write(tmp_path / "x.jsonl", *rows))


def test_the_later_rating_of_a_person_counts(tmp_path: Path) -> None:
    rows = [row("a", rating, id="i", rater=who) for rating, who in ((1, "x"), (5, "x"), (2, "y"))]
    found = read_scored(write(tmp_path / "x.jsonl", *rows))
    np.testing.assert_array_equal(found.raters["q"], [[5], [2]])
    assert found.notes[0].endswith("1 row more of a rater on the same text: the later rating counts")


def test_equal_texts_without_raters_are_not_joined(tmp_path: Path) -> None:
    outputs = [row("a", rating, system="s", group="g") for rating in (1, 2)]
    assert len(read_scored(write(tmp_path / "x.jsonl", *outputs))) == 2
    assert len(read_scored(write(tmp_path / "x.jsonl", row("Yes.", 1), row("Yes.", 2)))) == 2


def test_rows_are_joined_by_their_input_and_system() -> None:
    """Forty inputs, two systems, three raters: as with the ratings of three people in one row."""
    rows: list[Any] = [
        {"text": f"{system} {i}", "system": system, "group": f"q{i}", "rater": rater, "ratings": {"q": (i * k) % 5}}
        for i in range(40)
        for system in "ab"
        for k, rater in enumerate("xyz")
    ]
    joined = judge.read(rows)
    assert joined.notes == ("examples: 240 rows, 80 texts; their raters are in rater",)
    np.testing.assert_array_equal(
        joined.raters["q"], [[(i * k) % 5 for i in range(40) for _ in "ab"] for k in range(3)]
    )
    assert joined.systems == ["a", "b"] * 40


@pytest.mark.parametrize("column", ["labeler", "annotatorId", "Rater ID"])
def test_usual_names_of_raters(tmp_path: Path, column: str) -> None:
    (tmp_path / "rows.csv").write_text(f"id,text,rating:q,{column}\n1,a,1,x\n1,a,3,y\n2,b,2,x\n2,b,4,y\n")
    scored = read_scored(tmp_path / "rows.csv")
    assert scored.notes == (f"rows.csv: 4 rows, 2 texts; their raters are in {column}",)
    assert scored.raters["q"].tolist() == [[1, 2], [3, 4]]


def test_repeated_ids_without_ratings_are_few_faults(tmp_path: Path) -> None:
    """The columns that may have the ratings are named, because ids repeat where rows are by rater."""
    rows = [f"{place % 7},{place % 7}{place % 7},{place}\n" for place in range(21)]
    (tmp_path / "rows.csv").write_text("".join(["id,text,quality\n", *rows]))
    with pytest.raises(InputError) as raised:
        read_scored(tmp_path / "rows.csv")
    assert [fault.removeprefix(f"{tmp_path}/") for fault in raised.value.faults] == [
        'rows.csv:9: ids must be unique, but "0" is the id of line 2 too (the first of 14 lines with this fault)',
        "rows.csv: lines with one id must each have a rating, but no column does: "
        'columns={"ratings.ASPECT": "COLUMN"} names its column; unread are quality',
    ]
