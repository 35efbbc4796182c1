"""Files of public sets: finds them on disk, builds or fetches some, and explains how to get the others."""

import hashlib
import json
import logging
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from core.errors import InputError, blame_file, fault, setting
from core.hosts import check_network
from core.stages import file_sha256
from data.text_files import open_atomically, temporary_path

log = logging.getLogger(__name__)

GIT_DIGITS = 40  # of a hash of git; a sha256 has 64
MOST_BYTES = 2**30  # of a download; the largest public file here has less


@dataclass(frozen=True)
class PublicFile:
    """A file of a public set as `public_files.toml` describes it."""

    # its folder and its own name, such as `fed/fed_test_overall.txt`
    name: str
    licence: str
    # the addresses of the published files, by the name to save them under
    originals: Mapping[str, str] = field(default_factory=dict, hash=False)
    # by original, if it can be fetched, its sha256 or the hash by which its git repository knows it (40 digits)
    hashes: Mapping[str, str] = field(default_factory=dict, hash=False)
    # the function of `data.sets.originals` that makes the lines of the file, and its arguments besides the folder
    reader: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)
    # a file that is read as well, to leave out its texts
    first: str | None = None

    @property
    def folder(self) -> str:
        """The folder of the set."""
        return self.name.partition("/")[0]

    @property
    def is_fetchable(self) -> bool:
        """Whether the originals can be downloaded: their checksums are known."""
        return bool(self.hashes)

    def place(self, root: Path | str) -> Path:
        """The folder for the originals under `root`, which may be the folder of the set itself."""
        root = Path(root)
        return root if root.name == self.folder else root / self.folder


DESCRIBED = tomllib.loads(Path(__file__).with_name("public_files.toml").read_text("utf-8"))
PUBLIC_FILES: Mapping[str, PublicFile] = {name: PublicFile(name, **described) for name, described in DESCRIBED.items()}


def join_licences(names: Iterable[str]) -> str:
    """Joins the licences of public files, or of all files in public folders, each once.

    >>> join_licences(["commongen_train/", "pandalm/pairs.jsonl"])
    'MIT; Apache-2.0'
    """
    files = [file for name in names for file in PUBLIC_FILES.values() if file.name.startswith(name)]
    return "; ".join(dict.fromkeys(file.licence for file in files))


def git_blob_hash(path: Path) -> str:
    """Git's hash of a file: the sha1 of "blob", its size, a zero byte and its content."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def check_hash(path: Path, expected: str) -> None:
    """Raises ValueError if a file does not have this sha256 or, with 40 digits, this hash of git."""
    actual = git_blob_hash(path) if len(expected) == GIT_DIGITS else file_sha256(path)
    if actual != expected:
        raise ValueError(f"its checksum must be {expected}, but is {actual}")


def find_file(root: Path | str, name: str) -> Path | None:
    """Finds `folder/file` or `file` under `root`, or builds the file from its original files there.

    Returns None if neither is possible.
    """
    places = (Path(root) / name, Path(root) / Path(name).name)
    return next((place for place in places if place.is_file() or _make(place, PUBLIC_FILES.get(name))), None)


def _make(path: Path, file: PublicFile | None) -> bool:
    """Writes a file into the folder of its originals; returns whether these are there."""
    if file is None or file.reader is None or not path.parent.is_dir():
        return False
    with blame_file(path):
        try:
            if file.first:
                find_file(path.parent, file.first)
            lines = list(resolve_name(f"data.sets.originals:{file.reader}")(path.parent, **file.arguments))
        except FileNotFoundError:
            return False
        with open_atomically(path) as made:
            made.writelines((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    log.info("made %s", path)
    return True


def require_file(root: Path | str, name: str, download: bool = False) -> Path:
    """Returns the path of a file in PUBLIC_FILES, which is fetched if `download` is true.

    Raises InputError, with instructions how to get the file, if it is missing.
    """
    path = find_file(root, name)
    file = PUBLIC_FILES[name]
    if path is None and download and file.is_fetchable:
        fetch(file, root)
        path = find_file(root, name)
    if path is None:
        raise InputError([fault(Path(root) / name, 0, f"no such file. {explain_download(file, root)}")])
    return path


class LimitedFile(FileIO):
    """A file that refuses more than MOST_BYTES, whatever a server says about the length."""

    def write(self, chunk: bytes) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.tell() + len(chunk) > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        return super().write(chunk)


def fetch(file: PublicFile, root: Path | str) -> None:
    """Downloads the missing originals of a file into its folder, under temporary names until they are verified.

    Raises InputError if the server cannot be reached or answers with an error (404), and for an interrupted transfer, a
    file of more than `MOST_BYTES` and a wrong checksum; SettingError for a server that must not be asked.
    """
    from pooch import HTTPDownloader  # slow to import, and only needed to fetch something

    for saved, url in file.originals.items():
        target = file.place(root) / saved
        if target.is_file():
            continue
        check_network("download", url)
        log.info("fetching %s to %s (licence: %s)", url, target, file.licence)
        try:
            with temporary_path(target) as aside:
                with LimitedFile(aside, "w") as output:
                    HTTPDownloader()(url, output, pooch=None)
                check_hash(aside, file.hashes[saved])
        except (OSError, ValueError) as error:
            hint = f"run again later, or place the file by hand at {target} and leave {setting('data.download')} out"
            raise InputError([fault(target, 0, f"{url} could not be fetched: {error}; {hint}")]) from error


def explain_download(file: PublicFile, root: Path | str) -> str:
    """Returns instructions to get a file: a setting that fetches it, or commands to place it by hand under `root`.

    >>> origin = {"x.txt": "https://a.org"}
    >>> print(explain_download(PublicFile("fed/fed.txt", "MIT", origin, hashes={"x.txt": "0" * 64}), "sets"))
    Fetch it with download=True network=True, or name the folder that holds fed/ with root="FOLDER".
    >>> print(explain_download(PublicFile("fed/fed.txt", "MIT", origin), "sets").splitlines()[-1])
    curl -L --create-dirs -o 'sets/fed/x.txt' 'https://a.org'
    """
    root_name = "data.attributes" if file.folder == "attributes" else "data.root"
    folder_named = f"name the folder that holds {file.folder}/ with {setting(root_name, 'FOLDER')}"
    fetch = f"{setting('data.download', 'true')} {setting('network', 'true')}"
    if file.is_fetchable:
        return f"Fetch it with {fetch}, or {folder_named}."
    first = f" It needs {file.first} first." if file.first else ""
    made = "the original files, from which it is made," if file.reader else "the file"
    folder = file.place(root)
    commands = [f"curl -L --create-dirs -o '{folder / saved}' '{url}'" for saved, url in file.originals.items()]
    rule = (
        f"N{folder_named[1:]}, or place {made} by hand ({fetch} "
        f"does not fetch it: no checksum of its original is known; licence: {file.licence}).{first}"
    )
    return "\n".join([rule, *commands])
