"""What the functions of the page answer, called without a browser."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discriminators.guides import CausalGuide
from judge.browser.judging import DemoModels
from judge.steering import SteeredText
from models.causal import CausalLM

pytest.importorskip("gradio")
pages = pytest.importorskip("judge.browser.page")
pytestmark = [  # gradio's, which leaves event loops open
    pytest.mark.filterwarnings("default", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
]

TYPED = ("The soup was hot.", False, "", "", "", "")


@pytest.fixture(autouse=True)
def collect(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("judge.browser.steer_tab.NEW_TOKENS", 4)
    yield
    gc.collect()


def functions(models: DemoModels) -> dict[str, Callable[..., Any]]:
    """The functions that the buttons of the page call, by name."""
    return {each.fn.__name__: each.fn for each in pages.build_page(models).fns.values() if each.fn}


def test_a_folder_without_models_judges_by_counting(tmp_path: Path) -> None:
    models = DemoModels.load(str(tmp_path / "none"))
    assert (models.generator, [*models.metrics]) == (None, ["word count", "ROUGE-L", "BLEU"])
    called = functions(models)
    assert "on_write" not in called
    assert "<td>word count</td><td>4</td>" in called["on_score"](*TYPED, ["word count"])
    assert "choose at least one metric" in called["on_score"](*TYPED, [])


def test_a_token_guided_and_not_and_its_candidates(tmp_path: Path, lm: CausalLM, guide: CausalGuide) -> None:
    lm.save_pretrained(tmp_path / "generator")
    guide.save_pretrained(tmp_path / "guide_bad")
    called = functions(DemoModels.load(str(tmp_path)))
    *_, (guided, unguided, found, fault) = called["on_write"]("the food", "bad", 4.0, 3, 0)
    assert ([guided[0], unguided[0]], fault) == ([("the food", None)] * 2, "")
    assert len(guided) == len(unguided) == 4
    shown = called["show"](found, SimpleNamespace(index=1))
    assert "Step 1" in shown
    ((*_, none, fault),) = called["on_write"]("the food", "good", 4.0, 3, 0)
    assert (none, "label must be one of bad, but is &#x27;good&#x27;" in fault) == (SteeredText(""), True)


def test_the_page_opens_on_a_text_that_is_written(tmp_path: Path, lm: CausalLM, guide: CausalGuide) -> None:
    lm.save_pretrained(tmp_path / "generator")
    guide.save_pretrained(tmp_path / "guide_bad")
    page = pages.build_page(DemoModels.load(str(tmp_path)))
    shown = [block.value for block in page.blocks.values() if type(block).__name__ == "HighlightedText"]
    assert [len(tokens) for tokens in shown] == [5, 5]  # the prompt and four tokens
    assert [tokens[0]["token"].rstrip() for tokens in shown] == ["The food"] * 2
