"""Loads a model of targets given sources as an encoder-decoder or a causal model, as its configuration says."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoConfig

from models.causal import CausalLM
from models.families import LEFT_TO_RIGHT, SMALL, find_family
from models.loading import load_pretrained
from models.model import ConditionalLM
from models.seq2seq import Seq2SeqLM


def load_conditional(name: str | Path, device: str = "cpu", dtype: str = "float32") -> ConditionalLM:
    """Loads an encoder-decoder or a causal model, as its configuration says."""
    kind = Seq2SeqLM if load_pretrained(AutoConfig.from_pretrained, name).is_encoder_decoder else CausalLM
    return kind.from_pretrained(name, device, dtype)


class ConditionalLoader:
    """Loads encoder-decoder and causal models through `from_pretrained`, as the class of one kind of model does."""

    from_pretrained = staticmethod(load_conditional)


@dataclass(frozen=True)
class PretrainedLM:
    """A pretrained encoder-decoder or causal model to start a training from, given by hub name or folder."""

    name: str
    dtype: str = "float32"

    def build(
        self,
        texts: Sequence[str],
        additional: tuple[str, ...],
        seed: int,
    ) -> ConditionalLM:
        """Loads the model, and adds the `additional` special tokens to its tokenizer.

        The new tokens use spare rows of the checkpoint's embeddings (T5 and Pythia have some), else new random rows. A
        causal model that fills in the middle has tokens of its own for this and gets no others.
        """
        lm = load_conditional(self.name, "cpu", self.dtype)
        if not lm.model.config.is_encoder_decoder and find_family(lm.model.config, lm.tokenizer) != LEFT_TO_RIGHT:
            additional = tuple(token for token in additional if token not in SMALL.marks)
        lm.tokenizer.add_special_tokens({"additional_special_tokens": list(additional)}, False)
        if len(lm.tokenizer) > lm.model.config.vocab_size:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                lm.model.resize_token_embeddings(len(lm.tokenizer))
        lm.model.config.new_tokens = list(additional)
        return lm
