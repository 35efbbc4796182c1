"""DataFrames and rows in memory: the same examples as a file, and nothing is scored as something else."""

import math
import sys
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge
from core.errors import SettingError

COLUMNS: dict[str, list[Any]] = {
    "text": ["a cat sat", "a dog", "yes"],
    "group": [1, 2, 3],
    "system": ["s", "s", "s"],
    "ref": ["a cat sat", math.nan, "no"],
    "other": [None, "a hound", "nope"],
    "rating:quality": [1.0, math.nan, 3.0],
    "ratings": [None, '{"style": 2}', None],
    "note": [math.nan, 0.5, date(2020, 1, 2)],
}
NAMED = {"references": ["ref", "other"]}
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]


def pandas_frame(columns: Mapping[str, list[Any]]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


SOURCES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pandas_frame(COLUMNS),
    "pandas records": lambda: pandas_frame(COLUMNS).to_dict("records"),
    "rows": lambda: ROWS,
    "generator": lambda: (row for row in ROWS),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_table_gives_the_same_examples(name: str) -> None:
    found = judge.read(SOURCES[name](), columns=NAMED)
    shown = [(e.text, e.group, e.system, e.references, dict(e.ratings), dict(e.extra)) for e in found.examples]
    assert shown == [
        ("a cat sat", "1", "s", ("a cat sat",), {"quality": 1.0}, {"note": None}),
        ("a dog", "2", "s", ("a hound",), {"style": 2.0}, {"note": 0.5}),
        ("yes", "3", "s", ("no", "nope"), {"quality": 3.0}, {"note": "2020-01-02"}),
    ]
    assert judge.score(SOURCES[name](), "word_count", columns=NAMED).found.values["quality"].tolist() == [3, 2, 1]


def test_a_table_in_memory_is_read_as_its_csv_file(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    columns = {"id": [7, 8], "turns": ['["Hi", "Ho"]', None], "text": [None, "x"], "references": ['["a", "b"]', "c"]}
    numbers = {"rating:q": [1, np.nan], "scores.m": [np.nan, 0.5], "label": pandas.Categorical(["p", "n"])}
    frame = pandas.DataFrame({**columns, **numbers})
    frame.to_csv(tmp_path / "x.csv", index=False)
    ours, file = judge.read(frame), judge.read(tmp_path / "x.csv")
    assert ours.examples == file.examples
    np.testing.assert_array_equal(ours.values("m", ""), file.values("m", ""))
    with pytest.raises(SettingError, match=r'^a column must occur once, but "x" is repeated$'):
        judge.read(pandas.DataFrame([["a", 1, 2]], columns=["text", "x", "x"]))


OUTPUTS = {
    "answer": ["one two", "one", "three four", "three"],
    "system": ["new", "old", "new", "old"],
    "input": [1, 1, 2, 2],
    "rating:q": [2.0, 1.0, 2.0, 1.0],
}
ASKED = {"text": "answer", "group": "input"}


def test_outputs_and_preferences_may_be_tables() -> None:
    compared = judge.compare(pandas_frame(OUTPUTS), "word_count", columns=ASKED)
    assert [(each.system, each.mean.value) for each in compared.found.means["word_count"]] == [("new", 2), ("old", 1)]
    judged = {"id": [1, 2], "system_a": ["new"] * 2, "system_b": ["old"] * 2, "winner": ["a", "b"], "x": [1, None]}
    preferred = judge.prefer(pandas_frame(judged))
    assert [(each.system, each.wins) for each in preferred.found.ranking.systems] == [("new", 1), ("old", 1)]


def test_results_are_frames() -> None:
    pandas = pytest.importorskip("pandas")
    scored = judge.score([{"text": "a b", "k": [1]}, {"text": "c", "references": ["c"]}], ["rouge_1", "word_count"])
    frame = scored.to_frame()
    assert {"id", "text", "k"} <= set(frame.columns)
    assert {"dropped_tokens", "reason", "rouge_1", "word_count", "references"} <= set(frame.columns)
    assert frame["word_count"].tolist() == [2, 1]
    assert math.isnan(frame["rouge_1"][0])
    assert frame["k"][0] == [1]
    known = judge.score([{"text": "a b", "quality": 7, "rating:q:ann": 1, "rating:q:bob": 3}], "word_count").to_frame()
    assert (known["quality"][0], known["scores.quality"][0]) == (7, 2)
    assert known["ratings"][0] == {"q": {"ann": 1, "bob": 3}}
    compared = judge.compare(pandas.DataFrame(OUTPUTS), "word_count", columns=ASKED)
    assert isinstance(compared.to_frame(), pandas.DataFrame)
    assert list(compared.to_frame("Systems, best first")["system"][:2]) == ["new", "old"]
    assert {"mean", "mean_low", "mean_high"} <= set(compared.to_frame("Systems, best first").columns)
    with pytest.raises(SettingError, match="there is no table 'x'; the tables are "):
        compared.to_frame("x")


def test_a_frame_without_pandas_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judge.score(["a"], "word_count")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SettingError, match=r"^pandas is not installed: pip install"):
        found.to_frame()


def test_the_frame_of_a_result_is_its_first_table_with_rows(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    rows = [{"id": str(i), "human": i % 2, "judge": i % 3 % 2} for i in range(12)]
    assert list(judge.agree(rows).to_frame()["metric"]) == ["judge"]
    assert judge.label(rows, output=tmp_path / "sheet").to_frame().empty
