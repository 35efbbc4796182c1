"""Guides: the exact one beside a plain recomputation of every text, and that the causal one learns and steers."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LogitsProcessorList

from core.errors import InputError
from discriminators.guides import CausalGuide, score_texts
from discriminators.segments import TokenRow
from discriminators.texts import LabelledText
from discriminators.training import DiscriminatorModule, LabelledTextDataModule, TrainingSettings, train_classifier
from oumg.guidance import Guidance
from tests.toy_models import QUIET


def test_a_batch_has_the_logits_of_its_prefixes_at_their_places() -> None:
    rows = [TokenRow(np.arange(1, n + 1), i, 1.0) for i, n in enumerate((4, 2, 3))]
    tokens = SimpleNamespace(layout=SimpleNamespace(pad=0), max_length=4)
    classifier: Any = SimpleNamespace(
        network=lambda ids, mask: 1.0 * ids, tokens=tokens, learns_prefixes=True, read_to_learn=lambda _: rows
    )
    texts = [LabelledText((str(i),), label, str(i)) for i, label in enumerate((1, 0, 1))]
    data = LabelledTextDataModule(classifier, texts, texts, token_budget=100)
    assert data.per_batch == 6
    assert data.count_learned([rows, rows]) == 12
    batch = data.collate([data.train[2], data.mute(data.train[1])])
    assert DiscriminatorModule(classifier).read_logits(batch).tolist() == [2, 3, 2]
    assert batch["labels"].tolist() == [1, 1, 0]
    assert batch["weights"].tolist() == [1, 1, 0]
    assert batch["places"].tolist() == [9, 10, 5]  # four places for each text


def toy_texts(count: int = 60, seed: int = 0) -> list[LabelledText]:
    """Words in random order; those of class 1 say `yes` somewhere and those of class 0 `no`, in pairs of one group."""
    generator, texts = random.Random(seed), []
    for i, label in ((i, label) for i in range(count) for label in (1, 0)):
        words = generator.choices(
            ["red", "green", "blue", "cat", "dog", "sun", "moon", "tree"], k=generator.randint(3, 9)
        )
        words.insert(generator.randint(1, 3), "yes" if label else "no")
        texts.append(LabelledText((" ".join(words),), label, f"g{i}"))
    return texts


@pytest.fixture(scope="module")
def trained(builds: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> tuple[CausalGuide, Path]:
    folder = tmp_path_factory.mktemp("guide")
    settings = TrainingSettings(epochs=15, learning_rate=1e-2, token_budget=128, held_out=0.2)
    return train_classifier(builds["guide"], toy_texts(), folder, QUIET, settings), folder


def test_it_learns(trained: tuple[CausalGuide, Path]) -> None:
    guide, texts = trained[0], toy_texts(50, seed=1)
    right = (score_texts(guide, [t.segments[0] for t in texts]) > 0) == [t.label == 1 for t in texts]
    assert right.mean() > 0.95
    assert score_texts(guide, ["", " ", "yes"])[:2].tolist() == [0, 0]
    with pytest.raises(ValueError, match="at least one token, but text 1 has none"):
        guide.logits([("yes",), (" ",)])


def test_it_steers_a_generator(trained: tuple[CausalGuide, Path]) -> None:
    guide, _ = trained
    with torch.random.fork_rng():
        torch.manual_seed(0)
        shape: dict[str, Any] = {"n_positions": 32, "n_embd": 16, "n_layer": 1, "n_head": 2}
        config = GPT2Config(vocab_size=len(guide.tokens.tokenizer), **shape, pad_token_id=0, eos_token_id=1)
        lm: Any = GPT2LMHeadModel(config).eval()
        prompts = torch.full((64, 1), 1)

        def judged(alpha: float) -> float:
            processors = LogitsProcessorList([Guidance(guide, guide.tokens.tokenizer, alpha, k=32)])
            ids = lm.generate(
                prompts, attention_mask=prompts, max_new_tokens=10, do_sample=True, top_k=0, logits_processor=processors
            )
            texts = guide.tokens.tokenizer.batch_decode(ids[:, 1:], skip_special_tokens=True)
            return float(score_texts(guide, [str(text) for text in texts]).mean())

        unguided, weak, strong = (judged(alpha) for alpha in (0.0, 2.0, 8.0))
    assert unguided < weak < strong
    assert strong > unguided + 1


def test_a_folder_holds_the_guide(trained: tuple[CausalGuide, Path]) -> None:
    guide, folder = trained
    again = CausalGuide.from_pretrained(folder)
    texts = [("red yes cat",), ("no tree",)]
    assert again.logits(texts)[0].tolist() == guide.logits(texts)[0].tolist()
    assert again.identity == guide.identity
    assert again.tokens.ids == guide.tokens.ids
    assert torch.equal(again.network.known, guide.network.known)
    assert not (folder / "checkpoints").exists()
    assert (folder / "curve.json").is_file()


def test_faults_are_named(tmp_path: Path, builds: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"with guide.json, found none"):
        CausalGuide.from_pretrained(tmp_path)
    empty = [LabelledText(("",), i % 2, f"g{i // 2}") for i in range(8)]
    with pytest.raises(ValueError, match=r"a text of enough tokens \(2 for a guide\) on each side"):
        train_classifier(builds["guide"], empty, tmp_path / "empty", QUIET)
    assert not (tmp_path / "empty").exists()  # free for texts that are in order
