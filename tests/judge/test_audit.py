"""Audits of planted metrics: what they find, what they keep, and what they leave out."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge
from baselines.word_count import WordCount
from core.errors import ExampleError, InputError
from core.example import Example
from core.scores import Scores
from data.damage import DAMAGES, EDITS
from judge.audits import audit_aspect, damage_all, draw, score_accepted
from meta_eval.cues import count_cues
from tests.data.sets.small_files import write

WORDS = ("tea", "cake", "river", "met", "saw", "Ann", "Bob", "Rome", "is", "was", "can", "the", "dog", "12", "1999")


def texts(count: int = 40, seed: int = 0) -> list[Example]:
    """Texts of three to six sentences, with ratings that know nothing of their length."""
    rng = random.Random(seed)
    return [
        Example(
            f"t{i}",
            text=" ".join(" ".join(rng.choices(WORDS, k=6)).capitalize() + "." for _ in range(rng.randint(3, 6))),
            ratings={"quality": rng.random()},
        )
        for i in range(count)
    ]


def test_only_texts_that_a_damage_changes_count() -> None:
    examples = [*texts(10), Example("one", text="Only one sentence here")]
    levels = damage_all(examples, "reorder", seed=0)
    scores = np.arange(11.0)
    damaged = {"reorder": (levels, np.stack([scores, scores - 1, scores - 2]))}
    found = audit_aspect(examples, scores, damaged, count_cues(examples))
    assert found.damages["reorder"].n == 10
    spread = np.arange(10.0).std(ddof=1)
    assert [fall.value for fall in found.damages["reorder"].falls] == pytest.approx([0, 1 / spread, 2 / spread])
    assert not any("reliable fall" in note for note in found.weaknesses)


def test_a_damage_that_no_score_feels_is_a_weakness() -> None:
    """No score changes, so that no interval has a width: this is tested all the same."""
    examples = texts(40)
    scores = np.arange(40.0)
    perturbed = {name: (damage_all(examples, "reorder", seed=0), np.stack([scores] * 3)) for name in DAMAGES}
    found = audit_aspect(examples, np.arange(40.0), perturbed, count_cues(examples))
    assert found.weaknesses == [f"no reliable fall is shown under: {', '.join(DAMAGES)}"]
    assert found.untested == ["cheap cues"]


def test_texts_that_the_metric_refuses_after_damage_are_left_out() -> None:
    class Careful(WordCount):
        def score(self, examples: Sequence[Example]) -> Scores:
            if faults := [(i, "must not begin with b") for i, each in enumerate(examples) if each.text[:1] == "b"]:
                raise ExampleError(faults)
            return super().score(examples)

    examples = [Example(str(i), text=text) for i, text in enumerate(("a a", "b", "c c c c"))]
    np.testing.assert_array_equal(score_accepted(Careful(), examples)["quality"], [2, np.nan, 4])
    assert score_accepted(Careful(), examples[1:2])["quality"] == pytest.approx([np.nan], nan_ok=True)


def test_an_audit_of_texts_in_memory() -> None:
    found = judge.audit(texts(30), "word_count", texts=20)
    settings = "set=examples|n=20|texts=20|seed=0"
    assert found.signature.startswith(f"audit|{settings}|word_count|")
    audited = found.found["word_count"]
    assert audited.n == 20
    assert audited.aspects["quality"].damages["drop"].falls[1].value > 0
    assert found.tables[-1].title in found._repr_html_()
    assert "not tested, because no text is changed by it: speaker swap" in " ".join(found.notes)


def test_perturbed_texts_that_are_scored_are_not_scored_again(tmp_path: Path) -> None:
    class Once(WordCount):
        def score(self, examples: Sequence[Example]) -> Scores:
            asked.append(len(examples))
            return super().score(examples)

    asked: list[int] = []
    how: dict[str, Any] = {"texts": 4, "seed": 50, "stages": tmp_path}
    first = judge.audit(texts(4), Once(), **how)
    assert len(asked) == 1 + 3 * len(DAMAGES) + len(EDITS)
    again = judge.audit(texts(4), Once(), **how)
    assert len(asked) == 2 + 3 * len(DAMAGES) + len(EDITS)  # only the texts as they are
    assert str(again.tables) == str(first.tables)


def test_texts_are_drawn_among_those_that_can_be_scored() -> None:
    examples = [replace(each, references=("r",) if i % 3 else (" ",)) for i, each in enumerate(texts(30))]
    complete = [i for i in range(30) if i % 3]
    assert draw(examples, ("references",), 99, seed=1) == complete
    assert set(draw(examples, ("references",), 10, seed=1)) < set(complete)
    assert draw(examples, ("context",), 10, seed=1) == sorted(random.Random(1).sample(range(30), 10))


@pytest.mark.parametrize("source", ["file", "memory"])
def test_faults_of_drawn_texts_name_their_places(source: str, tmp_path: Path) -> None:
    class Strict(WordCount):
        def score(self, examples: Sequence[Example]) -> Scores:
            raise ExampleError((i, f"must not be {each.id}") for i, each in enumerate(examples))

    rows = [{"id": f"t{i}", "text": "a text"} for i in range(1, 31)]
    file = write(tmp_path / "in.jsonl", *rows)
    place = file if source == "file" else "examples"
    rated = judge.read(place if source == "file" else rows)
    with pytest.raises(InputError) as found:
        judge.audit(rated, Strict(), texts=3, seed=1)
    drawn = draw(rated.examples, (), 3, seed=1)
    assert found.value.faults == tuple(f"{place}:{i + 1}: must not be t{i + 1}" for i in drawn)
    assert not isinstance(found.value, ExampleError)


def test_cues_that_carry_a_metric_are_named() -> None:
    examples = texts(120)
    cues = count_cues(examples)
    rng = np.random.default_rng(0)
    words, noise = cues.values[:, 0], rng.normal(size=120)
    counting, blind = (audit_aspect(examples, x, {}, cues) for x in (words, noise))
    assert counting.cues.main_cues == ("words",)
    assert counting.cues.explained.value == pytest.approx(1.0, abs=0.1)  # lengths tie
    assert counting.weaknesses[0].endswith("most of it by words")
    assert (blind.cues.main_cues, blind.cues.explained.low) == ((), 0)
    assert not blind.weaknesses
