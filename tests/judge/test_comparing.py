"""judge.compare: systems as mappings, files and sets; people as one more metric."""

import math
from pathlib import Path

import numpy as np
import pytest

import judge
from core.example import Example
from core.faults import InputFaults
from data.scored import mark_missing
from meta_eval.scored_set import ScoredSet

REFERENCES = ["the cat sat on the mat", "a dog ran away from home", "it rains on the old town"]
SYSTEMS = {
    "a": ["a cat is on the mat", "the dog ran away", "it snows on the town"],
    "b": ["the cat sat on the mat", "a dog ran far away from home", "it rains on the old town"],
}
SUMMARIES = Path(__file__).parents[2] / "examples" / "summaries.jsonl"


def by_input(texts: list[str]) -> dict[str, str]:
    return {str(i): text for i, text in enumerate(texts)}


def test_systems_are_aligned_by_input() -> None:
    texts = {name: by_input(each) for name, each in SYSTEMS.items()}
    mapping = judge.compare(texts, "bleu", references=by_input(REFERENCES))
    rows = [
        {"text": text, "system": name, "group": f"{i}", "references": [REFERENCES[i]]}
        for name, texts in SYSTEMS.items()
        for i, text in reversed(list(enumerate(texts)))
    ]
    shuffled = judge.compare(rows, "bleu")
    for found in (mapping, shuffled):
        assert [each.system for each in found.means["bleu"]] == ["b", "a"]
        assert found.pairs["bleu"]["a", "b"].losses == 3
    assert "bleu: bleu|" in mapping.signature


def test_people_are_one_more_metric() -> None:
    found = judge.compare(SUMMARIES, "word_count")
    assert [each.system for each in found.means["human quality"]] == ["new", "old"]
    assert found.pairs["human quality"]["new", "old"].p_value == 2 / 2**10


def test_incomplete_inputs_are_refused_or_dropped_and_counted() -> None:
    texts = {"a": {f"i{k}": "w " * (k + 2) for k in range(9)}, "b": {f"i{k}": "w" for k in range(6)}}
    with pytest.raises(InputFaults, match="no output of b: incomplete=drop leaves such inputs out"):
        judge.compare(texts, "word_count")
    found = judge.compare(texts, "word_count", incomplete="drop")
    assert "3 of 9 inputs are left out, because some system has no output for them (b lacks 3)" in found.notes
    alone = judge.compare({"a": {f"i{k}": "w " * (k + 2) for k in range(6)}, "b": texts["b"]}, "word_count")
    assert found.pairs["word_count"]["a", "b"] == alone.pairs["word_count"]["a", "b"]
    with pytest.raises(InputFaults, match="no input of 2 has an output of every system"):
        judge.compare({"a": {"1": "x"}, "b": {"2": "x"}}, "word_count", incomplete="drop")


NAN = math.nan
EQUAL = [float(k % 3) for k in range(12)]
HIGH = [value + 1 + k % 2 / 10 for k, value in enumerate(EQUAL)]
NOISY = [value + (-1) ** k * 0.3 + 0.01 * k for k, value in enumerate(EQUAL)]


@pytest.mark.parametrize(
    ("scores", "margin", "answer"),
    [
        ({"a": EQUAL, "b": HIGH}, None, "By m, b scores higher than a (p 0.0005)."),
        ({"a": EQUAL, "b": HIGH}, 2, "By m, b scores higher than a (p 0.0005), and b is within 2 of a."),
        ({"a": EQUAL, "b": EQUAL}, 1, "By m, a and b score the same on every input."),
        ({"a": EQUAL, "b": NOISY}, 1, "By m, b and a are equal within 1."),
        (
            {"a": HIGH, "b": [v + (-1) ** k for k, v in enumerate(HIGH)], "c": EQUAL},
            None,
            "By m, a scores higher than c (p 0.001), and the tests do not separate a from b (p 1.000).",
        ),
        ({"a": [NAN] * 12, "b": HIGH}, None, "By m, no two systems have scores for enough inputs in common."),
        ({"a": [1], "b": [0]}, None, "By m, nothing is tested: a comparison needs at least 2 inputs"),
    ],
)
def test_the_answer_holds(scores: dict[str, list[float]], margin: float | None, answer: str) -> None:
    examples = [Example(f"{s}-{i}", "t", system=s, group=f"g{i}") for s, own in scores.items() for i in range(len(own))]
    values = np.array([each for own in scores.values() for each in own], dtype=np.float64)
    study = ScoredSet("study", tuple(examples), {"m": mark_missing(values, "m|v1")})
    found = judge.compare(study, resamples=20, margin=margin, cues=False, incomplete="drop")
    assert found.notes[-1].startswith(answer)
    assert found.tables[0].rows
