"""Loading of models by a hub name or a folder, with one fault for every missing model, and their fingerprints.

Results that a model made depend on its weights, whatever folder they came from.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import huggingface_hub.constants
import torch
import transformers.dynamic_module_utils
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn

from core.faults import MissingModel, blame_file
from core.stages import file_sha256, fingerprint

Loaded = TypeVar("Loaded")
Module = TypeVar("Module", bound=nn.Module)
FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "modules.json")  # a model's folder has one of them
NOT_OF_THE_MODEL = ("_name_or_path", "transformers_version")  # of a configuration: where and by what it was saved

# transformers asks on the terminal whether it may run a model's own code. Without time for an answer it refuses, also
# where a library (bert-score) loads a model and cannot pass trust_remote_code=False on.
transformers.dynamic_module_utils.TIME_OUT_REMOTE_CODE = 0


def load_pretrained(load: Callable[..., Loaded], name: Path | str, **settings: Any) -> Loaded:
    """The result of `load(name, trust_remote_code=False, **settings)`.

    `load` is a `from_pretrained` of transformers or similar. Code that comes with a model is never run.

    Raises MissingModel where neither a folder nor a reachable hub has it, for a model that needs its own code, and for
    a folder with broken files.
    """
    folder = Path(name)
    if folder.is_dir() and not any((folder / file).is_file() for file in FILES):
        raise MissingModel(str(name), f"a model's folder has {' or '.join(FILES)}, but this one has none of them")
    if folder.is_file():
        raise MissingModel(str(name), "a model is a folder or a name of the model hub, but this is a file")
    try:
        return load(str(name), trust_remote_code=False, **settings)
    except OSError as error:
        raise _missing(str(name), error) from error
    except (MissingModel, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # for a broken file the libraries raise any class
        if "trust_remote_code" in str(error):
            what = "this model needs Python code that comes with it, and such code is never run"
            raise MissingModel(str(name), what) from error
        if not folder.is_dir():
            raise
        raise _missing(str(name), error) from error


def load_weights(build: Callable[[], Module], path: Path) -> Module:
    """The module that `build` makes, with the weights of a safetensors file.

    Raises InputFaults where the file is broken or has other weights, before memory is taken for the module's own.
    """
    with blame_file(path):
        weights = load_file(path)
        with torch.device("meta"):
            build().load_state_dict(weights, assign=True)  # compares names and shapes
    module = build()
    module.load_state_dict(weights)
    return module


def _missing(name: str, error: Exception) -> MissingModel:
    said = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if Path(name).is_dir():
        return MissingModel(name, f"the model in this folder cannot be loaded: {said}")
    if not _is_hub_name(name):
        return MissingModel(name, "there is no such folder, and the model hub has no such names")
    if huggingface_hub.constants.HF_HUB_OFFLINE:
        what = "there is no such folder, the model is not in the cache, and the model hub is not asked now"
        return MissingModel(name, what, fetchable=True)
    return MissingModel(name, f"there is no such folder, and the model hub does not give it: {said}")


def _is_hub_name(name: str) -> bool:
    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


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
