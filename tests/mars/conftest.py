"""Language models of MARS's tests: a chain of five tokens whose probabilities are known, a small random GPT-2."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import DynamicCache, PreTrainedConfig, PreTrainedTokenizerFast

from models.causal import CausalLM
from models.tiny import TinyCausal

STORIES = [
    "Tom had a red ball. He threw it over the wall, and the dog ran after it.",
    "Ann baked a cake for her brother. He was so happy that he ate it all!",
    "שלום עולם, مرحبا بالعالم. The cat 🐈 sat on the mat.",
]


SIGNS = "!#$%&"  # 0 to 4, as signs that do not join words


class Chain(torch.nn.Module):
    """Predicts from the last token alone: `probabilities[x, y]` of y after x; called as transformers call a model."""

    def __init__(self, probabilities: torch.Tensor) -> None:
        super().__init__()
        sizes: dict[str, Any] = {"vocab_size": len(probabilities), "max_position_embeddings": 64}
        self.config = PreTrainedConfig(**sizes)
        self.output = torch.nn.Linear(*probabilities.shape, bias=False)
        self.output.weight.data = probabilities.log().T
        self.dtype, self.device = torch.float32, torch.device("cpu")

    def get_output_embeddings(self) -> torch.nn.Linear:
        return self.output

    def forward(
        self, input_ids: torch.Tensor, position_ids: torch.Tensor | None = None, **others: object
    ) -> SimpleNamespace:
        hidden = torch.nn.functional.one_hot(input_ids, self.output.in_features).float()
        return SimpleNamespace(logits=self.output(hidden), past_key_values=DynamicCache())


def chain(probabilities: torch.Tensor) -> CausalLM:
    """The model with a token per sign of `SIGNS`; the first is also what an empty context stands for."""
    tokenizer = Tokenizer(models.BPE({sign: i for i, sign in enumerate(SIGNS[: len(probabilities)])}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return CausalLM(Chain(probabilities), PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=SIGNS[0]))


@pytest.fixture(scope="session")
def counting() -> CausalLM:
    """P(x + 1 mod 5 | x) = 0.9 and 0.025 for any other."""
    return chain(torch.full((5, 5), 0.025) + 0.875 * torch.eye(5).roll(1, dims=1))


@pytest.fixture(scope="session")
def uniform() -> CausalLM:
    """Every token after every token with the same probability."""
    return chain(torch.full((5, 5), 0.2))


@pytest.fixture(scope="session")
def lm() -> CausalLM:
    """A random GPT-2 that reads 96 tokens, with weights large enough that what it says depends on what it read."""
    plan = TinyCausal(330, 32, 4, 2, 64, max_length=96)
    built = plan.build(STORIES, ("<title>",), seed=5)
    with torch.no_grad():
        for name, parameter in built.model.named_parameters():
            if parameter.ndim == 2:
                parameter.mul_(10 if "wte" in name or "wpe" in name else 6)
    built.model.eval()
    return built
