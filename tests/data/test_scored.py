"""Scores and preferences in files: forms, systems in a file each, and all faults at once."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import InputError, SettingError
from core.example import Example
from data.files import iterate_examples, read_examples
from data.preferences import read_preferences
from data.scored import place_outputs, read_scored, write_score_rows
from tests.data.judged import read_judged
from tests.data.sets.small_files import write


def faults_of(path: Path, **settings) -> list[str]:
    with pytest.raises(InputError) as found:
        read_scored(path, **settings)
    return [fault.removeprefix(str(path.parent) + "/") for fault in found.value.faults]


def test_scores_in_lines(tmp_path: Path) -> None:
    rated = {"id": "a", "text": "x", "ratings": {"fluency": 3}, "scores": {"bleu": 0.5, "mars/fluency": 1}}
    path = write(tmp_path / "in.jsonl", rated, {"id": "b", "text": "y", "scores": {"bleu": None}})
    found = read_scored(path)
    assert [example.id for example in found.examples] == ["a", "b"]
    assert [line for _, line in found.places] == [1, 2]
    np.testing.assert_array_equal(found.values("bleu", ""), [0.5, math.nan])
    np.testing.assert_array_equal(found.values("mars/fluency", ""), [1.0, math.nan])
    name, hashed = found.scores["bleu"].signature.split("|values=")
    assert name == "bleu|scores in in.jsonl"
    assert len(hashed) == 16
    assert found.raters == {}


def test_outputs_of_score_are_joined_by_id(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", {"id": "a", "text": "x"}, {"id": "b", "text": "y"})
    one = write(tmp_path / "one.jsonl", {"id": "b", "scores": {"bleu": 2}}, {"id": "a", "scores": {"bleu": None}})
    (tmp_path / "one.jsonl.meta.json").write_text('{"signature": "bleu|v1"}')
    two = write(tmp_path / "two.jsonl", *({"id": i, "scores": {"p": 1, "q": 2}} for i in "ab"))
    found = read_scored(path, {"ours": one, "theirs": two})
    assert list(found.scores) == ["ours", "theirs/p", "theirs/q"]
    np.testing.assert_array_equal(found.values("ours", ""), [math.nan, 2.0])
    signatures = {"ours": "bleu|v1", "theirs/p": "file two.jsonl", "theirs/q": "file two.jsonl"}
    assert {name: scores.signature.split("|values=")[0] for name, scores in found.scores.items()} == signatures
    assert len({scores.signature for scores in found.scores.values()}) == 3  # other values


def test_faults_of_score_files(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", {"id": "a", "text": "x"}, {"id": "b", "text": "y", "scores": {"ours": 1}})
    faulty = ({"id": "c", "scores": {"m": 1}}, {"id": "a", "scores": {}}, "{", {"m": 1})
    one = write(tmp_path / "one.jsonl", {"id": "a", "scores": {"m": 1}}, *faulty)
    two = write(tmp_path / "two.jsonl", {"id": "a", "scores": {"m": 1}})
    *faults, last = faults_of(path, scores={"one": one, "two": two})
    found = [line.split(":", 2)[1:] for line in faults]
    assert sorted(line for line, _ in found) == ["2", "3", "4", "5"]
    said = dict(found)
    assert said["2"].endswith('in.jsonl, found "c"')
    assert said["3"] == ' ids must be unique, but "a" is the id of line 1 too'
    assert last.endswith('needs a line, but 1 of 2 have none, such as "b"')
    whole = write(tmp_path / "whole.jsonl", *({"id": i, "scores": {"m": 1}} for i in "ab"))
    assert faults_of(path, scores={"ours": whole}) == [
        "in.jsonl: a metric must have one score, but ours is in scores.ours too"
    ]
    words = write(
        tmp_path / "words.jsonl", *({"id": i, "scores": {"m": word}} for i, word in (("a", "pass"), ("b", "x")))
    )
    assert (
        faults_of(path, scores={"new": words})[0] == 'words.jsonl:2: "m" of "scores" must be a valid number, found "x"'
    )
    (tmp_path / "whole.jsonl.meta.json").write_text("[]")
    assert faults_of(path, scores={"new": whole}) == ['whole.jsonl.meta.json: "signature" must be a text, found null']
    with pytest.raises(SettingError, match=r"scores\.new must be one file"):
        read_scored(path, {"new": [one, whole]})  # pyright: ignore[reportArgumentType]


def test_scores_are_no_part_of_examples_and_are_refused_where_they_would_be_written(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", "id,text,scores.bleu,reason\na,x,1,why")
    assert read_examples(path) == (Example("a", "x"),)
    with pytest.raises(InputError) as found:
        list(iterate_examples(path, refuse_scores=True))
    assert [each.split(" is a key")[0].split(":2: ")[1] for each in found.value.faults] == ['"scores"', '"reason"']


# ---- files that are scored ----

ROWS: list[dict[str, Any]] = [
    {"id": "a,\r1", "scores": {"coherence": 0.1, "x/y": -3.0}, "dropped_tokens": 0, "explanation": {"tokens": [1]}},
    {"id": "=b\n", "scores": {"coherence": None, "x/y": 1e-300}, "dropped_tokens": 7, "reason": 'too "long"'},
]


def test_rows_are_read_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    write_score_rows(ROWS, path)
    texts = write(tmp_path / "in.jsonl", *({"id": row["id"], "text": "t"} for row in ROWS))
    found = read_scored(texts, {"ours": path}).scores
    assert {name: column.values["score"].tolist() for name, column in found.items()} == {
        "ours/coherence": [0.1, pytest.approx(math.nan, nan_ok=True)],
        "ours/x/y": [-3.0, 1e-300],
    }


def test_lines_of_systems_answer_the_same_inputs(tmp_path: Path) -> None:
    for name, content in {"a": "A\nB\n", "b": "C\nD\n", "r": "R\nS\n"}.items():
        (tmp_path / f"{name}.txt").write_text(content)
    systems = [f"gpt-3.5={tmp_path}/a.txt", f"b={tmp_path}/b.txt"]
    found = read_scored(systems=systems, references=tmp_path / "r.txt")
    shown = [(each.id, each.system, each.group, each.text, each.references) for each in found.examples]
    assert shown[0] == ("gpt-3.5-1", "gpt-3.5", "1", "A", ("R",))
    assert shown[3] == ("b-2", "b", "2", "D", ("S",))
    assert found.locate(3) == (tmp_path / "b.txt", 2)
    assert found.source.sha256() == read_scored(systems=systems, references=tmp_path / "r.txt").source.sha256()


def test_files_of_systems_have_scores(tmp_path: Path) -> None:
    rows = {
        "a": [{"id": "q", "text": "A", "scores": {"m": 1}}],
        "b": [{"id": "p", "text": "B", "group": "q", "ratings": {"x": 2}}],
    }
    for name, records in rows.items():
        write(tmp_path / f"{name}.jsonl", *records)
    found = read_scored(systems=[f"{name}={tmp_path}/{name}.jsonl" for name in rows])
    assert [each.group for each in found.examples] == ["q", "q"]
    assert np.array_equal(found.values("m", ""), [1, np.nan], equal_nan=True)
    assert found.ratings("x")[1] == 2


def test_faults_name_the_file_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A\n")
    (tmp_path / "b.txt").write_bytes(b"A\n\xe9\nC\n")
    with pytest.raises(InputError, match=r"b\.txt:2: must be UTF-8"):
        read_scored(systems=[f"a={tmp_path}/a.txt", f"b={tmp_path}/b.txt"])
    several = write(tmp_path / "c.jsonl", {"text": "t", "ratings": {"q": [1, 2]}})
    with pytest.raises(InputError, match=r"/c\.jsonl: ratings of several people need one file with all systems"):
        read_scored(systems=[f"a={tmp_path}/a.txt", f"c={several}"])
    for wrong in (["a.txt"], ["=a.txt"], ["a="]):
        with pytest.raises(SettingError, match="NAME=FILE for each system"):
            read_scored(systems=wrong)
    with pytest.raises(SettingError, match="without path"):
        read_scored(tmp_path / "a.txt", systems=["a=a.txt"])


LINES = """{"group": "q1", "system_a": "x", "system_b": "y", "winner": "x", "rater": "Ann"}
{"id": "q2", "system_a": "y", "system_b": "x", "winner": "b", "note": "ignored"}
{"id": "1", "group": "q2", "system_a": "x", "system_b": "y", "winner": "tie"}
{"id": "q3", "system_a": "y", "system_b": "z", "winner": "z"}
{"id": "q4", "system_a": "x", "system_b": "y", "winner": 0.25}
{"id": "q5", "system_a": "1", "system_b": "y", "winner": "1"}
"""


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv"])
def test_judgements_of_each_form(tmp_path: Path, form: str) -> None:
    table = """id,group,system_a,system_b,winner,rater,note
,q1,x,y,x,Ann,
q2,,y,x,b,,ignored
1,q2,x,y,tie,,
q3,,y,z,z,,
q4,,x,y,0.25,,
q5,,1,y,1,,
"""
    content = {"jsonl": LINES, "csv": table, "tsv": table.replace(",", "\t")}[form]
    found = read_preferences(write(tmp_path / f"prefs.{form}", content))
    assert found.inputs == ("q1", "q2", "q2", "q3", "q4", "q5")
    assert found.systems_a == ("x", "y", "x", "y", "x", "1")
    assert found.outcomes.tolist() == [1, 0, 0.5, 0, 0.25, 1]
    assert found.raters == ("Ann", None, None, None, None, None)
    assert np.array_equal(found.of("x"), [1, 1, 0.5, np.nan, 0.25, np.nan], equal_nan=True)


def test_all_faults_of_a_file(tmp_path: Path) -> None:
    path = write(
        tmp_path / "prefs.jsonl",
        """{"group": "q1", "system_a": "x", "system_b": "y", "winner": "new"}
{"system_a": "x", "system_b": "y", "winner": "x"}
{"group": "q1", "system_a": "x", "system_b": "x", "winner": "x"}
{"group": "q1", "system_a": "tie", "system_b": "x", "winner": "x"}
{"group": "q1", "system_a": " ", "winner": "x"}
not JSON
{"group": "q1", "system_a": "x", "system_b": "y", "winner": 2}
{"group": "q1", "system_a": "x", "system_b": "y", "winner": 1, "judges": {"m": true}}""",
    )
    with pytest.raises(InputError) as caught:
        read_preferences(path)
    said = str(caught.value)
    for line, rule in (
        (1, '"winner" must be "x", "y", "a", "b" or "tie", found "new"'),
        (2, '"group" or "id" is needed'),
        (3, "two systems must be compared"),
        (4, 'no system may be called "tie"'),
        (5, '"system_a" must not be blank'),
        (5, '"system_b"'),
        (6, "broken JSON"),
        (7, '"winner" must be "x", "y", "a", "b" or "tie", found 2'),
        (8, '"m" of "judges" must be a name or a number from 0 to 1, found true'),
    ):
        assert re.search(rf"prefs.jsonl:{line}: {re.escape(rule)}", said)
    with pytest.raises(InputError, match=r"prefs.csv: the file needs at least one judgement, but has only a header$"):
        read_preferences(write(tmp_path / "prefs.csv", "group,system_a,system_b,winner"))


def test_faults_of_both_files(tmp_path: Path) -> None:
    given = write(tmp_path / "prefs.jsonl", '{"group": "q", "system_a": "x", "system_b": "y", "winner": "z"}')
    lines = [f'{{"id": "{i}", "text": "t", "system": "x", "group": "q"}}' for i in range(2)]
    outputs = write(tmp_path / "out.jsonl", *lines, '{"text": "t", "group": "q"}')
    with pytest.raises(InputError) as caught:
        read_judged(given, outputs)
    said = str(caught.value)
    assert 'prefs.jsonl:1: "winner" must be' in said
    assert 'out.jsonl:2: a system must have one output per input, but "x" also has one for "q" in line 1' in said
    assert 'out.jsonl:3: "system" is needed here, found null' in said


def test_the_input_may_be_a_column_of_another_field(tmp_path: Path) -> None:
    """The prompt is read as context, so no column is left over; it names the input all the same."""
    rows = ["prompt,model,text\n", *(f"Q{i // 2},{'xy'[i % 2]},t{i}\n" for i in range(6))]
    path = write(tmp_path / "x.csv", "".join(rows))
    with pytest.raises(InputError, match=r'"group" is needed here, found null: columns={"group": "COLUMN"} names its'):
        place_outputs(read_scored(path))
    scored = read_scored(path, columns={"group": "prompt"})
    assert len(place_outputs(scored)) == 6
    assert scored.examples[0].context is None


@pytest.mark.parametrize("systems", [("s=a.txt", "s=b.txt"), ("s=a.txt", "t=./a.txt"), ("s=a.txt", " s=b.txt")])
def test_each_system_has_a_name_and_a_file_of_its_own(
    systems: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        write(tmp_path / f"{name}.txt", name)
    with pytest.raises(SettingError, match="a name and a file for each system that no other has, found"):
        read_scored(systems=systems)
