"""LoRA through peft (extra `peft`): small matrices that are trained beside frozen weights, and merged when saved."""

import warnings
from typing import Any

import torch

from core.settings import Count, Positive, Share, checked_dataclass


@checked_dataclass
class Lora:
    """The small matrices (Hu et al. 2022), beside every linear layer but the output layer.

    Embeddings stay frozen, also those of new special tokens.

    Attributes:
        rank: of the product of two matrices.
        alpha: the product is multiplied by alpha / rank.
        dropout: of what the matrices read.
    """

    rank: Count = 16
    alpha: Positive = 32.0
    dropout: Share = 0.0


def add_lora(model: Any, lora: Lora, seed: int) -> Any:
    """Freezes the weights of `model` and adds the matrices to it; the result is the model to train."""
    from peft import LoraConfig, get_peft_model  # an extra

    config = LoraConfig(r=lora.rank, lora_alpha=lora.alpha, lora_dropout=lora.dropout, target_modules="all-linear")  # pyright: ignore[reportArgumentType]
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is_gradient_checkpointing.* is deprecated", category=FutureWarning)
        torch.manual_seed(seed)
        return get_peft_model(model, config)


def merge_lora(learner: Any) -> None:
    """Adds the products of the matrices to the weights, and takes the matrices out of the model."""
    learner.merge_and_unload()
