"""judge.agree: the result of +exp=meta_eval from rows in memory, its cues, levels and faults."""

import math

import numpy as np
import pytest

import judge
from core.example import Example
from core.faults import InputFaults, SettingFault
from judge.agreeing import MetricStudy


def draw_rows(systems: int = 3, inputs: int = 40) -> list[dict]:
    """Ratings see the number of words and a quality; metric good sees the quality, metric long the words."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(systems * inputs):
        words, quality = int(rng.integers(3, 30)), rng.normal()
        scores = {"good": quality + 0.3 * rng.normal(), "long": words + rng.normal()}
        text = " ".join(rng.choice(["sun", "moon", "star", "sky"], words))
        row = {"id": str(i), "text": text, "system": f"s{i // inputs}", "group": f"g{i % inputs}", "scores": scores}
        rows.append({**row, "ratings": {"q": quality + words / 8}})
    return rows


def agree(**settings) -> MetricStudy:
    return judge.agree(draw_rows(), resamples=60, permutations=99, **settings)


def test_a_metric_of_length_adds_nothing_to_cheap_cues() -> None:
    found = agree()
    rows = {row.metric: row for row in found.rows if row.grouping == "global"}
    assert set(rows) == {"good", "long", "cheap_cues"}
    assert rows["cheap_cues"].spearman.low > 0.5
    assert rows["good"].beyond_cues.low > 0.7
    assert rows["long"].spearman.low > 0.5
    assert abs(rows["long"].beyond_cues.value) < 0.3
    assert [note for note in found.notes if "no agreement beyond cheap cues" in note and "long (q)" in note]
    assert "|cheap_cues: cheap_cues|folds=10|seed=0|" in found.signature
    assert {name for ranking in found.rankings for name in ranking.measured} == {"good", "long"}
    assert found.tables[0].title == "Agreement with ratings"
    assert "beyond_cues" in found._repr_html_()


def test_without_cues() -> None:
    found = agree(cues=False)
    assert {row.metric for row in found.rows} == {"good", "long"}
    assert all(math.isnan(row.beyond_cues.value) for row in found.rows)
    assert "cheap_cues" not in found.signature


def test_all_levels_stand_in_one_table() -> None:
    (ranking, pairs) = agree(statistic="accuracy", grouping="all", cues=False).details
    levels = [("accuracy", "global"), ("accuracy", "per_system"), ("soft_accuracy", "system_means")]
    levels.append(("accuracy", "per_input"))
    assert [(row["statistic"], row["grouping"]) for row in pairs.rows] == levels
    assert list(dict.fromkeys((row["statistic"], row["grouping"]) for row in ranking.rows)) == levels
    assert [row["n"] for row in ranking.rows] == [120] * 8


def test_a_metric_runs_on_the_examples() -> None:
    def count_letters(examples: list[Example]) -> list[float]:
        return [float(len(example.text)) for example in examples]

    found = judge.agree(draw_rows(), [count_letters, "word_count"], resamples=60, permutations=99)
    rows = {row.metric: row.spearman.value for row in found.rows if row.grouping == "global"}
    assert list(rows) == ["good", "long", "count_letters", "word_count", "cheap_cues"]
    assert rows["count_letters"] == pytest.approx(rows["word_count"], abs=0.1)


def test_faults() -> None:
    with pytest.raises(SettingFault, match="resample is not a setting of agree \\(did you mean resamples"):
        agree(resample=3)
    with pytest.raises(SettingFault, match="statistic must be 'pearson'"):
        agree(statistic="tau")
    with pytest.raises(InputFaults, match='examples: at least one example needs "ratings"'):
        judge.agree(["one", "two"], "word_count")
    with pytest.raises(SettingFault, match="scores are needed"):
        judge.agree([{"text": "one", "ratings": {"q": 1}}])
