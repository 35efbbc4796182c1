"""Small random models that the tests of several rooms share, and models that run out of memory."""

from collections.abc import Callable
from typing import Any

import torch
from transformers import BartConfig, BartForConditionalGeneration

from models.tiny import initialise_model


def toy_bart(tokens: int, start: int, end: int, deviation: float, seed: int = 0) -> BartForConditionalGeneration:
    """A BART of one layer with 128 positions. It pads with token 0, and its decoder begins with the end token."""
    config = BartConfig(
        vocab_size=tokens,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=128,
        init_std=deviation,
        pad_token_id=0,
        bos_token_id=start,
        eos_token_id=end,
        decoder_start_token_id=end,
        forced_eos_token_id=None,
    )
    return initialise_model(BartForConditionalGeneration, config, seed).eval()


def refuse_large_batches(forward: Callable[..., Any], rows: int) -> Callable[..., Any]:
    """The forward pass of a model that runs out of memory for more than `rows` rows."""

    def crowded(*args: object, input_ids: torch.Tensor, **others: object) -> Any:
        if len(input_ids) > rows:
            raise torch.OutOfMemoryError
        return forward(*args, input_ids=input_ids, **others)

    return crowded
