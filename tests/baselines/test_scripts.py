"""ROUGE and METEOR of texts in any script: different words differ, and texts in ASCII are those of rouge-score."""

import random
import unicodedata

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer

import judge
from baselines.rouge import Rouge
from core.example import Example

ROUGE_1 = [
    ("I love 北京 very much", "I love 上海 very much", 4 / 6),
    ("I love 北京 very much", "I love 北京 very much", 1),
    ("Tôi bán", "Tôi bạn", 1 / 2),
    ("Cô ấy mua bàn", "Cô ấy mua bán", 3 / 4),
    ("Herr Müller kommt", "Herr Möller kommt", 2 / 3),
    ("I love Москва very much", "I love Париж very much", 4 / 5),
    ("angle α", "angle β", 1 / 2),
    ("की", "का", 0),
    ("यह की किताब", "यह का किताब", 2 / 3),
    ("தமிழ் மொழி", "அவன் வந்தான்", 0),
    ("می‌خواهم", "می‌روم", 0),
    ("naïve cafés", "naive cafes", 0),
    ("the cafés were closed", "the café was closed", 2 / 4),
]


@pytest.mark.parametrize(("text", "reference", "expected"), ROUGE_1)
def test_different_words_differ(text: str, reference: str, expected: float) -> None:
    found = judge.score([text, reference], "rouge_1", references=[reference, reference])
    assert found.found.values["quality"].tolist() == [pytest.approx(expected), 1]
    if expected == 0:
        assert judge.score([text], "meteor", references=[reference]).found.values["quality"].tolist() == [0]


def test_words_in_ascii_have_their_stems_beside_other_letters() -> None:
    found = judge.score(["“running” shoes"], "rouge_1", references=["‘run’ shoe"])
    assert found.found.values["quality"].tolist() == [1]


@pytest.mark.parametrize("kind", ["rouge_1", "rouge_2", "rouge_l"])
def test_texts_in_ascii_are_those_of_rouge_score_in_every_bit(kind: str) -> None:
    rng = random.Random(3)
    words = ["running", "runs", "the", "cat's", "x_y", "10,000", "U.S.", "--", "studies", "a", "B2B", "(well)", "\t"]
    pairs = [[" ".join(rng.choices(words, k=rng.randint(2, 12))) + " the" for _ in "ab"] for _ in range(200)]
    name = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL"}[kind]
    scorer = RougeScorer([name], use_stemmer=True)
    found = judge.score([a for a, _ in pairs], kind, references=[b for _, b in pairs])
    assert found.found.values["quality"].tolist() == [scorer.score(b, a)[name].fmeasure for a, b in pairs]


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter", "rouge_1", "rouge_l", "meteor"])
def test_composed_and_decomposed_letters_are_the_same(metric: str) -> None:
    text = "für Élise und Zoë"
    apart = unicodedata.normalize("NFD", text)
    assert apart != text
    found = judge.score([text, apart, text], metric, references=[text, text, apart])
    assert len({*found.found.values["quality"].tolist()}) == 1
    assert found.found.values["quality"][0] == pytest.approx(0 if metric == "ter" else 1, abs=0.01)
    assert "unicode=NFC" in found.signature
    assert [row["text"] for row in found.found.records()] == [text, apart, text]


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_equal_texts_score_at_most_one(metric: str) -> None:
    """BLEU was 1.0000000000000004."""
    texts = [" ".join(f"word{i}" for i in range(n)) for n in range(1, 12)]
    found = judge.score(texts, metric, references=texts).found.values["quality"]
    assert found.max() <= 1
    assert found.min() > 1 - 1e-9


def test_invisible_characters_alone_are_no_reference() -> None:
    found = judge.score(["one two", "one two"], "rouge_l", references=["\ufeff", "one two"]).found
    np.testing.assert_array_equal(found.values["quality"], [np.nan, 1])
    assert found.reasons[0] == "rouge_l needs references, found none"


@pytest.mark.parametrize("text", ["Herr Müller", "की", "Tôi bán", "I love 北京"])
def test_rouge_says_where_rouge_score_drops_letters(text: str) -> None:
    """No note where only marks are outside ASCII: the words are those of rouge-score."""
    (note,) = Rouge("rouge1").score([Example("a", text="a", references=(text,))]).notes
    assert note.startswith("rouge_1 counts words with letters other than a to z")
    assert Rouge("rouge1").score([Example("a", text="“a” – b", references=("a … b",))]).notes == ()
