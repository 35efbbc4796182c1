"""+exp=oumg_poetry and +exp=guided_poetry through the command line, at toy size, and which poems they take."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.example import Example
from data.corpus import Corpus
from experiments.oumg.poetry import (
    PoetryPlan,
    choose_poems,
    find_characters,
    halve_inputs,
)
from experiments.training import LanguageModelPlan
from models.training import LanguageModelSchedule
from oumg.comparison import PairSettings
from oumg.songnet import Poems, SongNetPlan

SMALL = ("+size=poems", "logger=none", "trainer=cpu")
TOY = (*SMALL, "data.train=600", "data.held_out=48")
MODEL = SongNetPlan(8, 1, 1, max_length=64, min_count=2)
PLAN = PoetryPlan(
    LanguageModelPlan(MODEL, LanguageModelSchedule(1, 1e-3, batch_size=2), Poems()), PairSettings("characters")
)


def test_g1_against_g2_and_against_itself(
    run_here: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    poem_runs: Any,
    leave_out_plots: Callable[[], None],
) -> None:
    command = ("+exp=oumg_poetry", *TOY, "g1_k=4", "g2_k=3", f"outputs={tmp_path}")
    assert run_here(*command, f"run_dir={tmp_path}/first") == 0, capsys.readouterr().err
    relative, forms = poem_runs.tables(tmp_path / "first")
    assert [(row["system_1"], row["system_2"]) for row in relative] == [("G1", "G2"), ("G1", "G1 again")]
    for row in relative:
        assert (row["discriminator"], row["n"], row["inputs"], row["seeds"]) == ("bilstm", 12, 12, [0, 1])
    assert list(forms) == ["human", "G1", "G2"]
    for row in forms.values():
        assert (row["n"], row["form_kept"], row["phrase_lengths"]) == (48, 1.0, 1.0)
    assert forms["human"]["rhyme"] == 1.0  # so they are built
    assert forms["human"]["tones"] > 0.8 > max(forms["G1"]["tones"], forms["G2"]["tones"])
    models = {path.name for path in (tmp_path / "first/models").iterdir()}
    assert models == {"generator", "discriminator_bilstm_seed_0", "discriminator_bilstm_seed_1"}
    assert len(poem_runs.written(tmp_path)) == len({tuple(poems) for poems in poem_runs.written(tmp_path)}) == 3
    kept = [json.loads(file.read_text("utf-8")) for file in (tmp_path / "stages").glob("poems-*/depends.json")]
    decoders = sorted(str(each["decoder"]) for each in kept)
    assert decoders == ["{'shifted_ranks': 3}", "{'top_k': 4}", "{'top_k': 4}"]
    before = poem_runs.stages(tmp_path)
    leave_out_plots()
    assert run_here(*command, f"run_dir={tmp_path}/second") == 0
    assert poem_runs.tables(tmp_path / "second") == (relative, forms)
    assert poem_runs.stages(tmp_path) == before


def test_guided_against_unguided(
    run_here: Callable[..., int], tmp_path: Path, poem_runs: Any, leave_out_plots: Callable[[], None]
) -> None:
    leave_out_plots()
    command = ("+exp=guided_poetry", *TOY, "guide_k=6", "model.guides.bilstm.prefixes=3", f"outputs={tmp_path}")
    assert run_here(*command, "alpha=0", f"run_dir={tmp_path}/unguided") == 0
    (row,), forms = poem_runs.tables(tmp_path / "unguided")
    assert (row["system_1"], row["system_2"], row["n"]) == ("guided", "unguided", 6)
    assert (row["ties"], row["ur"], row["hsrd"]) == (1.0, 0.0, 0.0)
    assert {**forms["guided"], "texts": ""} == {**forms["unguided"], "texts": ""}
    figures = json.loads((tmp_path / "unguided/results.json").read_text("utf-8"))["figures"]
    assert row["perplexity"] == pytest.approx(figures["perplexity of the unguided poems"])
    written = poem_runs.written(tmp_path)
    assert len(written) == 3
    assert len({tuple(poems) for poems in written}) == 2  # of one half, and twice the same of the other

    assert run_here(*command, "guide=bilstm", "rule=fudge", "alpha=8", f"run_dir={tmp_path}/guided") == 0
    (row,), forms = poem_runs.tables(tmp_path / "guided")
    assert (row["guide"], row["rule"], row["alpha"]) == ("bilstm", "fudge", 8.0)
    assert row["ties"] < 1
    assert forms["guided"]["form_kept"] == 1.0
    assert (tmp_path / "guided/models/guide/discriminator.json").is_file()
    names = [name.split("-")[0] for name in poem_runs.stages(tmp_path)]
    assert (names.count("songnet"), names.count("poems"), names.count("guide_bilstm")) == (1, 4, 1)


def test_halves_share_no_input() -> None:
    poems = [Example(f"{tune}{i}", text="春。", prefix=tune, group=tune) for tune in "甲乙丙丁戊" for i in range(3)]
    first, second = halve_inputs(poems, seed=0)
    assert (len({p.group for p in first}), len({p.group for p in second})) == (2, 3)
    assert not {p.group for p in first} & {p.group for p in second}
    assert {*first, *second} == set(poems)


def poem(number: int, tune: str, text: str) -> Example:
    return Example(f"p{number}", text=text, prefix=tune)


TRAIN = tuple(poem(i, "甲", text) for i, text in enumerate(("春花。", "春月。", "花月。", "春楼。")))
HELD_OUT = tuple(poem(4 + i, "乙", text) for i, text in enumerate(("花春。", "月春。", "楼春。")))
DATA = Corpus("toy", TRAIN, HELD_OUT, (), synthetic=True)


def test_poems_with_a_character_that_the_generator_cannot_write_are_left_out() -> None:
    known = find_characters(DATA, PLAN)
    assert known == {*"甲春花月"}  # 楼 occurs once
    poems, notes = choose_poems(DATA, PLAN, known, fewest=2)
    assert [each.text for each in poems] == ["花春。", "月春。"]
    assert "1 of 3 held_out poems are left out: they hold a character that the generator cannot write" in notes


def test_poems_can_be_those_that_the_generator_learned() -> None:
    poems, _ = choose_poems(DATA, replace(PLAN, poems="train"), find_characters(DATA, PLAN), fewest=2)
    assert [each.text for each in poems] == ["春花。", "春月。", "花月。"]
