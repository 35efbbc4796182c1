"""+exp=guided_poetry through the command line, at toy size."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.example import Example
from experiments.oumg.guided_poetry import halve_inputs

SMALL = ("+size=poems", "logger=none", "trainer=cpu")
TOY = (*SMALL, "data.train=600", "data.held_out=48")


def test_guided_against_unguided(run_here: Callable[..., int], tmp_path: Path, poem_runs: Any) -> None:
    command = ("+exp=guided_poetry", *TOY, "guide_k=6", "model.guides.bilstm.prefixes=3", f"outputs={tmp_path}")
    assert run_here(*command, "alpha=0", f"run_dir={tmp_path}/unguided") == 0
    (row,), forms = poem_runs.tables(tmp_path / "unguided")
    assert (row["guide"], row["k"], row["rule"], row["alpha"]) == ("causal", 6, "normalised", 0.0)
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
    notes = json.loads((tmp_path / "guided/results.json").read_text("utf-8"))["notes"]
    assert any("learned at most 3 prefixes of each text" in note for note in notes)
    report = (tmp_path / "guided/report.html").read_text("utf-8")
    assert "characters of the guided poems that the guide does not know" in report
    assert "guided" in (tmp_path / "guided/gallery.txt").read_text("utf-8")
    names = [name.split("-")[0] for name in poem_runs.stages(tmp_path)]
    assert (names.count("songnet"), names.count("poems"), names.count("guide_bilstm")) == (1, 4, 1)


@pytest.mark.slow
def test_song_ci(run_here: Callable[..., int], shared_data: Path, tmp_path: Path, poem_runs: Any) -> None:
    poem_runs.check_song_ci(run_here, shared_data, tmp_path, 200, "+exp=guided_poetry", *SMALL, "guide_k=6")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["+exp=guided_poetry", "seeds=[]"], "seeds must be non-empty and without duplicates, but is []"),
        (["+exp=guided_poetry", "guide_k=5000"], "guide_k = 5000, which needs 5000 characters"),
        (["+exp=guided_poetry", "alpha=-1"], "alpha must be greater than or equal to 0, but is -1"),
        (["+exp=guided_poetry", "alpha=inf"], "alpha must be a finite number, but is inf"),
        (["+exp=guided_poetry", "rule=best"], "rule must be 'normalised' or 'fudge', but is 'best'"),
        (["+exp=guided_poetry", "guide=lstm"], "model.guides.lstm"),
    ],
)
def test_settings_that_are_wrong_are_reported(
    run_here: Callable[..., int], capsys: pytest.CaptureFixture[str], settings: list[str], message: str
) -> None:
    assert run_here(*TOY, *settings) == 2
    assert message in capsys.readouterr().err


def test_halves_share_no_input() -> None:
    poems = [Example(f"{tune}{i}", text="春。", prefix=tune, group=tune) for tune in "甲乙丙丁戊" for i in range(3)]
    first, second = halve_inputs(poems, seed=0)
    assert (len({p.group for p in first}), len({p.group for p in second})) == (2, 3)
    assert not {p.group for p in first} & {p.group for p in second}
    assert {*first, *second} == set(poems)
