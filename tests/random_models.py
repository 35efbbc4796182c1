"""Models with random weights: the papers' shapes, and smaller ones for a machine without a GPU."""

import copy
from typing import Any

from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    BartConfig,
    BertConfig,
    GPT2Config,
    LlamaConfig,
    PegasusConfig,
    PretrainedConfig,
    RobertaConfig,
    T5Config,
)

from models.tiny import initialise_model

DEPTHS = ("num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers", "n_layer", "num_hidden_layers")


def t5(width: int, inner: int, heads: int, layers: int, size: int = 64) -> T5Config:
    sizes: Any = {"d_model": width, "d_ff": inner, "num_heads": heads, "d_kv": size, "decoder_start_token_id": 0}
    return T5Config(vocab_size=32128, num_layers=layers, **sizes)


def bart(kind: Any, vocabulary: int, layers: int, width: int = 1024, heads: int = 16) -> Any:
    sizes = {"layers": layers, "attention_heads": heads, "ffn_dim": 4 * width}
    both = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in sizes.items()}
    return kind(vocab_size=vocabulary, d_model=width, max_position_embeddings=1024, **both)


def gpt2(width: int, heads: int, layers: int) -> GPT2Config:
    return GPT2Config(n_embd=width, n_head=heads, n_layer=layers, bos_token_id=1, eos_token_id=1)


def bert(kind: Any, width: int, heads: int, layers: int, **special: int) -> Any:
    sizes = {"hidden_size": width, "intermediate_size": 4 * width, "num_attention_heads": heads}
    return kind(num_hidden_layers=layers, **sizes, **special)


def llama(width: int, inner: int, layers: int, tied: bool) -> LlamaConfig:
    """Llama 3: eight key-value heads for 32 query heads, and 128,256 tokens."""
    sizes: Any = {"hidden_size": width, "intermediate_size": inner, "max_position_embeddings": 131_072}
    heads: Any = {"num_attention_heads": 32, "num_key_value_heads": 8, "tie_word_embeddings": tied}
    ends: Any = {"bos_token_id": 128_000, "eos_token_id": 128_001}
    return LlamaConfig(vocab_size=128_256, num_hidden_layers=layers, **sizes, **heads, **ends)


ROBERTA: Any = {"vocab_size": 50265, "pad_token_id": 1, "max_position_embeddings": 514, "type_vocab_size": 1}
PAPER: dict[str, PretrainedConfig] = {
    "T5-small": t5(512, 2048, 8, 6),
    "T5-base": t5(768, 3072, 12, 12),
    "T5-large": t5(1024, 4096, 16, 24),
    "T5-3B": t5(1024, 16384, 32, 24, size=128),
    "T5-11B": t5(1024, 65536, 128, 24, size=128),
    "PEGASUS-large": bart(PegasusConfig, 96103, 16),
    "BART-large": bart(BartConfig, 50265, 12),
    "GPT-2": gpt2(768, 12, 12),
    "GPT-2-medium": gpt2(1024, 16, 24),
    "GPT-2-large": gpt2(1280, 20, 36),
    "Llama shape, 1 B": llama(2048, 8192, 16, tied=True),
    "Llama shape, 8 B": llama(4096, 14336, 32, tied=False),
    "RoBERTa-large": bert(RobertaConfig, 1024, 16, 24, **ROBERTA),
    "BERT-base-chinese": bert(BertConfig, 768, 12, 12, vocab_size=21128),
}
OTHERS: dict[str, PretrainedConfig] = {
    "small PEGASUS": bart(PegasusConfig, 96103, 4, width=256, heads=4),
    "PEGASUS-large, one layer of 16": bart(PegasusConfig, 96103 // 16, 1),  # the vocabulary has its share of the whole
    "small GPT-2": gpt2(256, 4, 4),
    "GPT-2 shape, 1 B": gpt2(1536, 16, 33),
}


def build_random(name: str, layers: int | None = None) -> Any:
    """The model with random weights, in evaluation mode; `layers` makes every stack shallower."""
    config = copy.deepcopy((PAPER | OTHERS)[name])
    if layers:
        for depth in config.to_dict().keys() & DEPTHS:
            setattr(config, depth, layers)
    kind: Any = AutoModelForCausalLM
    if config.is_encoder_decoder:
        kind = AutoModelForSeq2SeqLM
    elif isinstance(config, BertConfig | RobertaConfig):
        kind = AutoModelForMaskedLM
    return initialise_model(kind.from_config, config, seed=0).eval()
