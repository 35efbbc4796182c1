"""Users' files with their right answers, worked out by hand or by the libraries of the field (`expected.json`)."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge
from core.errors import InputError, QuestionError
from data.input_file import InputFile
from data.preferences import read_preferences
from data.scored import read_scored
from judge.verdict_files import read_verdicts
from meta_eval.raters import krippendorff_alpha
from meta_eval.scored_set import ScoredSet
from tests.data.judged import read_judged

METRICS = ("bleu", "chrf", "ter", "rouge_1", "rouge_2", "rouge_l", "meteor")
NAMES = {"bleu": "bleu", "chrf": "chrf", "ter": "ter", "rouge_1": "rouge1_stem", "rouge_2": "rouge2_stem"}
NAMES["rouge_l"] = "rougeL_stem"


def expect(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "expected.json").read_text())


def score(path: Path, metrics: Any = METRICS) -> dict[str, dict[str, float]]:
    """The scores of a file by id and metric."""
    found = judge.score(str(path), [*metrics])
    ids = [example.id for example in found.found.examples]
    return {name: {m: float(values[i]) for m, values in found.found.values.items()} for i, name in enumerate(ids)}


def alpha(found: ScoredSet, aspect: str, scale: Any) -> float:
    return krippendorff_alpha(found.raters[aspect], scale).value


def test_empty_texts(cases: Path) -> None:
    folder = cases / "01-empty-texts"
    right, found = expect(folder)["empty_text.jsonl"], score(folder / "empty_text.jsonl")
    assert found.keys() == right.keys()
    for name, metrics in found.items():
        for metric, key in NAMES.items():
            if name == "zwsp":
                assert math.isnan(metrics[metric])  # a text of invisible characters, with a reason
            elif name == "dot" and metric.startswith("rouge"):
                assert math.isnan(metrics[metric])  # no words to compare, with a reason
            else:
                assert metrics[metric] == pytest.approx(right[name][key], abs=1e-6)
    lacking = score(folder / "empty_reference.jsonl")
    assert lacking.pop("normal")["bleu"] == pytest.approx(1)
    assert all(math.isnan(value) for metrics in lacking.values() for value in metrics.values())
    of_three = score(folder / "one_reference_of_three_empty.jsonl", ["bleu", "chrf", "rouge_l"])
    assert list(of_three["v1"].values()) == pytest.approx([1, 1, 1])
    assert list(of_three["v2"].values()) == [0, 0, 0]


def test_rouge_of_other_scripts(cases: Path) -> None:
    folder = cases / "02-rouge-other-scripts"
    right = expect(folder)["rouge_1"]
    found = {name: each["rouge_1"] for name, each in score(folder / "scripts.jsonl", ["rouge_1", "meteor"]).items()}
    in_words = {"thai_other": 1 / 3, "arabic_half": 0.5, "korean_half": 0.75, "japanese_spaced": 0.7}
    in_words |= {"mixed_en_zh_other": 2 / 3, "german_umlaut_other": 0}
    assert math.isnan(found.pop("emoji_only"))
    for name, value in found.items():
        expected = in_words.get(name, 1)
        assert value == pytest.approx(expected), name
        assert not isinstance(right[name], int) or right[name] == expected


def test_forms_of_unicode(cases: Path) -> None:
    folder = cases / "04-unicode-forms"
    right, found = expect(folder)["after NFC of both sides"], score(folder / "forms.jsonl")
    for name in found:
        for metric in ("bleu", "chrf", "ter"):
            assert found[name][metric] == pytest.approx(right[name][metric], abs=1e-6)
    for name in ("nfc_nfd", "nfc_same", "emoji_zwj", "hebrew", "combining_zalgo"):
        assert found[name]["rouge_1"] == found[name]["rouge_l"] == 1
    lines = [json.loads(line)["text"] for line in (folder / "forms.jsonl").read_text().split("\n") if line]
    assert [example.text for example in judge.read(str(folder / "forms.jsonl")).examples] == lines


@pytest.mark.parametrize(
    ("texts", "references", "expected"),
    [
        ("hyp", "ref", [1] * 5),
        ("hyp_crlf", "ref", [1] * 5),
        ("hyp_cr_inside", "ref_cr_inside", [1, 1]),
        ("hyp_empty_line", "ref_empty_line", [1, 0, 1]),
        ("hyp_no_last_newline", "ref_last_newline", [1, 1]),
    ],
)
def test_line_separators(cases: Path, texts: str, references: str, expected: list[float]) -> None:
    folder = cases / "10-line-separators"
    aligned = read_scored(text=folder / f"{texts}.txt", references=folder / f"{references}.txt")
    assert judge.score(aligned, "bleu").found.values["quality"].tolist() == pytest.approx(expected)


def test_line_separators_in_json(cases: Path, tmp_path: Path) -> None:
    path, output = cases / "10-line-separators" / "raw.jsonl", tmp_path / "out.jsonl"
    judge.score(str(path), "bleu", output=output)
    lines = output.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert [json.loads(line)["scores"]["quality"] for line in lines] == pytest.approx([1] * 5)


@pytest.mark.parametrize(
    "name",
    [
        "arena_140k_style.jsonl",
        "arena_conversations.json",
        "arena_conversations.jsonl",
        "clean_battle_no_question.json",
        "kaggle_lmsys.csv",
    ],
)
def test_battles_with_ties(cases: Path, name: str) -> None:
    folder = cases / "16-arena-ties"
    right = expect(folder)
    found = judge.prefer(str(folder / name))
    for each in found.found.ranking.systems:
        row = right["table"][each.system]
        assert (each.n, each.wins, each.ties, each.losses) == (row["n"], row["wins"], row["ties"], row["losses"])
        assert each.win_rate.value == row["win_rate"]
        assert each.strength.value == pytest.approx(right["strength_with_prior"][each.system], abs=1e-3)


@pytest.mark.parametrize(
    ("name", "n", "rate", "remark"),
    [
        ("annotations.json", 7, 0.592857, "1 without a verdict left out"),
        ("annotations_nan.json", 7, 0.592857, "1 without a verdict left out"),
        ("annotations_duplicates.json", 6, 0.333333, "6 judgements of 2 systems"),
    ],
)
def test_preferences_of_alpaca_eval(cases: Path, name: str, n: int, rate: float, remark: str) -> None:
    path = cases / "18-alpaca-preferences" / name
    given, _ = read_judged(path)
    assert given is not None
    assert len(given) == n
    assert np.mean(given.of("my-model")) == pytest.approx(rate, abs=1e-6)
    assert str(InputFile(path).tool_file).endswith(remark)


def test_outputs_of_alpaca_eval_name_the_line_at_fault(cases: Path) -> None:
    with pytest.raises(InputError, match=r'incomplete.json:3: "instruction" must not be blank'):
        read_scored(cases / "18-alpaca-preferences" / "model_outputs_incomplete.json")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("name", ["nltk2865", "fast11", "codings", "binary2", "halves"])
def test_alpha_with_missing_ratings(cases: Path, name: str, form: str) -> None:
    folder = cases / "20-alpha-missing"
    found = read_scored(folder / f"{name}.{form}")
    for scale, value in expect(folder)["alpha"][name].items():
        assert alpha(found, "q", scale) == pytest.approx(value, abs=1e-4)


def test_a_column_called_score_is_a_judges(cases: Path) -> None:
    found = read_verdicts(cases / "20-alpha-missing" / "binary2.csv")
    assert (found.aspects, [*found.scores]) == (("q",), ["score:m"])


@pytest.mark.parametrize("name", ["perfect_constant", "one_rater", "rater_with_one"])
def test_alpha_that_is_undefined(cases: Path, name: str) -> None:
    assert math.isnan(alpha(read_scored(cases / "20-alpha-missing" / f"{name}.csv"), "q", "ordinal"))


@pytest.mark.parametrize(
    ("name", "scores", "remark"),
    [
        ("unscored", {"graded": [1, 0, math.nan, 0, 0.5]}, "1 without a text left out"),
        ("dict_values", {"multi/a": [math.nan, 0.5], "multi/b": [1, 0], "plain": [1, 0]}, "plain as scores"),
        ("list_values", {}, "scores of listy that are lists or words left out"),
        ("text_values", {}, "scores of category that are lists or words left out"),
        ("null_value", {"edited": [0, math.nan]}, "edited as score"),
    ],
)
def test_missing_scores_of_inspect(cases: Path, name: str, scores: Any, remark: str) -> None:
    found = read_scored(cases / "23-inspect-nan" / f"{name}.json")
    assert found.scores.keys() == scores.keys()
    for metric, values in scores.items():
        np.testing.assert_array_equal(found.values(metric, ""), values)
    assert found.notes[0].endswith(remark)


def test_a_wide_table_of_workers(cases: Path) -> None:
    path = cases / "27-mturk-wide" / "batch_results.csv"
    with pytest.raises(InputError, match=r'needs "text" or "turns", found HITId, HITTypeId'):
        read_scored(path)
    columns = {"text": "Input.OUT7", "ratings.typical": "Answer.7"}
    with pytest.raises(InputError, match="found Invalid, Very Typical, Specific, Typical in"):
        read_scored(path, columns=columns)
    levels = ["invalid", "rare", "average", "typical", "specific", "very typical"]
    found = read_scored(path, columns=columns, levels=levels)
    assert "batch_results.csv: 10 rows, 2 texts; their raters are in WorkerId" in found.notes
    assert (~np.isnan(found.raters["typical"])).sum(axis=0).tolist() == [5, 5]


def test_a_long_table_of_workers(cases: Path) -> None:
    folder = cases / "28-mturk-long"
    right = expect(folder)
    asked = {"text": "Input.summary", "context": "Input.dialogue", "group": "Input.dialogue"}
    asked |= {"system": "Input.model_type"}
    columns = asked | {f"ratings.{name}": name for name in right["aspects"]}
    found = judge.read(str(folder / "Batch_results.csv"), columns=columns)
    assert found.notes == ("Batch_results.csv: 210 rows, 42 texts; their raters are in WorkerId",)
    study = judge.agree(found, "word_count", cues=False)
    for row in (row for row in study.found.rows if row.metric == "word_count"):
        of = right["aspects"][row.aspect]
        assert row.n == right["texts"]
        assert row.spearman.value == pytest.approx(
            of["spearman of number of words with the mean rating, one text each"], abs=1e-3
        )
        assert len(found.raters[row.aspect]) == right["workers"]
        for scale in ("interval", "ordinal"):
            assert alpha(found, row.aspect, scale) == pytest.approx(of[f"alpha {scale}"], abs=1e-3)


def test_a_long_table_of_workers_without_systems(cases: Path) -> None:
    """Equal summaries of several systems are told apart by their task."""
    columns = {"text": "Input.summary", "rater": "WorkerId", "ratings.coherence": "Answer.Coherance"}
    found = read_scored(cases / "28-mturk-long" / "Batch_results.csv", columns=columns)
    assert len(found) == 42
    assert alpha(found, "coherence", "ordinal") == pytest.approx(-0.0208, abs=1e-3)


@pytest.mark.parametrize("name", ["label_studio_ratings.csv", "label_studio_ratings_min.json"])
def test_rows_of_annotators(cases: Path, name: str) -> None:
    folder = cases / "33-label-studio-potato"
    right = expect(folder)["label_studio_ratings"]
    found = read_scored(folder / name, columns={"ratings.fluency": "fluency", "ratings.faithful": "faithful"})
    assert len(found) == right["texts"]
    fluency = [[math.nan if each is None else each for each in right["fluency"][rater]] for rater in "12"]
    np.testing.assert_array_equal(found.raters["fluency"], fluency)
    assert alpha(found, "fluency", "ordinal") == pytest.approx(right["alpha ordinal"], abs=1e-4)
    assert alpha(found, "faithful", "nominal") == pytest.approx(right["alpha nominal of faithful"], abs=1e-4)


def test_tasks_of_annotators(cases: Path) -> None:
    folder = cases / "33-label-studio-potato"
    right = expect(folder)
    found = read_scored(folder / "label_studio_ratings.json")
    of_rows = read_scored(
        folder / "label_studio_ratings.csv", columns={"ratings.fluency": "fluency", "ratings.faithful": "faithful"}
    )
    assert len(found) == right["label_studio_ratings"]["texts"]
    for aspect in ("fluency", "faithful"):
        np.testing.assert_array_equal(found.raters[aspect], of_rows.raters[aspect])
    task = folder / "label_studio_real_one_task.json"
    with pytest.raises(InputError, match=r"known order, found Positive in .*levels=.* gives their order"):
        read_scored(task)
    assert len(read_scored(task, levels=["Negative", "Neutral", "Positive"])) == 1
    with pytest.raises(InputError, match="an export as CSV has columns to name"):
        read_preferences(folder / "label_studio_pairwise.json")


def test_scores_that_are_ratings(cases: Path) -> None:
    folder = cases / "35-scores-are-ratings"
    right = expect(folder)
    columns = {"text": "system_output", "system": "system_id", "context": "source", "group": "source"}
    words = right["spearman of number of words with"]
    columns |= {f"ratings.{name}": f"scores.{name}" for name in words}
    found = judge.read(str(folder / "topical_chat.json"), columns=columns)
    assert (len(found), found.layout.input_count, len({*(found.systems or ())})) == (30, 5, 6)
    assert dict(found.scores) == {}
    study = judge.agree(found, "word_count", cues=False)
    by_aspect = {row.aspect: row.spearman.value for row in study.found.rows if row.metric == "word_count"}
    assert by_aspect == pytest.approx(words, abs=1e-4)
    compared = judge.compare(found)
    means = {each.system: each.mean.value for each in compared.found.means["human overall"]}
    assert means == pytest.approx(right["mean overall by system"], abs=1e-4)
    unnamed = judge.read(str(folder / "topical_chat.json"), columns={"text": "system_output", "system": "system_id"})
    with pytest.raises(QuestionError, match="no column says that it holds labels of people"):
        judge.agree(unnamed)


def test_trees_of_messages_are_refused(cases: Path) -> None:
    with pytest.raises(InputError, match='needs "text" or "turns"'):
        read_scored(cases / "36-message-trees" / "oasst_trees.jsonl")
