"""Loading of models and tokenizers by a hub name or a folder, with one fault for every missing model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import huggingface_hub.constants
import torch
import transformers.dynamic_module_utils
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id
from safetensors.torch import load_file
from torch import nn

from core.faults import MissingModel, blame_file

Loaded = TypeVar("Loaded")
Module = TypeVar("Module", bound=nn.Module)
FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "modules.json")  # a model's folder has one of them

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
