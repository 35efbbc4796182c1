"""Ranks in the environment: they count only for a trainer of several devices or nodes."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["RANK", "LOCAL_RANK", "SLURM_PROCID"])
def test_a_training_on_one_device_is_the_first_process(
    run_here: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    assert run_here("+exp=toy", "logger=csv", "trainer=cpu", "hydra.run.dir=here") == 0
    assert (tmp_path / "here" / "results.json").is_file()
    assert (tmp_path / "here" / "csv" / "expert" / "metrics.csv").is_file()
