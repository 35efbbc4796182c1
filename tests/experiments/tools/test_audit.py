"""+exp=audit through the command line, and its findings on planted metrics."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.judge.test_auditing import texts

Finish = Callable[..., dict[str, Any]]


def test_the_tables_of_a_run(finish: Finish, tmp_path: Path) -> None:
    with (tmp_path / "in.jsonl").open("w") as file:
        file.writelines(json.dumps({"id": e.id, "text": e.text, "ratings": dict(e.ratings)}) + "\n" for e in texts())
    results = finish("+exp=audit", "metric=word_count", "data.path=in.jsonl", "resamples=50", "cards=.")
    rows = results["table"]
    (length,) = [row for row in rows if row.get("property") == "words"]
    assert (length["n"], length["spearman"]) == (40, pytest.approx(1.0))
    damages = {row["damage"]: row for row in rows if "damage" in row}
    assert set(damages) >= {"drop", "repeat", "negate", "retrieve"}
    assert damages["drop"]["fall_1"] > damages["drop"]["fall_0.25"] > 0
    assert damages["repeat"]["fall_1"] < 0  # a repeated text has more words, and word count likes it
    assert {row["edit"]: row["changed"] for row in rows if "edit" in row}["case"] == 0
    card = (tmp_path / "word_count.md").read_text(encoding="utf-8")
    assert card.startswith("# word_count\n\nScores a text by its number of words; longer is better.")
    assert f"- {results['notes'][-1]}" in card


def test_each_metric_is_audited_or_says_what_it_needs(finish: Finish, tmp_path: Path) -> None:
    (tmp_path / "cards").mkdir()
    small = [f"data.corpora.{name}.rated=20" for name in ("remarks", "stories", "dialogues")]
    more = ("metrics=[word_count,rouge_1]", "resamples=20", "texts=16", "cards=cards")
    rows = finish("+exp=audit", "data=builtin_sets", *small, *more)["table"]
    sets = {"word_count": "builtin_remarks", "rouge_1": "builtin_stories"}
    assert [(row["metric"], row["set"], row["n"]) for row in rows] == [(*pair, 16) for pair in sets.items()]
    table = (tmp_path / "cards" / "README.md").read_text(encoding="utf-8")
    assert "| [word_count](word_count.md) | quality | builtin_remarks | 16 |" in table
    assert "| [bleurt](bleurt.md) | a model that" in table
