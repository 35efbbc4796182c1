"""The exact guide: an attention Bi-LSTM that reads prefix and candidate as a whole text (OUMG, section 3.2).

The forward state of a prefix is kept from step to step. The backward half must read the prefix again for each
candidate, so the cost of a candidate grows with the length of the prefix. Such a discriminator strips spaces at the
ends of a text, so as a guide it should read the prompt too (`reads="text"`).
"""

from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from discriminators.bilstm import AttentionBiLSTM
from discriminators.causal_lstm import Pool, attend, input_table, lstm_cell, recurrent, tanh
from discriminators.vocabulary import SPECIAL, Vocabulary

NOT_READ = -1  # for special tokens, which the guide does not read
TO_DO = (
    "train the guide on the generator's tokens, or set bridge=True (each candidate is decoded and read again as text: "
    "exact and slow)"
)


class TokenMismatchError(ValueError):
    """A guide does not read the tokens of the generator."""


def map_tokens(vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerBase) -> Int[Tensor, " ids"]:
    """The guide's token for each token of the generator; NOT_READ for special tokens and for ids beyond the last.

    There is such a map where both have the same vocabulary, and where the tokens of both are characters. A character
    that the guide lacks is its `<unk>`.

    Raises TokenMismatchError for other vocabularies, where the guide's tokens would depend on neighbouring tokens.
    """
    size = len(tokenizer)
    special = torch.tensor(sorted(set(tokenizer.all_special_ids)), dtype=torch.long)
    if vocabulary.tokenizer.get_vocab() == tokenizer.get_vocab():
        found = vocabulary.first + torch.arange(size)
    else:
        spelled = tokenizer.batch_decode([[i] for i in range(size)], clean_up_tokenization_spaces=False)
        ordinary = sorted(set(range(size)) - set(special.tolist()))
        longer = [spelled[i] for i in ordinary if len(spelled[i]) != 1 or spelled[i] == "\ufffd"]
        if vocabulary.kind != "characters" or longer:
            raise TokenMismatchError(
                "a guide must read the tokens of its generator, but the discriminator's vocabulary has "
                f"{len(vocabulary)} {vocabulary.kind} and the generator's {size} tokens"
                + (f", such as {longer[0]!r}" if longer else "")
                + f": {TO_DO}"
            )
        own = vocabulary.tokenizer.get_vocab()
        found = torch.tensor([own.get(text, SPECIAL.index("<unk>")) for text in spelled], dtype=torch.long)
    found[special] = NOT_READ
    return torch.cat([found, found.new_full((1,), NOT_READ)])


class BiLSTMState(NamedTuple):
    """The forward states of the prefixes, aligned at the left without gaps.

    Attributes:
        ids: the guide's tokens of each prefix.
        lengths: how many of them are real.
        hidden: the forward state at each of them.
        h, c: the forward state after the last.
    """

    ids: Int[Tensor, "rows time"]
    lengths: Int[Tensor, " rows"]
    hidden: Float[Tensor, "rows time dim"]
    h: Float[Tensor, "rows dim"]
    c: Float[Tensor, "rows dim"]

    def select(self, index: Int[Tensor, " rows"]) -> "BiLSTMState":
        """The states of other rows, in the order of `index`."""
        return BiLSTMState(*(value[index] for value in self))


class BiLSTMGuide:
    """An attention Bi-LSTM that gives every candidate the logit of the text prefix + candidate.

    Special tokens are not read, so the logit of a special candidate is that of the prefix. A text without tokens has
    the logit 0.

    Args:
        network: a trained Bi-LSTM.
        vocabulary: its tokens.
        tokenizer: the generator's.

    Raises TokenMismatchError as `map_tokens` does.
    """

    def __init__(self, network: AttentionBiLSTM, vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerBase) -> None:
        self.network = network
        self.token_map = map_tokens(vocabulary, tokenizer).to(network.w.device)

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return self.token_map.device

    @cached_property
    def tables(self) -> tuple[Float[Tensor, "ids gates"], Float[Tensor, "ids gates"]]:
        """What each of its tokens adds to the gates of the forward and of the backward LSTM."""
        return input_table(self.network.embedding.weight, self.network.forward_lstm), input_table(
            self.network.embedding.weight, self.network.backward_lstm
        )

    def start(self, rows: int) -> BiLSTMState:
        """The state before the first token."""
        zeros = self.network.w.new_zeros(rows, len(self.network.w))
        nothing = self.token_map.new_zeros(rows)
        return BiLSTMState(self.token_map.new_zeros(rows, 0), nothing, zeros[:, None][:, :0], zeros, zeros)

    @torch.no_grad()
    def advance(
        self, state: BiLSTMState, tokens: Int[Tensor, " rows"], read: Bool[Tensor, " rows"] | None = None
    ) -> BiLSTMState:
        """The state after one more token; where `read` is False the row stays as it is."""
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
        return BiLSTMState(
            ids,
            state.lengths + read,
            hidden,
            torch.where(read[:, None], h, state.h),
            torch.where(read[:, None], c, state.c),
        )

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
        pool = Pool(
            energy.masked_fill(unread, -torch.inf),
            torch.ones_like(energy).masked_fill(unread, 0.0),
            hidden * ~unread[..., None],
        )
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
