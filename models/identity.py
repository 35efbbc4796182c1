"""Fingerprints of models. Results that a model made depend on its weights, whatever folder they came from."""

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from core.stages import file_sha256, fingerprint

NOT_OF_THE_MODEL = ("_name_or_path", "transformers_version")  # of a configuration: where and by what it was saved


def weights_fingerprint(model: Any, unread: str | None = None) -> str:
    """Sixteen hexadecimal digits that change with any weight, shape or type of number of a model.

    Weights whose names begin with `unread` are left out. Takes about a second for each GB.
    """
    digest = hashlib.sha256()
    for name, weights in sorted(model.state_dict().items()):
        if unread is not None and name.startswith(unread):
            continue
        array = weights.detach().cpu().contiguous()
        digest.update(f"{name} {array.dtype} {tuple(array.shape)}\n".encode())
        digest.update(array.reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:16]


def model_fingerprint(model: Any, tokenizer: Any) -> str:
    """Sixteen hexadecimal digits that change with any weight, the configuration or the tokenizer of a model.

    They are the same in any folder. For signatures. The pooler of a bare encoder is left out: nothing reads it, and
    checkpoints that lack one (RoBERTa) get a random one whenever they are loaded.
    """
    settings = {name: value for name, value in model.config.to_dict().items() if name not in NOT_OF_THE_MODEL}
    parts = [weights_fingerprint(model, unread="pooler."), json.dumps(settings, sort_keys=True, default=str)]
    return fingerprint([*parts, tokenizer_fingerprint(tokenizer)])


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """Sixteen hexadecimal digits that change with what a transformers tokenizer does to a text."""
    if tokenizer.is_fast:
        own = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        own.no_padding()  # calls change these two
        own.no_truncation()
        content = own.to_str()
    else:
        content = tokenizer.get_vocab()
    special = {name: str(token) for name, token in tokenizer.special_tokens_map.items()}
    return fingerprint([content, special, min(tokenizer.model_max_length, 10**9), tokenizer.chat_template])


def folder_fingerprint(folder: Path) -> str:
    """Sixteen hexadecimal digits that change with any file of a saved model: weights, tokenizer, settings.

    The model is not loaded.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder).as_posix()} {file_sha256(path)}\n".encode())
    return digest.hexdigest()[:16]
