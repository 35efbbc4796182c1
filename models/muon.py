"""Muon (Jordan et al. 2024), with an orthogonalisation that is fast on any processor.

`torch.optim.Muon` (as of torch 2.13) always orthogonalises in bfloat16. A CPU without AVX512-BF16 or AMX emulates
bfloat16 products, which take 20 to 190 times as long as float32 ones there. Here the iteration runs in float32 on CPUs.
"""

from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float

EPSILON = 1e-7  # keeps a zero gradient from dividing by zero


class Muon(torch.optim.Optimizer):
    """An optimizer: momentum with orthogonalised updates, equal to `torch.optim.Muon(adjust_lr_fn="match_rms_adamw")`.

    The learning rate is on AdamW's scale, because an update has the root mean square of AdamW's.
    """

    def __init__(
        self,
        parameters: Iterable[torch.nn.Parameter],
        lr: float,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
    ) -> None:
        super().__init__(
            parameters,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "momentum": momentum,
            },
        )

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Updates every matrix that has a gradient; returns the value of `closure`, if there is one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            lr = group["lr"]
            momentum = group["momentum"]
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None:
                    continue
                if not self.state[parameter]:
                    self.state[parameter]["momentum_buffer"] = torch.zeros_like(gradient)
                buffer = self.state[parameter]["momentum_buffer"].lerp_(gradient, 1 - momentum)
                update = orthogonalise(gradient.lerp(buffer, momentum)).to(parameter.dtype)
                parameter.mul_(1 - lr * group["weight_decay"])
                scale = 0.2 * max(parameter.shape) ** 0.5  # Liu et al. 2025
                parameter.add_(update, alpha=-lr * scale)
        return loss


def orthogonalise(matrix: Float[torch.Tensor, "rows columns"], steps: int = 5) -> Float[torch.Tensor, "rows columns"]:
    """Moves the singular values of a matrix close to 1 (most end between 0.7 and 1.2), by Newton-Schulz iteration.

    Runs in float32 on CPUs and in bfloat16 elsewhere. The coefficients of the polynomial of degree 5 are Jordan's.
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrix.float() if matrix.device.type == "cpu" else matrix.bfloat16()
    is_tall = x.shape[0] > x.shape[1]
    if is_tall:
        x = x.T
    x = x / x.norm().clamp(min=EPSILON)
    for _ in range(steps):
        gram = x @ x.T
        polynomial = torch.addmm(
            gram,
            gram,
            gram,
            beta=b,
            alpha=c,
        )
        x = torch.addmm(x, polynomial, x, beta=a)
    return x.T if is_tall else x
