"""Stages: steps worth keeping (a trained model, generated negatives), found again under what they depend on."""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

from filelock import FileLock

log = logging.getLogger(__name__)


def fingerprint(depends: Any) -> str:
    """Sixteen hexadecimal digits that change with any value in `depends`.

    A dataclass counts by its class and fields, a partial by its function and arguments.

    Raises TypeError or ValueError for what JSON has no form for (an array, a path, NaN).

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
    raise TypeError(f"what a stage depends on must have a form in JSON, but {value!r} is not JSON serializable")


@dataclass(frozen=True)
class Stages:
    """A folder of kept stages: `root/name-hash`.

    A stage is written to `root/name-hash.partial` and renamed when it is whole, by one writer at a time. What a killed
    run left in the partial folder is handed to the next one, so that training goes on from its last checkpoint.

    Attributes:
        root: the folder.
        first: False in the other processes of a distributed run. They take part in what is built `together` and wait
            for everything else; none of them renames a folder.
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

        `version` is the version of the code behind `build`. Its module raises the number whenever the result of the
        same `depends` would change, so that a stage of older code is not found again.

        A stage built `together` is one that all processes of a distributed run have to work on, as they do in a
        training by Lightning; `build` then sees to it that only the first process writes.

        Raises TimeoutError in a process that has waited too long for the first one.
        """
        depends = {**depends, "version": version}
        final = Path(self.root) / f"{name}-{fingerprint(depends)}"
        if final.is_dir():
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
            if not final.is_dir():  # another run may have built it while this one waited
                unfinished.mkdir(exist_ok=True)
                (unfinished / "depends.json").write_text(_json(depends, indent=2) + "\n", encoding="utf-8")
                build(unfinished)
                unfinished.rename(final)
        return final

    def _wait_for(self, final: Path) -> None:
        until = time.monotonic() + self.patience
        while not final.is_dir():
            if time.monotonic() > until:
                raise TimeoutError(f"the first process should have built {final}, but has not in {self.patience:.0f} s")
            time.sleep(0.2)
