"""Loads models by hub name or folder, with one error for every missing model, and computes their fingerprints.

A folder may come from a stranger. It is read as its library reads it, but no code and no kernel is taken from it.
"""

import hashlib
import inspect
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar
from unittest.mock import patch

import torch
import transformers.dynamic_module_utils
import transformers.modeling_utils
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HTTPError  # pyright: ignore[reportPrivateImportUsage]
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.integrations.hub_kernels import is_kernel

from core.errors import InputError, MissingModelError, blame_file
from core.stages import file_sha256, fingerprint
from models.folders import FILES, find_folder, require_model

Loaded = TypeVar("Loaded")
Module = TypeVar("Module", bound=nn.Module)
SHORTEST = 8  # tokens, special ones included, that a model must read at once
TRIAL = "Yes: 3 cats, 天 \U0010fffd"  # a text that every tokenizer must read; no vocabulary has its last character
UNREAD = "pooler."  # of a bare encoder: nothing reads it, and checkpoints that lack one (RoBERTa) get a random one
# files of a model's folder that change no score
DESCRIBING = (
    "README.md",
    "LICENSE",
    ".gitattributes",
)
# of a configuration: where and by what it was saved
NOT_OF_THE_MODEL = (
    "_name_or_path",
    "transformers_version",
)
# of a folder that this project saved
FETCHED = (
    "*.json",
    "*.safetensors",
    "*.txt",
    "*.model",
)
# ids 2 and 3 of its pretraining
PEGASUS_MASKS = {
    "mask_token": "<mask_1>",
    "mask_token_sent": "<mask_2>",
}

# transformers asks on the terminal whether it may run a model's own code. Without time for an answer it refuses, also
# where a library (bert-score) loads a model and cannot pass trust_remote_code=False on.
transformers.dynamic_module_utils.TIME_OUT_REMOTE_CODE = 0
_patching = RLock()


def load_pretrained(load: Callable[..., Loaded], name: Path | str, **settings: Any) -> Loaded:
    """Loads a model or tokenizer: `load(name, trust_remote_code=False, **settings)`, with checks.

    `load` is a `from_pretrained` of transformers or similar. Code that comes with a model is never run. A model is
    tried with a few tokens.

    Raises MissingModelError if neither a folder nor a reachable hub has the model, if it needs its own code or a kernel
    of the hub, if files are broken, if weights are missing, of another shape or not finite, and if it fails when it is
    tried.
    """
    _check_place(Path(name))
    try:
        with _loaded_models() as loaded:
            result = load(str(name), trust_remote_code=False, **settings)
        for model, info in loaded:
            _check_model(model, info)
        if isinstance(result, nn.Module) and not loaded:  # an encoder that is no model of transformers
            _check_weights(result.named_parameters())
        return result
    except (InputError, MemoryError, torch.OutOfMemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:  # for a broken file the libraries raise any class; a panic of Rust is no Exception
        if find_folder(name) is None and not isinstance(error, OSError):
            raise
        raise _missing(str(name), error) from error


def _check_place(place: Path) -> None:
    """Raises MissingModelError for a folder without a model's files, and for a file."""
    if place.is_file():
        raise MissingModelError(str(place), "a model is a folder or a name of the model hub, but this is a file")
    if place.is_dir() and not any((place / file).is_file() for file in FILES):
        what = f"a model's folder has {' or '.join(FILES)}, but this one has none of them"
        raise MissingModelError(str(place), what)


def fetch_folder(name: Path | str) -> Path:
    """Returns the folder of a model that this project saved, given by its path or its name on the model hub.

    Only tensors, JSON and vocabulary are fetched. Raises MissingModelError if neither a folder nor a reachable hub has
    the model.
    """
    if Path(name).exists():
        return Path(name)
    try:
        return Path(snapshot_download(str(name), allow_patterns=list(FETCHED)))
    except (HTTPError, OSError, ValueError) as error:
        raise _missing(str(name), error) from error


def load_tokenizer(name: Path | str) -> PreTrainedTokenizerBase:
    """Loads the tokenizer of a model and tries it. Raises errors as `load_pretrained` does.

    transformers 5 swaps the ids of PEGASUS's two masks when it reads `spiece.model`; this function corrects them.
    """
    tokenizer = load_pretrained(AutoTokenizer.from_pretrained, name)
    if tokenizer.convert_tokens_to_ids(list(PEGASUS_MASKS.values())) == [3, 2]:
        tokenizer = load_pretrained(AutoTokenizer.from_pretrained, name, **PEGASUS_MASKS)
    check_tokens(name, tokenizer)
    return tokenizer


@contextmanager
def _loaded_models() -> Iterator[list[tuple[PreTrainedModel, Mapping[str, Any]]]]:
    """Collects the models that transformers loads in the block, for any library, and what it says of their weights.

    It draws weights at random that no file has, or has in another shape, and only warns. It would also fetch a kernel
    as attention, if the settings of a model name one, or name flash attention that is not installed here.
    """
    loaded: list[tuple[PreTrainedModel, Mapping[str, Any]]] = []
    load = PreTrainedModel.__dict__["from_pretrained"].__func__

    def record(cls: type, *args: Any, output_loading_info: bool = False, **settings: Any) -> Any:
        settings |= {
            "output_loading_info": True,
            "ignore_mismatched_sizes": True,
        }  # `_check_model` names them
        model, info = load(cls, *args, **settings)
        loaded.append((model, info))
        return (model, info) if output_loading_info else model

    def refuse_kernel(attention: str | None) -> bool:
        if is_kernel(attention):
            raise ValueError(f"no kernel is taken from the hub, but {attention} is named: write eager or sdpa")
        return False

    with (
        _patching,
        patch.object(PreTrainedModel, "from_pretrained", classmethod(record)),
        patch.object(transformers.modeling_utils, "is_kernel", refuse_kernel),
    ):
        yield loaded


@torch.no_grad()
def _check_model(model: PreTrainedModel, info: Mapping[str, Any]) -> None:
    """Raises ValueError for a model with missing or other weights, or whose output for some tokens is no number."""
    faults = dict.fromkeys(info["missing_keys"], "is in none of the model's files")
    for name, *_ in info["mismatched_keys"]:
        faults[name] = "has another shape in the model's files than in config.json"
    for name, what in sorted(faults.items()):
        if not name.startswith(UNREAD):
            raise ValueError(f"the weight {name} {what}")
    _check_weights(model.named_parameters())
    tokens = torch.zeros(1, SHORTEST, dtype=torch.long, device=model.device)
    given = {
        "input_ids": tokens,
        "attention_mask": torch.ones_like(tokens),
        "decoder_input_ids": tokens + (getattr(model.config, "decoder_start_token_id", None) or 0),
    }
    if model.config.is_encoder_decoder or not model.can_generate():  # a causal model reads no padding
        given["input_ids"] = tokens + (getattr(model.config, "pad_token_id", None) or 0)
    reads = inspect.signature(model.forward).parameters
    try:
        output = model(**{name: value for name, value in given.items() if name in reads})[0]
    except Exception as error:
        raise ValueError(f"config.json: the model cannot read {SHORTEST} tokens: {error}") from error
    if bool(output.isnan().any() | output.isposinf().any()):
        raise ValueError("config.json: the outputs of the model must be finite, but are not")


def _check_weights(weights: Iterable[tuple[str, Tensor]]) -> None:
    """Raises ValueError for a weight that is not finite."""
    for name, weight in weights:
        if weight.is_floating_point() and weight.itemsize > 1 and weight.numel():
            lowest, highest = weight.detach().aminmax()  # without a copy of the weights
            if not bool(lowest.isfinite() & highest.isfinite()):
                raise ValueError(f"the weight {name} must be finite, but is not")


def check_tokens(name: Path | str, tokenizer: Any, count: int | None = None, unread: Collection[str] = ()) -> None:
    """Tries a tokenizer, and switches off BPE dropout, which would make it random.

    Raises MissingModelError for a tokenizer that cannot read a text, that reads fewer than SHORTEST tokens, and that
    has a token whose id a model with `count` tokens does not have. The tokens named in `unread` (`pad_token`,
    `mask_token`) may lie beyond: facebook/bart-large-cnn has no mask.
    """
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None and getattr(backend.model, "dropout", None) is not None:
        backend.model.dropout = None
    most: Any = tokenizer.model_max_length
    if type(most) not in (int, float) or not most >= SHORTEST:
        what = f"tokenizer_config.json: model_max_length must be {SHORTEST} or more tokens, but is {most!r}"
        raise MissingModelError(str(name), what)
    try:
        ids = tokenizer(TRIAL, add_special_tokens=False)["input_ids"]
    except Exception as error:
        raise MissingModelError(str(name), f"tokenizer.json: no text can be read: {error}") from error
    if not ids:
        raise MissingModelError(str(name), f"tokenizer.json: there is no token for any part of {TRIAL!r}")
    unused = {getattr(tokenizer, kind) for kind in unread}
    tokens = {} if count is None else tokenizer.get_vocab()
    beyond = {token: i for token, i in tokens.items() if i >= (count or 0) and token not in unused}
    if beyond:
        token, i = max(beyond.items(), key=lambda item: item[1])
        what = f"the tokenizer's token {token!r} has the id {i}, but the model has {count} tokens"
        raise MissingModelError(str(name), what)


def load_weights(build: Callable[[], Module], path: Path, settings: Path) -> Module:
    """Builds a module by what the file `settings` says, with the weights of a safetensors file.

    Raises InputError for settings that build none, and for a file that is broken or has other weights, before the
    module takes memory.
    """
    with blame_file(settings), torch.device("meta"):
        module = build()
    with blame_file(path):
        weights = load_file(path)
        _check_weights(weights.items())
        module.load_state_dict(weights, assign=True)  # compares names and shapes
    return module.float()


def _missing(name: str, error: BaseException) -> MissingModelError:
    reason, *_ = str(error).strip().splitlines() or [type(error).__name__]
    if "trust_remote_code" in str(error):
        return MissingModelError(name, "this model needs Python code that comes with it, and such code is never run")
    is_folder = Path(name).is_dir()
    if find_folder(name) is not None:
        place = "this folder" if is_folder else "the cache"
        return MissingModelError(name, f"the model in {place} cannot be loaded: {reason}", fetchable=not is_folder)
    try:
        require_model(name)
    except MissingModelError as missing:
        return missing
    return MissingModelError(name, f"there is no such folder, and the model hub does not give it: {reason}")


def weights_fingerprint(model: Any, unread: str | None = None) -> str:
    """Computes a hash, sixteen hexadecimal digits, that changes with any weight, shape or dtype of a model.

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
    """Computes a fingerprint of weights, configuration and tokenizer.

    The unused pooling layer of a bare encoder does not count.
    """
    settings = {name: value for name, value in model.config.to_dict().items() if name not in NOT_OF_THE_MODEL}
    parts = [
        weights_fingerprint(model, unread=UNREAD),
        json.dumps(settings, sort_keys=True, default=str),
    ]
    return fingerprint([*parts, tokenizer_fingerprint(tokenizer)])


def copy_backend(tokenizer: Any) -> Tokenizer:
    """Copies the backend of a fast tokenizer, without padding and truncation, which calls of the tokenizer change."""
    own = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    own.no_padding()
    own.no_truncation()
    return own


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """Computes a hash, sixteen hexadecimal digits, that changes with how a transformers tokenizer encodes texts."""
    content = copy_backend(tokenizer).to_str() if tokenizer.is_fast else tokenizer.get_vocab()
    special = {name: str(token) for name, token in tokenizer.special_tokens_map.items()}
    return fingerprint([content, special, min(tokenizer.model_max_length, 10**9), tokenizer.chat_template])


def folder_fingerprint(folder: Path) -> str:
    """Computes a hash, sixteen hexadecimal digits, that changes with any file of a saved model, without loading it.

    Files that only describe it (`DESCRIBING`) do not count.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in DESCRIBING):
        digest.update(f"{path.relative_to(folder).as_posix()} {file_sha256(path)}\n".encode())
    return digest.hexdigest()[:16]
