"""Kept stages on disk: lists, removes and copies what `Stages` left in its folder."""

import json
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from core.stages import find_damage

NAME = re.compile(r"(?P<name>.+)-(?P<hash>[0-9a-f]{16})(?P<end>\.partial|\.damaged)?")
State = Literal["whole", "damaged", "unfinished"]


@dataclass(frozen=True)
class KeptStage:
    """One stage in a folder of stages.

    Attributes:
        path: its folder.
        name: the name that its maker gave it.
        state: whole, damaged (a file has changed or is missing), or unfinished (its run was killed or still runs).
        bytes: of its files.
        modified: when its folder was last changed, in seconds since 1970.
        version: of the code that made it; None if its file `depends.json` cannot be read.
        depends: the other stages in this folder that it was made from.
    """

    path: Path
    name: str
    state: State
    bytes: int
    modified: float
    version: int | None
    depends: tuple[str, ...]

    @property
    def days(self) -> float:
        """Its age."""
        return (time.time() - self.modified) / 86_400


def list_stages(root: Path) -> list[KeptStage]:
    """The stages in a folder, the largest first; nothing for a folder that does not exist."""
    found = [(path, match) for path in _folders(root) if (match := NAME.fullmatch(path.name))]
    names = [path.name for path, match in found if match["end"] is None]
    stages = [_read_stage(path, match, names) for path, match in found]
    return sorted(stages, key=lambda stage: (-stage.bytes, stage.path.name))


def remove_stage(stage: KeptStage) -> bool:
    """Removes a stage; returns False, and removes nothing, while a run builds it.

    The folder is renamed first, so that no run finds a part of it.
    """
    final = stage.path.with_name(stage.path.name.removesuffix(".partial").removesuffix(".damaged"))
    try:
        with FileLock(f"{final}.lock", timeout=0):
            aside = stage.path.with_name(f".{stage.path.name}.removed")
            shutil.rmtree(aside, ignore_errors=True)
            stage.path.rename(aside)
            shutil.rmtree(aside)
    except Timeout:
        return False
    return True


def copy_stage(stage: KeptStage, folder: Path) -> Path:
    """Copies a stage into another folder of stages, where runs find it; keeps a copy that is there already."""
    target = folder / stage.path.name
    if not target.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        aside = folder / f".{stage.path.name}.copied"
        shutil.rmtree(aside, ignore_errors=True)
        shutil.copytree(stage.path, aside)
        aside.rename(target)
    return target


def _folders(root: Path) -> Iterator[Path]:
    return (path for path in root.iterdir() if path.is_dir()) if root.is_dir() else iter(())


def _read_stage(path: Path, match: re.Match[str], names: list[str]) -> KeptStage:
    try:
        text = (path / "depends.json").read_text(encoding="utf-8")
        version = json.loads(text)["version"]
    except (OSError, ValueError, KeyError, TypeError):
        text, version = "", None
    state: State = "unfinished" if match["end"] == ".partial" else "damaged"
    if match["end"] is None and find_damage(path) is None:
        state = "whole"
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    depends = tuple(sorted(name for name in names if name != path.name and name in text))
    return KeptStage(path, match["name"], state, size, path.stat().st_mtime, version, depends)
