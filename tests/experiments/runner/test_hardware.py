"""Hardware that this machine lacks: exit code 2 and the setting, before anything is trained."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from experiments.run import share_cores

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Lightning's
    pytest.mark.skipif(torch.accelerator.is_available(), reason="this machine has a GPU"),
]


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
