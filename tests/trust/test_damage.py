"""Damaged and planted files of kept stages: recognised, and built again with the same result."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from core.stages import FILES, Stages

WEIGHTS = "inner/weights"
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda content: content[: len(content) // 2],
    "zeroed": lambda content: bytes(len(content)),
    "a flipped bit": lambda content: bytes([content[0] ^ 1]) + content[1:],
    "emptied": lambda content: b"",
}


def damage(change: Callable[[bytes], bytes], file: str, stage: Path) -> None:
    (stage / file).write_bytes(change((stage / file).read_bytes()))


def empty(stage: Path) -> None:
    for path in sorted(stage.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def change_without_a_list(stage: Path) -> None:
    (stage / FILES).unlink()
    (stage / WEIGHTS).write_bytes(b"another score")


def replace_by_a_file(stage: Path) -> None:
    empty(stage)
    stage.rmdir()
    stage.write_bytes(b"")


CHANGES: dict[str, Callable[[Path], object]] = {
    **{
        f"{file} {name}": partial(damage, change, file)
        for file in (WEIGHTS, "depends.json", FILES)
        for name, change in DAMAGES.items()
    },
    "a lost file": lambda stage: (stage / WEIGHTS).unlink(),
    "a planted file": lambda stage: (stage / "inner" / "adapter_config.json").write_text("{}"),
    "a planted link": lambda stage: (stage / "inner" / "note.txt").symlink_to("/etc/passwd"),
    "no list": change_without_a_list,
    "an empty list": lambda stage: (stage / FILES).write_text("{}"),
    "another list": lambda stage: (stage / FILES).write_text("[]"),
    "no file": empty,
    "a file": replace_by_a_file,
}


def build(count: list[int], folder: Path) -> None:
    count.append(1)
    (folder / "inner").mkdir(exist_ok=True)
    (folder / WEIGHTS).write_bytes(bytes(range(256)))


@pytest.mark.parametrize("change", CHANGES)
def test_a_stage_that_differs_from_its_list_is_built_again(tmp_path: Path, change: str) -> None:
    built: list[int] = []
    find = partial(Stages(tmp_path).get, "model", {"a": 1}, partial(build, built))
    CHANGES[change](kept := find())
    for _ in range(2):
        assert find() == kept
        assert (kept / WEIGHTS).read_bytes() == bytes(range(256))
        assert len(built) == 2
    assert {path.name.partition(".")[2] for path in tmp_path.iterdir()} == {"", "damaged", "lock"}
    CHANGES[change](kept)  # the one put aside before makes room
    assert (find(), len(built)) == (kept, 3)
