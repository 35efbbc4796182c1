"""Files of public sets: finds them, fetches those with a known checksum, and says how to get the others."""

import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import pooch

from core.faults import InputFaults, fault

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 30.0  # without an answer or another byte
MOST_BYTES = 2**30  # of a download; the largest public file here has less
GITHUB = "https://raw.githubusercontent.com"

Line: TypeAlias = str | Mapping[str, Any]  # a mapping is written as JSON


@dataclass(frozen=True)
class PublicFile:
    """A file of a public set, and how to get it. It is fetched, placed by hand, or made by `python -m data.prepare`."""

    # its folder and its own name, such as `fed/fed_test_overall.txt`
    name: str
    licence: str
    # the addresses of the published files, by the name to save them under
    originals: Mapping[str, str] = field(default_factory=dict, hash=False)
    # the checksum of the file if it can be fetched; `originals` then has its address alone
    sha256: str | None = None
    # makes the lines of the file from a folder with the originals; None if the file is itself published
    prepare: Callable[[Path], Iterable[Line]] | None = None
    # a file that `prepare` reads as well, to leave out its texts
    first: str | None = None

    @property
    def folder(self) -> str:
        """The folder of the set."""
        return self.name.partition("/")[0]


def by_file_name(*addresses: str) -> dict[str, str]:
    """The addresses by the file names that end them.

    >>> by_file_name("https://a.org/b/c.txt")
    {'c.txt': 'https://a.org/b/c.txt'}
    """
    return {address.rpartition("/")[2]: address for address in addresses}


class DownloadFault(Exception):  # noqa: N818, named as InputFaults is
    """A file could not be fetched: its address, the cause, and what to do."""


def find_file(root: Path | str, name: str) -> Path | None:
    """The path of `folder/file` under `root`, or of `file` if `root` is that folder; None if the file is missing."""
    places = (Path(root) / name, Path(root) / Path(name).name)
    return next((place for place in places if place.is_file()), None)


def require_file(root: Path | str, file: PublicFile, download: bool = False) -> Path:
    """The path of a file of a public set; a missing file is fetched if `download` is true.

    Raises InputFaults, with instructions, if the file is missing; DownloadFault if it cannot be fetched.
    """
    found = find_file(root, file.name)
    if found is not None:
        return found
    if download:
        return fetch(file, root)
    raise InputFaults([fault(Path(root) / file.name, 0, f"no such file. {explain_download(file, root)}")])


def fetch(file: PublicFile, root: Path | str, timeout: float = TIMEOUT_SECONDS) -> Path:
    """The file under `root`, downloaded from its address if it does not exist yet.

    The download gets its final name only if its checksum is right, so a failure leaves no file of that name. A progress
    bar is shown on a terminal.

    Raises DownloadFault for a file without a checksum, an unreachable server, an error such as 404, an interrupted
    transfer, a file of more than `MOST_BYTES` and a wrong checksum.
    """
    import requests  # slow to import, and only needed to fetch something

    target = Path(root) / file.name
    if target.is_file():
        return target
    if file.sha256 is None:
        raise DownloadFault(f"{file.name} has no origin with a known checksum.\n{explain_download(file, root)}")
    [url] = file.originals.values()
    downloader = _LimitedDownloader(progressbar=sys.stderr.isatty(), timeout=timeout)
    pooch.get_logger().setLevel("WARNING")  # this module logs the same
    log.info("fetching %s to %s (licence: %s)", url, target, file.licence)
    try:
        pooch.retrieve(
            url,
            f"sha256:{file.sha256}",
            fname=target.name,
            path=target.parent,
            downloader=downloader,  # pyright: ignore[reportArgumentType]
        )
    except requests.exceptions.HTTPError as error:
        cause = f"the server answered {error}"
    except requests.exceptions.ConnectTimeout:
        cause = f"no answer within {timeout:g} s"
    except requests.exceptions.ConnectionError as error:
        cause = f"the server cannot be reached, or was lost on the way ({error})"
    except requests.exceptions.Timeout:
        cause = f"no further byte within {timeout:g} s"
    except requests.exceptions.ChunkedEncodingError as error:
        cause = f"the transfer was cut off ({error})"
    except requests.exceptions.RequestException as error:
        cause = str(error)
    except _TooLong:
        cause = f"it has more than {MOST_BYTES} bytes"
    except ValueError as error:  # pooch names both checksums
        cause = f"wrong checksum: {error}"
    else:
        return target
    raise DownloadFault(
        f"{url} could not be fetched: {cause}.\n"
        f"Run again later with data.download=true, or place the file by hand at {target} and leave data.download out."
    )


class _TooLong(Exception):  # noqa: N818
    """A download has more bytes than allowed."""


class _LimitedFile:
    """A file that refuses to grow beyond `MOST_BYTES`."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.left = file, MOST_BYTES

    def write(self, content: bytes) -> None:
        self.left -= len(content)
        if self.left < 0:
            raise _TooLong
        self.file.write(content)

    def flush(self) -> None:
        self.file.flush()


class _LimitedDownloader(pooch.HTTPDownloader):
    """Stops a download that is too long, whatever the server said about its length."""

    def __call__(self, url: str, output_file: Any, pooch: Any, check_only: bool = False) -> bool | None:
        with Path(output_file).open("wb") as file:
            return super().__call__(url, _LimitedFile(file), pooch, check_only)


def explain_download(file: PublicFile, root: Path | str) -> str:
    """Instructions to get a file: a setting that fetches it, or commands to place it by hand under `root`.

    >>> print(explain_download(PublicFile("fed/fed.txt", "MIT", {"fed.txt": "https://a.org"}, sha256="0" * 64), "sets"))
    Fetch it with data.download=true, or name the folder that holds fed/ with data.root=FOLDER.
    >>> print(explain_download(PublicFile("fed/fed.txt", "MIT", {"a.json": "https://a.org"}), "sets").splitlines()[-1])
    python -m data.prepare fed/fed.txt sets/fed
    """
    setting = "data.attributes" if file.folder == "attributes" else "data.root"
    if file.sha256 is not None:
        return f"Fetch it with data.download=true, or name the folder that holds {file.folder}/ with {setting}=FOLDER."
    place = Path(root) / file.folder
    first = f" It needs {file.first} first." if file.first else ""
    lines = [
        f"Name the folder that holds {file.folder}/ with {setting}=FOLDER, or place the file by hand (data.download="
        f"true does not fetch it: no checksum of its original is known; licence: {file.licence}).{first}",
        *(f"curl -L --create-dirs -o '{place / saved}' '{url}'" for saved, url in file.originals.items()),
    ]
    if Path(file.name).name not in file.originals:
        lines.append(f"python -m data.prepare {file.name} {place}")
    return "\n".join(lines)
