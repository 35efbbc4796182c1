"""Trained models load by their name on the hub as they load from a folder; a card changes nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdm.discriminative import DiscriminativeCDM
from core.errors import MissingModelError
from core.notes import TINY, write_note
from discriminators.discriminator import Discriminator
from discriminators.guides import load_guide
from models.loading import folder_fingerprint
from tests.rehearsal.hub import into_cache
from tests.toy_models import TEXTS, toy_pair

Builds = dict[str, Callable[..., Any]]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of the hub, which is not asked."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.mark.parametrize("kind", ["bert", "guide"])
def test_a_classifier_by_its_hub_name_is_that_of_its_folder(
    kind: str, builds: Builds, cache: Path, tmp_path: Path
) -> None:
    texts = [(text,) for text in TEXTS]
    builds[kind](texts).save_pretrained(tmp_path / "saved")
    write_note(tmp_path / "saved", TINY)
    (tmp_path / "saved" / "README.md").write_text("# a card", "utf-8")
    into_cache(tmp_path / "saved", cache, "someone/judge")
    local, shared = (load_guide(name) for name in (tmp_path / "saved", "someone/judge"))
    np.testing.assert_array_equal(shared.logits(texts)[0], local.logits(texts)[0])
    assert shared.identity == local.identity
    assert shared.notes == (TINY,)


def test_a_pair_by_its_hub_name_is_that_of_its_folder(cache: Path, tmp_path: Path) -> None:
    pair = toy_pair(TEXTS)
    for name, lm in (("amateur", pair.amateur), ("expert", pair.expert)):
        pair.reading.save(lm)
        lm.save_pretrained(tmp_path / "models" / name)
    into_cache(tmp_path / "models", cache, "someone/pair")
    local, shared = (DiscriminativeCDM.from_pretrained(name) for name in (tmp_path / "models", "someone/pair"))
    assert shared.signature == local.signature


def test_a_name_that_the_cache_lacks_says_what_to_do(cache: Path) -> None:
    for load in (Discriminator.from_pretrained, load_guide, DiscriminativeCDM.from_pretrained):
        with pytest.raises(
            MissingModelError, match=r"^someone/none: there is no such folder, .*not in the cache"
        ) as error:
            load("someone/none")
        assert error.value.fetchable


def test_a_card_does_not_change_what_identifies_a_folder(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_text("1", "utf-8")
    before = folder_fingerprint(tmp_path)
    (tmp_path / "README.md").write_text("# a card", "utf-8")
    assert folder_fingerprint(tmp_path) == before
    (tmp_path / "model.safetensors").rename(tmp_path / "other.safetensors")
    assert folder_fingerprint(tmp_path) != before
