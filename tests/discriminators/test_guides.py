"""Guides: the exact one beside a plain recomputation of every text, and that the causal one learns and steers."""

import random
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LogitsProcessorList

from core.errors import InputError, SettingError
from discriminators.architectures.bilstm import BiLSTMGuide, map_tokens
from discriminators.discriminator import Discriminator, new_token_bilstm
from discriminators.guides import CausalGuide
from discriminators.segments import TokenRow
from discriminators.texts import LabelledText
from discriminators.training import DiscriminatorModule, LabelledTextDataModule, TrainingSettings, train_classifier
from models.tiny import train_tokenizer
from oumg.guidance import Guidance
from oumg.songnet import character_tokenizer
from tests.toy_models import QUIET, randomise


def test_a_batch_has_the_logits_of_its_prefixes_at_their_places() -> None:
    rows = [TokenRow(np.arange(1, n + 1), i, 1.0) for i, n in enumerate((4, 2, 3))]
    classifier: Any = SimpleNamespace(
        network=lambda ids, mask: 1.0 * ids, pad=0, max_length=4, learns_prefixes=True, read_to_learn=lambda _: rows
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
    right = (guide.logits([t.segments[0] for t in texts]) > 0) == [t.label == 1 for t in texts]
    assert right.mean() > 0.95
    assert guide.logits(["", "yes"])[0] == 0


def test_it_steers_a_generator(trained: tuple[CausalGuide, Path]) -> None:
    guide, _ = trained
    with torch.random.fork_rng():
        torch.manual_seed(0)
        shape: dict[str, Any] = {"n_positions": 32, "n_embd": 16, "n_layer": 1, "n_head": 2}
        config = GPT2Config(vocab_size=len(guide.tokenizer), **shape, pad_token_id=0, eos_token_id=1)
        lm: Any = GPT2LMHeadModel(config).eval()
        prompts = torch.full((64, 1), 1)

        def judged(alpha: float) -> float:
            processors = LogitsProcessorList([Guidance(guide, guide.tokenizer, alpha, k=32)])
            ids = lm.generate(
                prompts, attention_mask=prompts, max_new_tokens=10, do_sample=True, top_k=0, logits_processor=processors
            )
            texts = guide.tokenizer.batch_decode(ids[:, 1:], skip_special_tokens=True)
            return float(guide.logits([str(text) for text in texts]).mean())

        unguided, weak, strong = (judged(alpha) for alpha in (0.0, 2.0, 8.0))
    assert unguided < weak < strong
    assert strong > unguided + 1


def test_a_folder_holds_the_guide(trained: tuple[CausalGuide, Path]) -> None:
    guide, folder = trained
    again = CausalGuide.from_pretrained(folder)
    texts = ["red yes cat", "no tree"]
    assert again.logits(texts).tolist() == guide.logits(texts).tolist()
    assert again.tokenizer.get_vocab() == guide.tokenizer.get_vocab()
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


POEMS = ["春花秋月何时了，往事知多少。", "小楼昨夜又东风，故国不堪回首月明中。"]


@pytest.fixture(scope="module")
def judge() -> Discriminator:
    made = new_token_bilstm([(poem,) for poem in POEMS], TOKENIZER, embedding_dim=8, hidden_dim=6)
    randomise(made.network)
    return made


@pytest.fixture(scope="module")
def guide(judge: Discriminator) -> BiLSTMGuide:
    return BiLSTMGuide(judge.network, judge.tokens, TOKENIZER)  # pyright: ignore[reportArgumentType]


TOKENIZER = character_tokenizer(POEMS)


def encoded(text: str) -> list[int]:
    return TOKENIZER(text, add_special_tokens=False)["input_ids"]  # pyright: ignore[reportReturnType]


def check_logits(found: torch.Tensor, judge: Discriminator, texts: Sequence[str]) -> None:
    """Those of the judge, and 0 where it reads nothing."""
    plain = [judge.logits([(text,)])[0][0] if text else 0.0 for text in texts]
    torch.testing.assert_close(found.flatten(), torch.tensor(plain, dtype=torch.float32), atol=1e-5, rtol=1e-5)


def test_candidates_equal_a_plain_recomputation(judge: Discriminator, guide: BiLSTMGuide) -> None:
    prefixes = [POEMS[0][:7], POEMS[1][:7]]
    state = guide.start(2)
    for t in range(7):
        chosen = torch.tensor([encoded("春花秋楼。")] * 2)
        check_logits(
            guide.candidates(state, chosen), judge, [prefix[:t] + c for prefix in prefixes for c in "春花秋楼。"]
        )
        state = guide.advance(state, torch.tensor([encoded(prefix[t])[0] for prefix in prefixes]))


def test_rows_of_unlike_length(judge: Discriminator, guide: BiLSTMGuide) -> None:
    state = guide.start(3)
    steps = [("春", "小", "月"), ("花", None, "明"), (None, "昨", "中"), ("秋", None, "风"), (None, "夜", "了")]
    texts = ["", "", ""]
    for step in steps:
        tokens = torch.tensor([encoded(c)[0] if c else 0 for c in step])
        state = guide.advance(state, tokens, torch.tensor([c is not None for c in step]))
        texts = [text + (c or "") for text, c in zip(texts, step, strict=True)]
    assert state.lengths.tolist() == [3, 3, 5]
    candidates = "了往事"
    found = guide.candidates(state, torch.tensor([encoded(candidates)] * 3))
    check_logits(found, judge, [text + c for text in texts for c in candidates])
    turned = guide.candidates(type(state)(*(each[[2, 0]] for each in state)), torch.tensor([encoded(candidates)] * 2))
    torch.testing.assert_close(turned, found[[2, 0]], atol=1e-6, rtol=1e-6)


def test_it_reads_the_tokens_of_its_generator_or_none(judge: Discriminator) -> None:
    words = train_tokenizer(["the cat sat on the mat"] * 3, 300, sentinels=())
    with pytest.raises(SettingError, match=r"vocabulary has \d+ tokens and the generator's \d+ different ones: train "):
        map_tokens(judge.tokens, words)  # pyright: ignore[reportArgumentType]
    own = new_token_bilstm([], words, embedding_dim=8, hidden_dim=6)
    randomise(own.network)
    found = map_tokens(own.tokens, words)  # pyright: ignore[reportArgumentType]
    assert found[:4].tolist() == [-1, -1, -1, 6]  # behind the three special tokens of the guide
    assert found[-1] == -1
    guide = BiLSTMGuide(own.network, own.tokens, words)  # pyright: ignore[reportArgumentType]
    ids = words("the cat sat", add_special_tokens=False)["input_ids"]
    state = guide.start(1)
    for token in ids[:-1]:
        state = guide.advance(state, torch.tensor([token]))
    found = guide.candidates(state, torch.tensor([ids[-1:]]))
    assert found.item() == pytest.approx(own.logits([("the cat sat",)])[0][0], abs=1e-5)
