"""Seeding of the random generators of a run, without the seconds that importing torch or Lightning takes."""

import os
import random
import sys

import numpy as np


def seed_generators(seed: int) -> None:
    """Seeds python, numpy and torch as `pytorch_lightning.seed_everything(seed, workers=True)` does.

    torch is seeded only if it is imported already. Lightning reads the environment variables when it starts processes
    and workers of data loaders.
    """
    os.environ["PL_GLOBAL_SEED"], os.environ["PL_SEED_WORKERS"] = str(seed), "1"
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002, libraries draw from the legacy generator
    if is_torch_imported():
        import torch

        torch.manual_seed(seed)


def is_torch_imported() -> bool:
    """Whether this process has imported torch. After the targets of a run are imported: whether it may use a model."""
    return "torch" in sys.modules
