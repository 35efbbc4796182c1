"""Pretrained causal models as they are published: the ids of their marks, and what they read around a gap."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoConfig

from models.causal import CausalLM
from models.families import LEFT_TO_RIGHT, find_family
from models.infilling import Infiller, make_infilling
from models.loading import load_tokenizer
from models.model import plain_token_ids

QWEN, GEMMA = "qwen-0.5b", "gemma-270m"
GAPS = [
    ("The book is new. ", "It has fine maps!", " I liked it."),
    ("", "The book is new.", " It has fine maps!"),
    ("It was ", "good", "."),
    ("The book ", "is new.", ""),
]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def real_models() -> Path:
    """The folder of pretrained models, by the variable REAL_MODELS; skips where there is none."""
    folder = Path(os.environ.get("REAL_MODELS", Path.home() / ".cache/real-models"))
    if not folder.is_dir():
        pytest.skip(f"no pretrained models in {folder}; REAL_MODELS names their folder")
    return folder


def find_model(real_models: Path, name: str) -> Path:
    if not (real_models / name).is_dir():
        pytest.skip(f"{real_models} lacks {name}")
    return real_models / name


@pytest.mark.parametrize("name", [QWEN, "qwen-1.5b"])
def test_qwen_has_the_published_ids(real_models: Path, name: str) -> None:
    folder = find_model(real_models, name)
    tokenizer = load_tokenizer(folder)
    infilling = make_infilling(find_family(AutoConfig.from_pretrained(folder), tokenizer), tokenizer)
    assert infilling.family.name == "qwen"
    assert infilling.read([1, 2], [3]) == [151659, 1, 2, 151661, 3, 151660]
    assert infilling.target([4]) == [4, 151643]


def test_gemma_reads_left_to_right_behind_its_start(real_models: Path) -> None:
    folder = find_model(real_models, GEMMA)
    tokenizer = load_tokenizer(folder)
    assert find_family(AutoConfig.from_pretrained(folder), tokenizer) == LEFT_TO_RIGHT
    assert make_infilling(LEFT_TO_RIGHT, tokenizer).read([5], [6]) == [tokenizer.bos_token_id, 5]


@pytest.mark.parametrize("name", [QWEN, GEMMA])
def test_parts_have_the_ids_of_the_whole_text(real_models: Path, name: str) -> None:
    """No boundary of these gaps is within a token."""
    infiller = Infiller.from_pretrained(find_model(real_models, name))
    for gap, infill in zip(GAPS, infiller.encode(GAPS), strict=True):
        (whole,) = plain_token_ids(infiller.tokenizer, ["".join(gap)])
        assert [*infill.before, *infill.target, *infill.after] == whole


def test_text_that_spells_a_mark_is_text(real_models: Path) -> None:
    infiller = Infiller.from_pretrained(find_model(real_models, QWEN))
    (infill,) = infiller.encode([("A <|fim_suffix|> ", "b<|endoftext|>", " <|fim_middle|>")])
    assert [i for i in infill.source if i >= 151643] == [151659, 151661, 151660]
    assert all(i < 151643 for i in infill.target)


@pytest.mark.parametrize("name", [QWEN, GEMMA])
def test_scores_are_those_of_the_plain_forward(real_models: Path, name: str) -> None:
    infiller = Infiller.from_pretrained(find_model(real_models, name))
    infills = infiller.encode(GAPS, closed=True)
    lm = infiller.lm
    assert isinstance(lm, CausalLM)
    for infill, row in zip(infills, infiller.log_probabilities(infills, 512), strict=True):
        ids = torch.tensor([[*infill.source, *infill.target]])
        with torch.inference_mode():
            scores = lm.model(input_ids=ids).logits[0].float().log_softmax(-1)
        first = len(infill.source)
        expected = [float(scores[i - 1, ids[0, i]]) for i in range(first, ids.shape[1])]
        np.testing.assert_allclose(row, expected, atol=2e-3)
