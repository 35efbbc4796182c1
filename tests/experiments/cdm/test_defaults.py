"""What CDM's experiments train by default: the paper's method, and for public recipes the settings of their figures."""

import json
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from cdm.sampling import Sampling
from experiments.cdm.experiment import NegativesPlan
from tests.composing import compose_run

# how the model is composed by the public recipes, without what names or chooses the source of the negatives
TRAINED = json.loads((Path(__file__).parent / "recipes.json").read_text("utf-8"))
FED = ["+exp=cdm_dialogue", "data=fed", "data.root=x", "+recipe=fed"]
COMMONGEN = ["+exp=cdm_commongen", "data=commongen", "data.root=x", "+recipe=commongen"]
OWN = ["+exp=train_cdm", "data.path=mine.jsonl"]
ALL = [["+exp=cdm_dialogue"], ["+exp=cdm_commongen"], ["+exp=models"], FED, COMMONGEN, OWN]
CONTRAST = {"gamma": 1.0, "plausibility": 0.1}


def compose_model(settings: list[str]) -> dict[str, Any]:
    model: Any = OmegaConf.to_container(compose_run(settings).model)
    return model


def take_contrast(model: dict[str, Any]) -> dict[str, float]:
    """The settings that make the contrast, which are then no longer in the model."""
    sampling = model["negatives"]["sampling"]
    return {name: sampling.pop(name) for name in CONTRAST}


@pytest.mark.parametrize("settings", ALL, ids=" ".join)
def test_negatives_are_those_of_the_contrast(settings: list[str]) -> None:
    assert take_contrast(compose_model(settings)) == CONTRAST


@pytest.mark.parametrize(("settings", "name"), [(FED, "fed"), (COMMONGEN, "commongen")])
def test_all_else_that_a_public_recipe_trains_is_as_published(settings: list[str], name: str) -> None:
    model = compose_model(settings)
    take_contrast(model)
    assert model.pop("baseline") == ["bert"]
    del model["chosen"]
    assert model == TRAINED[name]


def test_own_dialogues_are_learned_with_the_settings_of_real_ones() -> None:
    config = compose_run(OWN)
    model = compose_model(OWN)
    take_contrast(model)
    assert model.pop("baseline") is None
    assert "built-in" not in model.pop("chosen")
    assert model == TRAINED["fed"]
    assert config.data.path == "mine.jsonl"
    paper = compose_model([*OWN, "scale=paper"])
    assert paper == compose_model(["+exp=cdm_dialogue", "scale=paper", "data=dialogues", "data.path=mine.jsonl"])


def test_the_baseline_differs_from_the_method_in_who_draws_alone() -> None:
    plan = NegativesPlan("mixed-multi", Sampling(gamma=1.0, plausibility=0.1, top_p=0.9), 6)
    alone = plan.without_contrast()
    other = NegativesPlan("mixed-multi", Sampling(gamma=0.5, plausibility=0.1, top_p=0.9), 6)
    assert other.without_contrast() == alone  # a sweep over gamma finds it again
    assert (alone.sampling.gamma, alone.sampling.top_p, alone.dialogues, alone.strategy) == (0.0, 0.9, 6, "mixed-multi")
