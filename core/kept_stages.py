"""Kept stages on disk: lists, removes and copies what `Stages` left in its folder, and the caches beside the stages."""

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
CACHED = re.compile(r"\.?(.+-)?[0-9a-f]{16}\.jsonl?(\.lock|\.\d+\.partial)?")  # the files of a cache
State = Literal["whole", "damaged", "unfinished", "cache", "link"]


@dataclass(frozen=True)
class KeptStage:
    """One stage, or one cache, in a folder of stages.

    Attributes:
        path: its folder.
        name: the name that its maker gave it.
        state: whole, damaged (a file has changed or is missing), unfinished (its run was killed or still runs), cache
            (a folder of results that a metric keeps, each under a hash), or link (neither followed nor removed).
        bytes: of its files.
        modified: when its folder was last changed, in seconds since 1970.
        version: of the code that made it; None for a cache, and if its file `depends.json` cannot be read.
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
    """The stages and caches in a folder, the largest first; nothing for a folder that does not exist."""
    found = [(path, NAME.fullmatch(path.name)) for path in _folders(root)]
    names = [path.name for path, match in found if match and match["end"] is None]
    stages = [_read_stage(path, match, names) for path, match in found if match]
    stages += [_describe(path, path.name, "cache") for path, match in found if not match and _is_cache(path)]
    return sorted(stages, key=lambda stage: (-stage.bytes, stage.path.name))


def remove_stage(stage: KeptStage) -> bool:
    """Removes a stage or a cache; returns False, and removes nothing, while a run builds it.

    The folder is renamed first, so that no run finds a part of it. A run that uses a cache fills it again.

    Raises ValueError for a link.
    """
    if stage.state == "link":
        raise ValueError(f"a link is not removed, but {stage.path} is one")
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


def _folders(root: Path) -> Iterator[Path]:
    return (path for path in root.iterdir() if path.is_dir()) if root.is_dir() else iter(())


def _is_cache(path: Path) -> bool:
    """Whether a folder holds only results that are named by a hash; any other folder is not ours to remove."""
    files = [] if path.is_symlink() else [each for each in path.rglob("*") if not each.is_dir()]
    return bool(files) and all(CACHED.fullmatch(file.name) and not file.is_symlink() for file in files)


def _read_stage(path: Path, match: re.Match[str], names: list[str]) -> KeptStage:
    if path.is_symlink():
        return _describe(path, match["name"], "link")
    try:
        text = (path / "depends.json").read_text(encoding="utf-8")
        version = json.loads(text)["version"]
    except (OSError, ValueError, KeyError, TypeError):
        text, version = "", None
    state: State = "unfinished" if match["end"] == ".partial" else "damaged"
    if match["end"] is None and find_damage(path) is None:
        state = "whole"
    depends = tuple(sorted(name for name in names if name != path.name and name in text))
    return _describe(path, match["name"], state, version, depends)


def _describe(
    path: Path, name: str, state: State, version: int | None = None, depends: tuple[str, ...] = ()
) -> KeptStage:
    files = () if state == "link" else path.rglob("*")
    size = sum(file.stat().st_size for file in files if file.is_file())
    return KeptStage(path, name, state, size, path.lstat().st_mtime, version, depends)
