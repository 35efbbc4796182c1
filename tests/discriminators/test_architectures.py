"""A new network is one module: it is built, saved, loaded by its kind, and steers."""

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.errors import InputError, SettingError
from discriminators import architectures
from discriminators.architectures import build_network
from discriminators.discriminator import Discriminator
from discriminators.guides import load_guide
from discriminators.vocabulary import train_vocabulary
from models.tiny import train_tokenizer
from oumg.guidance import Guidance

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extend.md"
TEXTS = [("red cat", "a blue dog"), ("the sun",)]
BAG = """
from torch import nn
from discriminators.architectures import Network
class Bag(Network):
    def __init__(self, vocabulary_size, kind, outputs=1):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocabulary_size, outputs, mode=kind)
    def forward(self, ids, mask):
        return self.embedding(ids).squeeze(-1)
NETWORK = Bag
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the networks, with the one of the page and one of a discriminator."""
    (text,) = re.findall(
        r"File `discriminators/architectures/mean.py`:\n\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.S
    )
    (tmp_path / "mean.py").write_text(text, "utf-8")
    (tmp_path / "bag.py").write_text(BAG, "utf-8")
    monkeypatch.setattr(architectures, "__path__", [*architectures.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    return tmp_path


def test_the_guide_of_the_page_steers(tmp_path: Path) -> None:
    made: Any = importlib.import_module("discriminators.architectures.mean")
    tokenizer = train_tokenizer(["red cat a blue dog the sun"] * 3, 300, sentinels=())
    guide = made.new_mean_guide(TEXTS, tokenizer, dim=4)
    guide.save_pretrained(tmp_path / "guide")
    again = load_guide(tmp_path / "guide")
    texts = [("red sun",), ("a cat",)]
    assert again.logits(texts)[0].tolist() == guide.logits(texts)[0].tolist()
    ids = torch.tensor([tokenizer("red ca", add_special_tokens=False)["input_ids"]])
    steps: list[Any] = []
    scores = torch.zeros(1, len(tokenizer))
    Guidance(
        again,
        tokenizer,
        2.0,
        k=5,
        watch=steps.append,
    )(ids, scores)
    for candidate, judged in zip(steps[0].candidates[0], steps[0].judged[0], strict=True):
        row = torch.cat([ids[0], candidate[None]])[None]
        torch.testing.assert_close(judged, guide.network(row, torch.ones_like(row, dtype=torch.bool))[0, -1])
    with pytest.raises(SettingError, match="a guide must read the tokens of its generator"):
        Guidance(again, train_tokenizer(["another one"], 280, sentinels=()), 1.0)


def make_bag() -> Discriminator:
    vocabulary = train_vocabulary(TEXTS, "words", 50, 16, min_count=1)
    return Discriminator(build_network("bag", len(vocabulary), kind="sum"), vocabulary, {"kind": "sum"})


def test_a_discriminator_of_another_network_may_have_an_argument_called_kind(tmp_path: Path) -> None:
    made = make_bag()
    made.save_pretrained(tmp_path / "saved")
    again = Discriminator.from_pretrained(tmp_path / "saved")
    assert (again.kind, again.arguments) == ("bag", {"kind": "sum"})
    np.testing.assert_array_equal(again.logits(TEXTS)[0], made.logits(TEXTS)[0])
    with pytest.raises(SettingError, match="a guide must read the tokens of its generator"):
        again.as_guide(train_tokenizer(["a b"], 280, sentinels=()))


def test_a_folder_names_a_module_of_the_package_and_nothing_else(tmp_path: Path) -> None:
    make_bag().save_pretrained(tmp_path)
    file = tmp_path / "discriminator.json"
    for kind in ("os", "..guides", "discriminators.guides"):
        file.write_text(file.read_text("utf-8").replace('"bag"', f'"{kind}"'), "utf-8")
        with pytest.raises(InputError, match=f"kind must be .*, but is '{kind}'"):
            Discriminator.from_pretrained(tmp_path)
        file.write_text(file.read_text("utf-8").replace(f'"{kind}"', '"bag"'), "utf-8")
