"""Which human poems the generators get the forms of."""

from core.example import Example
from data.corpus import Corpus
from experiments.oumg.poems import GeneratorPlan, PoemInputs, choose_poems, find_characters, limit_tunes
from models.training import LanguageModelSchedule
from oumg.songnet import SongNetPlan

PLAN = GeneratorPlan(
    model=SongNetPlan(8, 1, 1, n_positions=64, min_count=2), schedule=LanguageModelSchedule(1, 1e-3, batch_size=2)
)


def poem(number: int, tune: str, text: str) -> Example:
    return Example(f"p{number}", text=text, prefix=tune, group=tune)


TRAIN = tuple(poem(i, "甲", text) for i, text in enumerate(("春花。", "春月。", "花月。", "春楼。")))
HELD_OUT = tuple(poem(4 + i, "乙", text) for i, text in enumerate(("花春。", "月春。", "楼春。")))
DATA = Corpus("toy", TRAIN, HELD_OUT, (), synthetic=True)


def test_poems_with_a_character_that_the_generator_cannot_write_are_left_out() -> None:
    known = find_characters(DATA, PLAN)
    assert known == {*"甲春花月"}  # 楼 occurs once
    poems, notes = choose_poems(DATA, PLAN, PoemInputs("poem"), known, fewest=2)
    assert [each.text for each in poems] == ["花春。", "月春。"]
    assert "1 of 3 held_out poems are left out: they hold a character that the generator cannot write" in notes


def test_poems_can_be_those_that_the_generator_learned() -> None:
    poems, _ = choose_poems(DATA, PLAN, PoemInputs("poem", poems="train"), find_characters(DATA, PLAN), fewest=2)
    assert [each.text for each in poems] == ["春花。", "春月。", "花月。"]


def test_a_tune_with_many_poems_gives_as_many_as_it_may() -> None:
    poems = [Example(f"{tune}{i}", text="春。", prefix=tune) for tune, n in (("甲", 9), ("乙", 2)) for i in range(n)]
    assert limit_tunes(poems, None) == poems
    kept = limit_tunes(poems, 3)
    assert [poem.prefix for poem in kept] == ["甲"] * 3 + ["乙"] * 2
    assert kept == limit_tunes(poems[::-1], 3)[::-1]
    assert [poem.id for poem in kept[:3]] != ["甲0", "甲1", "甲2"]
    assert set(limit_tunes(poems, 2)) < set(kept)
