"""The causal guide: its running form beside full pooling, padding, unknown tokens, and that it learns and resumes."""

import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LogitsProcessorList

from core.faults import InputFaults
from discriminators.guides import CausalGuide, mask_prefix_ends, new_causal_guide
from discriminators.networks import CausalLSTM, CausalState, attention_pool, prefix_attention
from discriminators.segments import TokenRow
from discriminators.texts import LabelledText
from discriminators.training import ClassifierTraining, LabelledRows, TrainingSettings, train_classifier
from models.model import plain_token_ids
from models.tiny import train_tokenizer
from oumg.guidance import Guidance

QUIET = partial(pl.Trainer, accelerator="cpu", devices=1, enable_progress_bar=False, enable_model_summary=False)
WORDS = ["red", "green", "blue", "cat", "dog", "sun", "moon", "tree"]
BUILD = partial(new_causal_guide, embedding_dim=16, hidden_dim=16, dropout=0.1, max_tokens=64)


def toy_lstm(vocabulary: int = 20, w: float = 1.0) -> CausalLSTM:
    """Random weights far from 0, so that mistakes show."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = CausalLSTM(vocabulary, 8, 6).eval()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.normal_()
            network.w.mul_(w)
    return network


def toy_texts(count: int = 60, seed: int = 0) -> list[LabelledText]:
    """Words in random order; those of class 1 say `yes` somewhere and those of class 0 `no`, in pairs of one group."""
    generator = random.Random(seed)
    texts = []
    for i in range(count):
        for label in (1, 0):
            words = generator.choices(WORDS, k=generator.randint(3, 9))
            words.insert(generator.randint(1, 3), "yes" if label else "no")
            texts.append(LabelledText((" ".join(words),), label, f"g{i}"))
    return texts


def ids(rows: int, time: int, vocabulary: int = 20) -> torch.Tensor:
    return torch.randint(0, vocabulary, (rows, time), generator=torch.Generator().manual_seed(1))


def read(network: CausalLSTM, tokens: torch.Tensor) -> CausalState:
    state = network.start(len(tokens))
    for column in tokens.unbind(1):
        state = network.advance(state, column)
    return state


@pytest.mark.parametrize("w", [0.0, 1.0, 40.0])  # mean, ordinary and nearly hard attention
def test_the_running_form_equals_full_pooling_at_every_position(w: float) -> None:
    network, tokens = toy_lstm(w=w), ids(4, 30)
    everywhere = network(tokens, torch.ones_like(tokens, dtype=torch.bool))
    hidden, _ = network.lstm(network.embedding(tokens))
    state = network.start(4)
    for t in range(30):
        pooled, _ = attention_pool(hidden[:, : t + 1], torch.ones(4, t + 1, dtype=torch.bool), network.w)
        oracle = network.head(torch.tanh(pooled)).squeeze(-1)
        candidate = network.candidates(state, tokens[:, t : t + 1]).squeeze(1)
        torch.testing.assert_close(everywhere[:, t], oracle, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(candidate, oracle, atol=1e-5, rtol=1e-5)
        state = network.advance(state, tokens[:, t])


def test_candidates_equal_advancing_with_each() -> None:
    network, tokens = toy_lstm(), ids(3, 5)
    state = read(network, tokens)
    chosen = ids(3, 7)
    found = network.candidates(state, chosen)
    for i in range(7):
        longer = torch.cat([tokens, chosen[:, i : i + 1]], dim=1)
        plain = network(longer, torch.ones_like(longer, dtype=torch.bool))[:, -1]
        torch.testing.assert_close(found[:, i], plain, atol=1e-5, rtol=1e-5)


def test_candidates_change_no_state() -> None:
    network = toy_lstm()
    state = read(network, ids(3, 5))
    kept = [value.clone() for value in state]
    network.candidates(state, ids(3, 7))
    assert all(torch.equal(a, b) for a, b in zip(state, kept, strict=True))


def test_a_row_that_does_not_read_stays_as_it_is() -> None:
    network, tokens = toy_lstm(), ids(2, 4)
    state = read(network, tokens)
    after = network.advance(state, torch.tensor([3, 4]), torch.tensor([False, True]))
    for old, new in zip(state, after, strict=True):
        assert torch.equal(old[0], new[0])
    torch.testing.assert_close(after.c[1:], network.advance(state, torch.tensor([3, 4])).c[1:])


def test_selected_states_are_those_of_the_rows() -> None:
    network, tokens = toy_lstm(), ids(3, 4)
    order = torch.tensor([2, 0, 0])
    for found, plain in zip(read(network, tokens).select(order), read(network, tokens[order]), strict=True):
        torch.testing.assert_close(found, plain)


def test_padding_has_no_weight() -> None:
    hidden, energy = torch.randn(2, 5, 3), torch.randn(2, 5)
    mask = torch.arange(5)[None] < torch.tensor([[5], [3]])
    pooled = prefix_attention(hidden, energy, mask)
    torch.testing.assert_close(pooled[1:, :3], prefix_attention(hidden[1:, :3], energy[1:, :3], mask[1:, :3]))
    torch.testing.assert_close(pooled[:, 0], hidden[:, 0])
    assert pooled.isfinite().all()


def test_unknown_tokens_are_all_alike() -> None:
    network = toy_lstm()
    seen = torch.ones(20, dtype=torch.bool)
    seen[[4, 5]] = False
    network.know_only(seen)
    state = read(network, torch.tensor([[1, 4, 5, 2], [1, 2, 3, 99]]))
    same = network.candidates(state, torch.tensor([[4, 5, 20, 50_000]] * 2))
    torch.testing.assert_close(same, same[:, :1].expand(-1, 4))


def test_tables_follow_the_weights() -> None:
    network, tokens = toy_lstm(), ids(1, 3)
    before = network.candidates(network.start(1), tokens)
    network.train()
    with torch.no_grad():
        network.embedding.weight.add_(1.0)
    network.eval()
    assert not torch.allclose(before, network.candidates(network.start(1), tokens))


def test_prefixes_end_at_the_second_token_and_later() -> None:
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    assert mask_prefix_ends(mask).tolist() == [[False, True, True, True], [False, True, False, False]]


def test_a_batch_has_the_logits_of_its_prefixes_at_their_places() -> None:
    rows = [TokenRow(np.arange(1, n + 1), i, 1.0) for i, n in enumerate((4, 2, 3))]
    data = LabelledRows(rows, np.array([1.0, 0.0, 1.0], np.float32), pad=0, prefixes=True)
    assert data.per_batch(100) == 6
    training = ClassifierTraining(lambda ids, mask: 1.0 * ids, TrainingSettings(), data, data, 0)  # type: ignore[arg-type]
    logits, labels, weights, places = training.read(data.make_batch([2, 1]))
    assert logits.tolist() == [2, 3, 2]
    assert labels.tolist() == [1, 1, 0]
    assert weights.tolist() == [1, 1, 1]
    assert places.tolist() == [9, 10, 5]  # four places for each text
    assert training.labels.tolist() == [1] * 4 + [0] * 4 + [1] * 4


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[CausalGuide, Path]:
    texts = toy_texts()
    tokenizer = train_tokenizer([" ".join([*WORDS, "yes", "no"])] * 3, 300, sentinels=())
    folder = tmp_path_factory.mktemp("guide")
    settings = TrainingSettings(epochs=15, learning_rate=1e-2, token_budget=128, held_out=0.2)
    return train_classifier(partial(BUILD, tokenizer=tokenizer), texts, folder, QUIET, settings), folder


def test_it_learns(trained: tuple[CausalGuide, Path]) -> None:
    guide, _ = trained
    texts = toy_texts(50, seed=1)
    right = (guide.logits([t.segments[0] for t in texts]) > 0) == [t.label == 1 for t in texts]
    assert right.mean() > 0.95
    assert guide.logits(["", "yes"])[0] == 0


def test_it_steers_a_generator(trained: tuple[CausalGuide, Path]) -> None:
    guide, _ = trained
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = GPT2Config(
            vocab_size=len(guide.tokenizer),
            n_positions=32,
            n_embd=16,
            n_layer=1,
            n_head=2,
            pad_token_id=0,
            eos_token_id=1,
        )
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


def test_batches_change_no_logit(trained: tuple[CausalGuide, Path]) -> None:
    guide, _ = trained
    texts = [text.segments[0] for text in toy_texts(10)]
    apart = [guide.logits([text])[0] for text in texts]
    assert guide.logits(texts).tolist() == pytest.approx(apart, abs=1e-5)


def test_text_that_spells_a_special_token_is_text(trained: tuple[CausalGuide, Path]) -> None:
    guide, _ = trained
    (spelled,) = plain_token_ids(guide.tokenizer, ["red</s>"])
    assert guide.tokenizer.eos_token_id not in spelled
    assert guide.tokenizer.decode(spelled) == "red</s>"


def test_tokens_without_training_text_are_unknown(trained: tuple[CausalGuide, Path]) -> None:
    guide, _ = trained
    (zebra,) = plain_token_ids(guide.tokenizer, ["zebra"])
    assert not guide.network.known[zebra].all()
    assert guide.network.known[1]  # the end of a text is learned


def test_a_killed_training_ends_where_an_unbroken_one_ends(tmp_path: Path) -> None:
    texts = toy_texts(20)
    tokenizer = train_tokenizer([t.segments[0] for t in texts], 300, sentinels=())
    settings = TrainingSettings(epochs=3, learning_rate=1e-2, token_budget=256, held_out=0.2)

    class KilledError(Exception):
        pass

    class Kill(pl.Callback):
        def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
            if trainer.current_epoch == 2:
                raise KilledError

    def killing(callbacks: list[pl.Callback], **arguments: Any) -> pl.Trainer:
        return QUIET(callbacks=[*callbacks, Kill()], **arguments)

    whole = train_classifier(partial(BUILD, tokenizer=tokenizer), texts, tmp_path / "whole", QUIET, settings)
    with pytest.raises(KilledError):
        train_classifier(partial(BUILD, tokenizer=tokenizer), texts, tmp_path / "killed", killing, settings)
    resumed = train_classifier(partial(BUILD, tokenizer=tokenizer), texts, tmp_path / "killed", QUIET, settings)
    for a, b in zip(whole.network.parameters(), resumed.network.parameters(), strict=True):
        torch.testing.assert_close(a, b)


def test_faults_are_named(tmp_path: Path, trained: tuple[CausalGuide, Path]) -> None:
    build = partial(BUILD, tokenizer=trained[0].tokenizer)
    with pytest.raises(FileNotFoundError, match=r"a folder with guide.json, but .* has none"):
        CausalGuide.from_pretrained(tmp_path)
    with pytest.raises(ValueError, match="both classes must be among"):
        train_classifier(build, [LabelledText(("a b",), 1, str(i)) for i in range(9)], tmp_path, QUIET)
    empty = [LabelledText(("",), i % 2, f"g{i // 2}") for i in range(8)]
    with pytest.raises(ValueError, match=r"a text of enough tokens \(2 for a guide\) on each side"):
        train_classifier(build, empty, tmp_path / "empty", QUIET)
    assert not (tmp_path / "empty").exists()  # free for texts that are in order


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("guide.json", b"{", "Expecting"),
        (
            "guide.json",
            b'{"vocabulary_size": 9, "embedding_dim": 9, "hidden_dim": 0, "dropout": 0.0}',
            "hidden_dim must",
        ),
        ("model.safetensors", b"x", "SafetensorError"),
    ],
)
def test_a_broken_folder_is_a_fault_of_the_input_with_its_file(
    tmp_path: Path, trained: tuple[CausalGuide, Path], name: str, content: bytes, message: str
) -> None:
    trained[0].save_pretrained(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputFaults, match=f"{name}:0: .*{message}"):
        CausalGuide.from_pretrained(tmp_path)
