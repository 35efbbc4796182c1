"""Kept stages: their state, size, age and what they were made from; removed and copied whole."""

import os
import time
from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock

from core.kept_stages import list_stages, remove_stage
from core.stages import Stages


def write(size: int, folder: Path) -> None:
    (folder / "model").write_bytes(bytes(size))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A pair, something made from it, a stage whose run was killed, and a damaged one."""
    stages = Stages(tmp_path / "stages")
    amateur = stages.get("amateur", {"a": 1}, partial(write, 3000), version=2)
    stages.get("momentum", {"pair": [amateur.name]}, partial(write, 2000), version=7)
    with pytest.raises(TypeError):
        stages.get("killed", {"a": 1}, lambda folder: [write(1000, folder), len(3)], version=1)  # pyright: ignore
    damaged = stages.get("cut", {"a": 1}, partial(write, 10), version=1)
    (damaged / "model").write_bytes(b"")
    return tmp_path / "stages"


def test_stages_are_listed_with_what_they_were_made_from(root: Path) -> None:
    amateur, momentum, killed, cut = list_stages(root)
    assert [stage.name for stage in (amateur, momentum, killed, cut)] == ["amateur", "momentum", "killed", "cut"]
    assert [stage.state for stage in (amateur, momentum, killed, cut)] == ["whole", "whole", "unfinished", "damaged"]
    assert [stage.version for stage in (amateur, momentum, killed, cut)] == [2, 7, 1, 1]
    assert momentum.depends == (amateur.path.name,)
    assert amateur.depends == ()
    assert 3000 < amateur.bytes < 4000
    assert amateur.days < 0.01
    three_days_ago = time.time() - 86_400 * 3
    os.utime(amateur.path, (three_days_ago, three_days_ago))
    assert list_stages(root)[0].days == pytest.approx(3, abs=0.01)


def test_no_folder_has_no_stages(tmp_path: Path) -> None:
    assert list_stages(tmp_path / "none") == []


def test_a_removed_stage_is_gone_and_one_in_use_stays(root: Path) -> None:
    amateur, momentum, killed, _ = list_stages(root)
    assert remove_stage(amateur)
    with FileLock(root / f"{killed.path.name.removesuffix('.partial')}.lock"):
        assert not remove_stage(killed)
    assert remove_stage(killed)
    assert [stage.name for stage in list_stages(root)] == ["momentum", "cut"]
    assert not [path.name for path in root.iterdir() if path.name.endswith(".removed")]
    assert momentum.path.is_dir()
