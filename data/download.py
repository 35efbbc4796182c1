"""Files of public sets: finds them, fetches those with a known checksum, and says how to get the others."""

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import pooch

from core.faults import InputFaults, fault
from data.originals import LICENCES, NEEDED_FIRST, ORIGINALS, ORIGINS, Origin

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 30.0  # without an answer or another byte


MOST_BYTES = 2**30  # of a download; the largest public file here has less


class DownloadFault(Exception):  # noqa: N818, named as InputFaults is
    """A file could not be fetched: its address, the cause, and what to do."""


def find_file(root: Path | str, name: str) -> Path | None:
    """The path of `folder/file` under `root`, or of `file` if `root` is that folder; None if the file is missing."""
    places = (Path(root) / name, Path(root) / Path(name).name)
    return next((place for place in places if place.is_file()), None)


def require_file(root: Path | str, name: str, download: bool = False) -> Path:
    """The path of a file of a public set; a missing file is fetched if `download` is true.

    Raises InputFaults, with instructions, if the file is missing; DownloadFault if it cannot be fetched.
    """
    found = find_file(root, name)
    if found is not None:
        return found
    if download:
        return fetch(name, root)
    raise InputFaults([fault(Path(root) / name, 0, f"no such file. {explain_download(name, root)}")])


def fetch(
    name: str, root: Path | str, origins: Mapping[str, Origin] = ORIGINS, timeout: float = TIMEOUT_SECONDS
) -> Path:
    """The file `root/name`, downloaded from its public origin if it does not exist yet.

    The download gets its final name only if its checksum is right, so a failure leaves no file of that name. A progress
    bar is shown on a terminal.

    Raises DownloadFault for an unknown origin, an unreachable server, an error such as 404, an interrupted transfer, a
    file of more than `MOST_BYTES` and a wrong checksum.
    """
    import requests  # slow to import, and only needed to fetch something

    target = Path(root) / name
    if target.is_file():
        return target
    if name not in origins:
        raise DownloadFault(f"{name} has no origin with a known checksum.\n{explain_download(name, root)}")
    origin = origins[name]
    downloader = _LimitedDownloader(progressbar=sys.stderr.isatty(), timeout=timeout)
    pooch.get_logger().setLevel("WARNING")  # this module logs the same
    log.info("fetching %s to %s (licence: %s)", origin.url, target, LICENCES[name.split("/")[0]])
    try:
        pooch.retrieve(
            origin.url,
            f"sha256:{origin.sha256}",
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
        f"{origin.url} could not be fetched: {cause}.\n"
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


def explain_download(name: str, root: Path | str) -> str:
    """Instructions to get `root/name`: a setting that fetches it, or commands to place it by hand.

    >>> print(explain_download("fed/fed_test_overall.txt", "sets"))
    Fetch it with data.download=true, or name the folder that holds fed/ with data.root=FOLDER.
    >>> print(explain_download("dialogue/dailydialog_test.txt", "sets").splitlines()[-1])
    python -m data.prepare dialogue/dailydialog_test.txt sets/dialogue
    """
    folder, _, file = name.partition("/")
    setting = "data.attributes" if folder == "attributes" else "data.root"
    if name in ORIGINS:
        return f"Fetch it with data.download=true, or name the folder that holds {folder}/ with {setting}=FOLDER."
    place = Path(root) / folder
    first = f" It needs {NEEDED_FIRST[name]} first." if name in NEEDED_FIRST else ""
    lines = [
        f"Name the folder that holds {folder}/ with {setting}=FOLDER, or place the file by hand (data.download=true "
        f"does not fetch it: no checksum of its original is known; licence: {LICENCES[folder]}).{first}",
        *(f"curl -L --create-dirs -o '{place / saved}' '{url}'" for saved, url in ORIGINALS[name].items()),
    ]
    if file not in ORIGINALS[name]:
        lines.append(f"python -m data.prepare {name} {place}")
    return "\n".join(lines)
