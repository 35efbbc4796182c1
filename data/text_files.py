"""Text files: reads UTF-8 and lines of JSON, collects every fault, and writes under a temporary name."""

import atexit
import json
import math
import os
import shutil
import sys
import tempfile
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, TextIO, TypeAlias

from core.errors import InputError, fault, format_value

Objects: TypeAlias = Iterator[tuple[int, dict[str, Any]]]  # with their numbers
STANDARD = Path("-")  # standard input or standard output
OTHER_FORMS = (".xls", ".xlsm", ".ods", ".numbers", ".parquet")
MOST_BLANK_LINES = 100_000  # one after another
MOST_FAULTS = 100_000
LONGEST_PEEK = 2**20  # bytes of a line by which a .json file is recognised as JSONL
LONGEST_LINE = 2**26  # bytes of a line of a text file, or characters of a row of a CSV file
DEEPEST = 100  # objects and arrays inside one another, of a JSON value


@cache
def standard_input() -> Path:
    """Copies standard input into a file that can be read again; it is removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="standard-input-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with (folder / "stdin.jsonl").open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return folder / "stdin.jsonl"


def readable_path(path: Path) -> Path:
    """Returns the file to read for a path that the user gave. For `-` it is a copy of standard input."""
    return standard_input() if path == STANDARD else path


def describe_special(path: Path) -> str | None:
    """Names the kind of a path that exists but is not a regular file; None for any other path.

    Writing must not replace or follow such a path.
    """
    if path.is_symlink():
        return f"the link {path}"
    if path.is_dir():
        return f"the folder {path}"
    if path.exists() and not path.is_file():
        return f"the device or pipe {path}"
    return None


@contextmanager
def temporary_path(path: Path | str) -> Iterator[Path]:
    """Yields a path to write to.

    It is renamed to `path` if the block succeeds; links, folders and pipes are refused.
    """
    path = Path(path).absolute()
    special = describe_special(path)
    if special:
        raise InputError([fault(path, 0, f"only a regular file can be replaced, found {special}")])
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    aside.unlink(missing_ok=True)  # a link there would be written through
    try:
        yield aside
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def open_atomically(path: Path | str) -> Iterator[TextIO]:
    """Opens a UTF-8 file under a temporary name; see `temporary_path`."""
    with temporary_path(path) as aside, aside.open("w", encoding="utf-8", newline="") as file:
        yield file


def form_of(path: Path, allowed: Sequence[str]) -> str:
    """Returns the suffix of the file, one of `allowed`; it says how to read or write the file.

    `-` is JSONL, and so is a .json file with an object on each line.
    """
    if path == STANDARD:
        return ".jsonl"
    form = path.suffix.lower()
    if form not in allowed:
        rule = f"the name of the file must end in one of {', '.join(allowed)}"
        what = "a folder" if path.is_dir() else format_value(path.suffix)
        if form in OTHER_FORMS:
            what += ": save it as CSV or .xlsx"
        raise InputError([fault(path, 0, f"{rule}, found {what}")])
    return ".jsonl" if form == ".json" and holds_objects_by_line(path) else form


def holds_objects_by_line(path: Path) -> bool:
    """Whether a file has an object on each line, as JSONL: no JSON document has two such lines at its beginning."""
    if not path.is_file():
        return False
    with _open(path) as file:
        lines = [file.readline(LONGEST_PEEK).removeprefix(BOM_UTF8).strip() for _ in range(2)]
    return all(line.startswith(b"{") and line.endswith(b"}") for line in lines)


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file. Raises InputError if it is missing or cannot be read."""
    source = readable_path(path)
    if not source.is_file():
        what = "no such file"
        if path.is_dir():
            what += ", it is a folder"
        elif path.exists():
            what += ", it is a device or a pipe; - reads standard input"
        raise InputError([fault(path, 0, what)])
    try:
        with source.open("rb") as file:
            yield file
    except OSError as error:
        raise InputError([fault(path, 0, f"cannot be read: {error.strerror}")]) from error


def iterate_lines(
    path: Path,
    faults: list[str],
    keep_end: bool = False,
    keep_cr: bool = False,
) -> Iterator[tuple[int, str]]:
    """Yields the lines of a UTF-8 file with their numbers from 1.

    The byte order mark and LF are removed; so are a CR before LF unless `keep_cr`, and blank lines at the end unless
    `keep_end`. `faults` gets one fault for every line that is not UTF-8, so that the rest can be checked, too.

    Raises InputError if the file is missing or empty, if its lines end in CR alone, at
    a line of more than LONGEST_LINE bytes, after MOST_BLANK_LINES blank lines and after MOST_FAULTS faults.
    """
    blank: list[tuple[int, str]] = []  # kept until a line follows that is not blank
    is_empty = True
    with _open(path) as file:
        # split at LF only: JSON strings and utterances may hold other characters that Python treats as line ends
        lines = iter(partial(file.readline, LONGEST_LINE + 1), b"")
        for number, line in enumerate(lines, start=1):
            stopped = _find_limit(line, len(blank), len(faults))
            if stopped:
                raise InputError([*faults, fault(path, number, stopped)])
            if number == 1:
                line = line.removeprefix(BOM_UTF8)
                if line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
                    what = "the file must be UTF-8, but begins like UTF-16; save it as UTF-8"
                    raise InputError([fault(path, 1, what)])
                if b"\r" in line.strip() and b"\n" not in line:
                    raise InputError([fault(path, 1, "lines must end in LF, found CR alone")])
            text = _decode(
                line,
                path,
                number,
                faults,
            ).removesuffix("\n")
            if not keep_cr:
                text = text.removesuffix("\r")
            if not text or text.isspace():
                blank.append((number, text))
                continue
            is_empty = False
            if blank:
                yield from blank
                blank = []
            yield number, text
    if is_empty:
        raise InputError([fault(path, 0, "the file is empty")])
    if keep_end:
        yield from blank


def _find_limit(line: bytes, blank: int, faults: int) -> str | None:
    """The limit that a line breaks; `blank` lines stand before it, and its file has `faults` so far."""
    if len(line) > LONGEST_LINE:
        return f"a line must have at most {LONGEST_LINE} bytes, found more"
    if blank > MOST_BLANK_LINES:
        return f"a file must have at most {MOST_BLANK_LINES} blank lines one after another, found more"
    return f"reading ends here after {faults} faults" if faults >= MOST_FAULTS else None


def _decode(
    line: bytes,
    path: Path,
    number: int,
    faults: list[str],
) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        what = f"must be UTF-8, found byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line"
        faults.append(fault(path, number, what))
        return line.decode("utf-8", "replace")


def read_lines(path: Path) -> list[tuple[int, str]]:
    """Reads the lines of a file with their numbers.

    Raises InputError as `iterate_lines` does, and for bytes that are no UTF-8.
    """
    faults: list[str] = []
    lines = list(iterate_lines(path, faults))
    if faults:
        raise InputError(faults)
    return lines


def read_text(path: Path) -> str:
    """Reads the text of a file. Raises InputError as `read_lines` does."""
    return "\n".join(line for _, line in read_lines(path))


def read_texts(path: Path) -> list[str]:
    """Reads the lines of a file that are not blank, without spaces around them.

    Raises InputError as `read_lines` does.
    """
    return [line.strip() for _, line in read_lines(path) if line.strip()]


def read_json_lines(path: Path, faults: list[str]) -> Objects:
    """Yields the JSON objects of a file, one per line, with line numbers; every other line is added to `faults`."""
    for number, line in iterate_lines(path, faults):
        if number == 1 and line.startswith("["):
            what = "a line must be a JSON object, found an array: the name of a file with one must end in .json"
            raise InputError([fault(path, 1, what)])
        try:
            record = parse_json(path, line, number)
        except InputError as error:
            faults += error.faults
            continue
        if isinstance(record, dict):
            yield number, record
        else:
            faults.append(fault(path, number, f"a line must be a JSON object, found {format_value(record)}"))


def read_json(path: Path) -> Any:
    """Reads a JSON file of at most LONGEST_LINE bytes; raises InputError for any other file."""
    with _open(path) as file:
        content = file.read(LONGEST_LINE + 1)
    if len(content) > LONGEST_LINE:
        raise InputError([fault(path, 0, f"a JSON file must have at most {LONGEST_LINE} bytes, found more")])
    if not content.strip():
        raise InputError([fault(path, 0, "the file is empty")])
    return parse_json(path, content)


class RepeatedKeyError(ValueError):
    """A JSON object has a key twice; the message names it."""


def _to_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        key = next(key for key, count in counts.items() if count > 1)
        raise RepeatedKeyError(f"a key must occur once, but {format_value(key)} is repeated")
    return record


def _count_levels(value: Any) -> int:
    """How many objects and arrays lie inside one another, at most DEEPEST + 1."""
    level: list[Any] = [value]
    for depth in range(DEEPEST + 1):
        containers = [element for element in level if isinstance(element, dict | list)]
        if not containers:
            return depth
        level = []
        for container in containers:
            level += container.values() if isinstance(container, dict) else container
    return DEEPEST + 1


CONSTANTS = {"NaN": None, "Infinity": math.inf, "-Infinity": -math.inf}  # of json.dumps, where NaN is a missing value
_decode_once = json.JSONDecoder(object_pairs_hook=_to_dict, parse_constant=CONSTANTS.__getitem__).decode


def decode_json(text: str) -> Any:
    """Parses a JSON document.

    Raises RepeatedKeyError, and ValueError for a text that is not JSON and for a value that is nested too deeply to
    copy.
    """
    try:
        value = _decode_once(text)
    except RecursionError as error:
        raise ValueError(f"arrays and objects must have at most {DEEPEST} levels: {error}") from None
    if text.count("[") + text.count("{") > DEEPEST and _count_levels(value) > DEEPEST:
        raise ValueError(f"arrays and objects must have at most {DEEPEST} levels, found more")
    return value


def parse_json(path: Path, content: str | bytes, line: int = 0) -> Any:
    """Parses JSON from a text or UTF-8 bytes.

    For a fault, raises InputError with the path and the number of the line, if any.
    """
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        return decode_json(text)
    except json.JSONDecodeError as error:
        near = error.doc[error.pos : error.pos + 20]
        what = f"broken JSON at column {error.colno}: {error.msg}, found {format_value(near)}"
        line = max(line, error.lineno)
    except RepeatedKeyError as error:
        what = str(error)
    except ValueError as error:  # a number of thousands of digits, hundreds of brackets
        what = f"JSON that cannot be read: {error}"
    raise InputError([fault(path, line, what)])
