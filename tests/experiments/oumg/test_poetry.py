"""+exp=oumg_poetry through the command line, at toy size."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oumg.relative import SCORES

SMALL = ("+size=poems", "logger=none", "trainer=cpu")
TOY = (*SMALL, "data.train=600", "data.held_out=48")


def test_g1_against_g2_and_against_itself(
    run_here: Callable[..., int], capsys: pytest.CaptureFixture[str], tmp_path: Path, poem_runs: Any
) -> None:
    command = ("+exp=oumg_poetry", *TOY, "g1_k=4", "g2_k=3", f"outputs={tmp_path}")
    assert run_here(*command, f"run_dir={tmp_path}/first") == 0, capsys.readouterr().err
    relative, forms = poem_runs.tables(tmp_path / "first")
    assert [(row["system_1"], row["system_2"]) for row in relative] == [("G1", "G2"), ("G1", "G1 again")]
    for row in relative:
        assert (row["discriminator"], row["n"], row["inputs"], row["seeds"]) == ("bilstm", 12, 12, [0, 1])
        assert (row["pairs"], row["texts_cut"]) == ("all", 0)
        for name in SCORES:
            low, high = row[f"{name}_interval"]
            assert low <= row[name] <= high
    assert list(forms) == ["human", "G1", "G2"]
    for row in forms.values():
        assert (row["n"], row["form_kept"], row["phrase_lengths"]) == (48, 1.0, 1.0)
        assert 0 < row["rhyme"] <= 1
        assert 0 < row["tones"] <= 1
    assert forms["human"]["rhyme"] == 1.0  # so they are built
    assert forms["human"]["tones"] > 0.8 > max(forms["G1"]["tones"], forms["G2"]["tones"])
    gallery = (tmp_path / "first/gallery.txt").read_text("utf-8")
    assert gallery.count("human") == 2
    assert all(name in gallery for name in ("G1", "G2"))
    assert "gallery.txt" in capsys.readouterr().out
    models = {path.name for path in (tmp_path / "first/models").iterdir()}
    assert models == {"generator", "discriminator_bilstm_seed_0", "discriminator_bilstm_seed_1"}
    assert len(poem_runs.written(tmp_path)) == len({tuple(poems) for poems in poem_runs.written(tmp_path)}) == 3
    assert "|g1_k=4|g2_k=3|" in json.loads((tmp_path / "first/results.json").read_text("utf-8"))["signature"]
    kept = [json.loads(file.read_text("utf-8")) for file in (tmp_path / "stages").glob("poems-*/depends.json")]
    decoders = sorted(str(each["decoder"]) for each in kept)
    assert decoders == ["{'shifted_ranks': 3}", "{'top_k': 4}", "{'top_k': 4}"]
    before = poem_runs.stages(tmp_path)
    assert run_here(*command, f"run_dir={tmp_path}/second") == 0
    assert poem_runs.tables(tmp_path / "second") == (relative, forms)
    assert (tmp_path / "second/gallery.txt").read_text("utf-8") == gallery
    assert poem_runs.stages(tmp_path) == before


@pytest.mark.slow
def test_song_ci(run_here: Callable[..., int], shared_data: Path, tmp_path: Path, poem_runs: Any) -> None:
    poem_runs.check_song_ci(run_here, shared_data, tmp_path, 60, "+exp=oumg_poetry", *SMALL, "g1_k=4", "g2_k=3")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ["+exp=oumg_poetry", "g2_k=200"],
            "g2_k = 200: G2 chooses from the ranks 4k to 5k, which needs 1000",
        ),
        (["+exp=oumg_poetry", "g1_k=9000"], "g1_k = 9000, which needs 9000 characters"),
        (["+exp=oumg_poetry", "g1_k=0"], "g1_k must be greater than or equal to 1, but is 0"),
        (["+exp=oumg_poetry", "g2_k=0"], "g2_k must be greater than or equal to 1, but is 0"),
        (["+exp=oumg_poetry", "input=line"], "input must be 'tune' or 'poem', but is 'line'"),
        (["+exp=oumg_poetry", "inputs=49"], "inputs must be at most the 48 held_out poems"),
        (["+exp=oumg_poetry", "per_tune=0"], "per_tune must be greater than or equal to 1, but is 0"),
        (
            ["+exp=oumg_poetry", "per_tune=2", "inputs=25"],
            "the 23 held_out poems, 2 of a tune, that the generator",
        ),
        (["+exp=oumg_poetry", "inputs=3"], "at least 4 inputs are needed, but the 3 held_out poems have 3"),
        (["+exp=oumg_poetry", "kinds=[lstm]"], "kinds must be some of bilstm, bert, but 'lstm'"),
        (["+exp=oumg_poetry", "seeds=[0,0]"], "seeds must be non-empty and without duplicates, but is [0, 0]"),
        (["+exp=oumg_poetry", "test_fraction=1"], "test_fraction must be less than 1, but is 1"),
    ],
)
def test_settings_that_are_wrong_are_reported(
    run_here: Callable[..., int], capsys: pytest.CaptureFixture[str], settings: list[str], message: str
) -> None:
    assert run_here(*TOY, *settings) == 2
    assert message in capsys.readouterr().err
