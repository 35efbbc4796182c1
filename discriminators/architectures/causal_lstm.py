"""The causal LSTM of a guide, with attention over the prefix as a running softmax.

For training, `forward` gives the logits of all prefixes of a text at once. For decoding, `start`, `advance` and
`candidates` go step by step, and score a candidate from the state of its prefix.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from discriminators.architectures import PrefixNetwork
from discriminators.networks import (
    Hidden,
    Ids,
    Mask,
    Pool,
    attend,
    choose_rows,
    lstm_cell,
    tanh,
)


def prefix_attention(hidden: Hidden, energy: Float[Tensor, "batch time"], mask: Mask) -> Hidden:
    """Pools, at each position, the states up to it, by the softmax of their energies; padding ends a row."""
    time = mask.shape[1]
    square = torch.ones(
        time,
        time,
        dtype=torch.bool,
        device=mask.device,
    )
    seen = square.tril() & mask[:, None, :]
    energies = energy[:, None, :].masked_fill(~seen, -torch.inf)
    weights = energies.softmax(dim=-1)
    return weights @ hidden


class CausalState(NamedTuple):
    """The state of a causal guide after each prefix."""

    # W_hh h, which every candidate needs, instead of h
    recurrent: Float[Tensor, "rows gates"]
    # the cell
    c: Float[Tensor, "rows dim"]
    # the running softmax, see `Pool`
    m: Float[Tensor, " rows"]
    z: Float[Tensor, " rows"]
    r: Float[Tensor, "rows dim"]

    @property
    def pool(self) -> Pool:
        return Pool(self.m, self.z, self.r)


class CausalLSTM(PrefixNetwork):
    """Embedding, LSTM, attention over the prefix, tanh, dropout, one logit per position.

    Ids beyond the `vocabulary_size` tokens of the generator are read as an unknown token.
    """

    def __init__(
        self,
        vocabulary_size: int,
        embedding_dim: int = 128,
        hidden_dim: int = 128,
        dropout: float = 0.3,
    ):
        super().__init__()
        self.vocabulary_size = vocabulary_size
        self.embedding = nn.Embedding(vocabulary_size, embedding_dim)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, batch_first=True)
        self.w = nn.Parameter(torch.zeros(hidden_dim))  # attention starts as the mean
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(hidden_dim, 1)
        all_known = torch.ones(vocabulary_size, dtype=torch.bool)
        self.register_buffer("known", all_known)
        self.known: Bool[Tensor, " vocabulary"]
        self._table: Tensor | None = None

    def forward(self, ids: Ids, mask: Mask) -> Float[Tensor, "batch time"]:
        """Returns the logit of the prefix that ends at each position; higher means human or good.

        Padding ends a row.
        """
        embedded = self.dropout(self.embedding(ids))
        hidden, _ = self.lstm(embedded)
        energy = torch.tanh(hidden) @ self.w
        pooled = prefix_attention(hidden, energy, mask)
        features = self.dropout(torch.tanh(pooled))
        return self.head(features).squeeze(-1)

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return self.w.device

    @torch.no_grad()
    def know_only(self, seen: Bool[Tensor, " vocabulary"]) -> None:
        """Marks the tokens that are not in `seen` as unknown. The embedding of an unknown token is 0 and stays 0.

        `seen` marks the tokens of the training texts.
        """
        self.known.copy_(seen)
        self.embedding.weight[~seen] = 0.0

    def train(self, mode: bool = True) -> "CausalLSTM":
        self._table = None  # the weights will change
        return super().train(mode)

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> "CausalLSTM":
        self._table = None  # another device or type
        return super()._apply(fn, recurse)

    @torch.no_grad()
    def table(self) -> Float[Tensor, "ids gates"]:
        """What each token contributes to the gates (W_ih x + b), computed once; the last row is for unknown ids."""
        if self._table is None:
            with_unknown = F.pad(self.embedding.weight, (0, 0, 0, 1))  # embedded as 0
            bias = self.lstm.get_parameter("bias_ih_l0") + self.lstm.get_parameter("bias_hh_l0")
            self._table = with_unknown @ self.lstm.get_parameter("weight_ih_l0").T + bias
        return self._table

    def start(self, rows: int) -> CausalState:
        zeros = self.w.new_zeros(rows, len(self.w))
        nothing = self.w.new_zeros(rows)
        return CausalState(
            recurrent=zeros.repeat(1, 4),
            c=zeros,
            m=nothing - torch.inf,
            z=nothing,
            r=zeros,
        )

    @torch.no_grad()
    def advance(
        self,
        state: CausalState,
        tokens: Int[Tensor, " rows"],
        read: Bool[Tensor, " rows"] | None = None,
    ) -> CausalState:
        """Returns the state after each row's next token. A row whose `read` is False stays unchanged."""
        gates = self.table()[self._limit(tokens)]
        h, c = lstm_cell(gates + state.recurrent, state.c)
        energy = tanh(h) @ self.w
        pool = attend(state.pool, energy, h)
        after = CausalState(h @ self.lstm.get_parameter("weight_hh_l0").T, c, *pool)
        if read is None:
            return after
        chosen = [choose_rows(read, new, old) for new, old in zip(after, state, strict=True)]
        return CausalState(*chosen)

    @torch.no_grad()
    def candidates(self, state: CausalState, tokens: Int[Tensor, "rows k"]) -> Float[Tensor, "rows k"]:
        """Computes the logit of each row's prefix with each of its candidates, in constant time for any prefix."""
        gates = F.embedding(self._limit(tokens), self.table())
        gates.add_(state.recurrent[:, None])
        h, _ = lstm_cell(gates, state.c[:, None])
        before = Pool(state.m[:, None], state.z[:, None], state.r[:, None])
        energy = tanh(h) @ self.w
        pool = attend(before, energy, h)
        pooled = pool.r.div_(pool.z[..., None])
        return self.head(tanh(pooled)).squeeze(-1)

    def _limit(self, tokens: Int[Tensor, "*rows"]) -> Int[Tensor, "*rows"]:
        """The tokens, with the row of unknown tokens in place of ids beyond the vocabulary."""
        return tokens.clamp(max=self.vocabulary_size)


NETWORK = CausalLSTM
