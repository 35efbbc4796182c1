"""Stages: results worth keeping (a trained model, generated negatives), stored under a hash of what they depend on."""

import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from filelock import FileLock

from core.faults import InputFaults, fault
from core.hashing import file_sha256

log = logging.getLogger(__name__)

FILES = "files.json"  # of a finished stage: the sha256 of its other files
DEPENDS = "depends.json"  # of every stage


def fingerprint(depends: Any) -> str:
    """Sixteen hexadecimal digits that change with any value in `depends`.

    A dataclass counts by its class and fields, a partial by its function and arguments.

    Raises TypeError or ValueError for values that JSON cannot hold (an array, a path, NaN).

    >>> fingerprint({"a": 1, "b": [2.5, None]}) == fingerprint({"b": [2.5, None], "a": 1})
    True
    """
    return hashlib.sha256(_json(depends).encode()).hexdigest()[:16]


def _json(depends: Any, indent: int | None = None) -> str:
    return json.dumps(depends, indent=indent, sort_keys=True, ensure_ascii=False, allow_nan=False, default=_parts)


def _parts(value: Any) -> dict[str, Any]:
    """A dataclass or a partial as a mapping."""
    if is_dataclass(value) and not isinstance(value, type):
        return {"class": type(value).__name__, **{field.name: getattr(value, field.name) for field in fields(value)}}
    if isinstance(value, partial):
        function = value.func if isinstance(value.func, partial) else value.func.__qualname__
        return {"function": function, "positional": value.args, **value.keywords}
    raise TypeError(f"the dependencies of a stage must be JSON values, but {value!r} is not JSON serializable")


def find_damage(stage: Path) -> str | None:
    """The name of a file of a finished stage that is missing or has changed; None if all are whole.

    It is `files.json` if this file does not list the stage's `depends.json`, which every stage has.
    """
    try:
        written = json.loads((stage / FILES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return FILES
    if not isinstance(written, dict) or DEPENDS not in written:
        return FILES
    found = _digests(stage)
    return next((name for name, digest in written.items() if found.get(name) != digest), None)


def _digests(stage: Path) -> dict[str, str]:
    files = sorted(path for path in stage.rglob("*") if path.is_file() and path != stage / FILES)
    return {path.relative_to(stage).as_posix(): file_sha256(path) for path in files}


def _refuse_links(unfinished: Path) -> None:
    """Raises InputFaults for an unfinished stage that is a link or holds one: a run would write through it."""
    paths = chain([unfinished], unfinished.rglob("*"))
    if link := next((path for path in paths if path.is_symlink()), None):
        raise InputFaults([fault(link, 0, "a stage that is not finished must not be or hold a link: remove the link")])


def _put_aside(stage: Path) -> None:
    aside = stage.with_name(f"{stage.name}.damaged")
    if aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside)
    else:
        aside.unlink(missing_ok=True)
    stage.rename(aside)


@dataclass(frozen=True)
class Stages:
    """A folder of kept stages: `root/name-hash`.

    One writer at a time writes a stage to `root/name-hash.partial` and renames it when it is complete. If a run is
    killed, the next run continues in the same partial folder, so training resumes from its last checkpoint.

    A finished stage has a file `files.json` with the sha256 of its files. They are compared when a process first finds
    the stage, and again after a change; a damaged stage is put aside as `root/name-hash.damaged` and built again, and
    so is one without `files.json`.

    Attributes:
        root: the folder.
        first: whether this is the first process of a distributed run. The other processes help to build the stages
            that are built `together`, and wait for all others; they never rename a folder.
        patience: seconds after which a waiting process gives up.
    """

    root: Path
    first: bool = True
    patience: float = 24 * 3600.0

    def get(
        self,
        name: str,
        depends: Mapping[str, Any],
        build: Callable[[Path], None],
        *,
        version: int,
        together: bool = False,
    ) -> Path:
        """The folder of the stage `name` under `depends`, built by `build(folder)` if it is not kept yet.

        `version` is the version of the code behind `build`. Raise it in the module whenever the same `depends` would
        give another result, so that stages of older code are not reused.

        With `together`, all processes of a distributed run call `build`, as in a training by Lightning; `build` must
        make sure that only the first process writes.

        Raises TimeoutError in a process that has waited too long for the first one, InputFaults for an unfinished stage
        that is a link or holds one.
        """
        depends = {**depends, "version": version}
        final = Path(self.root) / f"{name}-{fingerprint(depends)}"
        if find_damage(final) is None:
            log.info("%s: found %s", name, final)
            return final
        unfinished = final.with_name(f"{final.name}.partial")
        if not self.first:
            if together:
                build(unfinished)
            self._wait_for(final)
            return final
        final.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{final}.lock"):
            damaged = find_damage(final) if os.path.lexists(final) else None
            if damaged is not None:
                log.warning("%s: %s is damaged, the stage is built again", name, final / damaged)
                _put_aside(final)
            if not final.is_dir():  # another run may have built it while this one waited
                _refuse_links(unfinished)
                unfinished.mkdir(exist_ok=True)
                for half in unfinished.rglob(".*.partial"):  # a killed run was writing it
                    half.unlink()
                (unfinished / DEPENDS).write_text(_json(depends, indent=2) + "\n", encoding="utf-8")
                build(unfinished)
                (unfinished / FILES).write_text(json.dumps(_digests(unfinished), indent=2) + "\n", encoding="utf-8")
                unfinished.rename(final)
        return final

    def _wait_for(self, final: Path) -> None:
        until = time.monotonic() + self.patience
        while find_damage(final) is not None:
            if time.monotonic() > until:
                raise TimeoutError(f"the first process should have built {final}, but has not in {self.patience:.0f} s")
            time.sleep(0.2)
