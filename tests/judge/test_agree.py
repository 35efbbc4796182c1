"""judge.agree: its result from rows in memory, its cues, levels and faults."""

import random
from typing import Any

import numpy as np
import pytest

import judge
from core.errors import InputError
from report.study import Study


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


def agree(**settings) -> Study:
    return judge.agree(draw_rows(), **settings)


def test_a_metric_of_length_adds_nothing_to_cheap_cues() -> None:
    found = agree()
    rows = {row.metric: row for row in found.found.rows}
    assert set(rows) == {"good", "long", "cheap_cues", "system_alone"}
    assert rows["cheap_cues"].spearman.low > 0.5
    assert rows["good"].beyond_cues.low > 0.7
    assert rows["long"].spearman.low > 0.5
    assert abs(rows["long"].beyond_cues.value) < 0.3
    assert "|cheap_cues: cheap_cues|version=2|folds=10|seed=0|" in found.signature
    shown = found._repr_html_()
    assert shown.startswith(f"<p>{found.answer}</p>")
    assert "beyond_cues" in shown


def make_rows(scores: dict[str, list[float | None]], ratings: list[float], **more: list) -> list[dict]:
    return [
        {
            "text": f"text {i}",
            "ratings": {"q": rating},
            "scores": {name: values[i] for name, values in scores.items()},
            **{name: values[i] for name, values in more.items() if values[i] is not None},
        }
        for i, rating in enumerate(ratings)
    ]


def answer(scores: dict[str, list[float | None]], ratings: list[float], **settings) -> str:
    return judge.agree(make_rows(scores, ratings), **settings).answer


NOISE = np.random.default_rng(0).normal(size=(3, 60))
RATINGS = [float(i % 12) for i in range(60)]
GOOD = [rating + 0.5 * noise for rating, noise in zip(RATINGS, NOISE[0].tolist(), strict=True)]
POOR = NOISE[1].tolist()


@pytest.mark.parametrize(
    ("scores", "ratings", "parts"),
    [
        ({"a": GOOD, "b": POOR}, RATINGS, ["over all texts a agrees best (spearman 0.9", "from every other ranked"]),
        ({"a": POOR, "b": NOISE[2].tolist()}, RATINGS, ["do not separate", "no agreement above 0 is shown"]),
        ({"a": GOOD, "b": [2 * x for x in GOOD], "c": POOR}, RATINGS, ["a and b have the same", "separate a from b;"]),
        ({"a": GOOD}, RATINGS, ["q: a is the only ranked metric"]),
        ({"a": [1.0] * 60, "b": [None] * 60}, RATINGS, ["q: no metric can be ranked."]),
        ({"a": [1.0, 2, 3, 4], "b": [4.0, 3, 2, 1]}, [1, 2, 3, 5.5], ["not separate a from b", "without an i"]),
        ({"a": [1.0, 2, 3, 4], "b": [4.0, 3, 2, 1]}, [1, 2, 3, 5], ["weighted kappa of a", "without an i"]),
    ],
)
def test_the_last_note_answers_the_question(scores, ratings, parts) -> None:
    found = answer(scores, ratings)
    for part in parts:
        assert part in found


def test_what_is_undefined_is_left_out_and_named() -> None:
    scores = {"a": [None, *GOOD[1:]], "b": [2.0, *[1.0] * 59], "c": GOOD}
    assert judge.agree(make_rows(scores, RATINGS)).notes[0] == (
        "b is not ranked by q: all 59 scores of examples are 1: a constant has no correlation "
        "(of those that all ranked metrics scored)"
    )


def test_scores_whose_lower_values_are_better_are_negated_once() -> None:
    rows = make_rows({"loss": [-x for x in GOOD], "other": POOR}, RATINGS)
    plain = judge.agree(rows)
    assert [
        note
        for note in plain.notes
        if "name loss in lower_is_better" in note and "in reverse over all texts (spearman -0.9" in note
    ]
    found = judge.agree(rows, lower_is_better=["loss"])
    assert [row.metric for row in found.found.rows][:2] == ["loss (negated)", "other"]
    assert found.found.rows[0].spearman.value == pytest.approx(-plain.found.rows[0].spearman.value)
    assert "|lower_is_better=loss|" in found.signature


def test_one_text_without_a_group_is_refused() -> None:
    rows = draw_rows()
    lacking = [*rows, {**{k: v for k, v in rows[0].items() if k not in ("group", "id")}, "text": "Another one."}]
    with pytest.raises(InputError, match='examples:121: "group" is needed here, as in other lines'):
        judge.agree(lacking)


@pytest.mark.parametrize("people", [1, 3])
def test_a_judge_beside_a_metric_is_held_against_people_in_the_answer(people: int) -> None:
    """Better than chance, and the best of all metrics, is not yet good enough to take the place of a person."""
    rng = random.Random(0)
    rows: list[dict[str, Any]] = []
    for i in range(120):
        truth = i % 2
        ratings = {f"p{k}": truth if rng.random() < 0.95 else 1 - truth for k in range(people)}
        verdict = truth if rng.random() < 0.7 else 1 - truth
        rows.append({"text": "word " * (1 + i % 7), "ratings": {"ok": ratings}, "scores": {"judge": verdict}})
    answer = judge.agree(rows, "word_count").answer
    assert answer.startswith("ok: over all texts judge agrees best")
    assert answer.endswith("cannot replace a person here." if people > 1 else "no text has labels of two people.")
