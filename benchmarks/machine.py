"""The speed of this machine, which sets the limit for every model."""

import time

import torch


def matrix_speed() -> float:
    """Operations per second of large float32 products."""
    a = torch.randn(2048, 2048)
    torch.mm(a, a)
    start = time.perf_counter()
    for _ in range(8):
        torch.mm(a, a)
    return 8 * 2 * 2048**3 / (time.perf_counter() - start)
