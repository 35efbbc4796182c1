"""Rows by rater: joined by id, or by input and system, refused where they contradict each other."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge
from core.errors import InputError
from data.scored import read_scored
from tests.data.sets.small_files import faults_of, write

NAN = math.nan


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


def test_score_says_who_reads_rows_by_rater(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", row("a", 1, id="i", worker="x"), row("a", 2, id="i", worker="y"))
    hint = "rows by rater, with one text, are for judge agree, which joins and scores them"
    with pytest.raises(InputError, match=f'ids must be unique, but "i" is the id of line 1 too: {hint}'):
        judge.score(str(path), "word_count", output=tmp_path / "out.jsonl")
    assert judge.agree(str(path), "word_count", cues=False).found.rows[0].n == 1


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


JOINED: dict[str, tuple[list[dict[str, Any]], list[list[float]]]] = {
    "equal texts of two tasks are two": (
        [row("a", n, WorkerId=who, HITId=task) for n, who, task in ((1, "x", "t"), (2, "y", "t"), (3, "x", "u"))],
        [[1, 3], [2, NAN]],
    ),
    **{
        f"a rater is in {column}": (
            [row("a", 1, id="i", **{column: "x"}), row("a", 3, id="i", **{column: "y"})],
            [[1], [3]],
        )
        for column in ("labeler", "annotatorId", "Rater ID")
    },
}


@pytest.mark.parametrize("kind", JOINED)
def test_rows_are_joined(kind: str, tmp_path: Path) -> None:
    rows, ratings = JOINED[kind]
    found = read_scored(write(tmp_path / "x.jsonl", *rows))
    np.testing.assert_array_equal(found.raters["q"], ratings)
    assert found.notes[0].startswith(f"x.jsonl: {len(rows)} rows, {len(found)} text")


HERE = "rows with one id are one text with several raters, but"
UNNAMED = [row("a", 1, id="i", who="x"), row("a", 2, id="i", who="y"), row("b", 3, id="j", who="x")]
REFUSED: list[tuple[list[dict[str, Any]], dict[str, str], list[str]]] = [
    (
        [row("a", 1, worker="x"), row("a", 2, worker="y")],
        {},
        [
            ": rows by worker need a column with the id of their text, because texts are repeated: "
            'columns={"id": "COLUMN"} names it'
        ],
    ),
    (
        UNNAMED,
        {},
        [
            ':2: ids must be unique, but "i" is the id of line 1 too',
            ': lines with one id must each name who rated, but no column does: columns={"rater": "COLUMN"} names it',
        ],
    ),
    (
        UNNAMED,
        {"rater": "whom"},
        [': columns needs the column "whom" for rater, found only text, ratings, id, who'],
    ),
    (
        [row("a", 1, id="i", rater="x"), row("b", 2, id="i", rater="y"), row("a", 2, id="i", group="s", rater="z")],
        {},
        [f':2: {HERE} text is "b" here and "a" in line 1', f':3: {HERE} group is "s" here and null in line 1'],
    ),
    (
        [row("a", rating, id="i", rater=who) for rating, who in ((1, "x"), (5, "x"), (2, "y"))],
        {},
        [':2: a rater must rate a text once, but "x" also does in line 1'],
    ),
    ([row("a", 1, id="i", rater="x"), row("a", 2, id="i")], {}, [':2: "rater" is needed here, as in other lines']),
    (
        [row("a", 1, id="i", rater="x"), row("a", [2, 1], id="i", rater="y")],
        {},
        [":2: a row by a rater must have one rating for each aspect, found several"],
    ),
    (
        [row("a", n, id="i", rater=who, scores={"m": n}) for n, who in ((1, "x"), (2, "y"))],
        {},
        [":2: rows of one text must have the same scores"],
    ),
]


@pytest.mark.parametrize(("rows", "columns", "faults"), REFUSED)
def test_rows_that_cannot_be_joined(
    rows: list[dict[str, Any]], columns: dict[str, str], faults: list[str], tmp_path: Path
) -> None:
    path = write(tmp_path / "x.jsonl", *rows)
    found = faults_of(lambda: read_scored(path, columns=columns), path)
    assert [f":{fault}" for fault in found] == faults


def test_a_rater_column_is_named(tmp_path: Path) -> None:
    found = read_scored(write(tmp_path / "x.jsonl", *UNNAMED), columns={"rater": "who"})
    np.testing.assert_array_equal(found.raters["q"], [[1, 3], [2, NAN]])
    assert found.notes == ("x.jsonl: 3 rows, 2 texts; their raters are in rater",)


def test_rows_with_ids_of_their_own_are_joined_by_their_task(tmp_path: Path) -> None:
    rows = [row(text, n, id=f"r{n}", item_id=text, rater=who) for n, (text, who) in enumerate(("ax", "ay", "bx"))]
    found = read_scored(write(tmp_path / "x.jsonl", *rows))
    np.testing.assert_array_equal(found.raters["q"], [[0, 2], [1, NAN]])


def test_rows_with_ids_of_their_own_are_not_joined_by_what_several_texts_share(tmp_path: Path) -> None:
    """Turns of a conversation, and one person's ratings of equal samples."""
    turns = [row(text, n, id=f"r{n}", conversation_id=1, rater=who) for n, (text, who) in enumerate(["ax", "by"])]
    assert len(read_scored(write(tmp_path / "x.jsonl", *turns))) == 2
    samples = [row("a", n, id=f"r{n}", item_id=1, rater="x") for n in range(2)]
    assert len(read_scored(write(tmp_path / "x.jsonl", *samples))) == 2


def test_a_conflict_is_named_by_what_joins_the_rows(tmp_path: Path) -> None:
    rows = [row(text, 1, item_id="i", system="s", rater=who) for text, who in ("ax", "by")]
    rule = "rows with one item_id and system are one text with several raters, but text is"
    with pytest.raises(InputError, match=f':2: {rule} "b" here and "a" in line 1'):
        read_scored(write(tmp_path / "x.jsonl", *rows))


def test_raters_may_be_numbers_and_a_gap_is_a_fault() -> None:
    rows: list[Any] = [row("a", rating, id="i", rater=who) for rating, who in ((1, 1.0), (2, 2.0))]
    assert judge.read(rows).raters["q"].tolist() == [[1], [2]]
    with pytest.raises(InputError, match='3: "rater" is needed here, as in other lines'):
        judge.read([*rows, row("a", 3, id="i", rater=NAN)])
