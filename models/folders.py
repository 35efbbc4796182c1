"""Where a model lies: in a folder, or in the cache of the model hub. Loads no library of models."""

from pathlib import Path

from huggingface_hub import constants, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id

from core.errors import MissingModelError

FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "modules.json")  # a model's folder has one of them


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
