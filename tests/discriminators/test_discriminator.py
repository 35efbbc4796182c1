"""Scoring: order, batch size, saving, bad input."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from discriminators.batches import pad_rows
from discriminators.data_module import LabelledText
from discriminators.discriminator import Discriminator
from discriminators.segments import read

KINDS = ["bilstm", "bert"]
Builds = dict[str, Callable[..., Discriminator]]


@pytest.fixture(params=KINDS)
def toy(request: pytest.FixtureRequest, builds: Builds, toy_texts: list[LabelledText]) -> Discriminator:
    torch.manual_seed(0)
    toy = builds[request.param]([t.segments for t in toy_texts])
    with torch.no_grad():
        toy.network.head.weight.normal_()  # logits far enough apart to tell texts from one another
    return toy


@pytest.fixture
def segments(toy_texts: list[LabelledText]) -> list[tuple[str, ...]]:
    long = tuple(t.segments[0] for t in toy_texts[:20])  # read in windows
    return [long, *(t.segments for t in toy_texts[:30])]


def test_logits_are_those_of_one_text_at_a_time(toy: Discriminator, segments: list[tuple[str, ...]]):
    expected = []
    toy.network.eval()
    for text in segments:
        rows, _ = read([text], toy.tokens, "window")
        with torch.no_grad():
            expected.append(sum(r.weight * toy.network(*pad_rows([r], 0)).item() for r in rows))
    logits, dropped = toy.logits(segments)
    assert len(read(segments[:1], toy.tokens, "window")[0]) > 1
    assert np.std(expected) > 0.01
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    assert dropped.tolist() == [0] * len(segments)


@pytest.mark.parametrize("budget", [1, 100, 10**6])
def test_any_batch_size_and_order(toy: Discriminator, segments: list[tuple[str, ...]], budget: int):
    logits, _ = toy.logits(segments)
    order = np.random.default_rng(0).permutation(len(segments))
    shuffled, _ = replace(toy, token_budget=budget).logits([segments[i] for i in order])
    np.testing.assert_allclose(shuffled, logits[order], atol=1e-5)


def test_scoring_is_without_dropout_and_leaves_the_mode_alone(toy: Discriminator, segments: list[tuple[str, ...]]):
    toy.network.train()
    first, second = toy.logits(segments)[0], toy.logits(segments)[0]
    np.testing.assert_array_equal(first, second)
    assert toy.network.training


def test_saved_and_loaded(toy: Discriminator, segments: list[tuple[str, ...]], tmp_path: Path):
    toy.save_pretrained(tmp_path)
    kept = Discriminator.from_pretrained(tmp_path)
    np.testing.assert_array_equal(kept.logits(segments)[0], toy.logits(segments)[0])
    assert (kept.truncation, kept.tokens.max_tokens, kept.settings) == ("window", 64, toy.settings)
    assert not [p for p in tmp_path.rglob("*") if p.suffix in (".bin", ".pt", ".ckpt", ".pkl")]
    half = Discriminator.from_pretrained(tmp_path, dtype=torch.bfloat16, truncation="error", token_budget=500)
    np.testing.assert_allclose(half.logits(segments[1:])[0], toy.logits(segments[1:])[0], atol=0.5)
    with pytest.raises(ValueError, match="but text 0 "):
        half.logits(segments)


def test_cut_tokens_are_counted(toy: Discriminator):
    _, dropped = toy.logits([("red " * 70,), ("red",)])
    assert dropped.tolist() == [70 - toy.tokens.layout.room, 0]


def test_no_texts(toy: Discriminator):
    logits, dropped = toy.logits([])
    assert (logits.shape, dropped.shape) == ((0,), (0,))


def test_empty_text(toy: Discriminator):
    with pytest.raises(ValueError, match="at least one segment that is not blank, but text 1"):
        toy.logits([("red",), ("",)])


def test_folders_that_are_no_discriminator(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"a folder with discriminator\.json"):
        Discriminator.from_pretrained(tmp_path)
    settings = {"kind": "cnn", "max_tokens": 9, "truncation": "window"}
    (tmp_path / "discriminator.json").write_text(json.dumps(settings))
    with pytest.raises(ValueError, match=r"must be bilstm or bert, but .* says 'cnn'"):
        Discriminator.from_pretrained(tmp_path)
