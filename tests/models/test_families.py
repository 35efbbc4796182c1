"""Every family with a known infilling convention loads, scores a batch as the model itself a pair, knows its limit."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForSeq2SeqLM,
    BartConfig,
    BigBirdPegasusConfig,
    LEDConfig,
    LongT5Config,
    MBartConfig,
    MT5Config,
    PegasusConfig,
    PegasusXConfig,
    PreTrainedTokenizerFast,
    T5Config,
    UMT5Config,
)

from models.infilling import OF_MODEL_TYPE, convention_of, encode_infills
from models.model import READ_AT_ONCE, readable_tokens
from models.seq2seq import Seq2SeqLM
from models.tiny import train_tokenizer
from tests.toy_models import plain_log_probabilities

TEXTS = ["The cat sat on the mat. It was warm.", "The dog ran away, and the cat slept."]
GAPS = [("The cat ", "sat on", " the mat."), ("", "The dog ran", " away, and the cat slept."), ("We ", "left", ".")]
POSITIONS = {"max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 32}


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return train_tokenizer(TEXTS, 400, ("<mask>", "<mask_1>"))


@pytest.mark.parametrize("positions", [131_072, None])
def test_a_limit_that_no_memory_holds_is_capped(positions: int | None, tokenizer: PreTrainedTokenizerFast) -> None:
    config: Any = SimpleNamespace(model_type="llama", max_position_embeddings=positions)
    unlimited: Any = SimpleNamespace(model_max_length=10**30)
    assert readable_tokens(config, unlimited) == READ_AT_ONCE
    assert readable_tokens(config, tokenizer) == tokenizer.model_max_length


def configure(model_type: str, vocabulary: int) -> Any:
    """The smallest model of a family."""
    shared: Any = {"vocab_size": vocabulary, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    t5: Any = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_heads": 2, "num_layers": 1, "num_decoder_layers": 1}
    bart: Any = {"d_model": 16, "forced_eos_token_id": None}
    for side in ("encoder", "decoder"):
        bart |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 32}
    kind, settings = {
        "t5": (T5Config, t5),
        "mt5": (MT5Config, t5),
        "umt5": (UMT5Config, t5),
        "longt5": (LongT5Config, t5),
        "led": (LEDConfig, {**bart, **POSITIONS, "attention_window": 8}),
        "bigbird_pegasus": (BigBirdPegasusConfig, bart),
        "pegasus_x": (PegasusXConfig, {**bart, "block_size": 8, "num_global_tokens": 4}),
        "bart": (BartConfig, {**bart, "max_position_embeddings": 48}),
        "mbart": (MBartConfig, {**bart, "max_position_embeddings": 48}),
        "pegasus": (PegasusConfig, {**bart, "max_position_embeddings": 48}),
    }[model_type]
    return kind(**shared, **settings)


@pytest.mark.parametrize("model_type", OF_MODEL_TYPE)
def test_a_family_loads_and_scores(model_type: str, tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        AutoModelForSeq2SeqLM.from_config(configure(model_type, len(tokenizer))).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    lm = Seq2SeqLM.from_pretrained(tmp_path)
    infills = encode_infills(lm.tokenizer, convention_of(model_type), GAPS, closed=True)
    pairs = [(infill.source, infill.target) for infill in infills]
    pairs += [(tuple(range(20 + i, 60 + i)), (7, 8)) for i in range(8)]  # a batch whose keys would take most products
    for pair, row in zip(pairs, lm.log_probabilities(pairs), strict=True):
        np.testing.assert_allclose(row, plain_log_probabilities(lm, *pair), atol=1e-5)
    assert lm.max_length == {"led": 32, "bart": 48, "mbart": 48, "pegasus": 48}.get(model_type, 512)
