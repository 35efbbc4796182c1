"""Hashes of files, to tell a file from another and a whole file from a damaged one."""

import hashlib
from functools import cache
from pathlib import Path


def file_sha256(path: Path) -> str:
    """The sha256 of a file. A process reads an unchanged file once; this takes about a second for each GB."""
    state = path.stat()
    return _file_sha256(path, state.st_size, state.st_mtime_ns)


@cache
def _file_sha256(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
