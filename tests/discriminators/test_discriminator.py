"""A discriminator: order, batch size, saving, bad input; its score of turns and sentences, and what that refuses."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.errors import ExampleError, InputError
from core.example import Example
from discriminators.discriminator import Discriminator, new_bilstm
from discriminators.explanations import explain_parts
from discriminators.metric import DiscriminatorScore
from discriminators.segments import Segments, pad_rows, read
from discriminators.texts import LabelledText

KINDS = ["bilstm", "bert"]
Builds = dict[str, Callable[..., Discriminator]]


@pytest.fixture(params=KINDS)
def toy(request: pytest.FixtureRequest, builds: Builds, toy_texts: list[LabelledText]) -> Discriminator:
    torch.manual_seed(0)
    toy = builds[request.param]([t.segments for t in toy_texts])
    with torch.no_grad():
        toy.network.get_parameter("head.weight").normal_()  # logits far enough apart to tell texts from one another
    return toy


@pytest.fixture
def segments(toy_texts: list[LabelledText]) -> list[tuple[str, ...]]:
    long = tuple(t.segments[0] for t in toy_texts[:20])  # read in windows
    return [long, *(t.segments for t in toy_texts[:30])]


def test_logits_are_those_of_one_text_at_a_time(toy: Discriminator, segments: list[tuple[str, ...]]):
    expected = []
    toy.network.eval()
    for text in segments:
        rows, _ = read([text], toy.tokens)
        with torch.no_grad():
            expected.append(sum(r.weight * toy.network(*pad_rows([r], 0)).item() for r in rows))
    logits, dropped = toy.logits(segments)
    assert len(read(segments[:1], toy.tokens)[0]) > 1
    assert np.std(expected) > 0.01
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    assert dropped.tolist() == [0] * len(segments)


@pytest.mark.parametrize("toy", [*KINDS, "guide"], indirect=True)
def test_saved_and_loaded(toy: Discriminator, segments: list[tuple[str, ...]], tmp_path: Path):
    toy.save_pretrained(tmp_path)
    kept = type(toy).from_pretrained(tmp_path)
    np.testing.assert_array_equal(kept.logits(segments)[0], toy.logits(segments)[0])
    assert kept.identity == toy.identity
    assert (kept.tokens.max_length, kept.tokens.ids) == (toy.tokens.max_length, toy.tokens.ids)
    assert (kept.arguments, kept.reading) == (toy.arguments, toy.reading)
    assert not [p for p in tmp_path.rglob("*") if p.suffix in (".bin", ".pt", ".ckpt", ".pkl")]


def test_cut_tokens_are_counted_and_empty_texts_are_refused(toy: Discriminator):
    _, dropped = toy.logits([("red " * 70,), ("red",)])
    assert dropped.tolist() == [70 - toy.tokens.layout.room, 0]
    logits, dropped = toy.logits([])
    assert (logits.shape, dropped.shape) == ((0,), (0,))
    with pytest.raises(ValueError, match="at least one token, but text 1"):
        toy.logits([("red",), ("",)])


# More attacks on folders of models, also of discriminators, stand in tests/trust.
BROKEN: list[tuple[str, dict[str, object] | str, str]] = [
    ("discriminator.json", "{", r"Expecting property name"),
    ("discriminator.json", {"size": 3}, r"unexpected keyword argument .size."),
    ("vocabulary.json", {"tokenizer": {}}, r"Model missing"),
    ("model.safetensors", "cut", r"SafetensorError"),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN)
def test_a_broken_folder_is_a_fault_of_the_input_with_its_file(
    builds: Builds,
    toy_texts: list[LabelledText],
    tmp_path: Path,
    name: str,
    content: Any,
    message: str,
) -> None:
    builds["bilstm"]([t.segments for t in toy_texts]).save_pretrained(tmp_path)
    path = tmp_path / name
    if isinstance(content, dict):
        content = json.dumps(json.loads(path.read_text()) | content)
    path.write_text(content)
    with pytest.raises(InputError, match=f"(?s){name}.*{message}"):
        Discriminator.from_pretrained(tmp_path)


DIALOGUES = (("red cat", "blue dog", "green sun"), ("moon tree", "dog"))
JUDGE = new_bilstm(
    DIALOGUES,
    tokens="words",
    min_count=1,
    embedding_dim=8,
    hidden_dim=8,
)


def test_turns_without_tokens_have_no_score() -> None:
    examples = [Example(str(i), turns=turns) for i, turns in enumerate([("", " "), (" ", "red cat")])]
    scores = DiscriminatorScore(JUDGE, explain=True).score(examples)
    assert math.isnan(scores.values["quality"][0])
    assert scores.reasons == ("discriminator has no score for an empty answer", None)
    assert scores.explanations[0] == {}
    assert [turn for turn, _ in scores.explanations[1]["parts"]] == [" ", "red cat"]


def test_of_dialogues_alone_a_text_has_no_score() -> None:
    metric = DiscriminatorScore(JUDGE, dialogues=True)
    assert (DiscriminatorScore(JUDGE).requires, metric.requires) == ((), ("turns",))
    found = metric.score([Example("t", "red cat"), Example("d", turns=DIALOGUES[0])])
    assert found.reasons == ("discriminator needs two or more turns, found none", None)
    with pytest.raises(ExampleError, match="two or more turns"):
        metric.score([Example("t", "red cat")])


def count_good(texts: Sequence[Segments]) -> tuple[np.ndarray, np.ndarray]:
    """The number of `good` in all segments; NaN for a text that says nothing."""
    found = [" ".join(segments).count("good") if "".join(segments).strip() else np.nan for segments in texts]
    return np.array(found, float), np.zeros(len(texts), int)


def test_a_sentence_adds_the_logit_that_is_lost_without_it() -> None:
    texts = [("good source.", "A good, good cat. A dog. 好月。good"), ("only good",), ("good source.", "good")]
    assert explain_parts(count_good, texts, "sentence") == [
        {"parts": [["A good, good cat.", 2.0], ["A dog.", 0.0], ["好月。", 0.0], ["good", 1.0]]},
        {"parts": [["only good", 1.0]]},
        {"parts": [["good", 2.0]]},
    ]


def test_a_turn_adds_the_logit_that_is_lost_without_it() -> None:
    texts = [("good cat", "dog", "good, good"), ("good",), ("good", " "), (" ", "")]
    assert explain_parts(count_good, texts, "turn") == [
        {"parts": [["good cat", 1.0], ["dog", 0.0], ["good, good", 2.0]]},
        {"parts": [["good", 1.0]]},
        {"parts": [["good", 1.0], [" ", 0.0]]},
        {"parts": []},
    ]
