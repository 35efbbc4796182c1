"""Fingerprints of models. Results that a model made depend on its weights, whatever folder they came from."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import torch


def weights_fingerprint(model: Any) -> str:
    """Sixteen hexadecimal digits that change with any weight, shape or type of number of a model.

    Takes about a second for each GB.
    """
    digest = hashlib.sha256()
    for name, weights in sorted(model.state_dict().items()):
        array = weights.detach().cpu().contiguous()
        digest.update(f"{name} {array.dtype} {tuple(array.shape)}\n".encode())
        digest.update(array.reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:16]


def folder_fingerprint(folder: Path) -> str:
    """Sixteen hexadecimal digits that change with any file of a saved model: weights, tokenizer, settings.

    The model is not loaded.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder).as_posix()} {file_sha256(path)}\n".encode())
    return digest.hexdigest()[:16]


def file_sha256(path: Path) -> str:
    """The sha256 of a file. A process reads an unchanged file once; this takes about a second for each GB."""
    state = path.stat()
    return _file_sha256(path, state.st_size, state.st_mtime_ns)


@cache
def _file_sha256(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
