"""Keeps the results of steps (a trained model, generated negatives, scores) under a hash of what they depend on.

They depend on settings, data, and the source of the code (`core.source`). `Stages.get` keeps a folder as a whole; a
`Cache` keeps single values: scores of chunks, replies of a chat model, filled references. Whatever is damaged among
them is made again.
"""

import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from stat import S_ISDIR
from typing import Any, TypeAlias

from filelock import FileLock

from core.errors import SettingError
from core.source import Code, hash_sources

log = logging.getLogger(__name__)

Depends: TypeAlias = Mapping[str, Any]  # what a stage or a cache depends on

FILES = "files.json"  # of a finished stage: the sha256 of its other files
DEPENDS = "depends.json"  # of every stage
CODE = "code"  # in it, by file, the hash of the source
VALUES = ".values"  # ends the name of a cache
SHARED = 0o666  # the mode of a lock: another user's lock must not close a shared folder
SETTLED = 2.0  # seconds after which the time of a file's last change has surely moved if the file changes again


def file_sha256(path: Path) -> str:
    """Computes the sha256 of a file. A process reads an unchanged file once; this takes about a second for each GB.

    A file counts as unchanged if its inode, its size and the time of its last change are the same. File systems record
    this time with a precision of up to two seconds, so a file that changed more recently is read each time.
    """
    state = path.stat()
    read = _read if time.time() - state.st_mtime >= SETTLED else _read.__wrapped__
    return read(path.absolute(), state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@cache
def _read(path: Path, *state: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(depends: Any) -> str:
    """A hash of sixteen hexadecimal digits, which changes with any value in `depends`.

    A dataclass is hashed by its class and fields, a partial by its function and arguments.

    Raises TypeError or ValueError for values that JSON cannot hold (an array, a path, NaN).

    >>> fingerprint({"a": 1, "b": [2.5, None]}) == fingerprint({"b": [2.5, None], "a": 1})
    True
    """
    return _hash(_encode(depends, []))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _encode(depends: Any, types: list[Code]) -> str:
    """The JSON of dependencies; `types` receives the classes and functions of the settings in them."""

    def take_apart(value: Any) -> dict[str, Any]:
        if is_dataclass(value) and not isinstance(value, type):
            types.append(type(value))
            settings = {field.name: getattr(value, field.name) for field in fields(value)}
            return {"class": type(value).__name__, **settings}
        if isinstance(value, partial):
            types.append(value.func)
            function = value.func if isinstance(value.func, partial) else value.func.__qualname__
            return {"function": function, "positional": value.args, **value.keywords}
        raise TypeError(f"the dependencies of a stage must be JSON values, but {value!r} is not JSON serializable")

    return json.dumps(
        depends,
        sort_keys=True,
        ensure_ascii=False,
        allow_nan=False,
        default=take_apart,
    )


def check_place(setting: str, folder: Path) -> None:
    """Raises SettingError if no folder can be made here: below a file, behind circular links, under too long a name."""
    try:
        status = folder.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise SettingError(f"{setting} cannot be {folder}: {error.strerror}") from error
    if not S_ISDIR(status.st_mode):
        raise SettingError(f"{setting} must be a folder, but {folder} is not")


def check_writable(setting: str, folder: Path) -> None:
    """Raises SettingError for a folder that is not writable or cannot be made."""
    check_place(setting, folder)
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return
    except OSError as error:
        rule = f"{setting} must be a folder that can be written"
        raise SettingError(f"{rule}, but {folder} cannot: {error.strerror}") from error


def is_whole(stage: Path) -> bool:
    """Whether a finished stage has the files that it was finished with, in a folder of its own name."""
    try:
        return json.loads((stage / FILES).read_text(encoding="utf-8")) == _list_sums(stage, stage.name)
    except (OSError, ValueError, RecursionError):
        return False


def _list_sums(stage: Path, name: str) -> dict[str, str]:
    """The name of a stage, and the sha256 of every file but `files.json`."""
    sums = {"": name}
    for path in _list_files(stage):
        if path != stage / FILES:
            sums[path.relative_to(stage).as_posix()] = file_sha256(path) if _is_plain(path) else "no file"
    return sums


def _list_files(folder: Path) -> list[Path]:
    """Every file and link of a folder, in order; a link as the folder stands for itself."""
    if folder.is_symlink() or not folder.is_dir():
        return [folder]
    return sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _read_depends(place: Path) -> Any:
    """What a stage or a cache depends on; None if this cannot be read."""
    try:
        if place.suffix != VALUES:
            return json.loads((place / DEPENDS).read_text(encoding="utf-8"))
        with place.open(encoding="utf-8") as file:
            return json.loads(file.readline().rpartition("\t")[2])
    except (OSError, ValueError, RecursionError):
        return None


def _report_changed_code(place: Path, depends: Depends) -> None:
    """Says which files make that an earlier stage or cache is not used: the last one that differs in its code alone."""
    name = place.name.removesuffix(place.suffix).rpartition("-")[0]
    beside = place.parent.iterdir() if place.parent.is_dir() else ()
    others = [other for other in beside if other.name.startswith(f"{name}-") and other != place]
    for other in sorted(others, key=lambda path: path.lstat().st_mtime, reverse=True):
        kept = _read_depends(other) if other.suffix == place.suffix else None
        if not isinstance(kept, dict) or {**kept, CODE: depends[CODE]} != depends:
            continue
        earlier = kept[CODE]
        files = [file for file in sorted(earlier | depends[CODE]) if earlier.get(file) != depends[CODE].get(file)]
        log.info("%s was made by other code, so it is made again. These files differ: %s", other, ", ".join(files))
        return


def _put_aside(place: Path) -> None:
    """Renames what is damaged to `NAME.damaged`, in place of what was put aside before."""
    aside = place.with_name(f"{place.name}.damaged")
    if aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside)
    else:
        aside.unlink(missing_ok=True)
    place.rename(aside)


def _lock(place: Path) -> FileLock:
    """The lock of a stage or a cache. What is no file in its place, such as a link to another file, is put aside."""
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = place.with_name(f"{place.name}.lock")
    if os.path.lexists(lock) and not _is_plain(lock):
        _put_aside(lock)
    return FileLock(lock, mode=SHARED)


@dataclass(frozen=True)
class Stages:
    """A folder of kept stages: `root/name-hash`.

    One writer at a time writes a stage to `root/name-hash.partial` and renames it when it is complete. If a run is
    killed, the next run continues in the same partial folder. A finished stage has a file `files.json` with the sha256
    of its files. The sums are compared when a process first finds the stage, and again after a change. A damaged stage
    is renamed to `root/name-hash.damaged` and built again.

    The hash covers `depends`, the classes of the settings in it, and the code that makes the result, as
    `core.source.hash_sources` finds it. A stage made by other code is not used, and the log names the files that
    differ.
    """

    root: Path
    # whether this is the first process of a distributed run. The other processes help to build the stages that are
    # built `together`, and wait for all others; they never rename a folder.
    first: bool = True

    def get(
        self,
        name: str,
        depends: Depends,
        build: Callable[[Path], None],
        *,
        code: Iterable[Code] | None = None,
        together: bool = False,
        any_name: bool = False,
    ) -> Path:
        """Returns the folder of the stage `name` for `depends`. If it is not kept yet, `build(folder)` makes it.

        `code` has the functions and classes that make the result, by default `build` alone: give more where `build`
        calls methods of objects whose classes it does not name. With `together`, all processes of a distributed run
        call `build`, which must let only the first one write. With `any_name`, a stage of another name that depends on
        the same is taken, so that equal work is done once. After a kill, `build` gets the folder as it was left, and
        must check what it reads there.
        """
        final, depends = self._place(name, depends, [build] if code is None else code)
        if any_name:
            _, _, digest = final.name.rpartition("-")
            final = next(filter(is_whole, sorted(final.parent.glob(f"*-{digest}"))), final)
        if not self.first and not is_whole(final):
            if together:
                build(final.with_name(f"{final.name}.partial"))
            while not is_whole(final):
                time.sleep(0.2)
        if not is_whole(final):
            with _lock(final):
                self._build(final, depends, build)
        else:
            log.info("found %s", final)
        return final

    def _build(self, final: Path, depends: Depends, build: Callable[[Path], None]) -> None:
        if is_whole(final):  # another run built it while this one waited
            return
        if os.path.lexists(final):
            log.warning("%s is damaged or of another stage, so it is built again", final)
            _put_aside(final)
        unfinished = final.with_name(f"{final.name}.partial")
        is_folder = unfinished.is_dir() and all(map(_is_plain, _list_files(unfinished)))
        if os.path.lexists(unfinished) and not is_folder:
            log.warning("%s is no folder of plain files, so it is built anew", unfinished)
            _put_aside(unfinished)
        if not unfinished.exists():
            _report_changed_code(final, depends)
        unfinished.mkdir(exist_ok=True)
        for half in unfinished.rglob(".*.partial"):  # a killed run was writing it
            half.unlink()
        (unfinished / DEPENDS).write_text(json.dumps(depends, indent=2) + "\n", encoding="utf-8")
        build(unfinished)
        (unfinished / FILES).write_text(
            json.dumps(_list_sums(unfinished, final.name), indent=2) + "\n", encoding="utf-8"
        )
        unfinished.rename(final)

    def open_cache(self, name: str, depends: Depends, *, code: Iterable[Code]) -> "Cache":
        """Opens the cache `name` for `depends`.

        `code` has the functions and classes that make the values; their source is part of the hash.
        """
        place, depends = self._place(name, depends, code)
        return Cache(place.with_name(f"{place.name}{VALUES}"), depends)

    def _place(self, name: str, depends: Depends, code: Iterable[Code]) -> tuple[Path, Depends]:
        types: list[Code] = []  # of settings: their code counts as well as their values
        plain: dict[str, Any] = json.loads(_encode(depends, types))
        plain[CODE] = hash_sources([*code, *types])
        return Path(self.root) / f"{name}-{fingerprint(plain)}", plain


@dataclass(frozen=True)
class Cache:
    """JSON values by key (NaN and infinity included), in one file that several processes and threads extend.

    A line has a checksum, a key and its value; the first line has what the values depend on. An unfinished or damaged
    line, or one of another cache, counts as missing. A process sees the values that were there when it first looked,
    and those it added; a value is read from the file each time.
    """

    # `root/name-hash.values`
    file: Path
    # what the values depend on besides their keys
    depends: Depends

    def get(self, key: str, make: Callable[[], Any]) -> Any:
        """Returns the value of a key. If the value is missing, `make` computes it, and the cache keeps it."""
        if key not in self:
            self.add({key: make()})
        return self[key]

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._places if key)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __getitem__(self, key: str) -> Any:
        with self.file.open("rb") as file:
            file.seek(self._places[key])
            return json.loads(file.readline().rpartition(b"\t")[2])

    def add(self, made: Mapping[str, Any]) -> None:
        """Keeps more values. A key must not contain a tab or a line break."""
        known = self._places
        with self.locked():
            is_new = not self.file.is_file()
            with self.file.open("ab") as file:
                # a killed process may have left half a line
                file.write(self._to_line("", self.depends) if is_new else b"\n")
                for key, value in made.items():
                    known[key] = file.tell()
                    file.write(self._to_line(key, value))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lets no other process add values while the block runs."""
        with self._lock:
            yield

    @cached_property
    def _lock(self) -> FileLock:
        return _lock(self.file)

    @cached_property
    def _places(self) -> dict[str, int]:
        """By key, where its last whole line begins in the file."""
        if os.path.lexists(self.file) and not _is_plain(self.file):
            log.warning("%s is no file, so its values are made again", self.file)
            _put_aside(self.file)
        places: dict[str, int] = {}
        if not self.file.exists():
            _report_changed_code(self.file, self.depends)
            return places
        damaged = begin = 0
        with self.file.open("rb") as file:
            for line in file:
                checksum, _, entry = line.decode("utf-8", "replace").removesuffix("\n").partition("\t")
                if checksum == self._checksum(entry):
                    places[entry.partition("\t")[0]] = begin
                elif line.strip():
                    damaged += 1
                begin += len(line)
        if damaged:
            log.warning("%s: %d damaged values are made again", self.file, damaged)
        return places

    def _to_line(self, key: str, value: Any) -> bytes:
        entry = f"{key}\t{json.dumps(value)}"
        return f"{self._checksum(entry)}\t{entry}\n".encode()

    def _checksum(self, entry: str) -> str:
        return _hash(f"{self.file.name}\t{entry}")
