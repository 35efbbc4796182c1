"""An empty answer is a bad answer: it scores 0 or null, and no system is ranked first for its silence."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge
from core.example import Example

NO_SCORE = "own has no score for an empty answer"


def own(examples: Sequence[Example]) -> list[float]:
    """A metric that cannot read an empty text."""
    return [1 / len(example.text.split()) for example in examples]


def outputs() -> list[dict[str, Any]]:
    """A repeats the reference on 20 inputs and is silent on 16; B has one word of eight wrong on all."""
    rows = []
    for i in range(36):
        reference = f"the cat {i} sat on the red mat"
        same = {"group": f"q{i}", "references": [reference]}
        rows.append({"text": reference if i < 20 else "", "system": "A", **same})
        rows.append({"text": reference.replace("red", "blue"), "system": "B", **same})
    return rows


@pytest.mark.parametrize("text", ["", "   ", "\f", None])
def test_an_empty_text_scores_0(text: str | None) -> None:
    rows = [{"text": "a b c d", "references": ["a b c d"]}, {"text": text, "references": ["a b c d"]}]
    found = judge.score(rows, ["ter", "bleu", "chrf", "rouge_1", "rouge_l", "meteor", "word_count"]).found.values
    assert found.pop("ter").tolist() == [0, -1]
    for metric, (whole, empty) in found.items():
        assert whole > 0.99, metric
        assert empty == 0, metric


def test_a_metric_without_a_score_says_why() -> None:
    found = judge.score(["a b", ""], own)
    np.testing.assert_array_equal(found.found.values["score"], [0.5, np.nan])
    assert found.found.reasons[1] == f"{own.__module__}.{NO_SCORE}"


def test_a_silent_system_is_not_ranked_first() -> None:
    found = judge.compare(outputs(), ["rouge_l", own])
    means = {each.system: each.mean.value for each in found.found.means["rouge_l"]}
    assert means == {"A": pytest.approx(20 / 36), "B": pytest.approx(7 / 8)}
    assert found.notes[0] == "A is silent on 16 of 36 inputs; own has no score for a silent answer and cannot rank it"
    assert found.answer.startswith("By rouge_l, B scores higher than A")
    assert "by own, no two systems have scores for enough inputs in common" in found.answer


def test_silence_is_found_in_any_order_of_rows() -> None:
    """The inputs on which A is silent come last in the file and first by name."""
    rows = [{**row, "group": f"q{99 - i // 2}"} for i, row in enumerate(outputs())]
    rows = rows[:40] + [row | {"text": row["text"] or "yes"} for row in rows[40:60]] + rows[60:]
    found = judge.compare(rows, [own])
    assert found.notes[0] == "A is silent on 6 of 36 inputs; own has no score for a silent answer and cannot rank it"


def test_a_system_that_answers_with_invisible_characters_is_silent() -> None:
    rows = [{**row, "text": row["text"] or "\u200b"} for row in outputs()]
    found = judge.compare(rows, ["rouge_l"])
    said = "A is silent on 16 of 36 inputs; rouge_l has no score for a silent answer and cannot rank it"
    assert found.notes[0] == said
    assert "A scores higher" not in found.answer


def test_people_who_did_not_rate_empty_answers_do_not_rank_a_silent_system() -> None:
    rows = [{**row, "ratings": {"q": 5 if row["system"] == "A" else 3 + i % 2}} for i, row in enumerate(outputs())]
    for row in rows:
        if not row["text"]:
            del row["ratings"]
    found = judge.compare(rows)
    said = "A is silent on 16 of 36 inputs; human q has no score for a silent answer and cannot rank it"
    assert found.notes[0] == said


def test_blank_references_are_left_out() -> None:
    rows = [
        {"text": "a b", "references": ["", "a b", " "]},
        {"text": "a b", "references": [""]},
        {"text": "", "references": ["", "c d"]},
    ]
    found = judge.score(rows, "rouge_l")
    np.testing.assert_array_equal(found.found.values["quality"], [1, np.nan, 0])
    assert found.found.reasons[1] == "rouge_l needs references, found none"


def test_a_file_scores_an_empty_answer_as_texts_in_memory_do(tmp_path: Path) -> None:
    """It is the only text that has what the metric needs."""
    (tmp_path / "x.jsonl").write_text('{"text": "", "references": ["a b"]}\n{"text": "a"}\n')
    for output in (None, tmp_path / "out.jsonl"):
        found = judge.score(tmp_path / "x.jsonl", "rouge_l", output=output, chunk=1)
        np.testing.assert_array_equal(found.found.values["quality"], [0, np.nan])
