"""A stand-in for the model hub: its cache with every checkpoint that commands name, tiny and random.

A folder has the files that the hub has and no others, and its weights have the names of the published ones, with
those that nobody reads. Widths are tiny; structure and vocabulary are the published ones.
Where the published list of files is not certain, `layouts` has both.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken
from tokenizers.processors import TemplateProcessing
from transformers import (
    AutoTokenizer,
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForPreTraining,
    BertForSequenceClassification,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LEDConfig,
    LEDForConditionalGeneration,
    PegasusConfig,
    PegasusForConditionalGeneration,
    Qwen2Config,
    Qwen2ForCausalLM,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaModel,
    T5Config,
    T5ForConditionalGeneration,
)

from tests.slow_vocabularies import write_pegasus

COMMIT = "0" * 40
SAFE, PICKLED, SHARDS = "model.safetensors", "pytorch_model.bin", "shards"
WIDTH, HEADS, DEPTH = 32, 4, 2


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint of the hub."""

    build: Callable[[], Any]
    # the folder of the vocabulary
    vocabulary: str
    # the weights, and whether the repository has tokenizer.json: one pair for each layout that it may have
    layouts: Sequence[tuple[str, bool]]
    # special tokens by their names, which the vocabulary lacks
    special: Mapping[str, str] = field(default_factory=dict)
    # marks that the vocabulary lacks
    marks: Sequence[str] = ()


def t5(depth: int = DEPTH, **settings: Any) -> Callable[[], Any]:
    sizes: Any = {"d_model": WIDTH, "d_ff": 64, "d_kv": 8, "num_heads": HEADS, "num_layers": depth, **settings}
    published: Any = {"vocab_size": 32128, "decoder_start_token_id": 0, "n_positions": 512}
    config = T5Config(**published, **sizes)
    return lambda: T5ForConditionalGeneration(config)


def two_sided(model: Any, config: Any, vocabulary: int, **settings: Any) -> Callable[[], Any]:
    sizes = {"layers": DEPTH, "attention_heads": HEADS, "ffn_dim": 64}
    both = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in sizes.items()}
    return lambda: model(config(vocab_size=vocabulary, d_model=WIDTH, **both, **settings))


def bart() -> Callable[[], Any]:
    return two_sided(BartForConditionalGeneration, BartConfig, 50265, max_position_embeddings=1024)


def gpt2() -> Callable[[], Any]:
    config = GPT2Config(n_embd=WIDTH, n_head=HEADS, n_layer=DEPTH)
    return lambda: GPT2LMHeadModel(config)


def encoder(model: Any, config: Any, depth: int, **settings: Any) -> Callable[[], Any]:
    """With the published number of layers, because metrics choose among them."""
    sizes = {"hidden_size": WIDTH, "intermediate_size": 64, "num_attention_heads": HEADS, "num_hidden_layers": depth}
    return lambda: model(config(**sizes, **settings))


def roberta(model: Any, depth: int) -> Callable[[], Any]:
    special: Any = {"pad_token_id": 1, "max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
    return encoder(model, RobertaConfig, depth, vocab_size=50265, **special)


def neox() -> Any:
    sizes: Any = {"hidden_size": WIDTH, "intermediate_size": 64, "num_attention_heads": HEADS}
    return GPTNeoXForCausalLM(GPTNeoXConfig(vocab_size=50304, num_hidden_layers=DEPTH, **sizes))


def qwen2() -> Any:
    sizes: Any = {"hidden_size": WIDTH, "intermediate_size": 64, "num_attention_heads": HEADS}
    sizes |= {"num_key_value_heads": 2, "num_hidden_layers": DEPTH, "tie_word_embeddings": True}
    return Qwen2ForCausalLM(Qwen2Config(vocab_size=50432, max_position_embeddings=32768, **sizes))


def gemma3() -> Any:
    sizes: Any = {"hidden_size": WIDTH, "intermediate_size": 64, "num_attention_heads": HEADS, "head_dim": 8}
    sizes |= {"num_key_value_heads": 1, "num_hidden_layers": DEPTH, "sliding_window": 512}
    return Gemma3ForCausalLM(Gemma3TextConfig(vocab_size=50432, max_position_embeddings=32768, **sizes))


PEGASUS = two_sided(
    PegasusForConditionalGeneration,
    PegasusConfig,
    96103,
    activation_function="relu",
    scale_embedding=True,
    max_position_embeddings=1024,
    forced_eos_token_id=1,
)
LED = two_sided(
    LEDForConditionalGeneration,
    LEDConfig,
    50265,
    attention_window=[1024] * DEPTH,
    max_encoder_position_embeddings=16384,
    max_decoder_position_embeddings=1024,
)
SAFE_FAST = ((SAFE, True),)
EITHER = ((SAFE, True), (PICKLED, False))
# The vocabulary of GPT-2 with the tokens of these models, whose own vocabularies are larger.
QWEN = Checkpoint(
    qwen2,
    "gpt2",
    SAFE_FAST,
    {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"},
    ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|file_sep|>"),
)
GEMMA = Checkpoint(
    gemma3,
    "gpt2",
    SAFE_FAST,
    {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"},
)
CHECKPOINTS = {
    "Qwen/Qwen2.5-Coder-0.5B": QWEN,
    "Qwen/Qwen2.5-Coder-1.5B": QWEN,
    "google/gemma-3-270m": GEMMA,
    "google/pegasus-large": Checkpoint(PEGASUS, "pegasus", ((PICKLED, False),)),
    **dict.fromkeys(
        ("google-t5/t5-small", "google-t5/t5-base", "google-t5/t5-large"), Checkpoint(t5(), "t5", SAFE_FAST)
    ),
    **dict.fromkeys(("google-t5/t5-3b", "google-t5/t5-11b"), Checkpoint(t5(), "t5", EITHER)),
    **dict.fromkeys(("facebook/bart-large", "facebook/bart-large-cnn"), Checkpoint(bart(), "roberta", EITHER)),
    "allenai/led-base-16384": Checkpoint(LED, "roberta", ((PICKLED, False),)),
    **dict.fromkeys(
        ("openai-community/gpt2", "openai-community/gpt2-medium", "openai-community/gpt2-large", "gpt2"),
        Checkpoint(gpt2(), "gpt2", SAFE_FAST),
    ),
    "FacebookAI/roberta-base": Checkpoint(roberta(RobertaForMaskedLM, 12), "roberta", SAFE_FAST),
    **dict.fromkeys(
        ("FacebookAI/roberta-large", "roberta-large"),
        Checkpoint(roberta(RobertaForMaskedLM, 24), "roberta", SAFE_FAST),
    ),
    "sentence-transformers/nli-roberta-large": Checkpoint(roberta(RobertaModel, 24), "roberta", EITHER),
    "google-bert/bert-base-uncased": Checkpoint(
        encoder(BertForPreTraining, BertConfig, 12, vocab_size=30522), "bert-base-uncased", SAFE_FAST
    ),
    "google-bert/bert-base-chinese": Checkpoint(
        encoder(BertForPreTraining, BertConfig, 12, vocab_size=21128), "bert-base-chinese", SAFE_FAST
    ),
    **dict.fromkeys(("EleutherAI/pythia-70m", "EleutherAI/pythia-160m"), Checkpoint(neox, "gpt2", EITHER)),
    "Elron/bleurt-base-128": Checkpoint(
        encoder(BertForSequenceClassification, BertConfig, 12, vocab_size=30522, num_labels=1),
        "bert-base-uncased",
        ((PICKLED, True), (SAFE, False)),
    ),
    "MingZhong/unieval-dialog": Checkpoint(t5(), "t5", ((PICKLED, False), (SHARDS, False))),
}


def write_hub(cache: Path, vocabularies: Path, layout: int = 0) -> None:
    """Writes every checkpoint into the cache of the hub; `layout` chooses among those that a repository may have."""
    torch.manual_seed(0)
    for name, checkpoint in CHECKPOINTS.items():
        weights, fast = checkpoint.layouts[min(layout, len(checkpoint.layouts) - 1)]
        folder = cache / "made"
        model = checkpoint.build().eval()
        _write_weights(model, weights, folder)
        _write_vocabulary(vocabularies / checkpoint.vocabulary, folder, fast)
        if checkpoint.special:
            _add_tokens(folder, checkpoint)
        if name.startswith("sentence-transformers/"):
            _write_modules(folder)
        into_cache(folder, cache, name)
        shutil.rmtree(folder)


def _write_weights(model: Any, weights: str, folder: Path) -> None:
    if weights == SHARDS:
        model.save_pretrained(folder, max_shard_size="2MB")
        return
    model.save_pretrained(folder)
    stored = load_file(folder / SAFE)
    (folder / SAFE).unlink()
    published = {_published_name(model, name): value for name, value in stored.items()} | _unread(model)
    if weights == PICKLED:
        torch.save(published, folder / PICKLED)
    else:
        save_file(published, folder / SAFE, {"format": "pt"})


def _published_name(model: Any, name: str) -> str:
    match model.config.model_type:
        case "gpt2":
            return name.removeprefix("transformer.")
        case "bart":
            return name.removeprefix("model.")
        case "bert":
            return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    return name


def _unread(model: Any) -> dict[str, torch.Tensor]:
    """What published files hold beside the weights: masks, positions, a bias that T5 dropped."""
    layers = range(DEPTH)
    match model.config.model_type:
        case "gpt2":
            return {f"h.{i}.attn.bias": torch.ones(1, 1, 8, 8) for i in layers}
        case "t5":
            return {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": torch.ones(32, HEADS)}
        case "roberta" if hasattr(model, "lm_head"):
            return {"roberta.embeddings.position_ids": torch.arange(514)[None]}
        case "gpt_neox":
            return {
                f"gpt_neox.layers.{i}.attention.{name}": torch.ones(1)
                for i in layers
                for name in ("bias", "masked_bias")
            }
    return {}


def _write_vocabulary(source: Path, folder: Path, fast: bool) -> None:
    if source.name == "pegasus":
        write_pegasus(source, folder)
        return
    if fast:
        AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    for file in ("spiece.model", "vocab.json", "merges.txt", "vocab.txt"):
        if (source / file).is_file():
            shutil.copy(source / file, folder)
    if not fast:
        (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 512}))


def _add_tokens(folder: Path, checkpoint: Checkpoint) -> None:
    """Marks are added tokens that are not called special, as Qwen's are."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens(dict(checkpoint.special))
    tokenizer.add_tokens([AddedToken(mark, special=False) for mark in checkpoint.marks])
    if "bos_token" in checkpoint.special:
        start = checkpoint.special["bos_token"]
        frame = TemplateProcessing(single=f"{start} $A", special_tokens=[(start, tokenizer.bos_token_id)])
        tokenizer.backend_tokenizer.post_processor = frame
    tokenizer.save_pretrained(folder)


def _write_modules(folder: Path) -> None:
    """The files that sentence-transformers reads beside the encoder's."""
    modules = (("0", "", "Transformer"), ("1", "1_Pooling", "Pooling"))
    listed = [
        {"idx": int(i), "name": i, "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, path, kind in modules
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 128, "do_lower_case": False}))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))


def into_cache(folder: Path, cache: Path, name: str) -> None:
    """Copies the files into the hub's cache: blobs by their hashes, and a snapshot of links to them."""
    repository = cache / f"models--{name.replace('/', '--')}"
    (repository / "blobs").mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs/main").write_text(COMMIT)
    for file in [each for each in folder.rglob("*") if each.is_file()]:
        blob = repository / "blobs" / hashlib.sha256(file.read_bytes()).hexdigest()
        link = repository / "snapshots" / COMMIT / file.relative_to(folder)
        link.parent.mkdir(parents=True, exist_ok=True)
        if not blob.exists():
            shutil.copy(file, blob)
        link.symlink_to(Path("../" * (len(link.relative_to(repository).parts) - 1)) / "blobs" / blob.name)
