"""Folders of models: where a model lies, and what its folder may hold.

A model's folder may come from a stranger. It holds tensors, JSON and vocabulary; nothing outside it is read.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import constants, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id
from safetensors import SafetensorError, safe_open

from core.errors import InputError, MissingModelError, SettingError, blame_file, fault, format_value

FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "modules.json")  # a model's folder has one of them
ADAPTER, INDEX, TOKENIZER = "adapter_config.json", ".index.json", "tokenizer_config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # the first that a folder has is loaded
SETTINGS = ("*config*.json", "modules.json", f"*{INDEX}")  # the JSON files that libraries read settings from
LARGEST_SETTINGS = 2**24  # bytes of such a file
MOST_FILES = 100_000
# LED numbers what its encoder and its decoder read apart.
POSITIONS = ("max_position_embeddings", "max_encoder_position_embeddings", "max_decoder_position_embeddings")
MODULES, ENCODER = "modules.json", "sentence_"  # the modules of a sentence encoder, and the settings of the first one
MODULE_TYPES = ("Transformer", "Pooling", "Normalize", "Dense", "LayerNorm", "Dropout")
ENCODER_KEYS = (
    *("max_seq_length", "do_lower_case", "transformer_task", "modality_config", "module_output_name"),
    *("processing_kwargs", "unpad_inputs", "query_length", "document_length", "query_expansion"),
)
ARGUMENTS = ("model_args", "model_kwargs", "tokenizer_args", "processor_kwargs", "config_args", "config_kwargs")
PASSED_ON = ("model_max_length", "padding_side", "add_pooling_layer", "dtype", "torch_dtype")
NEVER_READ = ("tokenizer_file", "special_tokens_map_file", "name_or_path")  # transformers finds the files itself
LONGEST_NAME = 4096  # bytes of a path


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


def find_weights(name: str | Path) -> list[Path]:
    """Lists the weight files of a model on this machine; empty if a file is missing.

    Raises InputError as `check_folder` does.
    """
    if (folder := find_folder(name)) is None:
        return []
    for weights in WEIGHTS:
        if (index := folder / f"{weights}{INDEX}").is_file():
            check_folder(folder)
            shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
            files = sorted(folder / shard for shard in shards)
            return files if all(file.is_file() for file in files) else []
        if (folder / weights).is_file():
            check_folder(folder)
            return [folder / weights]
    return []


def check_model_folder(folder: Path) -> None:
    """Checks a folder in the form of transformers as `check_folder` does.

    Raises MissingModelError for a folder without a model's files.
    """
    if not any((folder / file).is_file() for file in FILES):
        raise MissingModelError(
            str(folder), f"a model's folder has {' or '.join(FILES)}, but this one has none of them"
        )
    check_folder(folder)


def check_folder(folder: Path) -> None:
    """Raises InputError, with file and key, for forbidden content of a model's folder; weights are checked when loaded.

    Forbidden are: links out of the folder (except those of the hub's cache); pipes, devices and the like; adapters; an
    index that names files outside the folder; and arguments of loaders that are not on the list of allowed ones. Other
    faults are found when the model is loaded and tried (`models.loading`).
    """
    faults = list(_find_foreign(folder))
    if not faults:
        for pattern in SETTINGS:
            for file in sorted(folder.rglob(pattern)):
                faults += [fault(file, 0, what) for what in _find_absurd(file, folder)]
    if faults:
        raise InputError(faults)


def _find_foreign(folder: Path) -> Iterator[str]:
    """Entries of the folder that are neither files nor folders in it."""
    root = Path(os.path.realpath(folder))
    cache = next((parent.parent / "blobs" for parent in root.parents if parent.name == "snapshots"), root)
    count = 0
    for place, folders, files in os.walk(folder):
        count += len(files)
        if count > MOST_FILES:
            yield fault(folder, 0, f"a model's folder must have at most {MOST_FILES} files, found more")
            return
        for path in (Path(place) / name for name in (*folders, *files)):
            target = Path(os.path.realpath(path))
            if path.is_symlink() and not (target.is_relative_to(root) or target.is_relative_to(cache)):
                yield fault(path, 0, f"links to {target}, outside the model's folder: put a copy there")
            elif not (target.is_file() or target.is_dir()):
                yield fault(path, 0, "must be a file or a folder")


def _find_absurd(file: Path, folder: Path) -> Iterator[str]:
    """What is wrong in a file of settings of a folder."""
    with blame_file(file):
        if (size := file.stat().st_size) > LARGEST_SETTINGS:
            raise SettingError(f"must have at most {LARGEST_SETTINGS} bytes, but has {size}")
        content = json.loads(file.read_text(encoding="utf-8"))
    if file.name == ADAPTER:
        yield "an adapter reads the weights of another model: merge the adapter into that model and save the result"
    if file.name == MODULES:
        yield from _find_other_modules(content)
    elif not isinstance(content, dict):
        if file.name in FILES or file.name.endswith(INDEX):
            yield f"must contain an object, but contains {format_value(content)}"
    elif file.name.startswith(ENCODER):
        yield from _find_other_arguments(content)
    elif file.name.endswith(INDEX):
        yield from _find_strange_shards(content.get("weight_map"))
    elif file.name == TOKENIZER:
        yield from _find_files_outside(content, folder)


def _find_other_modules(content: Any) -> Iterator[str]:
    """Modules of a sentence encoder by the names of other objects of its library, which would call them."""
    for entry in content if isinstance(content, list) else ():
        kind = str(entry.get("type")) if isinstance(entry, dict) else ""
        if kind.startswith("sentence_transformers.") and kind.rpartition(".")[2] not in MODULE_TYPES:
            yield f"a module must be one of {', '.join(MODULE_TYPES)}, but is {format_value(kind)}"


def _find_other_arguments(content: Mapping[str, Any]) -> Iterator[str]:
    """What a sentence encoder would pass on to its loaders, which read other files and change weights."""
    for key, value in content.items():
        if key in ARGUMENTS and isinstance(value, dict):
            others = sorted(name for name, given in value.items() if name not in PASSED_ON and given)
            if others:
                yield f"{key} must hold only {', '.join(PASSED_ON)}, but holds {others[0]}"
        elif key not in ENCODER_KEYS and value:
            yield f"{key} must not be set: {', '.join(ENCODER_KEYS)} can be"


def _find_strange_shards(shards: Any) -> Iterator[str]:
    """What an index of weights must not name."""
    if not isinstance(shards, dict) or not shards:
        yield f"weight_map must say which file has which weight, but is {format_value(shards)}"
    elif strange := [name for name in shards.values() if not isinstance(name, str) or Path(name).name != name]:
        yield f"weight_map must name files of this folder, but names {format_value(strange[0])}"


def _find_files_outside(content: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Texts that name a file which is there and not in the folder: some argument of a tokenizer may read it."""
    root = Path(os.path.realpath(folder))
    for key, value in content.items():
        if key in NEVER_READ:
            continue
        for text in _texts_in(value):
            is_path = Path(text).name != text and len(text) < LONGEST_NAME and "\0" not in text
            places = [Path(os.path.realpath(base / text)) for base in (folder, Path.cwd())] if is_path else []
            if any(place.is_file() and not place.is_relative_to(root) for place in places):
                yield f"{key} must name a file of this folder, but is {format_value(text)}"


def _texts_in(node: Any) -> Iterator[str]:
    """Every text in a JSON value, keys of objects too."""
    waiting = [node]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str):
            yield value


def find_weight(folder: Path, name: str) -> Path:
    """Finds the safetensors file that contains a weight, also under a longer or shorter name; else the folder."""
    for file in sorted(folder.rglob("*.safetensors")):
        try:
            with safe_open(file, "pt") as opened:
                if any(name.endswith(key) or key.endswith(name) for key in opened.keys()):  # noqa: SIM118, no mapping
                    return file
        except (SafetensorError, OSError):
            continue
    return folder
