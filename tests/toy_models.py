"""Small random models that the tests of several rooms share, and models that run out of memory."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from transformers import AutoTokenizer, BartConfig, BartForConditionalGeneration, BertForSequenceClassification

from baselines.bleurt import Bleurt, Regressor
from cdm.discriminative import FEATURES, ClassifierPooler
from cdm.infilling import SEPARATOR, Pair, PairReading
from discriminators.discriminator import Discriminator, new_bert, new_bilstm
from models.causal import CausalLM
from models.model import ConditionalLM
from models.seq2seq import Seq2SeqLM
from models.tiny import TinyCausal, TinyT5, initialise_model

TEXTS = ["the cat sat on the mat.", "hello there, how are you?", "it rains and rains."]
QUIET = partial(Trainer, accelerator="cpu", devices=1, enable_progress_bar=False, enable_model_summary=False)
PIECES = ["the", "cat", "sat", *"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"), "."]


def randomise(module: torch.nn.Module, seed: int = 0, scale: float = 1.0) -> None:
    """Random weights far from 0, so that mistakes show."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(seed)
        for parameter in module.parameters():
            parameter.normal_(std=scale)
        module.eval()


def toy_gpt(seed: int = 0, texts: Sequence[str] = TEXTS, side: str = "right") -> CausalLM:
    lm = TinyCausal(290, 16, 2, 1, 32, max_length=1024).build(texts, (), seed=seed)
    lm.tokenizer.padding_side = side
    return lm


def toy_t5(seed: int = 0, texts: Sequence[str] = TEXTS, side: str = "right") -> Seq2SeqLM:
    plan = TinyT5(300, d_model=16, d_ff=32, num_heads=2, num_layers=1, num_decoder_layers=1)
    lm = plan.build(texts, (SEPARATOR,), seed=seed)
    lm.tokenizer.padding_side = side
    return lm


def toy_bilstm(seed: int = 0, texts: Sequence[str] = TEXTS, **settings: Any) -> Discriminator:
    torch.manual_seed(seed)
    sizes: Any = {"vocabulary_size": 300, "min_count": 1, "embedding_dim": 8, "hidden_dim": 8}
    return new_bilstm([(text,) for text in texts], **{**sizes, **settings})


def toy_bert(encoder: Path, seed: int = 0, **settings: Any) -> Discriminator:
    torch.manual_seed(seed)
    return new_bert(encoder=str(encoder), **settings)


def toy_bleurt(encoder: Path, side: str = "right", **settings: Any) -> Bleurt:
    torch.manual_seed(1)
    network = BertForSequenceClassification.from_pretrained(encoder, num_labels=1)
    lm = Regressor(network.eval(), AutoTokenizer.from_pretrained(encoder, padding_side=side))
    return Bleurt(lm, "toy", **settings)


def toy_pooler(weight: float) -> ClassifierPooler:
    return ClassifierPooler(0.5, {name: {"center": 0.0, "scale": 1.0, "weight": weight} for name in FEATURES})


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


@torch.no_grad()
def plain_log_probabilities(lm: ConditionalLM, source: Sequence[int], target: Sequence[int]) -> np.ndarray:
    """Of each token of the target: log softmax over the whole vocabulary of one unpadded pair."""
    if isinstance(lm, CausalLM):
        read = source or [1]
        logits = lm.model.eval()(input_ids=torch.tensor([[*read, *target]])).logits[0, len(read) - 1 :]
    else:
        read, given = source or [lm.model.config.pad_token_id], [lm.model.config.decoder_start_token_id, *target]
        asked = {"input_ids": torch.tensor([[*read]]), "decoder_input_ids": torch.tensor([given])}
        logits = lm.model.eval()(**asked).logits[0]
    return logits.log_softmax(-1)[range(len(target)), list(target)].numpy()


class Killed(Callback):
    """Stops a run in the middle of an epoch, as a kill would."""

    def __init__(self, epoch: int) -> None:
        self.at = (epoch, 1)

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if (trainer.current_epoch, batch_idx) == self.at:
            raise RuntimeError("killed")


def kill_in(epoch: int, callbacks: Sequence[Callback], **settings: Any) -> Trainer:
    return QUIET(callbacks=[*callbacks, Killed(epoch)], **settings)


def toy_pair(texts: Sequence[str], **settings: Any) -> Pair:
    """Two untrained T5, of which the second is wider."""
    first, second = (
        TinyT5(400, width, 2 * width, 2, 1, 1).build(texts, (SEPARATOR,), seed) for seed, width in ((1, 16), (2, 32))
    )
    return Pair(first, second, PairReading(60, **settings))


def refuse_large_batches(forward: Callable[..., Any], rows: int) -> Callable[..., Any]:
    """The forward pass of a model that runs out of memory for more than `rows` rows."""

    def crowded(*args: object, input_ids: torch.Tensor, **others: object) -> Any:
        if len(input_ids) > rows:
            raise torch.OutOfMemoryError
        return forward(*args, input_ids=input_ids, **others)

    return crowded
