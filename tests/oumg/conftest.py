"""A small generator, a guide of its tokens, and labelled texts of one's own."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from core.example import Example
from data.corpus import Corpus
from discriminators.architectures.causal_lstm import CausalLSTM
from discriminators.guides import CausalGuide
from discriminators.vocabulary import GeneratorTokens
from models.causal import CausalLM
from models.tiny import TinyCausal

TEXTS = ["the red cat sat on the green mat", "a dog ran over the blue hill", "the sun shone on the moon"]


@pytest.fixture(scope="session")
def lm() -> CausalLM:
    return TinyCausal(300, 16, 2, 1, 32, max_length=32).build(TEXTS, (), seed=0)


@pytest.fixture(scope="session")
def guide(lm: CausalLM) -> CausalGuide:
    settings: dict[str, Any] = {"embedding_dim": 8, "hidden_dim": 6, "dropout": 0.1}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = CausalLSTM(len(lm.tokenizer), **settings).eval()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.normal_()
    return CausalGuide(network, GeneratorTokens(lm.tokenizer, 512), settings)


@pytest.fixture(scope="session")
def own_data() -> Callable[..., Corpus]:
    """Makes data of texts and their labels."""

    def own(texts: Sequence[str], labels: Sequence[str], held_out: Sequence[Example] = ()) -> Corpus:
        examples = tuple(Example(f"e{i}", text=t, label=x) for i, (t, x) in enumerate(zip(texts, labels, strict=True)))
        return Corpus("mine", examples, tuple(held_out), (), synthetic=False)

    return own
