"""+exp=preferences through the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.baselines.test_endpoint import Server, answer_with, completion, serve

Finish = Callable[..., dict[str, Any]]
__all__ = ["serve"]  # a fixture
EXAMPLES = Path(__file__).parents[3] / "examples"


def test_people_and_metrics(finish: Finish, tmp_path: Path) -> None:
    files = (f"data.path={EXAMPLES}/preferences.jsonl", f"data.outputs={EXAMPLES}/summaries.jsonl")
    asked = ("metrics=[rouge_l,word_count]", "family={rouge_l: [new]}", "resamples=50")
    results = finish("+exp=preferences", *files, *asked)
    tables: dict[str, list[dict]] = {}
    for row in results["table"]:
        tables.setdefault(row["table"], []).append(row)
    new, old = tables["Systems by preferences"]
    assert (new["system"], new["wins"], new["ties"], new["losses"], old["wins"]) == ("new", 14, 4, 2, 2)
    assert [row["metric"] for row in tables["Agreement with preferences"]] == ["rouge_l", "word_count"]
    favoured = [(row["judge"], row["favoured"]) for row in tables["What the judges favour"]]
    assert favoured == [("rouge_l", "longer text"), ("rouge_l", "own family"), ("word_count", "longer text")]
    assert tables["Agreement among raters"][0]["raters"] == 2
    assert not (tmp_path / "here" / "plots").exists()  # ten inputs have no intervals


@pytest.mark.filterwarnings("default")
def test_a_chat_model_that_always_names_the_first_text(finish: Finish, serve: Callable[..., Server]) -> None:
    server = serve(answer_with(200, completion("A")))
    settings = ("metric=llm_judge", "metric.model=toy", f"metric.base_url={server.url}", "resamples=50", "outputs=kept")
    results, _ = (finish("+exp=preferences", *settings, f"data.path={EXAMPLES}/summaries.jsonl") for _ in range(2))
    questions = [request["messages"][0]["content"] for request in server.requests]
    assert len(questions) == 24  # ten pairs in both orders; the second run asks only what the endpoint takes
    assert questions[0] == questions[-1] == "Answer with the number 1."
    (row,) = [row for row in results["table"] if row["table"] == "The judge"]
    assert (row["pairs"], row["unanswered"], row["same_in_both_orders"], row["position_effect"]) == (10, 0, 0, 0.5)
    assert any("reads first" in note for note in results["notes"])
