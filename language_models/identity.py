"""What a kept result depends on when a model made it: the model's weights, whatever folder they were loaded from."""

import hashlib
from typing import Any

import torch


def weights_fingerprint(model: Any) -> str:
    """Sixteen hexadecimal digits that change with any weight, shape or type of number of a model.

    Takes about a second for each GB.
    """
    digest = hashlib.sha256()
    for name, weights in sorted(model.state_dict().items()):
        array = weights.detach().cpu().contiguous()
        digest.update(f"{name} {array.dtype} {tuple(array.shape)}\n".encode())
        digest.update(array.reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:16]
