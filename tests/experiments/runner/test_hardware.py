"""Hardware that this machine lacks: exit code 2 and the setting, before anything is trained. Seeds."""

import os
import random
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from pytorch_lightning import seed_everything
from pytorch_lightning.utilities.seed import isolate_rng

from experiments.run import share_cores
from experiments.runner.hardware import seed_generators

pytestmark = pytest.mark.filterwarnings("default")  # Lightning's


@pytest.mark.skipif(torch.accelerator.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("trainer.accelerator=gpu", "trainer.devices=2"), "trainer: No supported gpu backend found"),
        (("trainer.strategy=fsdp",), "trainer: The strategy `fsdp` requires a GPU"),
        (("trainer=cpu", "trainer.devices=4096"), "trainer.devices=4096, but this machine has"),
        (("trainer.precision=half",), "trainer: Precision 'half' is invalid"),
        (("trainer.precision=16-mixed",), "trainer.precision=16-mixed needs a GPU"),
        (
            ("model=guided/paper", "model.device=cuda"),
            "model.device: device=cuda, but this machine has 0",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hardware_that_is_not_there(run: Callable[..., Any], settings: tuple[str, ...], words: str) -> None:
    ended = run("+exp=toy", "logger=none", "run_dir=here", *settings)
    assert (ended.returncode, words in ended.stderr) == (2, True), ended.stderr


def test_waiting_threads_sleep_unless_the_environment_says_how_they_wait() -> None:
    environment: dict[str, str] = {}
    share_cores(environment)
    assert environment == {"GOMP_SPINCOUNT": "1000"}
    for given in ({"GOMP_SPINCOUNT": "7"}, {"OMP_WAIT_POLICY": "PASSIVE"}):
        environment = dict(given)
        share_cores(environment)
        assert environment == given


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
