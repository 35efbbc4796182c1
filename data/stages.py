"""Stages: steps worth keeping (a trained model, generated negatives), found again under what they depend on."""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

log = logging.getLogger(__name__)


def fingerprint(depends: Any) -> str:
    """Sixteen hexadecimal digits that change with any value in `depends`.

    Raises TypeError or ValueError for what JSON has no form for (an array, a path, NaN).

    >>> fingerprint({"a": 1, "b": [2.5, None]}) == fingerprint({"b": [2.5, None], "a": 1})
    True
    """
    text = json.dumps(depends, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Stages:
    """A folder of kept stages: `root/name-hash`.

    A stage is written to `root/name-hash.partial` and renamed when it is whole, by one writer at a time. What a killed
    run left in the partial folder is handed to the next one, so that training goes on from its last checkpoint.
    """

    root: Path

    def get(self, name: str, depends: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
        """The folder of the stage `name` under `depends`, built by `build(folder)` if it is not kept yet."""
        final = Path(self.root) / f"{name}-{fingerprint(depends)}"
        if final.is_dir():
            log.info("%s: found %s", name, final)
            return final
        final.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{final}.lock"):
            if not final.is_dir():  # another process may have built it while this one waited
                partial = final.with_name(f"{final.name}.partial")
                partial.mkdir(exist_ok=True)
                (partial / "depends.json").write_text(
                    json.dumps(depends, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8"
                )
                build(partial)
                partial.rename(final)
        return final
