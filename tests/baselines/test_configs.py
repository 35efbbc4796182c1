"""configs/metric: every baseline's settings are arguments of what they build."""

import inspect
from pathlib import Path
from typing import Any

import pytest
from hydra.utils import get_object
from omegaconf import OmegaConf

from data.files import FIELDS

FOLDER = Path(__file__).resolve().parents[2] / "configs" / "metric"
FILES = sorted(path for path in FOLDER.glob("*.yaml") if "_target_: baselines." in path.read_text(encoding="utf-8"))


def test_there_are_configs() -> None:
    assert {"bleu", "rouge_l", "bertscore", "perplexity", "bartscore", "discriminator"} <= {file.stem for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_settings_are_the_arguments_of_the_target(file: Path) -> None:
    config: Any = OmegaConf.load(file)
    metric = config.get("metric", config)
    settings = {name: None for name in metric if name != "_target_"}
    inspect.signature(get_object(metric["_target_"])).bind(**settings)
    if "data" in config:
        assert set(config.data.requires) <= set(FIELDS)
