"""Hardware of a run: what is shown while a model trains, and ranks in the environment."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_utilities.core.rank_zero import rank_zero_only
from omegaconf import OmegaConf
from pytorch_lightning.callbacks import EarlyStopping, LambdaCallback
from torch.utils.data import DataLoader, TensorDataset

from experiments.runner.hardware import build_trainer, check_trainer, choose_training, is_first_process
from tests.experiments.conftest import show_nothing
from tests.experiments.toy.toy import OneWeight

TRAINER = {"_target_": "pytorch_lightning.Trainer", "_partial_": True, "accelerator": "cpu", "max_epochs": 2}


@pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore:.*does not have many workers", "ignore:.*smaller than the logging"
)
@pytest.mark.parametrize(("parts", "steps"), [(1, 6), (2, 4)])
def test_the_steps_of_a_training_are_shown(parts: int, steps: int, tmp_path: Path) -> None:
    """Three batches in each of two epochs, of which `parts` make a step."""
    shown: list[int | None] = []

    @contextmanager
    def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        shown.append(total)
        yield shown.append

    config = OmegaConf.create({**TRAINER, "accumulate_grad_batches": parts})
    trainer = build_trainer(config, tmp_path, progress, enable_checkpointing=False)
    trainer.fit(OneWeight(gamma=1.0), DataLoader(TensorDataset(torch.ones(3))))
    assert shown == [steps, 0, *[1] * steps]


def test_callbacks_of_the_configuration_are_called_and_its_settings_have_the_last_word(tmp_path: Path) -> None:
    callback = {"_target_": "pytorch_lightning.callbacks.EarlyStopping", "monitor": "val/loss", "patience": 7}
    config = OmegaConf.create({**TRAINER, "precision": "bf16-mixed", "gradient_clip_val": 0.5, "callbacks": [callback]})
    added = LambdaCallback()
    build = partial(build_trainer, config, tmp_path, show_nothing, [added], max_epochs=9, gradient_clip_val=1.0)
    first: Any = build(enable_checkpointing=False)
    second: Any = build(enable_checkpointing=False, precision="32-true")  # for scoring
    assert (first.max_epochs, first.gradient_clip_val, first.log_every_n_steps) == (2, 0.5, 5)
    assert (first.precision, second.precision) == ("bf16-mixed", "32-true")
    one, other = (next(c for c in each.callbacks if isinstance(c, EarlyStopping)) for each in (first, second))
    assert one.patience == 7
    assert one is not other  # each training has callbacks of its own
    assert added in first.callbacks


def test_what_ends_or_changes_a_training_is_part_of_it_and_where_it_runs_is_not() -> None:
    where = {"accelerator": "gpu", "devices": 2, "strategy": "ddp", "max_time": "00:00:00:02"}
    ending = {"max_steps": 3, "precision": "bf16-mixed", "callbacks": [{"_target_": "mine.Stops", "patience": 2}]}
    assert choose_training(OmegaConf.create({**TRAINER, **where, **ending})) == {"max_epochs": 2, **ending}


@pytest.mark.parametrize("name", ["RANK", "LOCAL_RANK", "SLURM_PROCID"])
def test_a_rank_in_the_environment_counts_only_for_several_devices_or_nodes(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    monkeypatch.setattr(rank_zero_only, "rank", 1)  # as Lightning reads the rank when it is imported
    assert is_first_process(check_trainer(OmegaConf.create(TRAINER)))
    assert rank_zero_only.rank == 0  # pyright: ignore[reportFunctionMemberAccess] # so loggers write
