"""Loads models by hub name or folder, with one error for every missing model, and computes their fingerprints."""

import hashlib
import inspect
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from threading import RLock
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
import transformers.dynamic_module_utils
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HTTPError  # pyright: ignore[reportPrivateImportUsage]
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from core.errors import InputError, MissingModelError, blame_file
from core.stages import file_sha256, fingerprint
from models.folders import check_model_folder, find_folder, find_weight, require_model

Loaded = TypeVar("Loaded")
Module = TypeVar("Module", bound=nn.Module)
LARGEST_WEIGHT = 1e15  # of a weight: products of larger ones overflow
SHORTEST = 8  # tokens, special ones included, that a model must read at once
TRIAL = "Yes: 3 cats, 天 \U0010fffd"  # a text that every tokenizer must read; no vocabulary has its last character
UNREAD = "pooler."  # of a bare encoder: nothing reads it, and checkpoints that lack one (RoBERTa) get a random one
DESCRIBING = ("README.md", "LICENSE", ".gitattributes")  # files of a model's folder that change no score
NOT_OF_THE_MODEL = ("_name_or_path", "transformers_version")  # of a configuration: where and by what it was saved

# transformers asks on the terminal whether it may run a model's own code. Without time for an answer it refuses, also
# where a library (bert-score) loads a model and cannot pass trust_remote_code=False on.
transformers.dynamic_module_utils.TIME_OUT_REMOTE_CODE = 0


def load_pretrained(
    load: Callable[..., Loaded],
    name: Path | str,
    **settings: Any,
) -> Loaded:
    """Loads a model or tokenizer: `load(name, trust_remote_code=False, **settings)`, with checks.

    `load` is a `from_pretrained` of transformers or similar. Code that comes with a model is never run.

    The loaded object is tried on one text. BPE dropout, which makes a tokenizer random, is switched off.

    Raises MissingModelError if neither a folder nor a reachable hub has the model, if it needs its own code, if files
    are broken, if weights are missing, too large or not finite, and if it fails when it is tried. Raises InputError as
    `check_folder` does.
    """
    if Path(name).is_file():
        raise MissingModelError(str(name), "a model is a folder or a name of the model hub, but this is a file")
    folder = find_folder(name)
    if folder is not None:
        check_model_folder(folder)
    try:
        with _recording() as loaded:
            result = load(str(name), trust_remote_code=False, **settings)
        fetched = find_folder(name) if folder is None else None
        if fetched is not None:
            check_model_folder(fetched)
        for tokenizer in loaded.tokenizers:
            _try_tokenizer(tokenizer)
        for model, info in loaded.models:
            _check_model(model, info)
        if isinstance(result, nn.Module) and not isinstance(result, PreTrainedModel):  # what lies behind an encoder
            _check_weights(result.named_parameters())
        if isinstance(result, _Encoder):
            _try_encoder(result)
        return result
    except OSError as error:
        raise _missing(str(name), error) from error
    except _WeightError as error:
        place = find_folder(name)
        raise MissingModelError(str(find_weight(place, error.name) if place else name), str(error)) from error
    except (InputError, MemoryError, torch.OutOfMemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:  # for a broken file the libraries raise any class; a panic of Rust is no Exception
        if "trust_remote_code" in str(error):
            what = "this model needs Python code that comes with it, and such code is never run"
            raise MissingModelError(str(name), what) from error
        if find_folder(name) is None:
            raise
        raise _missing(str(name), error) from error


FETCHED = ("*.json", "*.safetensors", "*.txt", "*.model")  # of a folder that this project saved


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


PEGASUS_MASKS = {"mask_token": "<mask_1>", "mask_token_sent": "<mask_2>"}  # ids 2 and 3 of its pretraining


def load_tokenizer(name: Path | str) -> PreTrainedTokenizerBase:
    """Loads the tokenizer of a model. Raises errors as `load_pretrained` does.

    transformers 5 swaps the ids of PEGASUS's two masks when it reads `spiece.model`; this function corrects them.
    """
    tokenizer = load_pretrained(AutoTokenizer.from_pretrained, name)
    if tokenizer.convert_tokens_to_ids(list(PEGASUS_MASKS.values())) == [3, 2]:
        tokenizer = load_pretrained(AutoTokenizer.from_pretrained, name, **PEGASUS_MASKS)
    return tokenizer


class _WeightError(ValueError):
    """A weight, by its name, from which no score can come."""

    def __init__(self, name: str, what: str) -> None:
        self.name = name
        super().__init__(f"the weight {name} {what}")


_patching = RLock()


@dataclass
class _Loaded:
    """What transformers has loaded, for any library."""

    models: list[tuple[PreTrainedModel, Mapping[str, Any]]] = field(default_factory=list)
    tokenizers: list[PreTrainedTokenizerBase] = field(default_factory=list)


@contextmanager
def _recording() -> Iterator[_Loaded]:
    """Collects the models and tokenizers that are loaded in the block; of models, what transformers says of loading.

    It draws weights at random that no file has, or has in another shape, and warns. Those that are tied to others are
    not among them.
    """
    loaded = _Loaded()
    load_model = PreTrainedModel.__dict__["from_pretrained"].__func__
    load_tokens = PreTrainedTokenizerBase.__dict__["from_pretrained"].__func__

    @wraps(load_model)
    def record(
        cls: type,
        *args: Any,
        output_loading_info: bool = False,
        **kwargs: Any,
    ) -> Any:
        settings = {
            **kwargs,
            "output_loading_info": True,
            "ignore_mismatched_sizes": True,
        }  # `_check_model` names them
        model, info = load_model(cls, *args, **settings)
        loaded.models.append((model, info))
        return (model, info) if output_loading_info else model

    @wraps(load_tokens)
    def record_tokenizer(cls: type, *args: Any, **kwargs: Any) -> Any:
        tokenizer = load_tokens(cls, *args, **kwargs)
        loaded.tokenizers.append(tokenizer)
        return tokenizer

    with _patching:
        PreTrainedModel.from_pretrained = classmethod(record)  # pyright: ignore[reportAttributeAccessIssue]
        PreTrainedTokenizerBase.from_pretrained = classmethod(record_tokenizer)  # pyright: ignore[reportAttributeAccessIssue]
        try:
            yield loaded
        finally:
            PreTrainedModel.from_pretrained = classmethod(load_model)  # pyright: ignore[reportAttributeAccessIssue]
            PreTrainedTokenizerBase.from_pretrained = classmethod(load_tokens)  # pyright: ignore[reportAttributeAccessIssue]


def _try_tokenizer(tokenizer: PreTrainedTokenizerBase) -> None:
    """Turns dropout off. Raises ValueError for a tokenizer that reads too few tokens, and any error of its own."""
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    if getattr(getattr(backend, "model", None), "dropout", None) is not None:
        backend.model.dropout = None
    most: Any = tokenizer.model_max_length
    if isinstance(most, bool) or not isinstance(most, int | float) or not most >= SHORTEST:
        raise ValueError(f"tokenizer_config.json: model_max_length must be {SHORTEST} or more tokens, but is {most!r}")
    try:
        ids = tokenizer(TRIAL, add_special_tokens=False)["input_ids"]
    except Exception as error:
        raise ValueError(f"tokenizer.json: no text can be read: {error}") from error
    if not ids:
        raise ValueError(f"tokenizer.json: there is no token for any part of {TRIAL!r}")


@torch.no_grad()
def _check_model(model: PreTrainedModel, info: Mapping[str, Any]) -> None:
    """Raises ValueError for a model with missing or absurd weights, or whose output for some tokens is no number."""
    drawn = dict.fromkeys(info["missing_keys"], "is in none of the model's files")
    drawn |= {
        name: "has another shape in the model's files than in config.json" for name, *_ in info["mismatched_keys"]
    }
    for name, what in sorted(drawn.items()):
        if not name.startswith(UNREAD):
            raise _WeightError(name, what)
    _check_weights(model.named_parameters())
    embeddings: Any = model.get_input_embeddings()
    count = len(embeddings.weight)
    is_causal = model.can_generate() and not model.config.is_encoder_decoder  # it reads no padding
    for key in ("decoder_start_token_id",) if is_causal else ("decoder_start_token_id", "pad_token_id"):
        value = getattr(model.config, key, None)
        if value is not None and not 0 <= value < count:
            raise ValueError(f"config.json: {key} must be one of the model's {count} tokens, but is {value}")
    if getattr(model.config, "num_hidden_layers", 1) < 1:
        raise ValueError(f"config.json: a model must have at least one layer, but has {model.config.num_hidden_layers}")
    tokens = torch.zeros(
        1,
        SHORTEST,
        dtype=torch.long,
        device=model.device,
    )
    given = {
        "input_ids": tokens,
        "attention_mask": torch.ones_like(tokens),
        "decoder_input_ids": tokens,
    }
    reads = inspect.signature(model.forward).parameters
    try:
        output = model(**{name: value for name, value in given.items() if name in reads})[0]
    except Exception as error:
        raise ValueError(f"config.json: the model cannot read {SHORTEST} tokens: {error}") from error
    if bool(output.isnan().any() | output.isposinf().any()):
        raise ValueError("config.json: the outputs of the model must be finite, but are not")


@runtime_checkable
class _Encoder(Protocol):
    """A sentence encoder of sentence-transformers."""

    def encode(self, inputs: list[str]) -> Any: ...

    def get_embedding_dimension(self) -> int | None: ...


def _try_encoder(encoder: _Encoder) -> None:
    """Raises ValueError for an encoder whose vector of a text is not finite, or not as long as it says."""
    (vector,) = encoder.encode([TRIAL])
    width = encoder.get_embedding_dimension()
    if vector.shape != (width,) or not np.isfinite(vector).all():
        raise ValueError(f"modules.json: a text must have {width} finite numbers, but has the shape {vector.shape}")


def _check_weights(weights: Iterable[tuple[str, Tensor]]) -> None:
    """Raises _WeightError for a weight that is not finite or larger than LARGEST_WEIGHT."""
    for name, weight in weights:
        if not weight.is_floating_point() or not weight.numel():
            continue
        values = weight.detach()
        if values.itemsize == 1:
            values = values.float()
        ends = values.aminmax()  # without a copy of the weights
        for end in (float(ends.min), float(ends.max)):
            if not abs(end) <= LARGEST_WEIGHT:
                raise _WeightError(name, f"must be finite and at most {LARGEST_WEIGHT:g}, but holds {end:g}")


def check_tokens(
    name: Path | str,
    tokenizer: Any,
    count: int,
    unread: Collection[str] = (),
) -> None:
    """Raises MissingModelError if the tokenizer has a token whose id the model, with `count` tokens, does not have.

    The tokens named in `unread` (`pad_token`, `mask_token`) are not checked: facebook/bart-large-cnn has no mask.
    """
    unused = {getattr(tokenizer, kind) for kind in unread}
    beyond = {token: i for token, i in tokenizer.get_vocab().items() if i >= count and token not in unused}
    if beyond:
        token, i = max(beyond.items(), key=lambda item: item[1])
        raise MissingModelError(
            str(name), f"the tokenizer's token {token!r} has the id {i}, but the model has {count} tokens"
        )


def load_weights(build: Callable[[], Module], path: Path) -> Module:
    """Builds a module and loads the weights of a safetensors file into it.

    Raises InputError if the file is broken or has other weights, before the module takes memory.
    """
    with blame_file(path):
        weights = load_file(path)
        _check_weights(weights.items())
        with torch.device("meta"):
            build().load_state_dict(weights, assign=True)  # compares names and shapes
    module = build()
    module.load_state_dict(weights)
    return module


def _missing(name: str, error: BaseException) -> MissingModelError:
    message = str(error).strip().splitlines()
    reason = message[0] if message else type(error).__name__
    if Path(name).is_dir():
        return MissingModelError(name, f"the model in this folder cannot be loaded: {reason}")
    folder = find_folder(name)
    if folder is not None:
        has_pickles = any(folder.glob("*.bin"))  # which are never read
        return MissingModelError(name, f"the model in the cache cannot be loaded: {reason}", fetchable=not has_pickles)
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
    parts = [weights_fingerprint(model, unread=UNREAD), json.dumps(settings, sort_keys=True, default=str)]
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
