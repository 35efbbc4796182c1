"""Guides: classifiers of prefixes that score the candidates of a generator's next token (OUMG, section 3.2).

`BiLSTMGuide` is OUMG's. It keeps the forward state of a prefix from step to step. Its backward half must read the
prefix again for each candidate, so the cost of a candidate grows with the length of the prefix.

`CausalGuide` is ours. A one-directional LSTM reads the generator's tokens, so a text has a logit at each position. One
pass over a text trains all its prefixes, and a candidate costs one step from the state of its prefix.
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
from discriminators.networks import (
    AttentionBiLSTM,
    CausalLSTM,
    Pool,
    attend,
    choose_rows,
    input_table,
    lstm_cell,
    recurrent,
    tanh,
)
from discriminators.segments import Segments, TokenRow, pad_rows
from discriminators.texts import SHORTEST
from discriminators.vocabulary import Vocabulary
from models.batching import read_in_batches
from models.loading import check_tokens, fetch_folder, load_tokenizer, load_weights
from models.model import plain_token_ids

SETTINGS = "guide.json"
NOT_READ = -1  # for special tokens, which the guide does not read


def map_tokens(vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerBase) -> Int[Tensor, " ids"]:
    """Maps each token id of the generator to the guide's id; NOT_READ for special tokens and unknown ids.

    Ids beyond the last token of the tokenizer are unknown. Raises SettingError for a guide of another vocabulary.
    """
    size = len(tokenizer)
    if vocabulary.tokenizer.get_vocab() != tokenizer.get_vocab():
        raise SettingError(
            "a guide must read the tokens of its generator, but the discriminator's vocabulary has "
            f"{len(vocabulary)} tokens and the generator's {size} different ones: train the guide on the tokens of the "
            "generator"
        )
    token_map = vocabulary.first + torch.arange(size + 1)
    token_map[[*tokenizer.all_special_ids, size]] = NOT_READ
    return token_map


class BiLSTMState(NamedTuple):
    """The tokens and forward states of the prefixes, one row each, aligned at the left without gaps."""

    # the guide's tokens of each prefix
    ids: Int[Tensor, "rows time"]
    # how many of them are real
    lengths: Int[Tensor, " rows"]
    # the forward state at each of them
    hidden: Float[Tensor, "rows time dim"]
    # the forward state after the last
    h: Float[Tensor, "rows dim"]
    c: Float[Tensor, "rows dim"]


def append(
    values: Float[Tensor, "rows time ..."] | Int[Tensor, "rows time"],
    places: Int[Tensor, " rows"],
    new: Float[Tensor, "rows ..."] | Int[Tensor, " rows"],
) -> Tensor:
    """Adds one column to the values, and writes each row's new value at the row's own position."""
    longer = torch.cat([values, torch.zeros_like(new)[:, None]], dim=1)
    rows = torch.arange(len(new), device=new.device)
    longer[rows, places] = new
    return longer


class BiLSTMGuide:
    """An attention Bi-LSTM that gives every candidate the logit of the text prefix + candidate.

    Special tokens are not read, so a special candidate gets the logit of the prefix. A text without tokens gets 0.
    """

    def __init__(
        self,
        network: AttentionBiLSTM,
        vocabulary: Vocabulary,
        tokenizer: PreTrainedTokenizerBase,
    ) -> None:
        self.network = network
        self.token_map = map_tokens(vocabulary, tokenizer).to(network.w.device)

    @property
    def device(self) -> torch.device:
        return self.token_map.device

    @cached_property
    def tables(self) -> tuple[Float[Tensor, "ids gates"], Float[Tensor, "ids gates"]]:
        """What each token contributes to the gates of the forward and of the backward LSTM, computed once."""
        network = self.network
        embedded = network.embedding.weight
        forward_table = input_table(embedded, network.forward_lstm)
        backward_table = input_table(embedded, network.backward_lstm)
        return forward_table, backward_table

    def start(self, rows: int) -> BiLSTMState:
        dim = len(self.network.w)
        zeros = self.network.w.new_zeros(rows, dim)
        return BiLSTMState(
            ids=self.token_map.new_zeros(rows, 0),
            lengths=self.token_map.new_zeros(rows),
            hidden=zeros.new_zeros(rows, 0, dim),
            h=zeros,
            c=zeros,
        )

    @torch.no_grad()
    def advance(
        self,
        state: BiLSTMState,
        tokens: Int[Tensor, " rows"],
        read: Bool[Tensor, " rows"] | None = None,
    ) -> BiLSTMState:
        """Returns the state after each row's next token. A row whose `read` is False stays unchanged."""
        guide_ids = self._to_guide(tokens)
        is_read = guide_ids != NOT_READ
        if read is not None:
            is_read &= read
        guide_ids = guide_ids.clamp(min=0)
        forward_table, _ = self.tables
        gates = forward_table[guide_ids] + recurrent(self.network.forward_lstm, state.h)
        h, c = lstm_cell(gates, state.c)
        # A row that does not read gets values beyond its length; its next token overwrites them.
        return BiLSTMState(
            ids=append(state.ids, state.lengths, guide_ids),
            lengths=state.lengths + is_read,
            hidden=append(state.hidden, state.lengths, h),
            h=choose_rows(is_read, h, state.h),
            c=choose_rows(is_read, c, state.c),
        )

    @torch.no_grad()
    def candidates(self, state: BiLSTMState, tokens: Int[Tensor, "rows k"]) -> Float[Tensor, "rows k"]:
        """Computes the logit of each row's prefix with each of its candidates, in time linear in the prefix."""
        network = self.network
        forward_table, backward_table = self.tables
        guide_ids = self._to_guide(tokens)
        is_unread = guide_ids == NOT_READ
        guide_ids = guide_ids.clamp(min=0)
        gates = forward_table[guide_ids] + recurrent(network.forward_lstm, state.h)[:, None]
        last, _ = lstm_cell(gates, state.c[:, None])
        h, c = lstm_cell(backward_table[guide_ids], torch.zeros_like(last))
        h = h.masked_fill(is_unread[..., None], 0.0)
        c = c.masked_fill(is_unread[..., None], 0.0)
        pool = self._begin_pool(last + h, is_unread)
        longest = int(state.lengths.max())
        for place in reversed(range(longest)):
            is_real = place < state.lengths
            gates = recurrent(network.backward_lstm, h)
            gates += backward_table[state.ids[:, place]][:, None]
            earlier_h, earlier_c = lstm_cell(gates, c)
            hidden = state.hidden[:, place][:, None] + earlier_h
            energy = tanh(hidden) @ network.w
            after = attend(pool, energy, hidden)
            h = choose_rows(is_real, earlier_h, h)
            c = choose_rows(is_real, earlier_c, c)
            chosen = [choose_rows(is_real, new, old) for new, old in zip(after, pool, strict=True)]
            pool = Pool(*chosen)
        is_empty = pool.z == 0
        sums = pool.z.masked_fill(is_empty, 1.0)
        pooled = pool.r / sums[..., None]
        logits = network.head(tanh(pooled)).squeeze(-1)
        return logits.masked_fill(is_empty, 0.0)

    def _begin_pool(
        self,
        hidden: Float[Tensor, "rows k dim"],
        is_unread: Bool[Tensor, "rows k"],
    ) -> Pool:
        """The attention over the candidates alone; nothing for those that the guide does not read."""
        energy = tanh(hidden) @ self.network.w
        return Pool(
            m=energy.masked_fill(is_unread, -torch.inf),
            z=(~is_unread).to(energy.dtype),
            r=hidden * ~is_unread[..., None],
        )

    def _to_guide(self, tokens: Int[Tensor, "*rows"]) -> Int[Tensor, "*rows"]:
        """The guide's ids of the generator's tokens; NOT_READ for those that it does not read."""
        last = len(self.token_map) - 1
        return self.token_map[tokens.clamp(max=last)]


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
        """Encodes training texts of at least two tokens as rows, each followed by the end token.

        Segments are joined without a separator, because a generator continues a prompt without one.
        """
        end = self.tokenizer.eos_token_id
        joined = ["".join(text) for text in texts]
        rows: list[TokenRow] = []
        for i, ids in enumerate(plain_token_ids(self.tokenizer, joined)):
            if end is not None:
                ids = [*ids, end]
            if len(ids) >= SHORTEST:
                cut = np.array(ids[: self.max_length], dtype=np.int64)
                rows.append(TokenRow(cut, text=i, weight=1.0))
        return rows

    @torch.inference_mode()
    def logits(self, texts: Sequence[str], token_budget: int = 8192) -> NDArray[np.float64]:
        """Computes one logit per text, read without an end token; 0 for a text without tokens."""
        rows: list[TokenRow] = []
        for i, ids in enumerate(plain_token_ids(self.tokenizer, texts)):
            if ids:
                rows.append(TokenRow(np.array(ids, dtype=np.int64), text=i, weight=1.0))
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
        settings = json.dumps(self.settings, indent=2)
        (folder / SETTINGS).write_text(f"{settings}\n", encoding="utf-8")

    @classmethod
    def from_pretrained(cls, folder: Path | str, device: str | torch.device = "cpu") -> "CausalGuide":
        """Loads a causal guide that `save_pretrained` wrote, by folder or hub name.

        Raises InputError for a missing folder, for a folder without a causal guide, and for a broken guide.
        """
        folder = fetch_folder(folder)
        settings = read_saved(folder, SETTINGS, SavedGuide)
        network = load_weights(partial(CausalLSTM, **settings), folder / "model.safetensors")
        tokenizer = load_tokenizer(folder / "tokenizer")
        check_tokens(folder, tokenizer, network.vocabulary_size)
        return cls(
            network.to(device).eval(),
            tokenizer,
            settings=settings,
            notes=read_note(folder),
        )


def new_causal_guide(
    texts: Sequence[Segments],
    tokenizer: PreTrainedTokenizerBase,
    embedding_dim: Count = 128,
    hidden_dim: Count = 128,
    dropout: Share = 0.3,
    max_length: Count = 512,
) -> CausalGuide:
    """Builds an untrained causal guide for the generator of `tokenizer`; the weights depend on torch's seed.

    Tokens that are not in `texts` are unknown. A training text of more than `max_length` tokens is cut, and then has
    fewer prefixes to learn.
    """
    arguments: dict[str, Any] = {
        "vocabulary_size": len(tokenizer),
        "embedding_dim": embedding_dim,
        "hidden_dim": hidden_dim,
        "dropout": dropout,
    }
    guide = CausalGuide(CausalLSTM(**arguments), tokenizer, arguments, max_length)
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
