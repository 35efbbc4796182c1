"""A name or a place that cannot be written is bad input before anything is scored, and says so in one line."""

import os
from pathlib import Path

import pytest

from core.stages import Stages
from experiments.run import main

SCORE = ("+exp=score", "metric=word_count", "data.path=in.jsonl", "logger=none")


@pytest.fixture(autouse=True)
def links(here: Path) -> None:
    """A ring of links, a link and a pipe in the working folder."""
    (here / "ring").symlink_to("ring")
    (here / "link.jsonl").symlink_to("in.jsonl")
    os.mkfifo(here / "pipe.jsonl")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ([f"output={'a' * 244}.jsonl"], "output cannot be aaa"),
        ([f"output={'a' * 300}.jsonl"], "aaa.jsonl: File name too long"),
        (["output=o.jsonl", f"data.path={'a' * 300}.jsonl"], "aaa.jsonl: File name too long"),
        (["output=o.jsonl", f"--config-dir={'a' * 300}"], "--config-dir must be a folder"),
        (["output=/proc/out.jsonl"], "output cannot be /proc/out.jsonl"),
        (["output=ring/out.jsonl"], "there is no ring"),
        (["output=ring"], "found the link ring"),
        (["output=link.jsonl"], "output must be a regular file, found the link link.jsonl"),
        (["output=pipe.jsonl"], "found the device or pipe pipe.jsonl; output=- writes to standard output"),
        (["output=o.jsonl", f"run_dir={'a' * 300}"], "run_dir cannot be"),
        (["output=o.jsonl", "run_dir=ring"], "run_dir cannot be"),
        (["output=o.jsonl", "run_dir=in.jsonl/x"], "run_dir cannot be"),
        (["output=o.jsonl", "run_dir=0"], "run_dir must be a valid string"),
        (["output=o.jsonl", "stages_dir=ring"], "stages_dir cannot be ring"),
        (["output=o.jsonl", "stages_dir=in.jsonl"], "stages_dir must be a folder"),
        (["output=o.jsonl", "stages_dir=/sys/stages"], "stages_dir must be a folder that can be written"),
        (["output=o.jsonl", "--config-dir=ring"], "--config-dir must be a folder"),
        (['output="o\udcff.jsonl"'], "must be UTF-8"),
        (["output=o.jsonl", 'run_dir="o\udcff"'], "must be UTF-8"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_written_is_refused_before_scoring(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], settings: list[str], said: str
) -> None:
    monkeypatch.setattr(Stages, "get", lambda *_: pytest.fail("something was scored"))
    assert main([*SCORE, *settings]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if "--help` lists" not in line]
    assert len(lines) == 1
    assert said in lines[0]
    assert {path.name for path in Path().iterdir()} == {"in.jsonl", "link.jsonl", "pipe.jsonl", "ring"}
    assert Path("in.jsonl").read_text("utf-8") == '{"text": "a b"}\n'


def test_a_comma_does_not_split_the_name_of_a_config_folder(tmp_path: Path) -> None:
    name = 'a, b"]\\'
    (tmp_path / name / "metric").mkdir(parents=True)
    words = "_target_: baselines.word_count.WordCount\n"
    (tmp_path / name / "metric" / "mine.yaml").write_text(words, encoding="utf-8")
    settings = ("+exp=score", "metric=mine", "data.path=in.jsonl", "output=out.jsonl", "logger=none", "run_dir=here")
    assert main(["--config-dir", name, *settings]) == 0
    assert (tmp_path / "out.jsonl").is_file()
