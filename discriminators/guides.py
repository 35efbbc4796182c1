"""Guides that learn all prefixes of a text in one pass (ours), and the loading of guides of every kind.

A one-directional network reads the generator's tokens, so a text has a logit at each position. One pass over a text
trains all its prefixes, and a candidate costs one step from the state of its prefix. OUMG's guide is a discriminator
(`discriminators.architectures.bilstm`).
"""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from transformers import PreTrainedTokenizerBase

from core.errors import InputError, SettingError
from core.notes import read_note
from core.settings import Count, Share
from discriminators.architectures import Guide, build_network, find_kind
from discriminators.architectures.causal_lstm import CausalLSTM
from discriminators.discriminator import SETTINGS as DISCRIMINATOR
from discriminators.discriminator import Discriminator, SavedClassifier, read_saved
from discriminators.segments import Segments, TokenRow, pad_rows
from discriminators.texts import SHORTEST, LabelledText
from models.batching import read_in_batches
from models.loading import check_tokens, fetch_folder, load_tokenizer, load_weights
from models.model import plain_token_ids

SETTINGS = "guide.json"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CausalGuide:
    """A trained causal guide: a network that reads tokens left to right and scores the label of every prefix.

    It shares the tokenizer of the generator that it steers.
    """

    learns_prefixes: ClassVar[bool] = True
    labels: ClassVar[tuple[str, ...]] = ()  # it has one logit
    pad: ClassVar[int] = 0
    # `forward(ids, mask)` gives the logit of every prefix; a `Guide`, and `know_only(seen)` forgets other tokens
    network: Any
    # the generator's
    tokenizer: PreTrainedTokenizerBase
    # the arguments of the network, for `guide.json`
    settings: dict[str, Any]
    # of a training text
    max_length: int = 512
    # what a reader of its scores must know (`core.notes`)
    notes: tuple[str, ...] = ()

    def as_guide(self, tokenizer: PreTrainedTokenizerBase) -> Guide:
        """Returns the network, for a generator of the same tokens. Raises SettingError for other tokens."""
        known = self.tokenizer.get_vocab()
        needed = tokenizer.get_vocab()
        if known == needed:
            return self.network
        differing = sorted(token for token, i in needed.items() if known.get(token) != i)
        what = f"it was trained on {len(known)} tokens and lacks {len(differing)} of the generator's {len(needed)}"
        if differing:
            what += f", or has other ids for them (such as {differing[0]!r})"
        rule = "a guide must read the tokens of its generator"
        raise SettingError(f"{rule}, but {what}: train the guide on the generator's tokens")

    def read_to_learn(self, texts: Sequence[LabelledText]) -> list[TokenRow]:
        """Encodes training texts as `read` does; warns of those without a prefix and of those that are cut."""
        rows = self.read([text.segments for text in texts])
        cut = sum(len(row.ids) == self.max_length for row in rows)
        if cut or len(rows) < len(texts):
            log.warning(
                "of %d texts %d have too few tokens for a prefix, %d reach the limit of %d tokens",
                len(texts),
                len(texts) - len(rows),
                cut,
                self.max_length,
            )
        return rows

    def read(self, texts: Sequence[Segments]) -> list[TokenRow]:
        """Encodes training texts of at least two tokens as rows, each followed by the end token.

        Segments are joined without a separator, because a generator continues a prompt without one.
        """
        end = self.tokenizer.eos_token_id
        rows = self._encode(["".join(text) for text in texts], [] if end is None else [end])
        return [replace(row, ids=row.ids[: self.max_length]) for row in rows if len(row.ids) >= SHORTEST]

    def _encode(self, texts: Sequence[str], end: Sequence[int] = ()) -> list[TokenRow]:
        encoded = plain_token_ids(self.tokenizer, texts)
        return [TokenRow(np.array([*ids, *end], dtype=np.int64), i, 1.0) for i, ids in enumerate(encoded)]

    @torch.inference_mode()
    def logits(self, texts: Sequence[str], token_budget: int = 8192) -> NDArray[np.float64]:
        """Computes one logit per text, read without an end token; 0 for a text without tokens."""
        rows = [row for row in self._encode(texts) if len(row.ids)]
        device = self.network.device
        training = self.network.training
        self.network.eval()

        def read_batch(batch: list[int]) -> list[float]:
            ids, mask = pad_rows([rows[i] for i in batch], 0)
            mask = mask.to(device)
            of_prefixes = self.network(ids.to(device), mask)
            last = mask.sum(dim=1, keepdim=True) - 1
            of_texts = of_prefixes.gather(1, last).squeeze(1)
            return of_texts.double().tolist()

        costs = [len(row.ids) for row in rows]
        logits = np.zeros(len(texts))
        logits[[row.text for row in rows]] = read_in_batches(costs, token_budget, read_batch)
        self.network.train(training)
        return logits

    def save_pretrained(self, folder: Path | str) -> None:
        """Writes `guide.json`, the weights as safetensors and the tokenizer in the Hugging Face form."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.tokenizer.save_pretrained(folder / "tokenizer")
        save_file(self.network.state_dict(), folder / "model.safetensors")
        settings = json.dumps({"kind": find_kind(self.network), "network": self.settings}, indent=2)
        (folder / SETTINGS).write_text(f"{settings}\n", encoding="utf-8")

    @classmethod
    def from_pretrained(cls, folder: Path | str, device: str | torch.device = "cpu") -> "CausalGuide":
        """Loads a causal guide that `save_pretrained` wrote, by folder or hub name.

        Raises InputError for a missing folder, for a folder without a causal guide, and for a broken guide.
        """
        folder = fetch_folder(folder)
        file = folder / SETTINGS
        saved = SavedClassifier(**read_saved(file, SavedClassifier))
        network = load_weights(partial(build_network, saved.kind, **saved.network), folder / "model.safetensors", file)
        tokenizer = load_tokenizer(folder / "tokenizer")
        check_tokens(folder, tokenizer, saved.network["vocabulary_size"])
        return cls(network.to(device).eval(), tokenizer, settings=saved.network, notes=read_note(folder))


def new_causal_guide(
    texts: Sequence[Segments],
    tokenizer: PreTrainedTokenizerBase,
    embedding_dim: Count = 128,
    hidden_dim: Count = 128,
    dropout: Share = 0.3,
    max_length: Count = 512,
) -> CausalGuide:
    """Builds an untrained causal LSTM guide for the generator of `tokenizer`; see `new_prefix_guide`."""
    arguments = {"embedding_dim": embedding_dim, "hidden_dim": hidden_dim, "dropout": dropout}
    return new_prefix_guide(CausalLSTM, texts, tokenizer, max_length, arguments)


def new_prefix_guide(
    make: Callable[..., Any],
    texts: Sequence[Segments],
    tokenizer: PreTrainedTokenizerBase,
    max_length: int,
    arguments: dict[str, Any],
) -> CausalGuide:
    """Builds an untrained guide of a network, `make(vocabulary_size=..., **arguments)`; weights depend on torch's seed.

    Tokens that are not in `texts` are unknown. A training text of more than `max_length` tokens is cut, and then has
    fewer prefixes to learn.
    """
    arguments = {"vocabulary_size": len(tokenizer), **arguments}
    guide = CausalGuide(make(**arguments), tokenizer, arguments, max_length)
    seen = torch.zeros(len(tokenizer), dtype=torch.bool)
    for row in guide.read(texts):
        seen[row.ids] = True
    guide.network.know_only(seen)
    return guide


def score_texts(judge: CausalGuide | Discriminator, texts: Sequence[str]) -> NDArray[np.float64]:
    """Computes the logit of each text: higher means human or good.

    The logit is 0 if the judge knows none of the tokens.
    """
    if isinstance(judge, CausalGuide):
        return judge.logits([text if text.strip() else "" for text in texts])
    # Half a character decodes to a replacement mark, which BERT's tokenizer drops.
    logits, _ = judge.logits([(text,) for text in texts], or_nan=True)
    return np.nan_to_num(logits)


def load_guide(folder: Path | str, device: str = "cpu") -> CausalGuide | Discriminator:
    """Loads a trained guide of either kind, by folder or hub name. Raises InputError if the folder has no guide."""
    place = fetch_folder(folder)
    for file, kind in ((SETTINGS, CausalGuide), (DISCRIMINATOR, Discriminator)):
        if (place / file).is_file():
            return kind.from_pretrained(place, device)
    raise InputError([f"{folder}: must be the folder of a trained guide, with {SETTINGS} or {DISCRIMINATOR}"])
