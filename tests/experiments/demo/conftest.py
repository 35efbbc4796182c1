"""The tiny models of `make models`, smaller still."""

import os
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from experiments.run import main
from tests.experiments.steering.conftest import guide, lm

__all__ = ["guide", "lm"]  # fixtures of guided decoding

SMALL = """
data.train=120 data.held_out=30 reviews.train=400 reviews.held_out=20 stories.train=60 stories.held_out=10 trainer=cpu
model.expert.schedule.epochs=1 model.negatives.dialogues=24 model.pooler.dialogues=16 ~model.discriminators.bert
model.ctrleval.infiller.schedule.epochs=1 model.mars.language_model.schedule.epochs=1
model.guided.generator.schedule.epochs=1 model.guided.guides.causal.training.epochs=1
model.guided.judge.training.epochs=1
"""


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of `+exp=models` on few texts: its models know next to nothing."""
    folder = tmp_path_factory.mktemp("tiny")
    with patch.dict(os.environ), patch.object(sys, "argv", ["experiments/run.py"]):
        assert main(["+exp=models", f"outputs={folder}", *SMALL.split()]) == 0
    return folder / "tiny"
