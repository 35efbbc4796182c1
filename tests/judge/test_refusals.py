"""What the verbs refuse in words: sources that are not understood, and questions that nothing can answer."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import judge
from baselines.sacrebleu_metrics import Bleu
from core.example import Example
from core.faults import InputFaults, SettingFault
from judge.inputs import read

ROWS: list[dict[str, Any]] = [{"id": "a", "text": "one", "scores": {"m": 0.5}}, {"id": "b", "text": "two"}]
PAIR: dict[str, str] = {"id": "q0", "system_a": "x", "system_b": "y", "winner": "x"}
OUTPUTS = [Example(f"{s}{i}", text="t", system=s, group=f"q{i}") for i in range(2) for s in "xy"]


def frame(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


CASES: list[tuple[Callable[[], Any], str]] = [
    (lambda: read("Hello"), "a text must be in a list, and the name"),
    (lambda: read(["a", {"text": "b"}]), "must hold texts, rows or Examples, but this one holds rows and texts"),
    (lambda: read({"s": ["a", "b"]}), "a mapping must be {system: {input: text}}, and a row must be in a list, but s"),
    (lambda: read(["a", "b"], references="c"), "must be a list with those of each text"),
    (lambda: read(["a", "b"], references=["c"]), "those of each of 2 texts, but has 1"),
    (lambda: read(["a"], references=cast(Any, [3])), "must be one text or a list of texts"),
    (lambda: read(["a"], references=frame({"ref": ["a"]})), "pass one of its columns"),
    (lambda: read([{"text": "a", "system": "s"}], references=["c"]), "never by position"),
    (lambda: read([{"id": "a", "text": "a"}], references={"b": "c"}), '1 are missing, such as "a"'),
    (lambda: read("in.jsonl", references=["c"]), "references of a file stand in its lines"),
    (lambda: read(["a"], scores={"m": [1, 2]}), "a number for each of 1 examples, but have 2"),
    (lambda: read(["a"], scores={"m": ["x"]}), "scores of m must be numbers"),
    (lambda: read(ROWS, scores={"m": [1, 2]}), "a metric must have one score, but m is in the examples too"),
    (lambda: read(frame({"note": ["a"]})), 'the header needs a column "text" or "turns"'),
    (lambda: read({"old": frame({"text": ["a"]})}), "but old has a DataFrame"),
    (lambda: read(np.array([["a", "b"]])), "this one holds a ndarray"),
    (lambda: read({"a", "b"}), "but got a set"),
    (lambda: read([Example("1", "a")], columns={"text": "t"}), "Examples have fields"),
    (lambda: judge.score(["a"], "bleu"), "examples:1: bleu needs references, found none"),
    (lambda: judge.score(["a"], ["bleu", "word_count"], order=2), "order: of several metrics, pass load_metric"),
    (lambda: judge.score(ROWS, "word_count"), 'examples:1: "scores" is a key of the output of scores'),
    (lambda: judge.score(read(ROWS), "word_count"), "texts to score must have no scores, but have m"),
    (lambda: judge.score([{"text": "a", "reason": "b"}], "word_count"), "data.columns.my_reason=reason renames it"),
    (lambda: judge.score(["a"], []), "at least one metric is needed"),
    (lambda: judge.score(["a"], [Bleu(order=2), Bleu(order=2)]), "two are called bleu2"),
    (lambda: judge.agree(ROWS, resample=3), "resample is not a setting of agree (did you mean resamples"),
    (
        lambda: judge.plan(withn=1),
        "withn is not a setting of plan (did you mean within?); allowed: within, costs, texts",
    ),
    (
        lambda: judge.compare({"a": {"i": "x"}, "b": {"i": "y"}}, incomplete=cast(Any, "skip")),
        "incomplete must be 'refuse' or 'drop', but is 'skip'",
    ),
    (lambda: judge.compare({"a": {"i": "x"}, "b": {"i": "y"}}), "needs metrics, scores or ratings"),
    (lambda: judge.prefer([PAIR], judge=cast(Any, Bleu())), "outputs must hold"),
    (lambda: judge.prefer(outputs=OUTPUTS), "preferences, or a judge"),
    (lambda: judge.prefer(outputs=OUTPUTS, judge="bleu"), "must compare pairs"),
    (lambda: judge.prefer([PAIR], scale=3), "scale is not a setting of prefer without the name"),
    (lambda: judge.prefer([{**PAIR, "id": "z"}], outputs=OUTPUTS, metrics="word_count"), "judged systems and inputs"),
]


@pytest.mark.parametrize(("ask", "message"), CASES, ids=[message for _, message in CASES])
def test_a_wrong_question_is_refused_in_words(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises((SettingFault, InputFaults)) as found:
        ask()
    assert message in str(found.value)
