"""What the verbs take as input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.example import Example
from core.faults import InputFaults
from data.scored import ScoredFile
from judge.inputs import read

ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "one", "group": "q1", "references": ["uno"], "ratings": {"x": [1, 3]}, "scores": {"m": 0.5}},
    {"id": "b", "text": "two", "group": "q2", "references": ["dos"], "ratings": {"x": [2, None]}},
]


def test_texts_rows_examples_and_a_file_are_the_same_set(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    for source in (tmp_path / "in.jsonl", str(tmp_path / "in.jsonl"), ROWS, iter(ROWS)):
        found = read(source)
        assert isinstance(found, ScoredFile)
        assert [(e.id, e.text, e.group, e.references) for e in found.examples] == [
            ("a", "one", "q1", ("uno",)),
            ("b", "two", "q2", ("dos",)),
        ]
        assert found.ratings("x").tolist() == [2, 2]
        np.testing.assert_array_equal(found.raters["x"], [[1, 2], [3, np.nan]])
        np.testing.assert_array_equal(found.values("m", ""), [0.5, np.nan])
        assert [line for _, line in found.places] == [1, 2]
    assert read(found) is found
    assert read(found.examples).examples == found.examples
    plain = read([row["text"] for row in ROWS], references=["uno", ["dos"]])
    assert [(e.id, e.text, e.references) for e in plain.examples] == [("1", "one", ("uno",)), ("2", "two", ("dos",))]


@pytest.mark.parametrize("kind", ["rows", "examples"])
def test_references_are_found_by_input(kind: str) -> None:
    source: Any = [{"id": "a", "text": "one", "group": "q2"}, {"id": "q1", "text": "two"}]
    source = source if kind == "rows" else [Example(**row) for row in source]
    found = read(source, references={"q1": "first", "q2": ["second", "other"]})
    assert [example.references for example in found.examples] == [("second", "other"), ("first",)]


def test_texts_of_systems_have_ids_by_system_and_input_or_else_by_place() -> None:
    assert [e.id for e in read({"gpt": {"1": "a"}, "gpt-4": {"1": "b"}}).examples] == ["gpt-1", "gpt-4-1"]
    found = read({"gpt": {"1": "a b", "4-1": "c"}, "gpt-4": {"1": "a", "4-1": "c d"}})
    assert [(e.id, e.system, e.group, e.text) for e in found.examples] == [
        ("1", "gpt", "1", "a b"), ("2", "gpt", "4-1", "c"), ("3", "gpt-4", "1", "a"), ("4", "gpt-4", "4-1", "c d")
    ]  # fmt: skip
    with pytest.raises(InputFaults, match=r'examples:2: ids must be unique, but "1-q" is the id of line 1 too'):
        read({1: {"q": "a"}, "1": {"q": "b"}})  # pyright: ignore[reportArgumentType]


def test_scores_are_numbers_or_files(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text('{"id": "2", "scores": {"quality": 0.75}}\n{"id": "1", "scores": {"quality": null}}\n')
    found = read(["one", "two"], scores={"mine": np.array([1, np.nan]), "list": [1, None], "file": out})
    for name, numbers in {"mine": [1, np.nan], "list": [1, np.nan], "file": [np.nan, 0.75]}.items():
        np.testing.assert_array_equal(found.values(name, ""), numbers)


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ([], ["examples: the file needs at least one example, found none"]),
        (["a", " ", "c", ""], [f'examples:{i}: an example needs "text" or "turns" that say something' for i in (2, 4)]),
        ([{"text": 3}], ["examples:1: "]),
        ([{"id": "x", "text": "a"}, {"id": "x", "text": "b"}], ["examples:2: ids must be unique"]),
        ([Example("x", "a"), Example("x", "b")], ["examples:2: ids must be unique"]),
    ],
)
def test_all_faults_of_examples_in_memory_are_listed(source: Any, faults: list[str]) -> None:
    with pytest.raises(InputFaults) as found:
        read(source)
    assert all(each in str(found.value) for each in faults)
