"""What the verbs take as input, and what they refuse in words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import judge
from baselines.sacrebleu_metrics import Bleu
from core.errors import InputError, SettingError
from core.example import Example
from data.scored import ScoredFile
from judge.inputs import read
from tests.data.sets.small_files import write

ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "one", "group": "q1", "references": ["uno"], "ratings": {"x": [1, 3]}, "scores": {"m": 0.5}},
    {"id": "b", "text": "two", "group": "q2", "references": ["dos"], "ratings": {"x": [2, None]}},
]


def test_texts_rows_examples_and_a_file_are_the_same_set(tmp_path: Path) -> None:
    file = write(tmp_path / "in.jsonl", *ROWS)
    for source in (file, str(file), ROWS, iter(ROWS)):
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
    systems: Any = {"a": {1: "x", 2: "z"}, "b": {1: "y"}}
    numbered = read(systems, references=cast(Any, {1: "first", 2.0: "second"}))
    assert [example.references for example in numbered.examples] == [("first",), ("second",), ("first",)]


def test_texts_of_systems_have_ids_by_system_and_input_or_else_by_place() -> None:
    assert [e.id for e in read({"gpt": {"1": "a"}, "gpt-4": {"1": "b"}}).examples] == ["gpt-1", "gpt-4-1"]
    found = read({"gpt": {"1": "a b", "4-1": "c"}, "gpt-4": {"1": "a", "4-1": "c d"}})
    assert [(e.id, e.system, e.group, e.text) for e in found.examples] == [
        ("1", "gpt", "1", "a b"), ("2", "gpt", "4-1", "c"), ("3", "gpt-4", "1", "a"), ("4", "gpt-4", "4-1", "c d")
    ]  # fmt: skip
    with pytest.raises(InputError, match=r'examples:2: ids must be unique, but "1-q" is the id of line 1 too'):
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
        ([" ", ""], ["examples: at least one text must not be empty, but all are"]),
        ([{"text": 3}], ["examples:1: "]),
        ([{"id": "x", "text": "a"}, {"id": "x", "text": "b"}], ["examples:2: ids must be unique"]),
        ([Example("x", "a"), Example("x", "b")], ["examples:2: ids must be unique"]),
    ],
)
def test_all_faults_of_examples_in_memory_are_listed(source: Any, faults: list[str]) -> None:
    with pytest.raises(InputError) as found:
        read(source)
    assert all(each in str(found.value) for each in faults)


PLAIN: list[dict[str, Any]] = [{"id": "a", "text": "one", "scores": {"m": 0.5}}, {"id": "b", "text": "two"}]
RATED = [{"text": "t", "system": name, "group": "i", "ratings": {"q": 1}} for name in "ab"]
MISSPELT: dict[str, Any] = {"withn": 1}
PAIR: dict[str, str] = {"id": "q0", "system_a": "x", "system_b": "y", "winner": "x"}
OUTPUTS = [Example(f"{s}{i}", text="t", system=s, group=f"q{i}") for i in range(2) for s in "xy"]


def frame(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


class OtherTable(list[str]):
    """Of another library: iterating gives the names of its columns."""

    columns = ("text",)


OUTPUT = {"text": "x", "system": "a", "group": "i"}
CASES: list[tuple[Callable[[], Any], str]] = [
    (lambda: read("Hello"), "a text must be in a list, and the name"),
    (lambda: read(["a", {"text": "b"}]), "must hold texts, rows or Examples, but this one holds rows and texts"),
    (lambda: read({"s": ["a", "b"]}), "a mapping must be {system: {input: text}}, and a row must be in a list, but s"),
    (lambda: read(["a", "b"], references=["c"]), "one entry for each of the 2 texts, but have 1"),
    (lambda: read(["a"], references=cast(Any, [3])), "must be one text or a list of texts"),
    (lambda: read(["a"], references=frame({"ref": ["a"]})), "pass one of its columns"),
    (lambda: read([{"text": "a", "system": "s"}], references=["c"]), "never by position"),
    (lambda: read([{"id": "a", "text": "a"}], references={"b": "c"}), '1 are missing, such as "a"'),
    (
        lambda: read({s: {"i": "x", "j": "y"} for s in "ab"}, references={"j": "c"}),
        'references must have each input, but 1 are missing, such as "i"',
    ),
    (lambda: read("in.jsonl", references=["c"]), "references cannot be passed with a file"),
    (lambda: read(["a"], scores={"m": [1, 2]}), "a number for each of 1 examples, but have 2"),
    (lambda: read(["a"], scores={"m": ["x"]}), "scores of m must be numbers"),
    (lambda: read(PLAIN, scores={"m": [1, 2]}), "a metric must have one score, but m is in the examples too"),
    (lambda: read(frame({"note": ["a"]})), 'needs "text" or "turns", found note'),
    (lambda: read(OtherTable()), "but got a OtherTable"),
    (lambda: read([Example("1", "a")], columns={"text": "t"}), "columns must not be passed with Examples"),
    (
        lambda: judge.score(["a"], ["bleu", "word_count"], order=2),
        "order: settings of several metrics are ambiguous: pass load_metric",
    ),
    (lambda: judge.score(read(PLAIN), "word_count"), "texts to score must have no scores, but have m"),
    (lambda: judge.score([{"text": "a", "reason": "b"}], "word_count"), 'columns={"my_reason": "reason"} renames it'),
    (lambda: judge.score(["a"], []), "at least one metric is needed"),
    (lambda: judge.audit(["a"], []), "metrics must name the metrics to audit"),
    (lambda: judge.score(["a"], [Bleu(order=2), Bleu(order=2)]), "two are called bleu2"),
    (
        lambda: judge.compare(read(RATED, {"human q": [1, 2]})),
        "scores may not have a name of ratings, such as human quality",
    ),
    (lambda: judge.agree(read(RATED, {"cheap_cues": [1, 2]})), "rename these scores"),
    (lambda: judge.plan(**MISSPELT), "withn is not a setting of plan (did you mean within?); allowed: pilot,"),
    (
        lambda: judge.compare({"a": {"i": "x"}, "b": {"i": "y"}}, incomplete=cast(Any, "skip")),
        "incomplete must be 'refuse' or 'drop', but is 'skip'",
    ),
    (lambda: judge.compare({"a": {"i": "x"}, "b": {"i": "y"}}), "needs metrics, scores or ratings"),
    (lambda: judge.prefer([PAIR], judge=cast(Any, Bleu())), "pass them as outputs"),
    (lambda: judge.prefer(outputs=OUTPUTS), "source must be preferences, or outputs with a judge"),
    (lambda: judge.prefer(outputs=OUTPUTS, judge="bleu"), "must compare pairs"),
    (lambda: judge.prefer([PAIR], scale=3), "scale is not a setting of prefer without the name"),
    (lambda: read(read(["a"]), references=["b"]), "cannot be passed with a ScoredSet, which has its own"),
    (
        lambda: judge.score(["a"], "word_count", output="out.jsonl"),
        "output needs a file of texts with their references",
    ),
    (lambda: judge.agree([{"text": "a", "ratings": {"q": 1}}]), "no column says that it holds verdicts of judges"),
    (lambda: judge.compare({"a": {"i": "x"}}, "word_count"), "a comparison needs at least 2 systems, found a"),
    (
        lambda: judge.compare([{**OUTPUT, "context": "c"}, {**OUTPUT, "system": "b", "context": "d"}], "word_count"),
        'context of "i" is "d" here and "c" in line 1',
    ),
    (
        lambda: judge.plan({"a": {"i": "x"}}),
        "aspect must be one with ratings in the pilot (none), but is overall",
    ),
    (
        lambda: judge.plan(
            [{**row, "group": f"{row['group']}{i}"} for i, row in enumerate(RATED * 5)], "q", ["a", "b"]
        ),
        "5 inputs for which a and b have ratings of q, but examples has 0 (0 inputs that both answered)",
    ),
    (lambda: judge.compare(OUTPUTS, scores=cast(Any, "out.jsonl")), "scores go by the name of their metric, but got"),
    (lambda: judge.score(["a"], "bleu", ray=cast(Any, 2)), "ray has the settings workers, cpus, gpus, address"),
    (lambda: judge.plan(spread_inputs=0, spread_raters=0), "spread_inputs and spread_raters must not both be 0"),
    (
        lambda: judge.prefer([PAIR], metrics="word_count"),
        "metrics and scores need the texts of the systems: pass them as outputs",
    ),
    (
        lambda: judge.prefer(cast(Any, [PAIR, 3])),
        "preferences must be in a file, a list of rows or a DataFrame, but one is 3",
    ),
    (lambda: judge.prefer([{**PAIR, "id": "z"}], outputs=OUTPUTS, metrics="word_count"), "judged systems and inputs"),
    (
        lambda: judge.prefer([{"id": "z", "system_a": "a", "system_b": "b", "judges": {"m": "a"}}]),
        'preferences: at least one judgement needs a "winner", or human_labels give people\'s, but only judges judged',
    ),
]


@pytest.mark.parametrize(("ask", "message"), CASES, ids=[message for _, message in CASES])
def test_a_wrong_question_is_refused_in_words(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises((SettingError, InputError)) as found:
        ask()
    assert message in str(found.value)
