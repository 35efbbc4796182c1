"""Hashes of files, to tell a file from another and a whole file from a damaged one."""

import hashlib
import time
from functools import cache
from pathlib import Path

SETTLED = 2.0  # seconds after which the time of a file's last change has surely moved if the file changes again


def file_sha256(path: Path) -> str:
    """The sha256 of a file. A process reads an unchanged file once; this takes about a second for each GB.

    A file counts as unchanged if its inode, its size and the time of its last change are the same. File systems count
    this time in steps of up to two seconds, so that a file is read each time until it is older than that.
    """
    state = path.stat()
    if time.time() - state.st_mtime < SETTLED:
        return _read(path)
    return _file_sha256(path.absolute(), state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@cache
def _file_sha256(path: Path, *state: int) -> str:
    return _read(path)


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
