"""The networks of classifiers: an attention Bi-LSTM, an encoder with a head, and the causal LSTM of a guide.

The Bi-LSTM is that of Zhou et al. 2016, as used by OUMG. The causal LSTM keeps its attention over the prefix as a
running softmax. For training, `forward` gives the logits of all prefixes of a text at once. For decoding, `start`,
`advance` and `candidates` go step by step, and score a candidate from the state of its prefix.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from transformers import PreTrainedModel

from core.errors import SettingError
from models.encoders import mean_pool
from models.model import get_layers

Ids = Int[Tensor, "batch time"]
Mask = Bool[Tensor, "batch time"]
Hidden = Float[Tensor, "batch time dim"]
# Values and states of rows of any shape
Values = Float[Tensor, "*rows"]
States = Float[Tensor, "*rows dim"]
Gates = Float[Tensor, "*rows gates"]
# What a state holds of each row
PerRow = Float[Tensor, "rows ..."]


def attention_pool(
    hidden: Hidden,
    mask: Mask,
    w: Float[Tensor, " dim"],
) -> tuple[Float[Tensor, "batch dim"], Float[Tensor, "batch time"]]:
    """Computes alpha = softmax(w^T tanh H), r = H alpha (Zhou et al. 2016, Eq. 9-11), over real tokens only.

    Returns the pooled states r and the weights alpha, which are 0 at padding. Every row needs a real token.
    """
    energy = torch.tanh(hidden) @ w
    energy = energy.masked_fill(~mask, -torch.inf)
    weights = energy.softmax(dim=1)
    # Padding is zeroed as well as weighted by 0, for 0 times an infinite state would not be 0.
    real = hidden.masked_fill(~mask[..., None], 0.0)
    weighted = real * weights[..., None]
    return weighted.sum(dim=1), weights


def reversal(mask: Mask) -> Ids:
    """Returns positions that reverse each row and leave padding at its end; applied twice, they change nothing.

    >>> reversal(torch.tensor([[True, True, True, False]])).tolist()
    [[2, 1, 0, 3]]
    """
    position = torch.arange(mask.shape[1], device=mask.device)
    length = mask.sum(dim=1, keepdim=True)
    return torch.where(mask, length - 1 - position, position)


def drop_single_axis(logits: Tensor) -> Float[Tensor, "batch ..."]:
    """Removes the last axis if it has only one logit; leaves several logits as they are."""
    if logits.shape[-1] == 1:
        return logits.squeeze(-1)
    return logits


class AttentionBiLSTM(nn.Module):
    """Embedding, Bi-LSTM with its two directions summed, attention, tanh, dropout, one logit or one per label.

    The directions are two LSTMs; the second one reads each row reversed within its own length. Neither reads padding
    before a real token. Packed sequences would do the same, but on a CPU training would take three times as long.
    """

    def __init__(
        self,
        vocabulary_size: int,
        embedding_dim: int = 128,
        hidden_dim: int = 256,
        dropout: float = 0.3,
        outputs: int = 1,
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, embedding_dim, padding_idx=0)
        self.forward_lstm = nn.LSTM(embedding_dim, hidden_dim, batch_first=True)
        self.backward_lstm = nn.LSTM(embedding_dim, hidden_dim, batch_first=True)
        self.w = nn.Parameter(torch.zeros(hidden_dim))  # attention starts as the mean
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(hidden_dim, outputs)

    def forward(self, ids: Ids, mask: Mask) -> Float[Tensor, "batch ..."]:
        """Returns one logit per row (higher means human or good), or one per label.

        Padding must be at the end of a row.
        """
        hidden = self.hidden(ids, mask)
        pooled, _ = attention_pool(hidden, mask, self.w)
        features = self.dropout(torch.tanh(pooled))
        return drop_single_axis(self.head(features))

    def hidden(self, ids: Ids, mask: Mask) -> Hidden:
        """Returns the summed states of the two directions. The states at padding are meaningless."""
        embedded = self.dropout(self.embedding(ids))
        backwards = reversal(mask)[..., None]
        onward, _ = self.forward_lstm(embedded)
        reversed_rows = embedded.take_along_dim(backwards, dim=1)
        reverse, _ = self.backward_lstm(reversed_rows)
        return onward + reverse.take_along_dim(backwards, dim=1)


class BertClassifier(nn.Module):
    """An encoder, the mean over real tokens (as MiniLM was trained), dropout, logits."""

    def __init__(
        self,
        encoder: PreTrainedModel,
        dropout: float = 0.1,
        outputs: int = 1,
    ):
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(encoder.config.hidden_size, outputs)
        for name, parameter in encoder.named_parameters():
            if name.startswith("pooler."):  # never read, and training in several processes refuses unused parameters
                parameter.requires_grad_(False)

    def forward(self, ids: Ids, mask: Mask) -> Float[Tensor, "batch ..."]:
        """Returns one logit per row (higher means human or good), or one per label."""
        encoded = self.encoder(input_ids=ids, attention_mask=mask.long())
        pooled = mean_pool(encoded.last_hidden_state, mask)
        return drop_single_axis(self.head(self.dropout(pooled)))


def keep_lowest_layers(encoder: PreTrainedModel, layers: int) -> None:
    """Removes all but the lowest `layers` layers of an encoder. Raises SettingError if it has fewer."""
    stack = get_layers(encoder)
    if not 1 <= layers <= len(stack):
        raise SettingError(f"layers must be between 1 and the {len(stack)} layers of the encoder, but is {layers}")
    del stack[layers:]
    encoder.config.num_hidden_layers = layers


def freeze_lowest_layers(encoder: PreTrainedModel, layers: int) -> None:
    """Freezes the lowest `layers` layers of an encoder. Raises SettingError if it has fewer."""
    stack = get_layers(encoder)
    if not 0 <= layers <= len(stack):
        raise SettingError(
            f"frozen_layers must be between 0 and the {len(stack)} layers that are kept, but is {layers}"
        )
    encoder.requires_grad_(False)
    stack[layers:].requires_grad_(True)


class Pool(NamedTuple):
    """The attention over the tokens read so far, as a running softmax: the pooled states are r / Z."""

    # the highest energy, -inf before the first token
    m: Values
    # the sum of exp(energy - m)
    z: Values
    # the sum of exp(energy - m) times the state
    r: States


def attend(
    pool: Pool,
    energy: Values,
    hidden: States,
) -> Pool:
    """Adds a state to the pool: m' = max(m, e), Z' = Z exp(m - m') + exp(e - m'), and r' likewise.

    >>> nothing = Pool(torch.tensor(-torch.inf), torch.tensor(0.0), torch.zeros(1))
    >>> [value.tolist() for value in attend(nothing, torch.tensor(5.0), torch.ones(1))]
    [5.0, 1.0, [1.0]]
    """
    m = torch.maximum(pool.m, energy)
    kept = (pool.m - m).exp_()
    added = (energy - m).exp_()
    z = torch.addcmul(added, kept, pool.z)
    state = added[..., None] * hidden
    r = torch.addcmul(state, kept[..., None], pool.r)
    return Pool(m, z, r)


def prefix_attention(
    hidden: Hidden,
    energy: Float[Tensor, "batch time"],
    mask: Mask,
) -> Hidden:
    """Pools, at each position, the states up to it, by the softmax of their energies; padding ends a row."""
    time = mask.shape[1]
    square = torch.ones(time, time, dtype=torch.bool, device=mask.device)
    seen = square.tril() & mask[:, None, :]
    energies = energy[:, None, :].masked_fill(~seen, -torch.inf)
    weights = energies.softmax(dim=-1)
    return weights @ hidden


def tanh(x: Values) -> Values:
    """Computes tanh x. On a CPU it is 2 sigmoid(2x) - 1, which takes a fifth of the time of torch's tanh."""
    if x.is_cuda:
        return torch.tanh(x)
    sigmoid = (2 * x).sigmoid_()
    return sigmoid.mul_(2).sub_(1)


def lstm_cell(
    gates: Gates,
    c: Float[Tensor, "*#rows dim"],
) -> tuple[States, States]:
    """Computes h' and c' from c and the sums of the four gates (input, forget, cell, output). Overwrites the gates."""
    i, f, g, o = gates.chunk(4, dim=-1)
    added = i.sigmoid_() * tanh(g)
    c = torch.addcmul(added, f.sigmoid_(), c)
    h = o.sigmoid_() * tanh(c)
    return h, c


@torch.no_grad()
def input_table(
    embedded: Float[Tensor, "ids embedding"],
    lstm: nn.LSTM,
) -> Float[Tensor, "ids gates"]:
    """Computes what each token contributes to the gates: W_ih x + b."""
    weight = lstm.get_parameter("weight_ih_l0")
    bias = lstm.get_parameter("bias_ih_l0") + lstm.get_parameter("bias_hh_l0")
    return embedded @ weight.T + bias


def recurrent(lstm: nn.LSTM, h: States) -> Gates:
    """Computes what the state contributes to the gates: W_hh h."""
    weight = lstm.get_parameter("weight_hh_l0")
    return h @ weight.T


def choose_rows(
    is_new: Bool[Tensor, " rows"],
    new: PerRow,
    old: PerRow,
) -> PerRow:
    """Returns the new values of the rows that `is_new` marks, and the old values of all other rows."""
    inner = [1] * (old.ndim - 1)
    return torch.where(is_new.view(-1, *inner), new, old)


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


class CausalLSTM(nn.Module):
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
            self._table = input_table(with_unknown, self.lstm)
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
        after = CausalState(recurrent(self.lstm, h), c, *pool)
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
