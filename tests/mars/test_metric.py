"""MARS against its parts, with an augmenter and an encoder made for the test, and with small real models."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from core.example import Example
from mars.masking import Blank, Kept, count_corpus
from mars.metric import MARS
from mars.references import Augmented, AugmentedReference, Fill, Job, load_or_augment
from mars.score import ratio_weights
from models.tiny import TinyBert, TinyCausal

TEXTS = [
    "the old dog ran after a red ball.",
    "a happy cat sat on the mat.",
    "the girl found her lost ball in the park.",
]
RATIOS = (0.0, 0.3, 0.6)


class Numbered:
    """Writes `#` for every masked word; refuses contexts that are `long`."""

    def __init__(self, use_context: bool = True) -> None:
        self.depends: dict[str, Any] = {"use_context": use_context}
        self.jobs: list[Job] = []

    def augment(self, jobs: Sequence[Job]) -> list[Augmented | str]:
        self.jobs += jobs
        return ["too long" if job.context == "long" else self._filled(job) for job in jobs]

    def _filled(self, job: Job) -> Augmented:
        parts = [" " + " ".join("#" * part.count) if isinstance(part, Blank) else part.text for part in job.template]
        fills = tuple(Fill("\u2028#", (0,), (2.0, math.inf)) for part in job.template if isinstance(part, Blank))
        cut = 2 if job.context == "cut" and fills else 0
        return Augmented("".join(parts).strip(), fills, 0.1 * len(fills), cut)


class Letters:
    """A text is how often it has each letter and #; one without any has no direction."""

    name = identity = "letters"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[text.count(c) for c in "abcdefghijklmnopqrstuvwxyz#"] for text in texts], np.float32)

    def dropped_tokens(self, texts: Sequence[str]) -> list[int]:
        return [text.count("@") for text in texts]


class Vowels(Letters):
    """Knows a, e, i, o and u only."""

    name = "vowels"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().embed(["".join(c for c in text if c in "aeiou") for text in texts])


@pytest.fixture
def metric() -> MARS:
    return MARS(Numbered(), Letters(), {"language_model": "numbered"}, RATIOS, q=0.5)


def cosine(a: str, b: str) -> float:
    u, v = Letters().embed([a, b])
    return float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))


def test_the_score_is_eq_7_of_the_cosines(metric: MARS) -> None:
    examples = [Example(str(i), text=text, references=(TEXTS[0],), context="c") for i, text in enumerate(TEXTS)]
    (row,) = metric.compare(examples)[0].references
    assert row[0] == AugmentedReference("c", TEXTS[0], 0.0, (Kept(TEXTS[0]),), Augmented(TEXTS[0]))
    texts = [one.augmented.text for one in row]
    assert texts[0] == TEXTS[0]
    assert texts[1].count("#") == 3  # ceil(0.3 * 9 words and marks)
    assert texts[2].count("#") == 6
    metric.augmenter.jobs.clear()  # type: ignore[union-attr]
    scores = metric.score(examples)
    # the candidates share a reference, which stays as it is at ratio 0
    assert len(metric.augmenter.jobs) == len(RATIOS) - 1  # type: ignore[union-attr]
    for example, value in zip(examples, scores.values["quality"], strict=True):
        expected = sum(w * cosine(example.text, text) for w, text in zip(ratio_weights(3, 0.5), texts, strict=True))
        assert value == pytest.approx(expected, abs=1e-6)
    explained = scores.explanations[1]["ratios"]
    assert [e["weight"] for e in explained] == pytest.approx([4 / 7, 2 / 7, 1 / 7])
    assert explained[1]["template"].count("[") >= 1
    assert sum(e["weight"] * e["cosine"] for e in explained) == pytest.approx(scores.values["quality"][1])


def test_sweeps_over_q_and_ratios_need_no_augmentation(metric: MARS) -> None:
    examples = [Example("a", text=TEXTS[1], references=(TEXTS[0],))]
    compared = metric.compare(examples)
    other = replace(metric, q=2.0, ratios=(0.0, 0.6))
    asked = len(metric.augmenter.jobs)  # type: ignore[union-attr]
    assert other.score_compared(compared).values["quality"] == pytest.approx(other.score(examples).values["quality"])
    assert len(metric.augmenter.jobs) > asked  # type: ignore[union-attr]  # the second did ask
    with pytest.raises(ValueError, match="not in tuple"):
        replace(metric, ratios=(0.0, 0.1)).score_compared(compared)


def test_the_best_of_several_references_counts(metric: MARS) -> None:
    example, other = Example("a", text=TEXTS[1], references=(TEXTS[0],)), Example("b", text="x", references=(TEXTS[1],))
    one = metric.score([example, other])
    both = metric.score([replace(example, references=(TEXTS[0], TEXTS[1])), other])
    assert both.values["quality"][0] > one.values["quality"][0]
    assert both.explanations[0]["reference"] == TEXTS[1]


def test_what_cannot_be_scored_has_a_reason_and_the_rest_goes_on(
    metric: MARS, caplog: pytest.LogCaptureFixture
) -> None:
    examples = [
        Example("ok", text=TEXTS[1], references=(TEXTS[0],), context="c"),
        Example("none", text=TEXTS[1]),
        Example("blank", text=TEXTS[1], references=("  ",)),
        Example("long", text=TEXTS[1], references=(TEXTS[2],), context="long"),
        Example("unknown", text="12345", references=(TEXTS[0],), context="c"),
        Example("cut", text="@ a", references=(TEXTS[0],), context="cut"),
        Example("bare", text=TEXTS[1], references=(TEXTS[2],)),
        Example("mark", text="ball", references=("ball .",), context="ball"),
    ]
    scores = metric.score(examples)
    assert [reason is None for reason in scores.reasons] == [True, False, False, False, False, True, True, True]
    assert np.isnan(scores.values["quality"]).tolist() == [reason is not None for reason in scores.reasons]
    assert scores.reasons[3] == "too long"
    assert "has no vector" in str(scores.reasons[4])
    assert scores.dropped_tokens == (0, 0, 0, 0, 0, 3, 0, 0)
    assert scores.values["quality"][7] == pytest.approx(1.0)  # nothing of it can be masked
    assert scores.explanations[3] == {"refused": [{"reference": TEXTS[2], "reason": "too long"}]}
    assert scores.explanations[4] == {}
    assert "have no context" in caplog.text
    assert metric.score([examples[3]]).reasons == ("too long",)


def test_a_reference_that_is_refused_is_reported_beside_those_that_count(metric: MARS) -> None:
    class Fussy(Numbered):
        def augment(self, jobs: Sequence[Job]) -> list[Augmented | str]:
            return ["too long" if "girl" in str(job.template) else self._filled(job) for job in jobs]

    fussy = replace(metric, augmenter=Fussy())
    example = Example("a", text=TEXTS[1], references=(TEXTS[2], TEXTS[0]), context="c")
    scores = fussy.score([example])
    alone = metric.score([replace(example, references=(TEXTS[0],)), Example("b", text="x", references=(TEXTS[2],))])
    assert scores.values["quality"][0] == pytest.approx(alone.values["quality"][0])
    assert scores.explanations[0]["refused"] == [{"reference": TEXTS[2], "reason": "too long"}]
    assert "refused" not in alone.explanations[0]
    (compared,) = fussy.compare([example])
    assert compared.refused == {TEXTS[2]: "too long"}
    assert [row[0].reference for row in compared.references] == [TEXTS[0]]


def test_a_text_without_a_vector_and_a_cut_context_count_only_at_their_ratios(metric: MARS) -> None:
    """At the largest ratio no vowel of the reference is left, and the encoder knows nothing else."""
    wide = replace(metric, ratios=(0.0, 0.3, 0.9), embedder=Vowels())
    examples = [Example("a", text="a dog", references=("a dg b",), context="b")]
    compared = wide.compare(examples)
    assert np.isnan(compared[0].cosines).tolist() == [[False, False, True]]
    assert wide.score_compared(compared).reasons == ("vowels has no vector for the text or its references",)
    narrow = replace(wide, ratios=(0.0, 0.3))
    assert narrow.score_compared(compared).reasons == (None,)
    assert narrow.score_compared(compared).values["quality"] == pytest.approx(narrow.score(examples).values["quality"])
    cut = metric.compare([Example("cut", text="a cat", references=(TEXTS[0],), context="cut")])
    assert metric.score_compared(cut).dropped_tokens == (2,)
    assert replace(metric, ratios=(0.0,)).score_compared(cut).dropped_tokens == (0,)


def test_a_file_that_is_scored_in_parts_is_the_corpus(metric: MARS) -> None:
    examples = [Example(str(i), text="dog", references=(text,)) for i, text in enumerate(["the dog", "a cat", "cat"])]
    whole = replace(metric, ratios=(0.0, 0.5)).score(examples)
    with_corpus = replace(metric, ratios=(0.0, 0.5)).with_corpus(examples)
    parts = [with_corpus.score([example]) for example in examples]
    assert [part.values["quality"][0] for part in parts] == pytest.approx(list(whole.values["quality"]), abs=1e-5)
    assert {part.signature for part in parts} == {whole.signature}
    given = replace(metric, documents=count_corpus(["cat"]))
    assert given.with_corpus(examples).documents == given.documents


def test_without_an_augmenter_the_human_reference_alone_counts(metric: MARS) -> None:
    alone = replace(metric, augmenter=None)
    assert alone.ratios == (0.0,)
    found = alone.score([Example("a", text=TEXTS[1], references=(TEXTS[0],))])
    assert found.values["quality"] == pytest.approx([cosine(TEXTS[1], TEXTS[0])])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"language_model": None}, "needs a language_model"),
        ({"language_model": "x", "augmenter": "clever"}, "augmenter must be 'self_planning', 'naive' or 'none'"),
        ({"language_model": "x", "ratios": (0.2, 0.4)}, "ratios must ascend from 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused_before_a_model_is_loaded(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        MARS.from_pretrained(**settings)


ODD = [
    Example("emoji", text="so 😀 happy 🎉", references=("very 😀 glad 👨‍👩‍👧 today",), context="a party 🎉"),
    Example("bare", text="a cat", references=("a dog sat",)),
    Example("longer", text="a cat", references=("the cat sat on the mat",), context="the dog ran. " * 60),
]


def test_small_real_models_score_anything_and_find_their_references_again(tmp_path: Path) -> None:
    TinyCausal(300, 16, 2, 1, 32, max_length=96).build(TEXTS, (), seed=0).save_pretrained(tmp_path / "causal")
    TinyBert(300, 16, 2, 1, 32, max_length=96).build(TEXTS, (), seed=0).save_pretrained(tmp_path / "masked")
    metric = MARS.from_pretrained(str(tmp_path / "causal"), kept=tmp_path / "kept", ratios=(0.0, 0.5))
    scores = metric.score(ODD)
    assert scores.reasons == (None,) * len(ODD)
    assert scores.dropped_tokens[-1] > 0
    assert scores.dropped_tokens[:-1] == (0,) * (len(ODD) - 1)
    (kept,) = (tmp_path / "kept").glob("*.values")
    before = kept.read_bytes()
    again = MARS.from_pretrained(str(tmp_path / "causal"), kept=tmp_path / "kept", ratios=(0.0, 0.5), q=1.0)
    changed = again.score(ODD[::-1])
    assert kept.read_bytes() == before
    assert changed.signature != scores.signature
    naive = MARS.from_pretrained(str(tmp_path / "masked"), augmenter="naive", ratios=(0.0, 0.5)).score(ODD)
    assert naive.reasons == (None,) * len(ODD)


def job(context: str, words: int = 1) -> Job:
    return Job(context, (Blank(words), Kept(" end")))


def test_equal_jobs_are_done_once_and_found_again(tmp_path: Path) -> None:
    jobs = [job("x"), job("y"), job("x"), job("x", words=2)]
    first = Numbered()
    made = load_or_augment(first, jobs, tmp_path)
    assert first.jobs == [jobs[0], jobs[1], jobs[3]]
    again = Numbered()
    assert load_or_augment(again, [*reversed(jobs)], tmp_path) == made
    assert again.jobs == []


def test_what_the_model_cannot_read_is_reported_and_asked_for_again(tmp_path: Path) -> None:
    jobs = [job("x"), job("long"), job("y")]
    made = load_or_augment(Numbered(), jobs, tmp_path)
    assert [made[each] == "too long" for each in jobs] == [False, True, False]
    again = Numbered()
    assert load_or_augment(again, jobs, tmp_path) == made
    assert again.jobs == [job("long")]
