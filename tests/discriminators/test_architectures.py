"""A new network is one module: it is built, saved and loaded by its kind."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from core.errors import InputError, SettingError
from discriminators import architectures
from discriminators.architectures import build_network
from discriminators.discriminator import Discriminator
from discriminators.vocabulary import train_vocabulary
from models.tiny import train_tokenizer

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
    """The folder of the networks, with one more."""
    (tmp_path / "bag.py").write_text(BAG, "utf-8")
    monkeypatch.setattr(architectures, "__path__", [*architectures.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    return tmp_path


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
