"""Where the files of a public set lie."""

from pathlib import Path

from core.faults import InputFaults, fault
from data.download import fetch, how_to_place


def place(root: Path | str, name: str) -> Path | None:
    """Where `folder/file` lies under `root`, or under `root` taken as that folder itself; None where it does not."""
    places = (Path(root) / name, Path(root) / Path(name).name)
    return next((each for each in places if each.is_file()), None)


def needed(root: Path | str, name: str, download: bool = False) -> Path:
    """The place of a file, fetched if it is missing and `download` is asked for.

    Raises InputFaults, with the way to get it, where the file is missing; DownloadFault where it cannot be fetched.
    """
    found = place(root, name)
    if found is not None:
        return found
    if download:
        return fetch(name, root)
    raise InputFaults([fault(Path(root) / name, 0, f"no such file. {how_to_place(name, root)}")])
