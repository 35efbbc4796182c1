"""A model that is not there, through the command line: exit code 2, one line with the setting and what fetches it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from data.files import write_examples
from data.sets.attributes import builtin_reviews

WHY = "there is no such folder, the model is not in the cache, and the model hub is not asked now"
OWN = ("data.path=in.jsonl", "output=out.jsonl")


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        (["+exp=score", "metric=mars", "metric.language_model=no/such", *OWN], "metric.language_model=no/such"),
        (["+exp=score", "metric=ctrleval", *OWN], "metric.model=google/pegasus-large"),
        (["+exp=score", "metric=bertscore", "metric.model=no/such", *OWN], "metric.model=no/such"),
        (["+exp=augment", *OWN], "metric.language_model=openai-community/gpt2-large"),
        (["+exp=guided_text", "data.path=mine.jsonl", "generator=no/such"], "generator=no/such"),
        (
            ["+exp=guided_text", "data.path=mine.jsonl", "scale=paper"],
            "model.generator.name=openai-community/gpt2-medium",
        ),
        (["+exp=iwf", "corpus=in.jsonl", "model_name=no/such", "output=iwf.json"], "model_name=no/such"),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else "",
)
def test_the_setting_is_named_and_what_fetches_it(
    run_here: Callable[..., int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    settings: list[str],
    asked: str,
) -> None:
    example = {"id": "a", "text": "A cat.", "prefix": "A", "label": "positive", "references": ["A dog."]}
    (tmp_path / "in.jsonl").write_text(json.dumps(example) + "\n")
    write_examples(tmp_path / "mine.jsonl", builtin_reviews(train=100, held_out=1, rated=0).train)
    assert run_here(*settings, "logger=none", "trainer=cpu", "stages_dir=stages") == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"{asked}: {WHY}; network=true fetches it"
    assert not (tmp_path / "stages").exists()


def test_a_guide_that_is_not_there(run_here: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    few = ("data.train=4", "data.held_out=2", "data.rated=0", "trainer=cpu")
    assert run_here("+exp=guided_demo", "prompt=A", "guide_folder=no/guide", *few) == 2
    assert "no/guide: must be the folder of a trained guide, with guide.json" in capsys.readouterr().err
