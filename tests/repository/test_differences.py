"""The tables of settings that differ from the papers hold the values of the configuration."""

import re
from pathlib import Path

import pytest
import yaml
from omegaconf import OmegaConf

from experiments.runner.configuration import compose_run

DOCS = Path(__file__).parents[2] / "docs"
HEAD = "| setting | here | paper or released code | why |"
COMMANDS = {
    "cdm": ("+exp=cdm_dialogue", "data=fed", "data.root=FOLDER"),
    "ctrl_eval": ("+exp=ctrleval_sentiment", "data=ctrleval", "data.root=FOLDER"),
    "mars": ("+exp=mars_story",),
    "oumg": ("+exp=guided_poetry", "data=songci", "data.root=FOLDER"),
}


@pytest.mark.parametrize("page", COMMANDS)
def test_what_differs_from_a_paper_is_what_the_configuration_says(page: str) -> None:
    config = compose_run([*COMMANDS[page], "scale=paper"])
    table = (DOCS / f"{page}.md").read_text(encoding="utf-8").partition(HEAD)[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", table, re.MULTILINE)
    assert len(rows) == table.count("\n") - 1 >= 5
    for setting, value in rows:
        found = OmegaConf.select(config, setting, default="no such setting", throw_on_missing=True)
        assert (OmegaConf.to_object(found) if OmegaConf.is_config(found) else found) == yaml.safe_load(value), setting
