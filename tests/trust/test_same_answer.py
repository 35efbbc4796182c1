"""The same answer: batch budget, padding side, order and company in the file change no score of any metric."""

import random
from dataclasses import replace

import numpy as np
import pytest

from core.configs import CONFIGS
from core.example import Example
from core.scores import INVISIBLE

NAMES = sorted({file.stem for file in (CONFIGS / "metric").glob("*.yaml")} - {"function"})  # a user's own
WORDS = ["the", "cat", "sat", "rains", "hello", "Où", "中文", "xyz", "(no)", "42", "fine", "day."]
LACKING = (
    Example("bare", "a text with nothing beside it."),
    Example("blank", turns=("", " "), context=" ", references=(" ",), label="good"),
)


def draw_sentences(rng: random.Random, most: int) -> str:
    return " ".join(f"The {' '.join(rng.choices(WORDS, k=rng.randint(1, 7)))}." for _ in range(most))


def draw_example(name: str, rng: random.Random) -> Example:
    """A text with everything that some metric reads, of one to four sentences."""
    text = draw_sentences(rng, rng.randint(1, 4))
    turns = tuple(draw_sentences(rng, 1) for _ in range(rng.randint(2, 4)))
    references = tuple(draw_sentences(rng, rng.randint(1, 2)) for _ in range(rng.randint(1, 3)))
    prefix = text.split()[0]
    return Example(name, text, turns, draw_sentences(rng, 1), prefix, rng.choice(("good", "bad")), references)


@pytest.mark.parametrize("name", NAMES)
def test_batches_padding_order_and_company_change_no_score(name: str, make_toy) -> None:
    rng = random.Random(name)
    drawn = [draw_example(str(i), rng) for i in range(7)]
    # CTRLEval refuses a file in which some text lacks a field; the other metrics leave such a text out.
    examples = [*drawn, *(LACKING if name != "ctrleval" else ())]
    metric = make_toy(name)
    first = metric.score(examples)
    assert metric.signature == first.signature
    assert all(np.isfinite(values[: len(drawn)]).all() for values in first.values.values())
    assert any(len(set(values[: len(drawn)].round(6))) > 2 for values in first.values.values())  # the texts matter
    renamed = [replace(each, id=f"x{each.id}", system="s", group="g", ratings={"a": 1.0}) for each in drawn]
    again = make_toy(name).score([*renamed, *examples[len(drawn) :]])
    assert again.signature == first.signature
    for aspect, values in first.values.items():
        np.testing.assert_array_equal(values, again.values[aspect])  # made and scored again: the same bits
    place = {example.id: i for i, example in enumerate(examples)}
    several = [rng.sample(examples, len(examples)), rng.sample(drawn, 3), drawn[:1]]
    for budget, side, lists in [(1, "right", several[:1]), (90, "left", several)]:
        metric = make_toy(name, budget, side)
        for chosen in lists:
            found = metric.score(chosen)
            order = [place[example.id] for example in chosen]
            for aspect, values in first.values.items():
                np.testing.assert_allclose(found.values[aspect], values[order], atol=1e-5, rtol=0, err_msg=f"{budget}")
            assert found.reasons == tuple(first.reasons[i] for i in order)
            assert found.dropped_tokens == tuple(first.dropped_tokens[i] for i in order)
            assert found.signature == first.signature


@pytest.mark.parametrize("name", NAMES)
def test_a_text_that_shows_nothing_has_no_score_with_any_metric(name: str, make_toy) -> None:
    """Zero-width characters are no words, though tokenizers and counts may take them for some."""
    rng = random.Random(name)
    seen = draw_example("seen", rng)
    hidden = [
        replace(seen, id="one", text="\u200b"),
        replace(seen, id="several", text=" \u200b\u2060 \ufeff\u00ad\u2028\u200e"),
        replace(seen, id="filler", text="\u3164\u2800"),
        replace(seen, id="turns", text="", turns=("\u200b", "\u200d")),
    ]
    metric = make_toy(name)
    found = metric.score([*hidden, seen])
    assert found.reasons == (*[INVISIBLE] * 4, None)
    for aspect, values in found.values.items():
        assert np.isnan(values[:4]).all()
        np.testing.assert_allclose(values[4], metric.score([seen]).values[aspect][0], atol=1e-5)
    assert metric.score(hidden).reasons == (INVISIBLE,) * 4
