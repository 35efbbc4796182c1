"""judge.score: the numbers of the command, for texts, files and systems, with one metric or several."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge
from baselines.sacrebleu_metrics import Bleu
from baselines.word_count import WordCount
from core.example import Example
from core.scores import Scores
from judge import score

ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "the cat sat", "references": ["the cat sat down"]},
    {"id": "b", "text": "dogs"},
    {"id": "c", "text": "a dog ran", "references": ["the dog ran", "a dog"]},
]


def test_scores_are_those_of_the_metric() -> None:
    found = score(ROWS, "bleu", order=1)
    expected = Bleu(order=1).score(found.found.examples)
    np.testing.assert_array_equal(found.found.values["quality"], expected.values["quality"])
    assert found.found.reasons == [None, "bleu1 needs references, found none", None]
    assert found.signature == expected.signature
    assert [example.id for example in found.found.examples] == ["a", "b", "c"]
    assert found.notes == ["1 of 3 examples lack a score; `found.reasons` says why"]
    assert "<td>the cat sat</td>" in found._repr_html_()


class Noting(WordCount):
    """Says something about its scores."""

    def score(self, examples: Sequence[Example]) -> Scores:
        return replace(super().score(examples), notes=("ours, not theirs",))


def test_every_verb_shows_what_metrics_say_about_their_scores() -> None:
    rows = [
        {"id": f"{s}{i}", "system": s, "group": str(i), "text": "word " * (1 + i % 3), "ratings": {"quality": i % 4}}
        for s in "ab"
        for i in range(8)
    ]
    found = [
        judge.score(rows, Noting()),
        judge.compare(rows, Noting()),
        judge.agree(rows, Noting()),
        judge.audit(rows, Noting()),
    ]
    for each in found:
        assert each.notes.count("ours, not theirs") == 1
        assert "ours, not theirs" in each._repr_html_()


def test_the_distribution_counts_known_scores_alone() -> None:
    table = score(ROWS, "word_count").tables[-1], score(ROWS, "bleu", order=1).tables[-1]
    assert [row["n"] for each in table for row in each.rows] == [3, 2]
    row = {"aspect": "quality", "n": 3, "mean": 7 / 3, "min": 1, "lower_quartile": 2, "median": 3}
    assert table[0].rows[0] == {**row, "upper_quartile": 3, "max": 3}


def test_a_column_of_the_input_is_not_shown_as_the_score() -> None:
    first, rest = score([{"text": "a b c", "quality": 5}, {"text": "a"}], "word_count").tables[0].rows
    assert (first["quality"], first["scores.quality"], rest["scores.quality"]) == (5, 3, 1)
    assert "quality" not in rest
    shown = score([{"text": "a b c", "quality": 5}], "word_count").tables[0].fit(80)
    assert shown == ["id", "text", "scores.quality"]


def test_the_answer_has_the_mean_and_the_number_of_each_metric() -> None:
    found = score(ROWS, ["word_count", "rouge_l"])
    assert found.answer == f"The mean score: word_count 2.333 (n 3), rouge_l {(6 / 7 + 4 / 5) / 2:.3f} (n 2)."


def test_a_result_of_a_long_file_says_that_its_rows_are_the_first_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judge.chunks.SHOWN_EXAMPLES", 2)
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n' * 3)
    found = score(tmp_path / "in.jsonl", "word_count", output=tmp_path / "out.jsonl")
    assert found.notes == ["tables and pages have the first 2 of 3 texts, the output all"]
    assert len(found.tables[0].rows) == 2
    assert found.answer == "The mean score: quality 1.000 (n 3)."
