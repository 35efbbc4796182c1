"""The table of texts on the page, and the name of the page."""

import json

import numpy as np
import pytest

from core.example import Example
from core.scores import Scores
from experiments.report import texts
from experiments.report.texts import list_texts
from meta_eval.scored_set import ScoredSet

EXAMPLES = (
    Example("a", "One </script> text.", references=("Another.",), system="new", ratings={"q": 2.0}),
    Example("b", turns=("Hi.", "No.")),
)
TURNS = {"turns": [{"turn": 0, "momentum": 1.0, "tokens": [["Hi", 1.0], ["No", -1.0]]}]}
SCORES = {
    "two": Scores({"x": np.array([0.5, np.nan]), "y": np.array([1.0, 2.0])}, "two", [None, "too short"]),
    "told": Scores({"z": np.array([0.25, 0.75])}, "told", explanations=[TURNS, TURNS]),
}
SCORED = ScoredSet("toys", EXAMPLES, SCORES)


def test_rows_hold_texts_ratings_scores_reasons_and_explanations() -> None:
    found = list_texts(SCORED)
    assert "<" not in found.as_json  # no text can end the script
    data = json.loads(found.as_json)
    assert (data["metrics"], data["aspects"], data["hasSystems"]) == (["two/x", "two/y", "told"], ["q"], True)
    first, second = data["rows"]
    explained = {"told": [["turn 1: 1.000", [["Hi", 1.0, 1.0], ["No", -1.0, -1.0]]]]}
    shown = {"id": "a", "text": "One </script> text.", "references": ["Another."], "system": "new"}
    assert first == {**shown, "ratings": [2.0], "scores": [0.5, 1.0, 0.25], "reasons": {}, "explained": explained}
    assert (second["text"], second["ratings"], second["scores"]) == ("Hi.\nNo.", [None], [None, 2.0, 0.75])
    assert second["reasons"] == {"two": "too short"}


def test_a_page_holds_as_many_texts_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MOST_CHARACTERS", len(list_texts(SCORED).rows[0]))
    found = list_texts(SCORED)
    assert (len(found.rows), found.total) == (1, 2)
