"""+exp=oumg_poetry and +exp=guided_poetry at toy size, which poems they take, and form scores by hand."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import SettingError
from core.example import Example
from data.corpus import Corpus
from data.files import read_examples
from experiments.oumg.poetry import PoetryPlan, choose_poems, find_characters, halve_inputs
from experiments.oumg.tables import form_rows
from experiments.training import LanguageModelPlan
from models.training import LanguageModelSchedule
from oumg.comparison import PairSettings
from oumg.songnet import Poems, SongNetPlan
from report.tables import Table
from tests.experiments.conftest import list_stages

pytestmark = pytest.mark.usefixtures("plain_page")
SMALL = ("+size=poems", "logger=none", "trainer=cpu")
TOY = (*SMALL, "data.train=600", "data.held_out=48")
MODEL = SongNetPlan(8, 1, 1, max_length=64, min_count=2)
PLAN = PoetryPlan(
    LanguageModelPlan(MODEL, LanguageModelSchedule(1, 1e-3, batch_size=2), Poems()), PairSettings("characters")
)


def tables(results: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """The rows of the relative scores, and those of the form scores by whose texts they are."""
    rows = results["table"]
    return [row for row in rows if "ur" in row], {row["texts"]: row for row in rows if "texts" in row}


def written(folder: Path) -> list[tuple[str, ...]]:
    """The texts of every stage of written poems."""
    found = sorted((folder / "stages").glob("poems-*/poems.jsonl"))
    return [tuple(poem.text for poem in read_examples(path)) for path in found]


def test_g1_against_g2_and_against_itself(finish: Callable[..., Any], tmp_path: Path) -> None:
    command = ("+exp=oumg_poetry", *TOY, "g1_k=4", "g2_k=3", f"outputs={tmp_path}")
    relative, forms = tables(finish(*command, plots=False))
    assert [(row["system_1"], row["system_2"]) for row in relative] == [("G1", "G2"), ("G1", "G1 again")]
    for row in relative:
        assert (row["discriminator"], row["n"], row["inputs"], row["seeds"]) == ("bilstm", 12, 12, [0, 1])
    assert list(forms) == ["human", "G1", "G2"]
    for row in forms.values():
        assert (row["n"], row["form_kept"], row["phrase_lengths"]) == (48, 1.0, 1.0)
    assert forms["human"]["rhyme"] == 1.0  # so they are built
    assert forms["human"]["tones"] > 0.8 > max(forms["G1"]["tones"], forms["G2"]["tones"])
    models = {path.name for path in (tmp_path / "here/models").iterdir()}
    assert models == {"generator", "discriminator_bilstm_seed_0", "discriminator_bilstm_seed_1"}
    assert len(written(tmp_path)) == len({*written(tmp_path)}) == 3
    kept = [json.loads(file.read_text("utf-8")) for file in (tmp_path / "stages").glob("poems-*/depends.json")]
    decoders = sorted(str(each["decoder"]) for each in kept)
    assert decoders == ["{'shifted_ranks': 3}", "{'top_k': 4}", "{'top_k': 4}"]


def test_guided_against_unguided(finish: Callable[..., Any], tmp_path: Path) -> None:
    command = ("+exp=guided_poetry", *TOY, "guide_k=6", "model.guides.bilstm.prefixes=3", f"outputs={tmp_path}")
    results = finish(*command, "alpha=0", plots=False)
    (row,), forms = tables(results)
    assert (row["system_1"], row["system_2"], row["n"]) == ("guided", "unguided", 6)
    assert (row["ties"], row["ur"], row["hsrd"]) == (1.0, 0.0, 0.0)
    assert {**forms["guided"], "texts": ""} == {**forms["unguided"], "texts": ""}
    assert row["perplexity"] == pytest.approx(results["figures"]["perplexity of the unguided poems"])
    assert len(written(tmp_path)) == 3
    assert len({*written(tmp_path)}) == 2  # of one half, and twice the same of the other

    (row,), forms = tables(finish(*command, "guide=bilstm", "rule=fudge", "alpha=8", folder="guided", plots=False))
    assert (row["guide"], row["rule"], row["alpha"]) == ("bilstm", "fudge", 8.0)
    assert row["ties"] < 1
    assert forms["guided"]["form_kept"] == 1.0
    assert (tmp_path / "guided/models/guide/discriminator.json").is_file()
    names = [name.split("-")[0] for name in list_stages(tmp_path)]
    assert (names.count("songnet"), names.count("poems"), names.count("guide_bilstm")) == (1, 4, 1)


def test_halves_share_no_input() -> None:
    poems = [Example(f"{tune}{i}", text="春。", prefix=tune, group=tune) for tune in "甲乙丙丁戊" for i in range(3)]
    first, second = halve_inputs(poems, seed=0)
    assert (len({p.group for p in first}), len({p.group for p in second})) == (2, 3)
    assert not {p.group for p in first} & {p.group for p in second}
    assert {*first, *second} == {*poems}


def poem(number: int, tune: str, text: str) -> Example:
    return Example(f"p{number}", text=text, prefix=tune)


TRAIN = tuple(poem(i, "甲", text) for i, text in enumerate(("春花。", "春月。", "花月。", "春楼。")))
HELD_OUT = tuple(poem(4 + i, "乙", text) for i, text in enumerate(("花春。", "月春。", "楼春。")))
DATA = Corpus("toy", TRAIN, HELD_OUT, (), synthetic=True)


def test_poems_with_a_character_that_the_generator_cannot_write_are_left_out() -> None:
    known = find_characters(DATA, PLAN)
    assert known == {*"甲春花月"}  # 楼 occurs once
    poems, counts = choose_poems(DATA, PLAN, known, fewest=2)
    assert [each.text for each in poems] == ["花春。", "月春。"]
    assert counts["held_out poems with characters that the generator cannot write"] == 1


def test_poems_can_be_those_that_the_generator_learned() -> None:
    poems, _ = choose_poems(DATA, replace(PLAN, poems="train"), find_characters(DATA, PLAN), fewest=2)
    assert [each.text for each in poems] == ["春花。", "春月。", "花月。"]


def test_a_setting_asks_for_no_more_poems_than_there_are() -> None:
    rule = "inputs must be at most the 2 held_out poems that the generator can write, but is 3"
    with pytest.raises(SettingError, match=rule):
        choose_poems(DATA, replace(PLAN, inputs=3), find_characters(DATA, PLAN), fewest=2)


def test_form_scores_by_hand() -> None:
    def poems(spring: str, night: str) -> list[Example]:
        return [
            Example("a", text=spring, prefix="春词", group="a"),
            Example("b", text=night, prefix="夜词", group="b"),
        ]

    known = [Example(f"k{i}", text="花月。花月。", prefix="春词", group="春词") for i in range(5)]  # level, oblique
    human, system = poems("花月。人雪。", "月。"), poems("月月。月花。", "花，")
    people, machine = Table("", "", form_rows({"human": human, "G1": system}, known)).to_json()
    assert (people["texts"], people["n"], machine["texts"]) == ("human", 2, "G1")
    assert (people["form_kept"], machine["form_kept"]) == (1.0, 0.5)  # the comma is no full stop
    assert (people["phrase_lengths"], machine["phrase_lengths"]) == (1.0, 1.0)
    assert people["rhyme"] == 1.0  # yue and xue; one line alone does not rhyme
    assert machine["rhyme"] == 0.5
    # Only the first poem's tune has others to tell its tones: 平仄平仄.
    assert (people["tones"], machine["tones"]) == (1.0, 0.25)
    assert math.isnan(machine["form_kept_interval"][0])  # of two poems


def test_the_tone_pattern_of_a_poem_excludes_the_poem() -> None:
    poems = [Example(f"k{i}", text="花月。", prefix="春词", group=f"k{i}") for i in range(5)]
    odd = Example("odd", text="月花。", prefix="春词", group="odd")
    few, more = ([*poems], [*poems, odd])
    tones = [Table("", "", form_rows({"human": human}, known=[])).to_json()[0]["tones"] for human in (few, more)]
    assert tones == [
        pytest.approx(math.nan, nan_ok=True),
        pytest.approx(5 / 6),
    ]  # four others are too few; odd is wrong
