"""Downloads from a local server: the right file, and every way in which one can fail."""

import gc
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from core.errors import InputError
from data.download import PUBLIC_FILES, PublicFile, check_hash, fetch, git_blob_hash, require_file

# pooch leaves the socket of a failed download to the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

BODY = b"Hi!</UTT>Hello.</UTT>0.5\n" * 1000
SHA256 = hashlib.sha256(BODY).hexdigest()
NAME = "fed/x.txt"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/missing":
            self.send_error(404)
            return
        if self.path == "/silent":
            self.server.released.wait(timeout=10)  # pyright: ignore[reportAttributeAccessIssue]
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY[:-10] if self.path == "/cut" else BODY)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.released = threading.Event()  # pyright: ignore[reportAttributeAccessIssue]
    thread = threading.Thread(target=made.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{made.server_address[1]}"
    made.released.set()  # pyright: ignore[reportAttributeAccessIssue]
    made.shutdown()
    thread.join()
    made.server_close()
    gc.collect()


def published(url: str, sha256: str = SHA256) -> PublicFile:
    return PublicFile(NAME, "MIT", {"x.txt": url}, {"x.txt": sha256})


def fault_of(root: Path, url: str, sha256: str = SHA256) -> str:
    """The message of a failed fetch that left no file behind."""
    with pytest.raises(InputError) as found:
        fetch(published(url, sha256), root)
    assert not [each for each in root.rglob("*") if each.is_file()]
    message = str(found.value)
    assert url in message
    assert f"place the file by hand at {root / NAME}" in message
    return message


def test_the_right_file_arrives_and_is_not_fetched_twice(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for path in ("x", "missing"):
        monkeypatch.setattr("data.download.PUBLIC_FILES", {NAME: published(f"{server}/{path}")})
        assert require_file(tmp_path, NAME, download=True) == tmp_path / NAME
    assert (tmp_path / NAME).read_bytes() == BODY
    assert [each.name for each in (tmp_path / "fed").iterdir()] == ["x.txt"]


@pytest.mark.parametrize("root", ["", "fed"])
def test_a_file_is_made_of_an_original_that_is_fetched(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str
):
    arguments = {"original": "x.txt", "column": "line"}
    hashes = {"x.txt": SHA256}
    file = PublicFile(
        "fed/scores.tsv", "MIT", {"x.txt": f"{server}/x"}, hashes, reader="read_deam_scores", arguments=arguments
    )
    monkeypatch.setattr("data.download.PUBLIC_FILES", {file.name: file})
    made = require_file(tmp_path / root, file.name, download=True)
    assert made == tmp_path / "fed/scores.tsv"
    assert made.read_text().splitlines() == ["line\tdeam_score", *(f"{i}\t0.5" for i in range(1000))]


@pytest.mark.parametrize(
    ("path", "settings", "words"),
    [
        ("x", {"sha256": "0" * 64}, [SHA256, "0" * 64]),
        ("cut", {}, ["IncompleteRead"]),
        ("missing", {}, ["404"]),
        ("silent", {}, ["timed out"]),
    ],
)
def test_a_failed_download(
    server: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    settings: dict[str, Any],
    words: list[str],
) -> None:
    monkeypatch.setattr("pooch.downloaders.DEFAULT_TIMEOUT", 0.5)
    message = fault_of(tmp_path, f"{server}/{path}", **settings)
    assert all(word in message for word in words)


def test_a_file_is_checked_by_its_git_hash(server: str, tmp_path: Path) -> None:
    """As `git hash-object`, whose hash of the six bytes "hello\n" is known."""
    known = tmp_path / "known"
    known.write_bytes(b"hello\n")
    assert git_blob_hash(known) == "ce013625030ba8dba906f756967f9e9ca394464a"
    right = hashlib.sha1(b"blob %d\0" % len(BODY) + BODY).hexdigest()
    fetch(published(f"{server}/x", right), tmp_path)
    assert (tmp_path / NAME).read_bytes() == BODY
    with pytest.raises(InputError, match=f"its checksum must be {'0' * 40}, but is {right}"):
        fetch(published(f"{server}/x", "0" * 40), tmp_path / "other")


def test_a_file_that_does_not_end_is_not_fetched_whole(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("data.download.MOST_BYTES", 1000)
    assert "it has more than 1000 bytes" in fault_of(tmp_path, f"{server}/x")


def test_what_has_no_known_checksum_is_placed_by_hand(tmp_path: Path):
    file = PUBLIC_FILES["dialogue/personachat_valid.txt"]
    with pytest.raises(InputError, match=r"no checksum of its original is known") as found:
        require_file(tmp_path, file.name, download=True)
    line = f"curl -L --create-dirs -o '{tmp_path}/dialogue/clean_valid.txt' '{file.originals['clean_valid.txt']}'"
    assert str(found.value).splitlines()[-1] == line


def test_checksums_are_those_of_the_public_files(shared_data: Path):
    for file in PUBLIC_FILES.values():
        for original, expected in file.hashes.items():
            if (path := shared_data / file.folder / original).is_file():
                check_hash(path, expected)
