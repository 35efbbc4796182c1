"""Stages: results worth keeping (a trained model, generated negatives), stored under a hash of what they depend on.

They depend on settings, data, and the source of the code (`core.source`). A stage is a folder that is kept as a whole.
A `Cache` beside the stages keeps single values: replies of a chat model, filled references.
"""

import glob
import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, cached_property, partial
from itertools import chain
from pathlib import Path
from stat import S_ISDIR
from typing import Any, TypeAlias

from filelock import FileLock

from core.errors import InputError, SettingError, fault
from core.source import Code, hash_sources

log = logging.getLogger(__name__)

Depends: TypeAlias = Mapping[str, Any]  # what a stage or a cache depends on

FILES = "files.json"  # of a finished stage: the sha256 of its other files
DEPENDS = "depends.json"  # of every stage and cache
CODE = "code"  # in it, by file, the hash of the source
SHARED = 0o666  # the mode of a lock: another user's lock must not close a shared folder
VALUES = "values.tsv"  # of a cache: a line per value, with its checksum, its key and the value as JSON
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
    return _hash(_json(depends))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _json(depends: Any, indent: int | None = None) -> str:
    return json.dumps(
        depends,
        indent=indent,
        sort_keys=True,
        ensure_ascii=False,
        allow_nan=False,
        default=_parts,
    )


def _parts(value: Any) -> dict[str, Any]:
    """A dataclass or a partial as a mapping."""
    if is_dataclass(value) and not isinstance(value, type):
        settings = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"class": type(value).__name__, **settings}
    if isinstance(value, partial):
        function = value.func if isinstance(value.func, partial) else value.func.__qualname__
        return {
            "function": function,
            "positional": value.args,
            **value.keywords,
        }
    raise TypeError(f"the dependencies of a stage must be JSON values, but {value!r} is not JSON serializable")


def _list_types(value: Any) -> Iterator[Code]:
    """The classes and functions of the settings among dependencies, whose code counts as well as their values."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _list_types(inner)
    elif isinstance(value, partial):
        yield value.func
        yield from _list_types([value.args, value.keywords])
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value)
        yield from _list_types([getattr(value, field.name) for field in fields(value)])


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
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return
    except OSError as error:
        rule = f"{setting} must be a folder that can be written"
        raise SettingError(f"{rule}, but {folder} cannot: {error.strerror}") from error


def _write_depends(folder: Path, depends: Depends) -> None:
    aside = folder / f".{DEPENDS}.partial"
    aside.write_text(_json(depends, indent=2) + "\n", encoding="utf-8")
    aside.replace(folder / DEPENDS)


def _read_depends(folder: Path) -> Any:
    """What a stage or a cache depends on; None if this cannot be read."""
    try:
        return json.loads((folder / DEPENDS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _find_changed_code(place: Path, depends: Depends) -> tuple[Path, list[str]] | None:
    """The last stage or cache that differs from this one in its code alone, and the files that differ."""
    name, _, digits = place.name.rpartition("-")
    others = place.parent.glob(f"{glob.escape(name)}-{'?' * len(digits)}")
    code = depends[CODE]
    for folder in sorted(others, key=os.path.getmtime, reverse=True):
        kept = _read_depends(folder)
        if folder == place or not isinstance(kept, dict):
            continue
        if {**kept, CODE: code} == depends:
            earlier = kept.get(CODE, {})
            return folder, [file for file in sorted(earlier | code) if earlier.get(file) != code.get(file)]
    return None


def _report_changed_code(place: Path, depends: Depends) -> None:
    """Says which files make that an earlier stage or cache is not used."""
    changed = _find_changed_code(place, depends)
    if changed:
        earlier, files = changed
        log.info("%s was made by other code, so it is made again. These files differ: %s", earlier, ", ".join(files))


def find_damage(stage: Path) -> str | None:
    """Finds a file of a finished stage that is missing, has changed or was added; returns its name, or None.

    Returns `depends.json` if the folder's name does not match the hash of this file: then another stage was put here.
    """
    try:
        written = json.loads((stage / FILES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return FILES
    if not isinstance(written, dict) or DEPENDS not in written:  # every stage has it
        return FILES
    digests = _digests(stage)
    for name in sorted(written | digests):
        if digests.get(name) != written.get(name):
            return name
    _, _, expected = stage.name.rpartition("-")
    return None if fingerprint(_read_depends(stage)) == expected else DEPENDS


def _digests(stage: Path) -> dict[str, str]:
    """The sha256 of every file but `files.json`; empty for a link or a pipe, which no stage has."""
    digests: dict[str, str] = {}
    for path in sorted(stage.rglob("*")):
        is_link = path.is_symlink()
        is_folder = path.is_dir() and not is_link
        if path == stage / FILES or is_folder:
            continue
        is_plain = path.is_file() and not is_link
        digests[path.relative_to(stage).as_posix()] = file_sha256(path) if is_plain else ""
    return digests


def _refuse_links(folder: Path, what: str) -> None:
    """Raises InputError for a folder that is a link or holds one: a run would write through it."""
    for path in chain([folder], folder.rglob("*")):
        if path.is_symlink():
            raise InputError([fault(path, 0, f"{what} must not be or contain a link: remove the link")])


def _lock(place: Path) -> FileLock:
    """The lock of a stage or a cache. Raises InputError for a link, through which it would empty another file."""
    lock = place.with_name(f"{place.name}.lock")
    _refuse_links(lock, "a lock")
    return FileLock(lock, mode=SHARED)


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
    # seconds after which a waiting process gives up
    patience: float = 24 * 3600.0
    # the stages that this object has built or found, which the log names once
    named: set[Path] = field(default_factory=set, init=False, repr=False, compare=False)

    def get(
        self,
        name: str,
        depends: Depends,
        build: Callable[[Path], None],
        *,
        code: Iterable[Code] | None = None,
        together: bool = False,
    ) -> Path:
        """Returns the folder of the stage `name` for `depends`. If it is not kept yet, `build(folder)` makes it.

        `code` has the functions and classes that make the result, by default `build` alone: give more where `build`
        calls methods of objects whose classes it does not name. With `together`, all processes of a distributed run
        call `build`, which must let only the first one write.

        Raises TimeoutError in a process that has waited too long for the first one, and InputError for an unfinished
        stage that is a link or contains one.
        """
        final, depends = self._place(name, depends, [build] if code is None else code)
        if not self.first and find_damage(final) is not None:
            if together:
                build(final.with_name(f"{final.name}.partial"))
            self._wait_for(final)
        with self._open(final, depends) as unfinished:
            if unfinished is not None:
                build(unfinished)
        return final

    def get_several(
        self,
        name: str,
        depends: Sequence[Depends],
        build: Callable[[dict[int, Path]], None],
        *,
        code: Sequence[Iterable[Code]],
    ) -> list[Path]:
        """Returns the folders of several stages of one name.

        One call of `build` makes the missing ones: index to folder.

        `code` has one entry per stage, as in `get`.
        """
        places = [self._place(name, own_depends, own_code) for own_depends, own_code in zip(depends, code, strict=True)]
        unfinished: dict[int, Path] = {}
        with ExitStack() as opened:
            index_of = {final: i for i, (final, _) in enumerate(places)}
            for final, i in sorted(index_of.items()):  # in one order, so that no two runs wait in a ring
                _, complete_depends = places[i]
                folder = opened.enter_context(self._open(final, complete_depends))
                if folder:
                    unfinished[i] = folder
            if unfinished:
                build(unfinished)
        return [final for final, _ in places]

    def reopen(
        self,
        name: str,
        depends: Depends,
        *,
        code: Iterable[Code],
        mark: str,
    ) -> None:
        """Marks a kept stage that has a file named `mark` as unfinished; the next `get` then goes on in its folder."""
        final, _ = self._place(name, depends, code)
        if not self.first or not (final / mark).is_file():
            return
        with FileLock(f"{final}.lock", mode=SHARED):
            if (final / mark).is_file():  # no other run was faster
                final.rename(final.with_name(f"{final.name}.partial"))

    def _place(
        self,
        name: str,
        depends: Depends,
        code: Iterable[Code],
    ) -> tuple[Path, Depends]:
        plain: dict[str, Any] = json.loads(_json(depends))
        plain[CODE] = hash_sources([*code, *_list_types(depends)])
        return Path(self.root) / f"{name}-{fingerprint(plain)}", plain

    @contextmanager
    def _open(self, final: Path, depends: Depends) -> Iterator[Path | None]:
        """Yields the folder to build a stage in, which is finished when the block succeeds; None for a kept stage."""
        if find_damage(final) is None:
            if final not in self.named:
                log.info("found %s", final)
            self.named.add(final)
            yield None
            return
        final.parent.mkdir(parents=True, exist_ok=True)
        with _lock(final):
            damaged = find_damage(final) if os.path.lexists(final) else None
            if damaged is not None:
                log.warning("%s is damaged or of another stage, so it is built again", final / damaged)
                _put_aside(final)
            if final.is_dir():  # another run built it while this one waited
                yield None
                return
            unfinished = final.with_name(f"{final.name}.partial")
            _refuse_links(unfinished, "a stage that is not finished")
            if not unfinished.exists():
                _report_changed_code(final, depends)
            unfinished.mkdir(exist_ok=True)
            for half in unfinished.rglob(".*.partial"):  # a killed run was writing it
                half.unlink()
            _write_depends(unfinished, depends)
            yield unfinished
            (unfinished / FILES).write_text(json.dumps(_digests(unfinished), indent=2) + "\n", encoding="utf-8")
            unfinished.rename(final)
            self.named.add(final)

    def open_cache(
        self,
        name: str,
        depends: Depends,
        *,
        code: Iterable[Code],
    ) -> "Cache":
        """Opens the cache `name` for `depends`.

        `code` has the functions and classes that make the values; their source is part of the hash.
        """
        return Cache(*self._place(name, depends, code))

    def _wait_for(self, final: Path) -> None:
        until = time.monotonic() + self.patience
        while find_damage(final) is not None:
            if time.monotonic() > until:
                raise TimeoutError(
                    f"the first process must build {final}, but has not done so in {self.patience:.0f} s"
                )
            time.sleep(0.2)


@dataclass(frozen=True)
class Cache:
    """JSON values by key (NaN and infinity included), in one file that several processes and threads extend.

    Each value has a checksum; an unfinished or damaged value counts as missing. A process sees the values that were
    there when it first looked, and those it added. A file that belongs to another cache is renamed to
    `root/name-hash.damaged`.
    """

    # `root/name-hash`
    folder: Path
    # what the values depend on besides their keys
    depends: Depends

    def get(self, key: str, make: Callable[[], Any]) -> Any:
        """Returns the value of a key. If the value is missing, `make` computes it, and the cache keeps it."""
        if key in self.values:
            return self.values[key]
        made = make()
        self.add({key: made})
        return made

    @cached_property
    def values(self) -> dict[str, Any]:
        """All values by key, read when they are first used."""
        self._refuse_other()
        if not self.folder.exists():
            _report_changed_code(self.folder, self.depends)
        file = self.folder / VALUES
        values: dict[str, Any] = {}
        damaged = 0
        content = file.read_bytes() if file.is_file() else b""
        for line in content.splitlines():
            text = line.decode("utf-8", "replace")
            checksum, _, entry = text.partition("\t")
            key, _, value = entry.partition("\t")
            if checksum == _hash(entry):
                values[key] = json.loads(value)
            elif line:
                damaged += 1
        if damaged:
            log.warning("%s: %d damaged values are made again", file, damaged)
        return values

    def add(self, made: Mapping[str, Any]) -> None:
        """Keeps more values. A key must not contain a tab or a line break.

        Raises InputError for a cache that is a link or contains a link.
        """
        entries = [f"{key}\t{json.dumps(value)}" for key, value in made.items()]
        lines = "".join(f"{_hash(entry)}\t{entry}\n" for entry in entries)
        known = self.values
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(self.folder):
            _refuse_links(self.folder, "a cache")
            self.folder.mkdir(exist_ok=True)
            if _read_depends(self.folder) is None:
                _write_depends(self.folder, self.depends)
            with (self.folder / VALUES).open("ab+") as file:
                if file.tell():
                    file.seek(-1, os.SEEK_END)
                    if file.read() != b"\n":  # a killed process left half a line
                        lines = f"\n{lines}"
                file.write(lines.encode())
        known.update(made)

    def _refuse_other(self) -> None:
        """Puts aside a cache of other dependencies, whose values would be taken for those of this one."""
        if _read_depends(self.folder) in (None, self.depends):
            return
        with _lock(self.folder):
            if _read_depends(self.folder) not in (None, self.depends):
                log.warning("%s has the values of another cache, so they are made again", self.folder)
                _put_aside(self.folder)
