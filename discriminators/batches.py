"""Batches: rows of token ids as one padded tensor."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from discriminators.segments import TokenRow


def pad_rows(rows: Sequence[TokenRow], pad: int) -> tuple[Int[Tensor, "batch time"], Bool[Tensor, "batch time"]]:
    """The ids of the rows padded at the end, and which of them are real tokens."""
    lengths = np.array([len(row.ids) for row in rows])
    mask = np.arange(lengths.max())[None, :] < lengths[:, None]
    ids = np.full(mask.shape, pad, dtype=np.int64)
    ids[mask] = np.concatenate([row.ids for row in rows])
    return torch.from_numpy(ids), torch.from_numpy(mask)
