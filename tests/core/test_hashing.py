"""Hashes of files: read once while nothing changes, read again after any change."""

import hashlib
import os
import time
from pathlib import Path

import pytest

from core import hashing
from core.hashing import SETTLED, file_sha256
from core.stages import Stages


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were read, in order."""
    read, done = hashing._read, []
    monkeypatch.setattr(hashing, "_read", lambda path: done.append(path) or read(path))
    return done


def age(path: Path) -> None:
    then = time.time() - 10 * SETTLED
    os.utime(path, (then, then))


def test_an_unchanged_file_is_read_once(tmp_path: Path, reads: list[Path]):
    path = tmp_path / "weights"
    path.write_bytes(b"whole")
    age(path)
    assert [file_sha256(path) for _ in range(3)] == [hashlib.sha256(b"whole").hexdigest()] * 3
    assert reads == [path]


def test_a_young_file_is_read_each_time(tmp_path: Path, reads: list[Path]):
    path = tmp_path / "weights"
    for content in (b"whole", b"whale", b"while"):  # perhaps within one step of the clock
        path.write_bytes(content)
        assert file_sha256(path) == hashlib.sha256(content).hexdigest()
    assert len(reads) == 3


def test_a_changed_file_of_the_same_size_and_time_is_read_again(tmp_path: Path):
    path = tmp_path / "weights"
    path.write_bytes(b"whole")
    age(path)
    before, state = file_sha256(path), path.stat()
    path.write_bytes(b"whale")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))  # the time of the inode's change cannot be put back
    assert file_sha256(path) == hashlib.sha256(b"whale").hexdigest() != before


def test_a_stage_is_read_once_by_a_process_that_finds_it_often(tmp_path: Path, reads: list[Path]):
    kept = Stages(tmp_path).get("model", {}, lambda folder: (folder / "a").touch(), version=1)
    for path in kept.iterdir():
        age(path)
    reads.clear()
    for _ in range(5):
        assert Stages(tmp_path).get("model", {}, lambda _: None, version=1) == kept
    assert sorted(path.name for path in reads) == ["a", "depends.json"]
