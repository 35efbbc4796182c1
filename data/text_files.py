"""Text files in and out: UTF-8 with every fault collected, lines of JSON, and writing aside."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from core.faults import InputFaults, fault, shown


@contextmanager
def written_aside(path: Path | str) -> Iterator[TextIO]:
    """A UTF-8 text file to write to, which takes the name `path` when the block ends well and is removed otherwise."""
    path = Path(path).resolve()  # a link keeps pointing where it did
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with aside.open("w", encoding="utf-8", newline="") as file:
            yield file
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def check_suffix(path: Path, allowed: Sequence[str]) -> None:
    """Raises InputFaults when the name of the file ends in none of the allowed suffixes."""
    if path.suffix.lower() not in allowed:
        rule = f"the name of the file must end in one of {', '.join(allowed)}"
        raise InputFaults([fault(path, 0, f"{rule}, found {shown(path.suffix)}")])


def read_text(path: Path, faults: list[str]) -> str:
    """The text of a UTF-8 file without byte order mark; lines that are not UTF-8 are appended to `faults`.

    What cannot be decoded is replaced, so that the rest of the file can be checked too.

    Raises InputFaults when there is no such file or it is empty.
    """
    if not path.is_file():
        raise InputFaults([fault(path, 0, f"no such file{', it is a folder' if path.is_dir() else ''}")])
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise InputFaults([fault(path, 0, f"the file is empty, found {len(data)} bytes that say nothing")])
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputFaults([fault(path, 1, "the file must be UTF-8, but begins like UTF-16; save it as UTF-8")])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        for number, line in enumerate(data.split(b"\n"), start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                what = f"must be UTF-8, found byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line"
                faults.append(fault(path, number, what))
        return data.decode("utf-8", "replace")


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers from 1, without LF or CRLF and without blank lines at the end."""
    # not str.splitlines, which also splits at characters that JSON strings and utterances may hold (U+2028, U+0085)
    for number, line in enumerate(text.rstrip().split("\n"), start=1):
        yield number, line.removesuffix("\r")


def read_json_lines(path: Path, faults: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file, one per line, with their line numbers; `faults` gets one for every other line.

    Raises InputFaults when there is no such file or it is empty.
    """
    repeated: list[str] = []
    decode = decoder(repeated)
    for number, line in numbered_lines(read_text(path, faults)):
        repeated.clear()
        try:
            record = decode(line)
        except json.JSONDecodeError as error:
            what = f"broken JSON at column {error.colno}: {error.msg}"
            faults.append(fault(path, number, f"{what}, found {shown(line[error.pos : error.pos + 20])}"))
            continue
        except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
            faults.append(fault(path, number, f"JSON that cannot be read: {error}"))
            continue
        faults += [fault(path, number, f"a key must occur once, but {shown(key)} is repeated") for key in repeated]
        if isinstance(record, dict):
            yield number, record
        else:
            faults.append(fault(path, number, f"a line must be a JSON object, found {shown(record)}"))


def decoder(repeated: list[str]) -> Callable[[str], Any]:
    """A JSON reader that appends keys which an object has twice to `repeated`."""

    def to_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) != len(pairs):
            keys = [key for key, _ in pairs]
            repeated.extend(key for key in record if keys.count(key) > 1)
        return record

    return json.JSONDecoder(object_pairs_hook=to_dict).decode
