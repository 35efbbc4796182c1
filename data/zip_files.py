"""Zip files: a limit on their unpacked size, so that a small file costs little."""

from collections.abc import Iterable
from pathlib import Path

from core.errors import InputError, fault

MOST_BYTES = 2**24
MOST_RATIO = 100  # bytes more for each byte of the zip


def check_unpacked_size(path: Path, sizes: Iterable[int]) -> None:
    """Raises InputError if a zip file unpacks to too many bytes for its own size.

    `sizes` are the unpacked sizes of its parts, in bytes.
    """
    most = MOST_BYTES + MOST_RATIO * path.stat().st_size
    total = sum(sizes)
    if total > most:
        raise InputError(
            [fault(path, 0, f"a file of this size must have at most {most} bytes unpacked, found {total}")]
        )
