"""Tests of seeding."""

import os
import random
from unittest.mock import patch

import numpy as np
import pytest
import torch
from lightning_fabric.utilities.seed import seed_everything

from experiments.runner.seeding import seed_generators


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_the_generators_and_lightnings_variables_are_as_after_seed_everything(seed: int) -> None:
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()
    states = []
    try:
        for seeding in (lambda: seed_everything(seed, workers=True, verbose=False), lambda: seed_generators(seed)):
            with patch.dict(os.environ):
                seeding()
                variables = {name: value for name, value in os.environ.items() if name.startswith("PL_")}
            python, numpy, drawn = random.getstate(), np.random.get_state(legacy=False), torch.get_rng_state()
            assert isinstance(numpy, dict)
            key = numpy["state"]["key"].tolist(), numpy["state"]["pos"], numpy["has_gauss"], numpy["gauss"]
            states.append((variables, python, key, drawn.tolist(), torch.initial_seed()))
            random.random(), np.random.normal(), torch.rand(3)
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        torch.set_rng_state(before[2])
    assert states[0] == states[1]
    assert states[0][0] == {"PL_GLOBAL_SEED": str(seed), "PL_SEED_WORKERS": "1"}
