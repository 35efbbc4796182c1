"""Ranks in the environment: they count only for a trainer of several devices or nodes."""

from collections.abc import Callable
from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf

from core.errors import SettingError
from experiments.runner import hardware

pytestmark = pytest.mark.filterwarnings("default")
RANKS = [("RANK", "1"), ("LOCAL_RANK", "2"), ("SLURM_PROCID", "3"), ("RANK", ""), ("RANK", "x")]
ranks = pytest.mark.parametrize(("name", "value"), RANKS)


@ranks
def test_a_training_on_one_device_is_the_first_process(
    run_here: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert run_here("+exp=toy", "logger=csv", "trainer=cpu", "hydra.run.dir=here") == 0
    assert (tmp_path / "here" / "results.json").is_file()
    assert (tmp_path / "here" / "csv" / "expert" / "metrics.csv").is_file()


def configure(**trainer: object) -> DictConfig:
    settings = {"accelerator": "cpu", "devices": 1, "num_nodes": 1, **trainer}
    return OmegaConf.create({"trainer": settings})


SEVERAL = [{"devices": 2}, {"devices": "2"}, {"devices": [0, 1]}, {"devices": "0,1"}, {"num_nodes": 2}]
SINGLE = [{}, {"devices": "1"}, {"devices": [3]}, {"devices": "3,"}, {"devices": "auto"}, {"devices": -1}]


@pytest.mark.parametrize("trainer", SEVERAL)
def test_a_rank_counts_where_a_trainer_has_several_devices_or_nodes(
    monkeypatch: pytest.MonkeyPatch, trainer: dict[str, object]
) -> None:
    monkeypatch.setattr("lightning_utilities.core.rank_zero.rank_zero_only.rank", None, raising=False)
    config = configure(**trainer)
    assert hardware.claim_rank(config)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert not hardware.claim_rank(config)
    monkeypatch.setenv("RANK", "x")
    with pytest.raises(SettingError, match=r"RANK must be the rank of a process, a number from 0 on, but is 'x'"):
        hardware.claim_rank(config)


@pytest.mark.parametrize("trainer", SINGLE)
def test_a_rank_does_not_count_where_a_trainer_has_one_device(
    monkeypatch: pytest.MonkeyPatch, trainer: dict[str, object]
) -> None:
    config = configure(**trainer)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert hardware.claim_rank(config)


def test_all_gpus_are_several_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "count_gpus", lambda: 4)
    assert hardware.count_processes(configure(accelerator="auto", devices="auto")) == 4
    assert hardware.count_processes(configure(accelerator="gpu", devices=-1)) == 4
    assert hardware.count_processes(configure(devices="auto")) == 1
