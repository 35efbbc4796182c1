"""Attention Bi-LSTM: logits of a sequence (Zhou et al. 2016, as used by OUMG)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


def attention_pool(
    hidden: Float[Tensor, "batch time dim"], mask: Bool[Tensor, "batch time"], w: Float[Tensor, " dim"]
) -> tuple[Float[Tensor, "batch dim"], Float[Tensor, "batch time"]]:
    """alpha = softmax(w^T tanh H), r = H alpha (Zhou et al. 2016, Eq. 9-11), over real tokens only.

    Returns the pooled states r and the weights alpha, which are 0 at padding. Every row needs a real token.
    """
    energy = torch.tanh(hidden) @ w
    weights = energy.masked_fill(~mask, float("-inf")).softmax(dim=1)
    # Padding is zeroed as well as weighted by 0, for 0 times an infinite state would not be 0.
    pooled = (hidden.masked_fill(~mask[..., None], 0.0) * weights[..., None]).sum(dim=1)
    return pooled, weights


def reversal(mask: Bool[Tensor, "batch time"]) -> Int[Tensor, "batch time"]:
    """Positions that read each row backwards while padding stays at the end; applying them twice changes nothing.

    >>> reversal(torch.tensor([[True, True, True, False]])).tolist()
    [[2, 1, 0, 3]]
    """
    position = torch.arange(mask.shape[1], device=mask.device)
    length = mask.sum(dim=1, keepdim=True)
    return torch.where(mask, length - 1 - position, position)


class AttentionBiLSTM(nn.Module):
    """Embedding, Bi-LSTM with its two directions summed, attention, tanh, dropout, one logit or one per label.

    The directions are two LSTMs, the second over rows that are reversed within their own length. Neither meets padding
    before the last real token, as with packed sequences, and on a CPU training is three times faster than with these.

    Args:
        vocabulary_size: number of tokens; id 0 is padding.
        embedding_dim: size of the embedding.
        hidden_dim: size of each direction.
        dropout: on the embedding and before the last layer.
        outputs: logits per row.
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

    def forward(self, ids: Int[Tensor, "batch time"], mask: Bool[Tensor, "batch time"]) -> Float[Tensor, "batch ..."]:
        """One logit per row (higher means human or good), or one per label. Padding must be at the end of a row."""
        pooled, _ = attention_pool(self.hidden(ids, mask), mask, self.w)
        logits = self.head(self.dropout(torch.tanh(pooled)))
        return logits.squeeze(-1) if self.head.out_features == 1 else logits

    def hidden(
        self, ids: Int[Tensor, "batch time"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time dim"]:
        """The summed states of the two directions; those at padding are meaningless."""
        embedded = self.dropout(self.embedding(ids))
        backwards = reversal(mask)[..., None]
        onward, _ = self.forward_lstm(embedded)
        reverse, _ = self.backward_lstm(embedded.take_along_dim(backwards, dim=1))
        return onward + reverse.take_along_dim(backwards, dim=1)
