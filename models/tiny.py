"""Small models from scratch: a byte-level BPE trained on the given texts; T5, BERT and causal models of any size."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any, Literal

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    PretrainedConfig,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.models.t5.modeling_t5 import T5Attention

from core.settings import Count, Share, checked_dataclass
from models.causal import CausalLM
from models.masked import MaskedLM
from models.seq2seq import Seq2SeqLM

SENTINELS = tuple(f"<extra_id_{i}>" for i in range(8))
DROPOUTS = {  # settings, by type of model
    "gpt2": ("embd_pdrop", "attn_pdrop", "resid_pdrop"),
    "gpt_neox": ("hidden_dropout", "attention_dropout"),
    "llama": ("attention_dropout",),
    "bert": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
}


def train_tokenizer(
    texts: Iterable[str],
    vocabulary: int,
    additional: tuple[str, ...] = (),
    max_length: int = 512,
    sentinels: tuple[str, ...] = SENTINELS,
) -> PreTrainedTokenizerFast:
    """Trains a byte-level BPE of at most `vocabulary` tokens with T5's special tokens; decoding restores texts.

    Ids 0, 1, 2 are `<pad>`, `</s>`, `<unk>` as in T5. The sentinels and the `additional` special tokens follow.
    """
    special = ["<pad>", "</s>", "<unk>", *sentinels, *additional]
    return PreTrainedTokenizerFast(
        tokenizer_object=train_byte_level_bpe(texts, vocabulary, special),
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        additional_special_tokens=[*sentinels, *additional],
        clean_up_tokenization_spaces=False,
        model_max_length=max_length,
    )


def train_byte_level_bpe(
    texts: Iterable[str],
    size: int,
    special: list[str],
    min_count: int = 0,
) -> Tokenizer:
    """Trains a BPE of at most `size` tokens, special ones first; merged tokens occur at least `min_count` times."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=min_count,
        special_tokens=special,  # pyright: ignore[reportArgumentType]
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def initialise_model(model_class: Callable[[Any], Any], config: PretrainedConfig, seed: int) -> Any:
    """Makes a model with random weights from the seed; the global random state of torch does not change."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return model_class(config)


@checked_dataclass
class TinyT5:
    """A T5 to build from scratch, with a tokenizer trained on the given texts."""

    vocabulary: Count
    # fields of its configuration
    d_model: Count
    d_ff: Count
    num_heads: Count
    num_layers: Count
    num_decoder_layers: Count
    dropout_rate: Share = 0.0

    def build(
        self,
        texts: Sequence[str],
        additional: tuple[str, ...],
        seed: int,
    ) -> Seq2SeqLM:
        """Builds the model with random weights. Its tokenizer has the `additional` special tokens."""
        tokenizer = train_tokenizer(texts, self.vocabulary, additional)
        settings: dict[str, Any] = {
            **asdict(self),
            "vocab_size": len(tokenizer),
            "d_kv": self.d_model // self.num_heads,
            "pad_token_id": 0,
            "eos_token_id": 1,
            "decoder_start_token_id": 0,
            "attn_implementation": "eager",  # on a CPU faster than fused at this size
        }
        del settings["vocabulary"]
        config = T5Config(**settings)
        model = initialise_model(T5ForConditionalGeneration, config, seed)
        for stack in (model.encoder, model.decoder):
            prefer_near_tokens(stack.block[0].layer[0].SelfAttention)
        return Seq2SeqLM(model, tokenizer)


@torch.no_grad()
def prefer_near_tokens(attention: T5Attention) -> None:
    """Makes the attention of a T5 stack fall with distance, by its position biases, as in ALiBi (Press et al. 2022).

    Biases that begin near zero hardly move in a short training, and the model would read a text as a bag of tokens.
    Each head has its own slope. In an encoder the first head prefers the previous token, the second one the next.
    """
    bias = attention.relative_attention_bias.weight  # (buckets, heads)
    heads = bias.shape[1]
    bias[:, 0] = torch.arange(len(bias))
    length = 2 * attention.relative_attention_max_distance
    buckets = attention.compute_bias(length, length)[0, 0].long()
    places = torch.arange(length)
    distance = places - places[:, None]  # of what is read, from the token that reads
    read = distance <= 0 if attention.is_decoder else torch.ones_like(distance, dtype=torch.bool)
    members = torch.bincount(buckets[read], minlength=len(bias))
    mean_distance = torch.bincount(buckets[read], distance[read].float(), len(bias)) / members.clamp(min=1)
    slopes = 2.0 ** (1 - 8 * torch.arange(1, heads + 1) / heads)
    centres = torch.zeros(heads)
    if not attention.is_decoder:
        centres[:2] = torch.tensor([-1.0, 1.0])[:heads]
    bias.copy_(-slopes * (mean_distance[:, None] - centres).abs())


@checked_dataclass
class TinyStack:
    """A model with one stack of layers, to build from scratch with a tokenizer that is trained on the given texts."""

    # tokens of the byte-level BPE, at most
    vocabulary: Count
    # fields of its configuration
    hidden_size: Count
    num_attention_heads: Count
    num_hidden_layers: Count
    intermediate_size: Count
    # tokens it reads at once
    max_length: Count = 512
    # of hidden states and attention
    dropout: Share = 0.0

    def initialise(
        self,
        kind: str,
        loader: Any,
        texts: Sequence[str],
        additional: tuple[str, ...],
        seed: int,
    ) -> tuple[Any, PreTrainedTokenizerFast]:
        """Makes a model of this type with random weights, and its tokenizer with the `additional` special tokens."""
        tokenizer = train_tokenizer(texts, self.vocabulary, additional, self.max_length, sentinels=())
        inner_size = "n_inner" if kind == "gpt2" else "intermediate_size"
        settings: dict[str, Any] = {
            "hidden_size": self.hidden_size,
            "num_attention_heads": self.num_attention_heads,
            "num_hidden_layers": self.num_hidden_layers,
            **dict.fromkeys(DROPOUTS[kind], self.dropout),
            inner_size: self.intermediate_size,
            "vocab_size": len(tokenizer),
            "max_position_embeddings": self.max_length,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 1,
        }
        config = AutoConfig.for_model(kind, **settings)
        return initialise_model(loader.from_config, config, seed), tokenizer


@checked_dataclass
class TinyCausal(TinyStack):
    """A causal model to build from scratch; `</s>` begins and ends a text."""

    # the type of model: `gpt2`, `gpt_neox` (Pythia) or `llama`
    shape: Literal["gpt2", "gpt_neox", "llama"] = "gpt2"

    def build(
        self,
        texts: Sequence[str],
        additional: tuple[str, ...],
        seed: int,
    ) -> CausalLM:
        """Builds the model with random weights. Its tokenizer has the `additional` special tokens."""
        return CausalLM(*self.initialise(self.shape, AutoModelForCausalLM, texts, additional, seed))


@checked_dataclass
class TinyBert(TinyStack):
    """A BERT to build from scratch; `</s>` frames and separates texts."""

    def build(
        self,
        texts: Sequence[str],
        additional: tuple[str, ...],
        seed: int,
    ) -> MaskedLM:
        """Builds the model with random weights. Its tokenizer has the `additional` special tokens and `<mask>`."""
        model, tokenizer = self.initialise("bert", AutoModelForMaskedLM, texts, ("<mask>", *additional), seed)
        tokenizer.mask_token = "<mask>"
        tokenizer.cls_token = tokenizer.sep_token = "</s>"
        return MaskedLM(model, tokenizer)
