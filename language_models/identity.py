"""Fingerprints of models. Results that a model made depend on its weights, whatever folder they came from."""

import hashlib
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

    The model is not loaded. Takes about a second for each GB.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:16]
