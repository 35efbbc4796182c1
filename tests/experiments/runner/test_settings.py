"""Lists and numbers of an experiment that are wrong: exit code 2, one line, before anything is written or trained."""

from collections.abc import Callable
from pathlib import Path

import pytest

FEW = ("data.train=40", "data.held_out=8", "data.rated=16", "logger=none", "trainer=cpu")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["+exp=mars_story", "ratios=[0.2]"], "ratios must ascend from 0, but is [0.2]"),
        (["+exp=mars_story", "ratios=[0,0]"], "ratios must be non-empty and without duplicates"),
        (["+exp=mars_story", "largest_ratios=[]"], "largest_ratios must be non-empty and without duplicates"),
        (
            ["+exp=mars_story", "largest_ratios=[0,-0.2]"],
            "largest_ratios[1] must be greater than or equal to 0, but is -0.2",
        ),
        (["+exp=mars_story", "data.rated=-1"], "rated must be greater than or equal to 0, but is -1"),
        (["+exp=ctrleval_sentiment", "analyses.numbers=[1,1]"], "numbers must be non-empty and without duplicates"),
        (["+exp=ctrleval_sentiment", "analyses.example=-1"], "example must be greater than or equal to 0"),
        (["+exp=cdm_dialogue", "data.train=-1"], "train must be greater than or equal to 0, but is -1"),
        (["+exp=guided_topic", "labels=[]"], "labels must be non-empty and without duplicates"),
        (["+exp=guided_topic", "ks=[8,8]"], "ks must be non-empty and without duplicates"),
        (["+exp=guided_demo", "prompt=A", "strength=inf"], "strength must be a finite number"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_setting_gives_one_line(
    run_here: Callable[..., int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    settings: list[str],
    message: str,
) -> None:
    assert run_here(settings[0], *FEW, *settings[1:]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (tmp_path / "outputs").exists()


def test_an_example_to_show_must_be_there(run_here: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_here("+exp=ctrleval_sentiment", *FEW, "analyses.example=16") == 2
    assert "analyses.example must be below the 16 texts of builtin_reviews, but is 16" in capsys.readouterr().err
