"""Muon: torch's rule, and a step worked by hand."""

import pytest
import torch

from models.muon import Muon


def parameters(seed: int = 0) -> list[torch.nn.Parameter]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(8, 8), (24, 8), (8, 24)]
    return [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in shapes]


def test_the_rule_is_that_of_torch() -> None:
    ours, theirs = parameters(), parameters()
    optimizers = (
        Muon(ours, lr=0.01, weight_decay=0.1),
        torch.optim.Muon(theirs, lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
    )
    generator = torch.Generator().manual_seed(1)
    for _ in range(4):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = torch.randn(mine.shape, generator=generator)
            other.grad = mine.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    for mine, other, start in zip(ours, theirs, parameters(), strict=True):
        moved = (mine - start).norm()
        assert (mine - other).norm() < 0.02 * moved  # torch's products are rounded to bfloat16's 8 bits


def test_a_step_of_one_worked_by_hand() -> None:
    """A 1x1 matrix: the update is the quintic applied five times to 1, at the rate 0.2 lr."""
    matrix = torch.nn.Parameter(torch.tensor([[2.0]]))
    matrix.grad = torch.tensor([[5.0]])
    x = 1.0
    for _ in range(5):
        x = 3.4445 * x - 4.7750 * x**3 + 2.0315 * x**5
    Muon([matrix], lr=0.1, weight_decay=0.5).step()
    assert matrix.item() == pytest.approx(2.0 * (1 - 0.1 * 0.5) - 0.1 * 0.2 * x, abs=1e-5)
