"""Folders of models: where a model lies, and what is never taken from a folder.

A folder may come from a stranger. It is read as its library reads it, but no code and no kernel is taken from it.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from huggingface_hub import constants, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id

from core.errors import InputError, MissingModelError, fault

FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "modules.json")  # a model's folder has one of them
# a class of sentence-transformers, which would call any other object that a folder names
MODULE = re.compile(r"(?!sentence_transformers\.)|sentence_transformers(\.\w+)*\.[A-Z]\w*$")


def find_folder(name: str | Path) -> Path | None:
    """Finds the folder of a model, for a hub name in the hub's cache; None if the model is not on this machine."""
    if Path(name).is_dir():
        return Path(name)
    try:
        cached = [try_to_load_from_cache(str(name), file) for file in FILES]
    except ValueError:  # no name of the hub
        return None
    return next((Path(file).parent for file in cached if isinstance(file, str)), None)


def require_model(name: str) -> None:
    """Raises MissingModelError, in offline mode, for a model that is not on this machine. Loads no library."""
    if Path(name).exists() or find_folder(name) is not None:
        return
    try:
        validate_repo_id(name)
    except HFValidationError:
        what = "there is no such folder, and the model hub has no such names"
        raise MissingModelError(name, what) from None
    if constants.HF_HUB_OFFLINE:
        what = "there is no such folder, the model is not in the cache, and the model hub is not asked now"
        raise MissingModelError(name, what, fetchable=True)


def check_folder(folder: Path) -> None:
    """Raises InputError, with file and key, for settings in a model's folder that name code to run.

    These are a kernel of the hub as attention (`OWNER/NAME`) and modules of a sentence encoder that are no classes.
    Other faults are found when the model is loaded and tried (`models.loading`).
    """
    faults: list[str] = []
    for file in sorted(folder.rglob("*.json")):
        if ("config" in file.name or file.name == "modules.json") and file.is_file():
            faults += [fault(file, 0, what) for what in _find_code(file)]
    if faults:
        raise InputError(faults)


def _find_code(file: Path) -> Iterator[str]:
    settings: list[tuple[str, Any]] = []

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        settings.extend(pairs)
        return dict(pairs)

    try:
        json.loads(file.read_text("utf-8"), object_pairs_hook=keep)
    except (ValueError, RecursionError):
        return  # no library takes a setting from it, and one that reads it says so
    for key, value in settings:
        if key.endswith("attn_implementation") and "/" in str(value):
            yield f"{key} names the kernel {value!r}, but no kernel is taken from the hub: write eager or sdpa"
        if key == "type" and file.name == "modules.json" and not MODULE.match(str(value)):
            yield f"a module must be a class, but is {value!r}"
