"""Standard streams: a finished run does not fail because nobody reads what it prints."""

from __future__ import annotations

import io
import os
import sys
from typing import IO


class StandardStream(io.TextIOWrapper):
    """Standard output or standard error. What nobody reads any more (`| head -1`) is dropped."""

    def write(self, text: str, /) -> int:
        """Writes a text, or drops it."""
        try:
            return super().write(text)
        except BrokenPipeError:
            drop(self)
            return len(text)

    def flush(self) -> None:
        """Writes what is left, or drops it."""
        try:
            super().flush()
        except BrokenPipeError:
            drop(self)


def drop(stream: IO[str]) -> None:
    """Sends what is left in a stream, and all that follows, nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def open_streams() -> None:
    """Opens standard streams that are closed (`>&-`), as if they led nowhere, and makes the others `StandardStream`s.

    A character that the encoding lacks is then written as an escape.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number; a file of the run would take it otherwise
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
        elif number and (stream := getattr(sys, name)) is getattr(sys, f"__{name}__"):
            lines = stream.line_buffering
            setattr(sys, name, StandardStream(stream.buffer, stream.encoding, "backslashreplace", line_buffering=lines))
