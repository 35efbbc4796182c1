"""Muon (Jordan et al. 2024), with an orthogonalisation that is fast on any processor.

`torch.optim.Muon` (as of torch 2.13) always orthogonalises in bfloat16. A CPU without AVX512-BF16 or AMX emulates
bfloat16 products, which take 20 to 190 times as long as float32 ones there. Here the iteration runs in float32 on CPUs.
"""

from typing import Any

import torch
from jaxtyping import Float

EPSILON = 1e-7  # keeps a zero gradient from dividing by zero
MOMENTUM = 0.95


class MuonAdamW(torch.optim.AdamW):
    """AdamW whose groups with `muon=True` get momentum with orthogonalised updates, all of matrices, instead.

    These equal `torch.optim.Muon(adjust_lr_fn="match_rms_adamw")`. Their learning rate is on AdamW's scale, because an
    update has the root mean square of AdamW's.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._step_supports_amp_scaling = False  # a fused AdamW that says so is never clipped by Lightning

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Updates every parameter that has a gradient; returns the value of `closure`, if there is one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for matrix in group["params"] if group.get("muon") else ():
                if matrix.grad is not None:
                    self._step_matrix(matrix, group["lr"], group["weight_decay"])
                    matrix.grad = None  # AdamW skips it
        super().step()
        return loss

    def _step_matrix(
        self,
        matrix: torch.nn.Parameter,
        lr: float,
        weight_decay: float,
    ) -> None:
        gradient: Any = matrix.grad
        state = self.state[matrix]
        if not state:
            state["step"] = torch.zeros(())  # AdamW looks for it where it loads a state
            state["momentum_buffer"] = torch.zeros_like(gradient)
        buffer = state["momentum_buffer"].lerp_(gradient, 1 - MOMENTUM)
        update = orthogonalise(gradient.lerp(buffer, MOMENTUM)).to(matrix.dtype)
        matrix.mul_(1 - lr * weight_decay)
        scale = 0.2 * max(matrix.shape) ** 0.5  # Liu et al. 2025
        matrix.add_(update, alpha=-lr * scale)


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
        polynomial = torch.addmm(gram, gram, gram, beta=b, alpha=c)
        x = torch.addmm(x, polynomial, x, beta=a)
    return x.T if is_tall else x
