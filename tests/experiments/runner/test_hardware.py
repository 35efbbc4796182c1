"""How threads wait, and how generators are seeded."""

import os
import random
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest
import torch
from pytorch_lightning import seed_everything
from pytorch_lightning.utilities.seed import isolate_rng

from experiments.runner.hardware import seed_generators

pytestmark = pytest.mark.filterwarnings("default")  # Lightning's


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_generators_and_variables_are_as_after_lightnings_seeding(seed: int) -> None:
    def draw_after(seeding: Callable[[], object]) -> tuple[object, ...]:
        with isolate_rng(), patch.dict(os.environ):
            seeding()
            variables = {name: value for name, value in os.environ.items() if name.startswith("PL_")}
            legacy = np.random.normal(size=3).tolist()  # noqa: NPY002, it is the generator under test
            return variables, random.random(), legacy, torch.initial_seed(), torch.rand(3).tolist()

    found = draw_after(lambda: seed_generators(seed))
    assert found == draw_after(lambda: seed_everything(seed, workers=True, verbose=False))
    assert found[0] == {"PL_GLOBAL_SEED": str(seed), "PL_SEED_WORKERS": "1"}
