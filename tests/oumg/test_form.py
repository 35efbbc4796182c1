"""Forms and how poems keep them: exact values by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oumg.form import MARKS, Form, split_lines, split_phrases
from oumg.form_scores import finals, keeps_form, phrase_lengths, rhyme_rate, tone_pattern, tone_rate, tones

POEM = "春花秋月何时了，往事知多少。小楼昨夜又东风，故国不堪回首月明中。"
FORMS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from(MARKS)), min_size=1, max_size=12).map(
    lambda phrases: Form(tuple(phrases))
)


@given(FORMS)
def test_a_poem_written_into_the_slots_has_the_form(form: Form) -> None:
    slots = form.slots()
    poem = "".join(slot.mark or "花" for slot in slots[:-1])
    assert Form.of(poem) == form
    assert len(poem) == len(form) == len(slots) - 1
    assert keeps_form(poem, form)
    assert phrase_lengths(poem, form) == 1.0
    assert "".join(split_lines(poem)) == poem
    assert [len(p) for p in split_phrases(poem)] == [length for length, _ in form.phrases]


@pytest.mark.parametrize(
    ("text", "message"), [("", "at least one phrase"), ("春，，", "at least one char"), ("春", "ends with")]
)
def test_what_is_no_poem_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Form.of(text)


def test_broken_forms() -> None:
    form = Form.of(POEM)
    assert keeps_form(POEM, form)
    assert not keeps_form(POEM[:-1], form)
    assert not keeps_form(POEM.replace("，", "。"), form)
    assert not keeps_form(POEM + "月。", form)
    assert phrase_lengths(POEM.replace("往事", "往"), form) == 0.75
    assert phrase_lengths(POEM + "月。", form) == 0.8
    assert phrase_lengths("春", form) == 0.0


def test_rhyme_by_all_readings() -> None:
    assert finals("了") >= {"e"}  # le and liao
    assert finals("，") == frozenset()
    assert rhyme_rate("春花。人家。落霞。") == 1.0
    assert rhyme_rate("春花。秋月。东风。") == pytest.approx(1 / 3)
    assert math.isnan(rhyme_rate("春花。"))
    assert rhyme_rate("人心。红尘。春云。东村。") == 1.0  # in, en, ün, un
    assert rhyme_rate("月明。秋声。") == 1.0  # ing, eng
    assert rhyme_rate("月明。秋风。山中。") == pytest.approx(2 / 3)  # ong is another
    assert rhyme_rate("水边。人间。团圆。") == 1.0  # ian, üan
    assert rhyme_rate("天涯。明月。") == 0.5


def test_tones_against_a_pattern() -> None:
    assert tones("东") == {"level"}
    assert tones("好") == {"oblique"}
    pattern = tone_pattern(["东月。", "花月。", "东好。", "月东。"])
    assert pattern == ["level", "oblique"]  # three of four each
    assert tone_rate("花好。", pattern) == 1.0
    assert tone_rate("月好。", pattern) == 0.5
    assert tone_pattern(["东。", "月。"]) == [None]
    assert math.isnan(tone_rate("东。", [None]))
