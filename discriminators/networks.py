"""What networks of classifiers share: attention over tokens, as a running softmax too, and one step of an LSTM.

The Bi-LSTM is that of Zhou et al. 2016, as used by OUMG. A guide keeps its attention over the prefix as a running
softmax.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

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
    hidden: Hidden, mask: Mask, w: Float[Tensor, " dim"]
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


def drop_single_axis(logits: Tensor) -> Float[Tensor, "batch ..."]:
    """Removes the last axis if it has only one logit; leaves several logits as they are."""
    if logits.shape[-1] == 1:
        return logits.squeeze(-1)
    return logits


class Pool(NamedTuple):
    """The attention over the tokens read so far, as a running softmax: the pooled states are r / Z."""

    # the highest energy, -inf before the first token
    m: Values
    # the sum of exp(energy - m)
    z: Values
    # the sum of exp(energy - m) times the state
    r: States


def attend(pool: Pool, energy: Values, hidden: States) -> Pool:
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


def tanh(x: Values) -> Values:
    """Computes tanh x. On a CPU it is 2 sigmoid(2x) - 1, which takes a fifth of the time of torch's tanh."""
    if x.is_cuda:
        return torch.tanh(x)
    sigmoid = (2 * x).sigmoid_()
    return sigmoid.mul_(2).sub_(1)


def lstm_cell(gates: Gates, c: Float[Tensor, "*#rows dim"]) -> tuple[States, States]:
    """Computes h' and c' from c and the sums of the four gates (input, forget, cell, output). Overwrites the gates."""
    i, f, g, o = gates.chunk(4, dim=-1)
    added = i.sigmoid_() * tanh(g)
    c = torch.addcmul(added, f.sigmoid_(), c)
    h = o.sigmoid_() * tanh(c)
    return h, c


def choose_rows(is_new: Bool[Tensor, " rows"], new: PerRow, old: PerRow) -> PerRow:
    """Returns the new values of the rows that `is_new` marks, and the old values of all other rows."""
    inner = [1] * (old.ndim - 1)
    return torch.where(is_new.view(-1, *inner), new, old)
