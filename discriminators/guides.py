"""Guides: classifiers of prefixes that score the candidates of a generator's next token (OUMG, section 3.2).

`BiLSTMGuide` is OUMG's. It keeps the forward state of a prefix from step to step; the backward half must read the
prefix again for each candidate, so the cost of a candidate grows with the length of the prefix.

`CausalGuide` is ours. A one-directional LSTM reads the generator's tokens, so a text has a logit at each position: one
pass learns all its prefixes, and a candidate costs one step from the state of its prefix.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from core.errors import InputError, SettingError
from core.notes import read_note
from core.settings import Count, Share, checked_dataclass
from discriminators.discriminator import SETTINGS as DISCRIMINATOR
from discriminators.discriminator import Discriminator, read_saved
from discriminators.networks import AttentionBiLSTM, CausalLSTM, Pool, attend, input_table, lstm_cell, recurrent, tanh
from discriminators.segments import Segments, TokenRow, pad_rows
from discriminators.texts import SHORTEST
from discriminators.vocabulary import Vocabulary
from models.batching import read_in_batches
from models.loading import check_tokens, fetch_folder, load_tokenizer, load_weights
from models.model import plain_token_ids

SETTINGS = "guide.json"
NOT_READ = -1  # for special tokens, which the guide does not read


def map_tokens(vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerBase) -> Int[Tensor, " ids"]:
    """Maps each token of the generator to the guide's token; NOT_READ for special tokens and ids beyond the last.

    Raises SettingError for a guide of another vocabulary.
    """
    size = len(tokenizer)
    if vocabulary.tokenizer.get_vocab() != tokenizer.get_vocab():
        raise SettingError(
            "a guide must read the tokens of its generator, but the discriminator's vocabulary has "
            f"{len(vocabulary)} tokens and the generator's {size} others: train the guide on these"
        )
    found = vocabulary.first + torch.arange(size + 1)
    found[[*tokenizer.all_special_ids, size]] = NOT_READ
    return found


class BiLSTMState(NamedTuple):
    """The forward states of the prefixes, aligned at the left without gaps."""

    # the guide's tokens of each prefix
    ids: Int[Tensor, "rows time"]
    # how many of them are real
    lengths: Int[Tensor, " rows"]
    # the forward state at each of them
    hidden: Float[Tensor, "rows time dim"]
    # the forward state after the last
    h: Float[Tensor, "rows dim"]
    c: Float[Tensor, "rows dim"]


class BiLSTMGuide:
    """An attention Bi-LSTM that gives every candidate the logit of the text prefix + candidate.

    Special tokens are not read, so the logit of a special candidate is that of the prefix; 0 for a text without tokens.
    """

    def __init__(self, network: AttentionBiLSTM, vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerBase) -> None:
        self.network = network
        self.token_map = map_tokens(vocabulary, tokenizer).to(network.w.device)

    @property
    def device(self) -> torch.device:
        return self.token_map.device

    @cached_property
    def tables(self) -> tuple[Float[Tensor, "ids gates"], Float[Tensor, "ids gates"]]:
        """The contribution of each token to the gates of the forward and of the backward LSTM."""
        embedded, network = self.network.embedding.weight, self.network
        return input_table(embedded, network.forward_lstm), input_table(embedded, network.backward_lstm)

    def start(self, rows: int) -> BiLSTMState:
        zeros = self.network.w.new_zeros(rows, len(self.network.w))
        nothing = self.token_map.new_zeros(rows)
        return BiLSTMState(self.token_map.new_zeros(rows, 0), nothing, zeros[:, None][:, :0], zeros, zeros)

    @torch.no_grad()
    def advance(
        self,
        state: BiLSTMState,
        tokens: Int[Tensor, " rows"],
        read: Bool[Tensor, " rows"] | None = None,
    ) -> BiLSTMState:
        """The state after one more token; a row whose `read` is False stays unchanged."""
        own = self._own(tokens)
        read = own != NOT_READ if read is None else read & (own != NOT_READ)
        own = own.clamp(min=0)
        gates = self.tables[0][own] + recurrent(self.network.forward_lstm, state.h)
        h, c = lstm_cell(gates, state.c)
        # A row that does not read gets values beyond its length; its next token overwrites them.
        place = state.lengths[:, None]
        ids = torch.cat([state.ids, state.ids.new_zeros(len(own), 1)], dim=1).scatter(1, place, own[:, None])
        hidden = torch.cat([state.hidden, torch.zeros_like(h)[:, None]], dim=1)
        hidden = hidden.scatter(1, place[..., None].expand(-1, -1, h.shape[1]), h[:, None])
        h, c = (torch.where(read[:, None], new, old) for new, old in ((h, state.h), (c, state.c)))
        return BiLSTMState(ids, state.lengths + read, hidden, h, c)

    @torch.no_grad()
    def candidates(self, state: BiLSTMState, tokens: Int[Tensor, "rows k"]) -> Float[Tensor, "rows k"]:
        """The logit of each row's prefix with each of its candidates; O(k) in the length of the prefix."""
        network = self.network
        forward_table, backward_table = self.tables
        own = self._own(tokens)
        unread = own == NOT_READ
        own = own.clamp(min=0)
        gates = forward_table[own] + recurrent(network.forward_lstm, state.h)[:, None]
        last, _ = lstm_cell(gates, state.c[:, None])
        h, c = lstm_cell(backward_table[own], torch.zeros_like(last))
        h, c = (value.masked_fill(unread[..., None], 0.0) for value in (h, c))
        hidden = last + h
        energy = tanh(hidden) @ network.w
        pool = Pool(energy.masked_fill(unread, -torch.inf), (~unread).to(energy.dtype), hidden * ~unread[..., None])
        for place in reversed(range(int(state.lengths.max()))):
            there = (place < state.lengths)[:, None]
            gates = recurrent(network.backward_lstm, h) + backward_table[state.ids[:, place]][:, None]
            h_new, c_new = lstm_cell(gates, c)
            hidden = state.hidden[:, place][:, None] + h_new
            after = attend(pool, tanh(hidden) @ network.w, hidden)
            h, c, r = (
                torch.where(there[..., None], new, old) for new, old in ((h_new, h), (c_new, c), (after.r, pool.r))
            )
            pool = Pool(torch.where(there, after.m, pool.m), torch.where(there, after.z, pool.z), r)
        empty = pool.z == 0
        pooled = pool.r / pool.z.masked_fill(empty, 1.0)[..., None]
        return network.head(tanh(pooled)).squeeze(-1).masked_fill(empty, 0.0)

    def _own(self, tokens: Int[Tensor, "*rows"]) -> Int[Tensor, "*rows"]:
        return self.token_map[tokens.clamp(max=len(self.token_map) - 1)]


@checked_dataclass
class SavedGuide:
    """The content of `guide.json`."""

    vocabulary_size: Count
    embedding_dim: Count
    hidden_dim: Count
    dropout: Share


@dataclass(frozen=True)
class CausalGuide:
    """A trained causal guide: an LSTM that reads tokens left to right and scores the label of every prefix.

    It shares the tokenizer of the generator that it steers.
    """

    # reads token ids
    network: CausalLSTM
    # the generator's
    tokenizer: PreTrainedTokenizerBase
    # the arguments of the network, for `guide.json`
    settings: dict[str, Any]
    # of a training text
    max_length: int = 512
    # what a reader of its scores must know (`core.notes`)
    notes: tuple[str, ...] = ()

    def read(self, texts: Sequence[Segments]) -> list[TokenRow]:
        """Rows to learn: texts of at least two tokens, each followed by the end token.

        Segments are joined unchanged: the continuation of a prompt must begin as the generator's does.
        """
        end = [] if self.tokenizer.eos_token_id is None else [self.tokenizer.eos_token_id]
        encoded = [[*ids, *end] for ids in plain_token_ids(self.tokenizer, ["".join(text) for text in texts])]
        return [
            TokenRow(np.array(ids[: self.max_length], dtype=np.int64), i, 1.0)
            for i, ids in enumerate(encoded)
            if len(ids) >= SHORTEST
        ]

    @torch.inference_mode()
    def logits(self, texts: Sequence[str], token_budget: int = 8192) -> NDArray[np.float64]:
        """One logit per text, read without an end token; 0 for a text without tokens."""
        encoded = plain_token_ids(self.tokenizer, texts)
        rows = [TokenRow(np.array(ids, dtype=np.int64), i, 1.0) for i, ids in enumerate(encoded) if ids]
        found = np.zeros(len(texts))
        training = self.network.training
        self.network.eval()

        def read_batch(batch: list[int]) -> list[float]:
            ids, mask = (t.to(self.network.w.device) for t in pad_rows([rows[i] for i in batch], 0))
            return self.network(ids, mask).gather(1, mask.sum(1, keepdim=True) - 1).squeeze(1).double().tolist()

        found[[row.text for row in rows]] = read_in_batches([len(row.ids) for row in rows], token_budget, read_batch)
        self.network.train(training)
        return found

    def save_pretrained(self, folder: Path | str) -> None:
        """Writes `guide.json`, the weights as safetensors and the tokenizer in the Hugging Face form."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.tokenizer.save_pretrained(folder / "tokenizer")
        save_file(self.network.state_dict(), folder / "model.safetensors")
        (folder / SETTINGS).write_text(json.dumps(self.settings, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def from_pretrained(cls, folder: Path | str, device: str | torch.device = "cpu") -> "CausalGuide":
        """Loads what `save_pretrained` wrote, by folder or hub name.

        Raises InputError for a missing folder, and for one without a causal guide or with a broken one.
        """
        folder = fetch_folder(folder)
        settings = read_saved(folder, SETTINGS, SavedGuide)
        network = load_weights(partial(CausalLSTM, **settings), folder / "model.safetensors")
        tokenizer = load_tokenizer(folder / "tokenizer")
        check_tokens(folder, tokenizer, network.vocabulary_size)
        return cls(network.to(device).eval(), tokenizer, settings, notes=read_note(folder))


def new_causal_guide(
    texts: Sequence[Segments],
    tokenizer: PreTrainedTokenizerBase,
    embedding_dim: Count = 128,
    hidden_dim: Count = 128,
    dropout: Share = 0.3,
    max_length: Count = 512,
) -> CausalGuide:
    """Builds an untrained causal guide for the generator of `tokenizer`; the weights depend on torch's seed.

    Tokens that are not in `texts` are unknown. A training text of more than `max_length` tokens is cut, so it has fewer
    prefixes.
    """
    arguments: dict[str, Any] = {"vocabulary_size": len(tokenizer), "embedding_dim": embedding_dim}
    arguments |= {"hidden_dim": hidden_dim, "dropout": dropout}
    guide = CausalGuide(CausalLSTM(**arguments), tokenizer, arguments, max_length)
    seen = torch.zeros(len(tokenizer), dtype=torch.bool)
    seen[[i for row in guide.read(texts) for i in row.ids]] = True
    guide.network.know_only(seen)
    return guide


def score_texts(judge: CausalGuide | Discriminator, texts: Sequence[str]) -> NDArray[np.float64]:
    """The logit of each text; higher means human or good, 0 that the judge knows none of its tokens."""
    if isinstance(judge, CausalGuide):
        return judge.logits([text if text.strip() else "" for text in texts])
    # Half a character decodes to a replacement mark, which BERT's tokenizer drops.
    return np.nan_to_num(judge.logits([(text,) for text in texts], or_nan=True)[0])


def load_guide(folder: Path | str, device: str = "cpu") -> CausalGuide | Discriminator:
    """Loads a trained guide of either kind, by folder or hub name. Raises InputError if there is none."""
    place = fetch_folder(folder)
    for file, kind in ((SETTINGS, CausalGuide), (DISCRIMINATOR, Discriminator)):
        if (place / file).is_file():
            return kind.from_pretrained(place, device)
    raise InputError([f"{folder}: must be the folder of a trained guide, with {SETTINGS} or {DISCRIMINATOR}"])
