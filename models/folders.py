"""Folders of models: where a model lies, and what its folder may hold.

A model's folder may come from a stranger. It holds tensors, JSON and vocabulary; nothing outside it is read.
"""

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from huggingface_hub import try_to_load_from_cache
from safetensors import SafetensorError, safe_open

from core.faults import InputFaults, MissingModel, SettingFault, blame_file, fault, format_value

FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "modules.json")  # a model's folder has one of them
ADAPTER, INDEX, TOKENIZER = "adapter_config.json", ".index.json", "tokenizer_config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # the first that a folder has is loaded
SETTINGS = ("*config*.json", "modules.json", f"*{INDEX}")  # the JSON files that libraries read settings from
LARGEST_SETTINGS = 2**24  # bytes of such a file
MOST_FILES = 100_000
# LED numbers what its encoder and its decoder read apart.
POSITIONS = ("max_position_embeddings", "max_encoder_position_embeddings", "max_decoder_position_embeddings")
LENGTHS = ("model_max_length", "max_seq_length", "n_positions", *POSITIONS)
SHORTEST = 8  # tokens, special ones included, that a model must read at once
UNBOUNDED = ("time_step_limit",)  # Mamba's, which ends at infinity
ALWAYS_FOUND = ("tokenizer_file", "special_tokens_map_file")  # transformers replaces what the settings say of these


def find_folder(name: str | Path) -> Path | None:
    """The folder of a model, in the cache of the hub for a hub name; None where it is not on this machine."""
    if Path(name).is_dir():
        return Path(name)
    try:
        cached = [try_to_load_from_cache(str(name), file) for file in FILES]
    except ValueError:  # no name of the hub
        return None
    return next((Path(file).parent for file in cached if isinstance(file, str)), None)


def find_weights(name: str | Path) -> list[Path]:
    """The files of a model's weights on this machine; empty where one is missing.

    Raises InputFaults as `check_folder`.
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
    """`check_folder` for a folder in the form of transformers; raises MissingModel for one without a model's files."""
    if not any((folder / file).is_file() for file in FILES):
        raise MissingModel(str(folder), f"a model's folder has {' or '.join(FILES)}, but this one has none of them")
    check_folder(folder)


def check_folder(folder: Path) -> None:
    """Raises InputFaults with file and key for what a model's folder must not hold; weights are checked when loaded.

    That is a link out of the folder (the cache of the hub links its own files), what is no file, an adapter, an index
    of other files than its folder's, and absurd settings.
    """
    faults = list(_find_foreign(folder))
    if not faults:
        for pattern in SETTINGS:
            for file in sorted(folder.rglob(pattern)):
                faults += [fault(file, 0, what) for what in _find_absurd(file)]
    if faults:
        raise InputFaults(faults)


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


def _find_absurd(file: Path) -> Iterator[str]:
    """What is wrong in a file of settings."""
    with blame_file(file):
        if (size := file.stat().st_size) > LARGEST_SETTINGS:
            raise SettingFault(f"must have at most {LARGEST_SETTINGS} bytes, but has {size}")
        content = json.loads(file.read_text(encoding="utf-8"))
    if file.name == ADAPTER:
        yield "an adapter reads the weights of another model: merge it into that one and save the result"
    for key, value in _leaves(content):
        if isinstance(value, float) and not math.isfinite(value) and not key.startswith(UNBOUNDED):
            yield f"{key} must be finite, but is {value}"
    if not isinstance(content, dict):
        if file.name in FILES[:-1] or file.name.endswith(INDEX):
            yield f"must hold an object, but holds {format_value(content)}"
        return
    for key in LENGTHS:
        value = content.get(key)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and value >= SHORTEST):
            yield f"{key} must be a number of tokens from {SHORTEST} on, but is {format_value(value)}"
    if file.name == TOKENIZER:
        for key, value in content.items():
            named = key.endswith("_file") and key not in ALWAYS_FOUND and isinstance(value, str)
            if named and Path(value).name != value and Path(value).exists():
                yield f"{key} must name a file of this folder, but is {format_value(value)}"
        if content.get("init_inputs"):
            yield f"init_inputs must be empty, but is {format_value(content['init_inputs'])}"
    if file.name.endswith(INDEX):
        shards = content.get("weight_map")
        if not isinstance(shards, dict) or not shards:
            yield f"weight_map must say which file has which weight, but is {format_value(shards)}"
        elif strange := [each for each in shards.values() if not isinstance(each, str) or Path(each).name != each]:
            yield f"weight_map must name files of this folder, but names {format_value(strange[0])}"


def _leaves(node: Any) -> Iterator[tuple[str, Any]]:
    """Each value that is no object or array, with its place such as `rope.factors[3]`."""
    waiting = [("", node)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{place}.{key}" if place else str(key), each) for key, each in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{place}[{i}]", each) for i, each in enumerate(value)]
        else:
            yield place, value


def find_weight(folder: Path, name: str) -> Path:
    """The safetensors file in a folder that has a weight, maybe under a longer or shorter name; else the folder."""
    for file in sorted(folder.rglob("*.safetensors")):
        try:
            with safe_open(file, "pt") as opened:
                if any(name.endswith(key) or key.endswith(name) for key in opened.keys()):  # noqa: SIM118, no mapping
                    return file
        except (SafetensorError, OSError):
            continue
    return folder
