"""Columns: other names of fields, names that clash, what is passed on, aligned text files, data sets."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import InputError, SettingError
from core.example import Example
from core.stages import file_sha256
from data.files import read_examples, to_record
from data.input_file import InputFile
from data.scored import read_scored
from tests.data.sets.small_files import faults_of
from tests.data.sets.small_files import write as lines

TRANSLATION = Example("a", "mine", context="quelle", references=("theirs",), extra={"domain": "news", "n": 3})


@pytest.mark.parametrize(
    "names",
    [
        ("src", "mt", "ref"),
        ("input", "output", "target"),
        ("prompt", "response", "expected_output"),
        ("instruction", "hypothesis", "ground_truth"),
    ],
)
def test_usual_names_are_known_and_others_are_passed_on(tmp_path: Path, names: tuple[str, str, str]) -> None:
    record = {"id": "a", "domain": "news", "n": 3} | dict(zip(names, ("quelle", "mine", "theirs"), strict=True))
    assert read_examples(lines(tmp_path / "x.jsonl", record)) == (TRANSLATION,)
    table = f"id,domain,{','.join(names)},n\na,news,quelle,mine,theirs,3"
    (found,) = read_examples(lines(tmp_path / "x.csv", table))
    assert (found.text, found.context, found.references) == ("mine", "quelle", ("theirs",))
    assert found.extra == {"domain": "news", "n": "3"}


def test_a_usual_name_gives_way_to_the_field_itself(tmp_path: Path) -> None:
    record = {"text": "mine", "response": "raw", "src": "quelle", "prompt": "Translate", "model": "m"}
    (found,) = read_examples(lines(tmp_path / "x.jsonl", record))
    assert (found.text, found.context, found.system) == ("mine", "quelle", "m")
    assert found.extra == {"response": "raw", "prompt": "Translate"}


def test_columns_are_paths_into_objects_and_lists(tmp_path: Path) -> None:
    answers = (("a", "Yes"), ("b", "no"))
    records = [{"output": {"parts": [{"text": text}]}, "q": {"fit": verdict}} for text, verdict in answers]
    columns: Any = {"text": "output.parts.0.text", "ratings": {"fit": "q.fit"}}
    found = read_examples(lines(tmp_path / "x.jsonl", *records), columns=columns)
    assert [(each.text, dict(each.ratings)) for each in found] == [("a", {"fit": 1.0}), ("b", {"fit": 0.0})]


def test_columns_choose_fields_and_rename_what_is_passed_on(tmp_path: Path) -> None:
    record = {"hyp": "mine", "text": "old", "r1": "one", "r2": ["two", "three"], "reason": "why", "q": 2}
    columns = {"text": "hyp", "references": ["r1", "r2"], "cause": "reason", "rating:quality": "q"}
    (found,) = read_examples(lines(tmp_path / "x.jsonl", record), columns=columns)
    expected = {"unread_text": "old", "cause": "why"}
    assert found == Example("1", "mine", references=("one", "two", "three"), ratings={"quality": 2.0}, extra=expected)
    table = "hyp,text,r1,r2,reason,q\nmine,old,one,[two],why,2\nmine,,,two,,"
    found, other = read_examples(lines(tmp_path / "x.csv", table), columns=columns)
    assert (found.references, found.ratings) == (("one", "[two]"), {"quality": 2.0})
    assert (other.references, other.ratings, dict(other.extra)) == (("two",), {}, {})


@pytest.mark.parametrize(
    ("cells", "references"),
    [
        ('"[""a b"", ""x""]",y', ("a b", "x", "y")),
        ('d,"[""e""]"', ("d", "e")),
        (",", ()),
        ("[1],[laughs]", ("[1]", "[laughs]")),
    ],
)
def test_each_cell_of_references_is_an_array_or_a_text(tmp_path: Path, cells: str, references: Any) -> None:
    path = lines(tmp_path / "x.csv", "text,r1,r2", f"a,{cells}")
    (found,) = read_examples(path, columns={"references": ["r1", "r2"]})
    assert found.references == references


def test_a_column_of_the_name_of_a_field_is_not_written_in_its_place(tmp_path: Path) -> None:
    """The text that is scored stands in the output, and what else the line held beside it."""
    path = lines(tmp_path / "x.csv", "id,text,answer,topic,group\n1,question,yes it is,t,g")
    (found,) = read_examples(path, columns={"text": "answer", "group": "topic"})
    assert to_record(found) == {
        "id": "1", "text": "yes it is", "group": "t", "unread_text": "question", "unread_group": "g",
    }  # fmt: skip


def test_scores_that_are_named_as_ratings_are_no_metrics(tmp_path: Path) -> None:
    rows = [{"text": "a", "scores": {"overall": 3, "fluency": 2}}, {"text": "b", "scores": {"overall": 1}}]
    path = lines(tmp_path / "x.jsonl", *rows)
    columns = {"ratings.overall": "scores.overall"}
    found = read_scored(path, columns=columns)
    assert found.ratings("overall").tolist() == [3, 1]
    assert dict(found.scores) == {}
    found = read_scored(path, columns={**columns, "scores.m": "scores.fluency"})
    np.testing.assert_array_equal(found.values("m", ""), [2, np.nan])


def test_lists_that_were_written_as_texts_are_several_references(tmp_path: Path) -> None:
    """A second encoding as JSON, and what pandas writes; numpy writes no commas, so that texts would run together."""
    path = lines(tmp_path / "x.jsonl", {"text": "a", "references": '["a b", "x"]'}, {"text": "a", "references": "[x]"})
    assert [each.references for each in read_examples(path)] == [("a b", "x"), ("[x]",)]


def test_whole_numbers_are_names_in_json(tmp_path: Path) -> None:
    rows = [{"id": i, "text": "a", "group": 7, "system": 0, "label": 1} for i in (1, 0)]
    found = read_examples(lines(tmp_path / "x.jsonl", *rows))
    assert [each.id for each in found] == ["1", "0"]
    assert (found[0].group, found[0].system, found[0].label) == ("7", "0", "1")


def test_aligned_text_files_are_read_line_by_line(tmp_path: Path) -> None:
    for name, content in {"hyp.de": "a\n b\n", "r2": "d\ne\n", "src": "f\ng\n"}.items():
        (tmp_path / name).write_text(content)
    references = [tmp_path / "r2", tmp_path / "r2"]
    found = read_examples(text=tmp_path / "hyp.de", references=references, source=tmp_path / "src")
    assert found == (
        Example("1", "a", context="f", references=("d", "d")),
        Example("2", " b", context="g", references=("e", "e")),
    )


def test_the_last_lines_of_an_aligned_file_may_be_blank(tmp_path: Path) -> None:
    contents = {"hyp": "a b\nx\nc\n\n", "full": "a b\n\nc\n\n\n\n", "blank": "a\n \n\r\n", "end": ""}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content.encode())
    hyp, full, blank, end = (tmp_path / name for name in contents)
    found = read_examples(text=hyp, references=[full, blank], source=blank)
    assert [(each.text, each.references) for each in found] == [("a b", ("a b", "a")), ("x", ()), ("c", ("c",))]
    assert [(each.context or "").strip() for each in found] == ["a", "", ""]
    for content, count, of_texts in (("a\n\n", 2, 3), ("a\n\n\n\nb\n\n", 5, 4)):
        end.write_text(content)
        with pytest.raises(
            InputError, match=f"end: aligned files must have .* lines, found {count} here and {of_texts} in"
        ):
            read_examples(text=hyp, references=[full, end])


def test_the_fingerprint_of_an_input_changes_with_its_files_and_columns(tmp_path: Path) -> None:
    one, two = lines(tmp_path / "x.jsonl", {"a": "x", "b": "y"}), lines(tmp_path / "y.jsonl", {"a": "z", "b": "y"})
    inputs = [
        InputFile.of(one),
        InputFile.of(two),
        *(InputFile.of(one, columns={"text": name}) for name in "ab"),
        InputFile.of(text=one),
        InputFile.of(text=one, references=two),
        InputFile.of(text=one, source=two),
    ]
    assert len({each.sha256() for each in inputs}) == len(inputs)
    assert InputFile.of(one).sha256() == file_sha256(one)


def test_columns_and_files_may_be_called_like_numbers(tmp_path: Path) -> None:
    path = lines(tmp_path / "x.csv", "0,1\na,b")
    columns: Any = {"text": 0, "references": [1]}
    assert read_examples(path, columns=columns) == (Example("2", "a", references=("b",)),)
    files: Any = {"text": 5, "references": 6}
    assert InputFile.of(**files).aligned == (("text", Path("5")), ("references", Path("6")))


def test_other_processes_read_the_same_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lines(tmp_path / "x.jsonl", {"text": "a"})
    monkeypatch.chdir(tmp_path)
    given = [InputFile.of("x.jsonl"), InputFile.of(text="x.jsonl"), InputFile(Path("memory"), records=[{"text": "a"}])]
    expected = [InputFile.of(path), InputFile.of(text=path), given[-1]]
    assert [each.resolve() for each in given] == expected


def test_inputs_that_contradict_each_other() -> None:
    for settings, message in (
        ({}, "give one input, but one is needed"),
        ({"path": "x.jsonl", "text": "y"}, "but two are given"),
        ({"path": "x.jsonl", "references": "y"}, "are aligned with the lines"),
        ({"text": "x", "columns": {"text": "y"}}, "columns are those of a table"),
        ({"path": "x.csv", "columns": 5}, 'must be by field, as columns={"text": "COLUMN"}, but is 5'),
        ({"path": "x.csv", "columns": {"text": None}}, "must be a column or several, but is None"),
        ({"path": "x.csv", "columns": {"text": []}}, "must be a column or several"),
    ):
        with pytest.raises(SettingError, match=message):
            InputFile.of(**settings)  # pyright: ignore[reportArgumentType]


RATERS: Any = {
    "csv": [{"r1": 1, "r2": 2}, {"r1": "", "r2": 4}, {"r1": "", "r2": ""}],
    "keys": [{"rating:q:r1": 1, "rating:q:r2": 2}, {"rating:q:r2": 4}, {}],
    "own names": [{"r1": 1, "r2": 2}, {"r2": 4}, {}],
    "objects": [{"ratings": {"q": {"r1": 1, "r2": 2}}}, {"ratings": {"q": {"r2": 4}}}, {}],
    "lists": [{"ratings": {"q": [1, 2]}}, {"ratings": {"q": [None, 4]}}, {}],
}


@pytest.mark.parametrize("form", RATERS)
def test_several_people_rate_in_every_form(tmp_path: Path, form: str) -> None:
    rows = [{"text": "a", **row} for row in RATERS[form]]
    columns = {"ratings.q": ["r1", "r2"]} if form in ("csv", "own names") else {}
    table = [",".join(map(str, row)) for row in (rows[0], *(row.values() for row in rows))]
    path = lines(tmp_path / "x.csv", *table) if form == "csv" else lines(tmp_path / "x.jsonl", *rows)
    found = read_scored(path, columns=columns)
    np.testing.assert_array_equal(found.raters["q"], [[1, np.nan, np.nan], [2, 4, np.nan]])
    np.testing.assert_array_equal(found.ratings("q"), [1.5, 4, np.nan])


def test_rows_of_two_kinds_are_a_question(cases: Path) -> None:
    """FED as it is published: rows of replies, and rows of dialogues, which have no response."""
    path = cases / "45-fed-json-as-published" / "fed_data.json"
    with pytest.raises(InputError, match=r"2 of 8 rows have no text: rows of another kind need a file of their own"):
        read_scored(path, columns={"ratings.Overall": "annotations.Overall"})


MIXED = '{"text": "a"}\n{"text": "a", "mt": "b"}\n{"text": "a", "n": Infinity}\n'
BOTH = '"text" and "mt" both give the text: columns={"text": "text"} chooses one'
RULE = "words that rate must have a known order, found x in"
FAULTS: list[tuple[str, dict[str, Any], list[str]]] = [
    (MIXED, {}, [f":2: {BOTH}", ':3: "n" must be a value that JSON can hold, found Infinity']),
    (MIXED, {"text": "hyp"}, [': columns needs the column "hyp" for text, found only text, mt, n']),
    ("text,mt\na,b\nc,d\n", {}, [f":1: {BOTH}"]),
    (
        '{"text": "a", "prompt": "b", "question": "c"}\n',
        {},
        [':1: "prompt" and "question" both give the context: columns={"context": "prompt"} chooses one'],
    ),
    (
        '{"text": "a", "parts": [{"text": "b"}]}\n',
        {"label": "parts.1.text"},
        [': columns needs the column "parts.1.text" for label, found only text, parts'],
    ),
    (
        '{"id": 1, "text": "a"}\n{"id": "1", "text": "b"}\n',
        {},
        [':2: ids must be unique, but "1" is the id of line 1 too: a line without an id has its number'],
    ),
    (
        "text,references\na,\"['a b' 'x y']\"\n",
        {},
        [":2: \"references\" must be a list of texts in JSON, or one text, found \"['a b' 'x y']\""],
    ),
    (
        'text,rating:q\na,"[4.0, 3.0]"\n',
        {},
        [
            ':2: "q" of "ratings" must be one rating: each person has a column, such as rating:ASPECT:ANN, '
            'found "[4.0, 3.0]"'
        ],
    ),
    (
        "text,a,b\nx,1,2\n",
        {"ratings": ["a", "b"]},
        [
            ':1: "a" and "b" both give the ratings: columns={"ratings": "a"} chooses one',
            ':2: "ratings" must be an object, found 1',
        ],
    ),
    (
        "text,rating:q,rating:q:ann\nx,1,2\n",
        {},
        [':2: "rating:q" and "rating:q:PERSON" both give its ratings'],
    ),
    (
        '{"text": "a", "ratings": {"q": {"b": "x"}}}\n',
        {},
        [f': {RULE} "q": levels=["WORST", "...", "BEST"] gives their order'],
    ),
    (
        '{"text": "a", "ratings": {"q": {"b": "x", "c": 1}}}\n',
        {},
        [':1: "b" of "q" of "ratings" must be a valid number, found "x"'],
    ),
    (
        '{"text": "a", "ratings": {"q": {"b": 1}}}\n{"text": "b", "ratings": {"q": [1]}}\n',
        {},
        [
            ':2: every line must list the ratings of "q" by the same people, or name the people, as line 1 does; '
            "null if one is missing"
        ],
    ),
]


@pytest.mark.parametrize(("content", "columns", "faults"), FAULTS)
def test_faults_of_names_and_ratings(
    content: str,
    columns: dict[str, Any],
    faults: list[str],
    tmp_path: Path,
) -> None:
    path = lines(tmp_path / ("x.jsonl" if content.startswith("{") else "x.csv"), content, end="")
    found = faults_of(lambda: read_examples(path, columns=columns), path)
    assert [f":{fault}" for fault in found] == faults


@pytest.mark.parametrize("first", ["prediction", "text", "mt"])
def test_a_field_is_given_by_one_column_in_all_lines(first: str, tmp_path: Path) -> None:
    """Where a line lacks its output, the right answer is not scored in its place."""
    rows = [{first: "Rome", "answer": "Paris"}, {"answer": "Oslo", "src": "q"}]
    path = lines(tmp_path / "x.jsonl", *rows, {first: "b"})
    with pytest.raises(InputError) as error:
        read_examples(path)
    rule = f'"{first}" and "answer" give the text, each in other rows'
    assert error.value.faults == (f'{path}: {rule}: columns={{"text": "{first}"}} chooses one',)
    found = read_examples(lines(tmp_path / "x.jsonl", rows[0]), columns={"text": "answer"})
    assert [each.text for each in found] == ["Paris"]


def test_a_usual_name_in_one_line_and_the_field_itself_in_another(tmp_path: Path) -> None:
    path = lines(tmp_path / "x.jsonl", {"text": "a"}, {"answer": "b"})
    with pytest.raises(InputError, match='"answer" and "text" give the text, each in other rows'):
        read_examples(path)


def test_a_rating_by_nobody_is_no_person(tmp_path: Path) -> None:
    rows = [{"text": "a", "ratings": {"q": rating}} for rating in ({"ann": 1, "ben": 2}, "", 3)]
    assert len(read_scored(lines(tmp_path / "x.jsonl", *rows[:2])).raters["q"]) == 2
    with pytest.raises(InputError, match=':3: ratings of "q" must name each person who rated, as other lines do'):
        read_scored(lines(tmp_path / "x.jsonl", *rows))
    with pytest.raises(InputError, match=r':1: "q" of "ratings" must name each person who rated, found \{"": 3\}'):
        read_scored(lines(tmp_path / "x.jsonl", {"text": "a", "ratings": {"q": {"": 3}}}))
