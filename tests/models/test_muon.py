"""Muon: torch's rule, orthogonal updates, and no bfloat16 product on a CPU."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from models.muon import Muon, orthogonalise


class Dtypes(TorchDispatchMode):
    """Notes the data type of every tensor that an operation makes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[torch.dtype] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        made = func(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor):
            self.seen.add(made.dtype)
        return made


def parameters(seed: int = 0) -> list[torch.nn.Parameter]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(8, 8), (24, 8), (8, 24)]
    return [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in shapes]


def test_nothing_on_a_cpu_is_computed_in_bfloat16() -> None:
    matrices = parameters()
    for matrix in matrices:
        matrix.grad = torch.randn_like(matrix)
    optimizer = Muon(matrices, lr=0.01)
    with Dtypes() as dtypes:
        optimizer.step()
    assert dtypes.seen == {torch.float32}


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


def test_singular_values_come_close_to_one() -> None:
    generator = torch.Generator().manual_seed(0)
    for shape in ((16, 16), (40, 16), (16, 40)):
        matrix = torch.randn(shape, generator=generator)
        left, _, right = torch.linalg.svd(matrix, full_matrices=False)
        made = orthogonalise(matrix)
        assert made.shape == matrix.shape
        values = torch.diagonal(left.T @ made @ right.T)  # the directions stay, their lengths become alike
        assert values.min().item() == pytest.approx(0.75, abs=0.45)
        assert values.max().item() == pytest.approx(0.75, abs=0.45)
        torch.testing.assert_close(left @ torch.diag(values) @ right, made, atol=1e-4, rtol=0)


def test_a_step_of_one_worked_by_hand() -> None:
    """A 1x1 matrix: the update is the quintic applied five times to 1, at the rate 0.2 lr."""
    matrix = torch.nn.Parameter(torch.tensor([[2.0]]))
    matrix.grad = torch.tensor([[5.0]])
    x = 1.0
    for _ in range(5):
        x = 3.4445 * x - 4.7750 * x**3 + 2.0315 * x**5
    Muon([matrix], lr=0.1, weight_decay=0.5).step()
    assert matrix.item() == pytest.approx(2.0 * (1 - 0.1 * 0.5) - 0.1 * 0.2 * x, abs=1e-5)


def test_a_zero_gradient_moves_nothing() -> None:
    matrix = torch.nn.Parameter(torch.ones(3, 2))
    matrix.grad = torch.zeros(3, 2)
    Muon([matrix], lr=0.1, weight_decay=0.0).step()
    assert torch.equal(matrix, torch.ones(3, 2))


def test_vectors_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Muon updates matrices, but a parameter has the shape \(4,\)"):
        Muon([torch.nn.Parameter(torch.ones(4))], lr=0.1)
