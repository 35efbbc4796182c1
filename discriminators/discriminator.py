"""Discriminator: a trained classifier that scores texts, and how it is built, saved and loaded."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BeforeValidator
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from core.errors import InputError, SettingError, blame_file
from core.notes import read_note
from core.settings import Count, Share, Size, checked_dataclass, read_settings, to_tuple
from core.stages import fingerprint
from discriminators.architectures import Guide, Network, build_network, find_kind
from discriminators.architectures.bert import BertClassifier, freeze_lowest_layers, keep_lowest_layers
from discriminators.architectures.bilstm import AttentionBiLSTM
from discriminators.networks import Ids, Mask
from discriminators.segments import Segments, TokenRow, clean, pad_rows, read
from discriminators.texts import LabelledText
from discriminators.vocabulary import (
    EncoderTokens,
    ModelTokens,
    Vocabulary,
    borrowed_vocabulary,
    load_tokens,
    train_vocabulary,
)
from models.batching import read_in_batches
from models.encoders import load_encoder
from models.loading import fetch_folder, load_weights, weights_fingerprint
from models.model import readable_tokens


@checked_dataclass
class Reading:
    """How a discriminator reads texts."""

    # of the logits, in their order; empty for one logit
    labels: Annotated[tuple[str, ...], BeforeValidator(to_tuple)] = ()
    # the most segments that it reads at once; None for as many as fit
    turns: Count | None = None


@checked_dataclass
class SavedClassifier(Reading):
    """The content of the file of a saved discriminator or guide."""

    kind: str = "bilstm"  # the module of the network (`discriminators.architectures`)
    max_length: Count = 1024
    network: dict[str, Any] = field(default_factory=dict)  # its arguments


@dataclass(frozen=True)
class Discriminator:
    """A classifier of texts with one logit (label 1 is human or good, 0 machine or damaged) or one per label."""

    # the file of its settings in the folder of a saved one
    file: ClassVar[str] = "discriminator.json"
    # whether every prefix of a text that it learns gets the label of the text
    learns_prefixes: ClassVar[bool] = False
    # `forward(ids, mask) -> logits`
    network: Network
    # what the network reads
    tokens: Vocabulary | ModelTokens
    # the arguments of the network, for its file
    arguments: dict[str, Any] = field(repr=False)
    reading: Reading = field(default_factory=Reading)
    # padded tokens in a batch of `logits`
    token_budget: int = 8192
    # what a reader of its scores must know (`core.notes`)
    notes: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the logits, in order; empty for a classifier with one logit."""
        return self.reading.labels

    @property
    def kind(self) -> str:
        """The kind of its network, such as bilstm or bert."""
        return find_kind(self.network)

    def as_guide(self, tokenizer: PreTrainedTokenizerBase) -> Guide:
        """Makes a guide for the generator of `tokenizer`.

        Raises SettingError if it reads other tokens, and for a network that cannot steer.
        """
        known = self.tokens.ids
        needed = tokenizer.get_vocab()
        differing = sorted(token for token, i in needed.items() if known.get(token) != i)
        if known != needed:
            what = f"it reads {len(known)} tokens and lacks {len(differing)} of the generator's {len(needed)}"
            if differing:
                what += f", or has other ids for them (such as {differing[0]!r})"
            rule = "a guide must read the tokens of its generator"
            raise SettingError(f"{rule}, but {what}: train the guide on the generator's tokens")
        return self.network.as_guide(self.tokens, tokenizer)

    @cached_property
    def identity(self) -> str:
        """A fingerprint of the weights, the tokens and the settings, for signatures, computed once."""
        kept = {name: value for name, value in self.arguments.items() if name != "dropout"}  # training alone uses it
        identity = [
            weights_fingerprint(self.network),
            self.tokens.identity,
            [self.kind, kept, asdict(self.reading)],
            self.tokens.max_length,
            "window",  # how a long text is read
        ]
        return fingerprint(identity)

    def read_to_learn(self, texts: Sequence[LabelledText]) -> list[TokenRow]:
        """Encodes training texts, as `segments.read` does with pairs; a guide may leave out texts."""
        segments = [text.segments for text in texts]
        rows, _ = read(
            segments,
            self.tokens,
            pairs=[text.pair for text in texts],
            turns=self.reading.turns,
        )
        return rows

    def read(self, texts: Sequence[Segments], or_nan: bool = False) -> tuple[list[TokenRow], NDArray[np.int64]]:
        """Encodes texts as `segments.read` does; `or_nan` leaves out empty ones."""
        return read(texts, self.tokens, skip_empty=or_nan, turns=self.reading.turns)

    def judge(self, ids: Ids, mask: Mask) -> Tensor:
        """Computes the logits of rows."""
        return self.network(ids, mask)

    @torch.inference_mode()
    def logits(self, texts: Sequence[Segments], or_nan: bool = False) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Computes the logits of each text, shape (texts,) or (texts, labels), and how many of its tokens were cut.

        A long text is read in windows and gets the mean of their logits, weighted by their tokens. Logits do not depend
        on the order of the texts and the token budget (within 1e-5 in float32). Raises ValueError as `segments.read`
        does; with `or_nan` a text without tokens gets NaN instead.
        """
        rows, dropped = self.read(texts, or_nan)
        device = next(self.network.parameters()).device
        training = self.network.training
        self.network.eval()
        logits = np.full((len(texts), len(self.labels) or 1), np.nan)
        logits[[row.text for row in rows]] = 0.0

        def read_batch(batch: list[int]) -> list[NDArray[np.float64]]:
            ids, mask = pad_rows([rows[i] for i in batch], self.tokens.layout.pad)
            batch_logits = self.judge(ids.to(device), mask.to(device)).double()
            return list(batch_logits.cpu().numpy().reshape(len(batch), -1))

        costs = [len(row.ids) for row in rows]
        by_row = read_in_batches(
            costs,
            self.token_budget,
            read_batch,
            "discriminator",
        )
        for row, row_logits in zip(rows, by_row, strict=True):
            logits[row.text] += row.weight * row_logits
        self.network.train(training)
        return logits if self.labels else logits[:, 0], dropped

    def save_pretrained(self, folder: Path | str) -> None:
        """Writes the settings, the tokens and the weights as safetensors. An encoder is saved with its tokenizer."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.tokens.save(folder)
        self.network.save(folder)
        settings = {
            "kind": self.kind,
            "max_length": self.tokens.max_length,
            "network": self.arguments,
            **asdict(self.reading),
        }
        content = json.dumps(settings, indent=2)
        (folder / self.file).write_text(f"{content}\n", encoding="utf-8")

    @classmethod
    def from_pretrained(cls, folder: Path | str, device: str | torch.device = "cpu") -> Self:
        """Loads what `save_pretrained` wrote, by folder or hub name.

        Raises InputError for a missing folder, for a folder without a discriminator (or guide), and for a broken one.
        """
        folder = fetch_folder(folder)
        file = folder / cls.file
        if not file.is_file():
            what = f"must be the folder of a trained discriminator, with {file.name}, found none"
            raise InputError([f"{folder}: {what}"])
        saved = SavedClassifier(**read_settings(file, SavedClassifier))
        arguments = dict(saved.network)
        if saved.labels:
            arguments["outputs"] = len(saved.labels)
        if (folder / EncoderTokens.folder).is_dir():
            encoder, tokenizer = load_encoder(str(folder / EncoderTokens.folder))
            tokens = EncoderTokens(tokenizer, saved.max_length)
            with blame_file(file):
                network = build_network(saved.kind, encoder, **arguments)
            load_weights(lambda: network.head, folder / "head.safetensors", file)
        else:
            tokens = load_tokens(folder, saved.max_length)
            arguments = {"vocabulary_size": len(tokens), **arguments}
            network = load_weights(partial(build_network, saved.kind, **arguments), folder / "model.safetensors", file)
        reading = Reading(saved.labels, saved.turns)
        return cls(
            network.to(device).eval(),
            tokens,
            saved.network,
            reading,
            notes=read_note(folder),
        )


def new_bilstm(
    texts: Iterable[Segments],
    tokens: str = "bpe",
    vocabulary_size: Count = 8000,
    min_count: Count = 2,
    max_length: Count = 1024,
    embedding_dim: Count = 128,
    hidden_dim: Count = 256,
    dropout: Share = 0.3,
    labels: Sequence[str] = (),
    turns: Count | None = None,
) -> Discriminator:
    """Builds an untrained attention Bi-LSTM, with a vocabulary from the texts; repeated texts count once.

    `tokens`, `vocabulary_size` and `min_count` are as in `train_vocabulary`. The weights depend on torch's seed.

    Raises SettingError for a kind of `tokens` that does not exist.
    """
    vocabulary = train_vocabulary(
        texts,
        tokens,
        vocabulary_size,
        max_length,
        min_count=min_count,
    )
    arguments = {"embedding_dim": embedding_dim, "hidden_dim": hidden_dim, "dropout": dropout}
    network = AttentionBiLSTM(len(vocabulary), **arguments, outputs=len(labels) or 1)
    return Discriminator(
        network,
        vocabulary,
        arguments,
        Reading(tuple(labels), turns),
    )


def new_token_bilstm(
    texts: Sequence[Segments],
    tokenizer: PreTrainedTokenizerBase,
    max_length: int = 1024,
    **arguments: Any,
) -> Discriminator:
    """Builds an untrained attention Bi-LSTM with the tokens of another model, such as a generator to guide.

    Tokens that are not in `texts` are unknown: their embedding is 0 and stays 0. A random embedding would add noise,
    which Eq. 5 of OUMG scales up to the full strength. The weights depend on torch's seed.
    """
    vocabulary = borrowed_vocabulary(tokenizer, max_length)
    network = AttentionBiLSTM(len(vocabulary), **arguments)
    segments = [clean(segment) for text in texts for segment in text]
    unseen = torch.ones(len(vocabulary), dtype=torch.bool)
    unseen[vocabulary.layout.separator] = False
    for ids in vocabulary.encode(segments):
        unseen[ids] = False
    with torch.no_grad():
        network.embedding.weight[unseen] = 0.0
    return Discriminator(network, vocabulary, arguments)


def new_bert(
    texts: Iterable[Segments] = (),  # called as new_bilstm is; an encoder brings its own tokens,
    encoder: str = "offline",
    dropout: Share = 0.1,
    max_length: Count | None = None,
    layers: Count | None = None,
    freeze_embeddings: bool = False,
    frozen_layers: Size = 0,
    attention_dropout: Share | None = None,
    labels: Sequence[str] = (),
    turns: Count | None = None,
) -> Discriminator:
    """Builds an encoder (`offline`, a hub name or a folder) with a fresh head.

    `max_length` is at most the encoder's maximum, which is the default. `layers` keeps only the lowest layers, which is
    faster. `frozen_layers` freezes that many of the lowest layers, which saves a part of the backward pass.
    `attention_dropout` replaces the encoder's setting; with 0 torch has a faster attention. The head depends on torch's
    seed.
    """
    model, tokenizer = load_encoder(encoder, attention_dropout)
    limit = readable_tokens(model.config, tokenizer)
    if max_length is not None and max_length > limit:
        raise SettingError(f"max_length must be at most the {limit} that {encoder} can read, but is {max_length}")
    if layers is not None:
        keep_lowest_layers(model, layers)
    network = BertClassifier(model, dropout, len(labels) or 1)
    if freeze_embeddings:
        model.get_input_embeddings().requires_grad_(False)
    if frozen_layers:
        freeze_lowest_layers(model, frozen_layers)
    tokens = EncoderTokens(tokenizer, max_length or limit)
    return Discriminator(
        network,
        tokens,
        {"dropout": dropout},
        Reading(tuple(labels), turns),
    )
