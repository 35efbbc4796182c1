"""Files in and out: exact round trips, and every fault of a file at its line."""

import csv
import math
import os
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.example import Example
from core.scores import Scores
from data import text_files
from data.files import read_examples, write_examples
from data.input_file import InputFile
from data.scored import list_rows, score_records
from data.text_files import open_atomically


def faults_of(path: Path, content: str | bytes, requires: tuple[str, ...] = ()) -> list[str]:
    """The faults of a file with this content, without its name: `line: what`."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    with pytest.raises(InputError) as found:
        read_examples(path, requires)
    assert all(each.startswith(f"{path}:") for each in found.value.faults)
    return [each.removeprefix(f"{path}:") for each in str(found.value).splitlines()]


def read(path: Path, content: str | bytes, requires: tuple[str, ...] = ()) -> tuple[Example, ...]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return read_examples(path, requires)


FULL = Example(
    "a", text='one, "two"\n three\t四 \u2028', turns=("Hi!", "[laughs]", "</UTT>"), context="c", prefix="p", label="l",
    extra={"domain": "news"}, references=("r,1", 'r"2"'), system="s", group="g",
    ratings={"coherence": 0.1, "overall": 3.0},
)  # fmt: skip


text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
words = text.filter(lambda value: value.strip() != "")
lists = st.lists(words, max_size=4).map(tuple)
ratings = st.dictionaries(words, st.floats(-1e150, 1e150), max_size=3)
texts = dict.fromkeys(("context", "prefix", "label", "system", "group"), st.none() | text)
example_lists = st.lists(
    st.builds(Example, id=words, text=words, turns=lists, references=lists, ratings=ratings, **texts)
    | st.builds(Example, id=words, turns=st.lists(words, min_size=1, max_size=4).map(tuple)),
    min_size=1,
    max_size=4,
    unique_by=lambda example: example.id,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(examples=example_lists)
def test_what_is_written_is_read_back_exactly(tmp_path: Path, examples: list[Example]):
    people = {"r": {"ann": 2.5, "ben": None}}
    rated = Example("rated ", text="t", ratings={"q": 1.0, "r": 2.5}, extra={"ratings": people})
    examples = [*examples, replace(FULL, id=" full"), rated]
    write_examples(tmp_path / "x.jsonl", examples)
    assert read_examples(tmp_path / "x.jsonl") == tuple(examples)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(words, text), min_size=1, max_size=4))
def test_cells_are_read_as_they_were_written(tmp_path: Path, rows: list[tuple[str, str]]):
    with (tmp_path / "x.tsv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, "excel-tab", quoting=csv.QUOTE_ALL).writerows([("text", "context"), *rows])
    assert [(each.text, each.context) for each in read_examples(tmp_path / "x.tsv")] == rows


def test_an_empty_string_means_missing(tmp_path: Path):
    line = '{"id": "", "text": "t", "context": "", "turns": [], "label": null}'
    assert read(tmp_path / "x.jsonl", line) == (Example("1", text="t"),)
    write_examples(tmp_path / "x.jsonl", [Example("a", text="t", context="")])
    assert read_examples(tmp_path / "x.jsonl") == (Example("a", text="t"),)


def test_null_is_a_missing_rating(tmp_path: Path) -> None:
    lines = '{"text": "a", "ratings": {"q": null}}\n{"text": "b", "ratings": {"q": null, "r": 1}}\n'
    assert [example.ratings for example in read(tmp_path / "x.jsonl", lines)] == [{}, {"r": 1}]
    row = {"text": "a", "ratings": {"q": math.nan, "r": [1, None]}}
    (found,) = read_examples(InputFile(tmp_path, records=[row]))
    assert found.ratings == {"r": 1}


def test_a_missing_id_is_the_line(tmp_path: Path):
    assert [e.id for e in read(tmp_path / "in.jsonl", '{"text": "a"}\n{"id": "x", "text": "b"}\n')] == ["1", "x"]
    assert [e.id for e in read(tmp_path / "in.json", '[{"text": "a"}, {"id": "x", "text": "b"}]')] == ["1", "x"]
    assert [e.id for e in read(tmp_path / "in.csv", 'text\n"a\nb"\nc\n')] == ["2", "4"]


@pytest.mark.parametrize(
    ("suffix", "lines"), [(".jsonl", ['{"text": "t"}', '{"text": "u"}']), (".csv", ["text", "t", "u"])]
)
def test_byte_order_mark_crlf_and_blank_end_are_accepted(tmp_path: Path, suffix: str, lines: list[str]):
    found = read(tmp_path / f"x{suffix}", b"\xef\xbb\xbf" + "\r\n".join([*lines, "", ""]).encode())
    assert [example.text for example in found] == ["t", "u"]


def test_forms_of_cells(tmp_path: Path):
    rows = (
        "id,turns,rating:coherence,ratings,references\n"
        "a,Hi</UTT>Hello</UTT>,0.5,,\n"
        'b,"[""Hi"", ""Hello""]",,"{""overall"": 2}","[""r""]"\n'
        'c,[laughs]</UTT>Hello,1,"{""overall"": 2}",\n'
    )
    assert read(tmp_path / "x.csv", rows, requires=("turns",)) == (
        Example("a", turns=("Hi", "Hello"), ratings={"coherence": 0.5}),
        Example("b", turns=("Hi", "Hello"), ratings={"overall": 2.0}, references=("r",)),
        Example("c", turns=("[laughs]", "Hello"), ratings={"coherence": 1.0, "overall": 2.0}),
    )


GAP = "must be a number, or an empty cell (null in JSON) if it is missing"
# Each case: the lines of a JSONL file, and its faults.
JSONL: list[tuple[str | bytes, list[str]]] = [
    (" \n\r\n", [" the file is empty"]),
    ('{"text": "a"}\n{"text" "b"}', ["2: broken JSON at column 9: Expecting ':' delimiter, found \"\\\"b\\\"}\""]),
    ('{"text": "a"}\n\n{"text": "b"}', ['2: broken JSON at column 1: Expecting value, found ""']),
    ('"a"\n3', ['1: a line must be a JSON object, found "a"', "2: a line must be a JSON object, found 3"]),
    ('[\n{"text":\n"a"}]', [
        "1: a line must be a JSON object, found an array: the name of a file with one must end in .json"]),
    ('{"text": "a"}\r{"text": "b"}\r', ["1: lines must end in LF, found CR alone"]),
    ('{"text": " \\n"}\n{"text": null}', [
        ' at least one text must not be empty, but all are: columns={"text": "COLUMN"} names another column']),
    ('{"answer2": "a", "n": 1}', [
        '1: an example needs "text" or "turns", found answer2, n: columns={"text": "COLUMN"} names a column']),
    ('{"id": " ", "text": "a"}', ['1: "id" must not be blank, found " "']),
    ('{"turns": "Hi!"}', ['1: "turns" must be a list, found "Hi!"']),
    ('{"turns": ["Hi!", 3, " "]}', [
        '1: number 2 of "turns" must be a valid string, found 3',
        '1: number 3 of "turns" must not be blank, found " "',
    ]),
    ('{"text": "a", "ratings": {"q": "odd", "r": "yes"}}', [
        ' words that rate must have a known order, found odd in "q": levels=["WORST", "...", "BEST"] gives their order',
    ]),
    ('{"text": "a", "n": Infinity}', ['1: "n" must be a value that JSON can hold, found Infinity']),
    ('{"text": "a", "ratings": {"q": null, " ": 1}}', [
        '1: the key of " " of "ratings" must not be blank, found " "',
    ]),
    ('{"text": "a", "ratings": {"q": 1, "q": 2}}', ['1: a key must occur once, but "q" is repeated']),
    ('{"id": "a", "text": "a"}\n{"id": "b", "text": "a"}\n{"id": "a", "text": "c"}',
        ['3: ids must be unique, but "a" is the id of line 1 too']),
    ('{"id": "2", "text": "a"}\n{"text": "a"}', [
        '2: ids must be unique, but "2" is the id of line 1 too: a line without an id has its number']),
    (b'{"text": "a"}\n{"text": "caf\xe9"}', ["2: must be UTF-8, found byte 0xe9 at byte 14 of the line"]),
    ('{"text": "a"}'.encode("utf-16"), ["1: the file must be UTF-8, but begins like UTF-16; save it as UTF-8"]),
    ('{"text": "\\ud83d"}', [
        '1: "text" must be Unicode text, but contains half of a surrogate pair, found "\\ud83d"']),
]  # fmt: skip


CSV: list[tuple[str | bytes, list[str]]] = [
    ("text,label\ra,b\rc,d\r", ["1: lines must end in LF, found CR alone"]),
    ("text\n", [" the file needs at least one example, but has only a header"]),
    ("# version 1\ntext,label\na,b\nc,d\n", [
        "1: a table begins with the names of its columns, found a comment: delete this line"]),
    ("id,text\na,b,c\nd\n", ["2: a row must have 2 cells, found 3", "3: a row must have 2 cells, found 1"]),
    ('id,text\na,"b\nb\nb"\nc,d,e\n', ["5: a row must have 2 cells, found 3"]),
    ("id,text,text\na,b,c\n", ['1: a column must occur once, but "text" is repeated']),
    ("id,label\na,b\n", [
        '1: an example needs "text" or "turns", found id, label: columns={"text": "COLUMN"} names a column',
    ]),
    ("text,rating:q\na,good\nb,nan\nc,1_0\nd,2\n", [
        '2: "q" of "ratings" must be a valid number, found "good"',
        f'3: "q" of "ratings" {GAP}, found "nan"',
        '4: "q" of "ratings" must be a valid number, found "1_0"',
    ]),
    ("text,rating:q,rating:r:ann,rating:r:bob\na,NA,1,2\nb,,2,N/A\n", [
        f'2: "q" of "ratings" {GAP}, found "NA"',
        f'3: "bob" of "r" of "ratings" {GAP}, found "N/A"',
    ]),
    ("text,rating:q\na,yes\nb,-\nc,no\n", [f'3: "q" of "ratings" {GAP}, found "-"']),
    ('text,rating:q,ratings\na,1,"{""q"": 1}"\n', [
        '2: "ratings" and a column both give "q"']),
    ('turns,references\nHi</UTT></UTT>Yes,"[""a"""\n', [
        '2: number 2 of "turns" must not be blank, found ""',
        '2: "references" must be a list of texts in JSON, or one text, found "[\\"a\\""',
    ]),
    ('id,text\na,b\nc,"d\ne\n', [
        "3: a cell with a quote, a separator or a line break must be in quotes, its own quotes doubled, "
        "found: unexpected end of data"]),
    (b"id,text\na,caf\xe9\nb,\n", [
        "2: must be UTF-8, found byte 0xe9 at byte 6 of the line",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("suffix", "content", "expected"), [*(("jsonl", *case) for case in JSONL), *(("csv", *case) for case in CSV)]
)
def test_faults_of_a_file(tmp_path: Path, suffix: str, content: str | bytes, expected: list[str]):
    assert faults_of(tmp_path / f"x.{suffix}", content) == expected


def test_required_fields(tmp_path: Path):
    content = '{"text": "a", "references": ["b"], "prefix": "p"}\n{"turns": ["Hi!"], "prefix": "  "}\n'
    for requires, expected in {
        ("references",): ['2: "references" is needed here, found null'],
        ("turns",): [
            '1: "turns" is needed here, found null',
            '2: a dialogue needs at least two turns, found ["Hi!"]',
        ],
        ("prefix",): ['2: "prefix" is needed here, found "  "'],
    }.items():
        assert faults_of(tmp_path / "x.jsonl", content, requires) == expected


def test_no_file_a_folder_another_suffix(tmp_path: Path):
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "y.txt").touch()
    for name, expected in {
        "none.jsonl": " no such file",
        "folder.jsonl": " no such file, it is a folder",
        "x.txt": '@ found ".txt"',
        "y.txt": '@ found ".txt"',
        "folder": "@ found a folder",
        "x": '@ found ""',
        "x.numbers": '@ found ".numbers": save it as CSV or .xlsx',
    }.items():
        with pytest.raises(InputError) as found:
            read_examples(tmp_path / name)
        rule = " the name of the file must end in one of .jsonl, .json, .csv, .tsv, .xlsx,"
        assert found.value.faults == (f"{tmp_path / name}:{expected.replace('@', rule)}",)


def test_json_too_deep_or_too_long_is_a_fault_and_no_crash(tmp_path: Path):
    content = f'{{"text": {"[" * 100_000}\n{{"text": "a", "ratings": {{"q": {"9" * 400}}}}}\n{"9" * 5000}\n'
    assert [each.split(":")[0] for each in faults_of(tmp_path / "x.jsonl", content)] == ["1", "2", "3"]


ROW = "2: a row must have at most 20000 characters"


@pytest.mark.parametrize(
    ("name", "start", "block", "fault"),
    [
        ("x.jsonl", b"", bytes(1), "1: a line must have at most 20000 bytes, found more"),
        ("x.jsonl", b'{"text": "a"}\n', b"\n", "10003: a file must have at most 10000 blank lines"),
        ("x.json", b"[", b" ", " a JSON file must have at most 20000 bytes, found more"),
        ("x.csv", b'text\n"', b"a\n", ROW),
        ("x.csv", b"text\n", b'"\n",', ROW),
    ],
    ids=["zeros", "blank lines", "a document", "a cell", "a row"],
)
def test_a_file_of_gigabytes_is_refused_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, start: bytes, block: bytes, fault: str
):
    """4 MB stand for gigabytes here; reading ends early and needs little memory."""
    path = tmp_path / name
    path.write_bytes(start + block * (2**22 // len(block)))
    for module in ("text_files", "table_files"):
        monkeypatch.setattr(f"data.{module}.LONGEST_LINE", 20_000)
    monkeypatch.setattr("data.text_files.MOST_BLANK_LINES", 10_000)
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as found:
            read_examples(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [each[: len(f"{path}:{fault}")] for each in found.value.faults] == [f"{path}:{fault}"]
    assert peak < 3e6


def test_reading_ends_after_many_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(text_files, "MOST_FAULTS", 2)
    faults = faults_of(tmp_path / "x.jsonl", "x\n" * 100)
    assert len(faults) == 3
    assert faults[-1] == "3: reading ends here after 2 faults"


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([], "x.jsonl: the file needs at least one example, found none"),
        ([Example("a", turns=("u", " "))], 'number 2 of "turns" must not be blank, found " "'),
        ([Example("a", text="t"), Example("a", text="u")], "ids must be unique"),
        ([Example("a", text="t", system="\ud83d")], "half of a surrogate pair"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path: Path, examples: list[Example], message: str):
    with pytest.raises(ValueError, match=message):
        write_examples(tmp_path / "x.jsonl", examples)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "separator"), [("x.csv", ";"), ("x.csv", "\t"), ("x.tsv", ";"), ("x.tsv", ",")])
def test_tables_with_other_separators(tmp_path: Path, name: str, separator: str):
    """Spreadsheets of some languages write semicolons."""
    rows = [["text", "rating:q"], ["a, b" if separator == ";" else "a", "3.5"], ["", ""], ["c", "2"]]
    found = read(tmp_path / name, "".join(f"{separator.join(row)}\n" for row in rows))
    assert [(each.text[:1], each.ratings["q"]) for each in found] == [("a", 3.5), ("c", 2)]


def test_a_json_file_with_an_object_on_each_line_is_read(tmp_path: Path):
    (tmp_path / "x.json").write_text('{"text": "a"}\n{"text": "b"}\n', encoding="utf-8-sig")
    assert [each.text for each in read_examples(tmp_path / "x.json")] == ["a", "b"]
    (tmp_path / "one.json").write_text('[{"text": "a"},\n{"text": "b"}\n]')
    assert [each.text for each in read_examples(tmp_path / "one.json")] == ["a", "b"]


def test_a_failure_leaves_the_old_file_as_it_was(tmp_path: Path):
    path = tmp_path / "new" / "x.txt"
    with open_atomically(path) as file:
        file.write("old")

    def fail() -> None:
        with open_atomically(path) as file:
            file.write("half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text(encoding="utf-8") == "old"
    assert [each.name for each in path.parent.iterdir()] == ["x.txt"]


def test_links_and_pipes_are_not_replaced_or_written_through(tmp_path: Path):
    mine = tmp_path / "mine"
    mine.write_text("my own", encoding="utf-8")
    (tmp_path / "link").symlink_to(mine)
    os.mkfifo(tmp_path / "pipe")
    for name, what in (("link", "the link"), ("pipe", "the device or pipe"), (".", "the folder")):
        found = pytest.raises(InputError, match=f"only a regular file can be replaced, found {what}")
        with found, open_atomically(tmp_path / name) as file:
            file.write("x")
    (tmp_path / f".new.{os.getpid()}.partial").symlink_to(mine)
    with open_atomically(tmp_path / "new") as file:
        file.write("x")
    assert mine.read_text(encoding="utf-8") == "my own"
    assert (tmp_path / "new").read_text(encoding="utf-8") == "x"
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "link", "pipe", "new"}


def test_scores_have_the_promised_form():
    examples = [Example("a", text="t"), Example("b", text="u")]
    values: Any = {"coherence": [0.1, math.nan], "overall": [2.0, 3.0]}
    explanations = ({"tokens": [1, 2]}, {})
    scores = Scores(values, "cdm|model:ab12", (None, "coherence: too long"), (0, 7), explanations)
    first = {"id": "a", "text": "t", "scores": {"coherence": 0.1, "overall": 2.0}, "dropped_tokens": 0}
    second = {"id": "b", "text": "u", "scores": {"coherence": None, "overall": 3.0}, "dropped_tokens": 7}
    assert list(score_records(examples, {"m": list_rows(scores)})) == [
        first | {"explanation": {"tokens": [1, 2]}},
        second | {"reason": "coherence: too long", "explanation": {}},
    ]
    both = next(score_records(examples, {name: list_rows(scores) for name in "mn"}))
    assert both["explanation"] == {"m": {"tokens": [1, 2]}, "n": {"tokens": [1, 2]}}


def test_faults_come_in_the_order_of_lines() -> None:
    faults = ["x.csv:4: b", "x.csv:2: a", "y.csv:1: c", "x.csv: whole"]
    assert str(InputError(faults)).splitlines() == ["x.csv: whole", "x.csv:2: a", "x.csv:4: b", "y.csv:1: c"]


@pytest.mark.parametrize("content", [
    "\n \ntext,rating:q\na,3\nc,2\n",
    ",\ntext,rating:q\na,3\nc,2\n",
    "text, rating:q \na,3\nc,2\n",
    "text,rating:q,,\na,3,,\nc,2, ,\n",
])  # fmt: skip
def test_the_header_of_a_table_is_read_as_that_of_a_workbook(tmp_path: Path, content: str):
    """Blank rows before it, spaces around a name, columns without a name and without cells."""
    found = read(tmp_path / "x.csv", content)
    assert [(each.text, dict(each.ratings), dict(each.extra)) for each in found] == [
        ("a", {"q": 3}, {}), ("c", {"q": 2}, {}),
    ]  # fmt: skip


def test_headers_that_are_refused(tmp_path: Path):
    rule = "a table begins with the names of its columns, found the separator: delete this line"
    assert faults_of(tmp_path / "x.csv", "sep=;\ntext;ref\na;b\n") == [f"1: {rule}"]
    assert faults_of(tmp_path / "x.csv", "text,,\na,,b\n") == ["2: a filled cell needs a column with a name"]
    assert faults_of(tmp_path / "x.csv", "\ntext,a, a\nt,b,c\n") == ['2: a column must occur once, but "a" is repeated']
    assert faults_of(tmp_path / "x.csv", ",,\n") == [" the file needs at least one example, but has only a header"]


def test_nan_in_json_is_a_missing_value_as_in_a_data_frame(tmp_path: Path):
    line = '{"text": "a", "group": NaN, "system": NaN, "ratings": {"q": NaN, "r": 1}, "n": NaN}\n'
    assert read(tmp_path / "x.jsonl", line) == (Example("1", "a", ratings={"r": 1}, extra={"n": None}),)


def test_an_empty_json_file(tmp_path: Path):
    assert faults_of(tmp_path / "x.json", " \n") == [" the file is empty"]


def test_a_row_that_contains_itself(tmp_path: Path):
    row: dict[str, Any] = {"text": "a"}
    row["n"] = [row]
    with pytest.raises(InputError, match="1: a row must be values that JSON can hold, found one that contains itself"):
        read_examples(InputFile(tmp_path, records=[row]))
