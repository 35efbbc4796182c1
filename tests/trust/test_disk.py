"""A full disk and a read-only one: a clear message, no half-written output, the same result once there is room."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.example import Example
from data.files import write_examples
from judge.cli import main

ROWS = 1000


def mount(disk: Path, options: str) -> None:
    """Mounts a file system in memory, or changes its options; skips where this is not allowed."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"needs the right to mount a file system: {done.stderr.strip()}")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 60 kB."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs the right to mount a file system")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount(folder, "size=60k")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def run(here: Path) -> Callable[..., int]:
    """The command line in this process, in a folder with `in.jsonl`."""
    write_examples(here / "in.jsonl", [Example(f"row-{i}", f"text {i} of a file") for i in range(ROWS)])
    return lambda *words: main(words)


def score(place: str) -> tuple[str, ...]:
    """The command that scores `in.jsonl` into a folder."""
    places = ("--output", f"{place}/out.jsonl", "--report", f"{place}/run", "--stages", f"{place}/stages")
    return ("score", "in.jsonl", "--metric", "word_count", "--chunk", "100", *places)


def test_scores_on_a_full_disk(disk: Path, run: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*score("disk")) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert not list(disk.rglob("out.jsonl*"))
    mount(disk, "remount,size=20m")
    assert run(*score("disk")) == 0
    Path("elsewhere").mkdir()
    assert run(*score("elsewhere")) == 0
    for file in ("out.jsonl", "out.jsonl.meta.json"):
        assert (disk / file).read_bytes() == Path("elsewhere", file).read_bytes()
    assert len((disk / "out.jsonl").read_text("utf-8").splitlines()) == ROWS


def test_a_read_only_disk(disk: Path, run: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    mount(disk, "remount,ro")
    assert run(*score("disk")) == 2
    said = capsys.readouterr().err
    assert "Read-only file system" in said
    assert "Traceback" not in said
    mount(disk, "remount,rw")
    assert not list(disk.iterdir())
