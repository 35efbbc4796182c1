"""The attention Bi-LSTM (Zhou et al. 2016), as used by OUMG, and its guide.

The backward half of the guide must read the prefix again for each candidate, so the cost of a candidate grows with the
length of the prefix.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from discriminators.architectures import Guide, Network
from discriminators.networks import Hidden, Ids, Mask, attention_pool, drop_single_axis

AT_ONCE = 2**16  # padded tokens that a guide reads at once
NOT_READ = -1  # for special tokens, which the guide does not read


def reversal(mask: Mask) -> Ids:
    """Returns positions that reverse each row and leave padding at its end; applied twice, they change nothing.

    >>> reversal(torch.tensor([[True, True, True, False]])).tolist()
    [[2, 1, 0, 3]]
    """
    position = torch.arange(mask.shape[1], device=mask.device)
    length = mask.sum(dim=1, keepdim=True)
    return torch.where(mask, length - 1 - position, position)


class AttentionBiLSTM(Network):
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

    def as_guide(self, tokens: Any, tokenizer: PreTrainedTokenizerBase) -> Guide:
        """Makes the paper's guide."""
        return BiLSTMGuide(self, map_tokens(tokens.first, tokenizer))


NETWORK = AttentionBiLSTM


def map_tokens(first: int, tokenizer: PreTrainedTokenizerBase) -> Int[Tensor, " ids"]:
    """Maps each token id of the generator to the guide's id; NOT_READ for special tokens and unknown ids.

    `first` is the guide's id of token 0. Ids beyond the last token of the tokenizer are unknown.
    """
    size = len(tokenizer)
    token_map = first + torch.arange(size + 1)
    token_map[[*tokenizer.all_special_ids, size]] = NOT_READ
    return token_map


class BiLSTMState(NamedTuple):
    """The tokens of the prefixes, one row each."""

    # the guide's; NOT_READ for one that a row does not read
    ids: Int[Tensor, "rows time"]


class BiLSTMGuide:
    """An attention Bi-LSTM that gives every candidate the logit of the text prefix + candidate, which it reads anew.

    Special tokens are not read, so a special candidate gets the logit of the prefix. A text without tokens gets 0.
    """

    def __init__(self, network: AttentionBiLSTM, token_map: Int[Tensor, " ids"]) -> None:
        self.network = network.eval()  # a guide steers without dropout
        self.token_map = token_map.to(network.w.device)

    @property
    def device(self) -> torch.device:
        return self.token_map.device

    def start(self, rows: int) -> BiLSTMState:
        return BiLSTMState(self.token_map.new_zeros(rows, 0))

    def advance(
        self,
        state: BiLSTMState,
        tokens: Int[Tensor, " rows"],
        read: Bool[Tensor, " rows"] | None = None,
    ) -> BiLSTMState:
        """Returns the state after each row's next token. A row whose `read` is False stays unchanged."""
        ids = self._to_guide(tokens)
        if read is not None:
            ids = ids.masked_fill(~read, NOT_READ)
        longer = torch.cat([state.ids, ids[:, None]], dim=1)
        return BiLSTMState(longer)

    @torch.no_grad()
    def candidates(self, state: BiLSTMState, tokens: Int[Tensor, "rows k"]) -> Float[Tensor, "rows k"]:
        """Computes the logit of each row's prefix with each of its candidates, in time linear in the prefix."""
        prefixes = state.ids[:, None].expand(-1, tokens.shape[1], -1)
        last = self._to_guide(tokens)
        ids = torch.cat([prefixes, last[..., None]], dim=2)
        ids = ids.flatten(0, 1)
        is_skipped = ids == NOT_READ
        order = is_skipped.byte().argsort(dim=1, stable=True)  # what is read, then padding
        ids = ids.clamp(min=0).gather(1, order)
        mask = ~is_skipped.gather(1, order)
        is_empty = ~mask[:, 0]
        mask[:, 0] = True  # the network needs a token
        at_once = max(1, AT_ONCE // ids.shape[1])
        parts = zip(ids.split(at_once), mask.split(at_once), strict=True)
        logits = torch.cat([self.network(*part) for part in parts])
        return logits.masked_fill(is_empty, 0.0).view_as(tokens)

    def _to_guide(self, tokens: Int[Tensor, "*rows"]) -> Int[Tensor, "*rows"]:
        """The guide's ids of the generator's tokens; NOT_READ for those that it does not read."""
        last = len(self.token_map) - 1
        return self.token_map[tokens.clamp(max=last)]
