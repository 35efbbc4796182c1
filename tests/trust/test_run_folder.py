"""A run changes only folders that are its own, one run at a time, and nothing before it begins."""

import hashlib
import shutil
import sys
from pathlib import Path

import pytest

from experiments.run import main
from judge.report.results import WRITTEN, claim_folder

SCORE = ("+exp=score", "metric=word_count", "logger=none", "outputs=out", "run_dir=here")
FILES = ("data.path=in.jsonl", "output=out.jsonl")

pytestmark = pytest.mark.filterwarnings("default")


def snapshot(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file and folder below `folder`: when it changed and the hash of its content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        content = b"" if path.is_dir() or path.is_fifo() else path.read_bytes()
        found[str(path.relative_to(folder))] = (path.lstat().st_mtime_ns, hashlib.sha256(content).hexdigest())
    return found


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an input, and with the folder and the stages of a run."""
    folder = tmp_path_factory.mktemp("earlier")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["experiments/run.py"])
        (folder / "in.jsonl").write_text('{"text": "a b"}\n{"text": "c"}\n', encoding="utf-8")
        assert main([*SCORE, *FILES]) == 0
    assert (folder / "here" / "results.json").is_file()
    return folder


@pytest.fixture
def place(earlier: Path, here: Path) -> Path:
    """The working folder: a copy of `earlier`."""
    return Path(shutil.copytree(earlier, here, dirs_exist_ok=True))


@pytest.mark.parametrize("name", [*WRITTEN, "models/expert", "plots/../models/in.jsonl", "scores.jsonl/x", "."])
@pytest.mark.parametrize("setting", ["data.path", "output"])
def test_an_input_or_output_that_a_run_would_clear_is_refused(
    place: Path, capsys: pytest.CaptureFixture[str], name: str, setting: str
) -> None:
    (place / "here" / "models").mkdir()
    (place / "here" / "models" / "in.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    before = snapshot(place)
    assert main([*SCORE, *FILES, f"{setting}=here/{name}"]) == 2
    assert f"{setting}=here/{name} lies where the run clears here" in capsys.readouterr().err
    assert snapshot(place) == before


def test_a_link_to_what_a_run_would_clear_is_refused(place: Path) -> None:
    (place / "linked.jsonl").symlink_to(place / "here" / "results.json")
    before = snapshot(place)
    assert main([*SCORE, *FILES, "data.path=linked.jsonl"]) == 2
    assert snapshot(place) == before


@pytest.mark.parametrize("multirun", [(), ("-m",)], ids=str)
def test_a_folder_with_a_log_of_its_own_is_not_a_run(place: Path, multirun: tuple[str, ...]) -> None:
    mine = place / "mine"
    (mine / "models").mkdir(parents=True)
    for name in ("run.log", "config.yaml", "models/weights", "sweep.json"):
        (mine / name).write_text("mine", encoding="utf-8")
    before = snapshot(place)
    assert main([*multirun, *SCORE, *FILES, "run_dir=mine"]) == 2
    assert snapshot(place) == before


FAULTS = {
    "a value": ("seed=-1",),
    "a faulty input": ("data.path=faulty.jsonl",),
    "a missing model": ("metric=perplexity", "metric.model=no/such"),
    "a broken discriminator": ("metric=discriminator", "metric.folder=broken"),
    "a device": ("trainer.accelerator=gpu", "trainer.devices=64"),
    "a target": ("metric._target_=os.system",),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_run_that_does_not_begin_changes_nothing(place: Path, what: str) -> None:
    (place / "broken").mkdir()
    (place / "broken" / "discriminator.json").write_text("{", encoding="utf-8")
    (place / "faulty.jsonl").write_text('{"text": "a"}\n{"text": \n', encoding="utf-8")
    before = snapshot(place)
    assert main([*SCORE, *FILES, *FAULTS[what]]) == 2
    assert snapshot(place) == before


def test_a_second_run_in_the_same_folder_says_so(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with claim_folder(place / "here"):
        before = snapshot(place)
        for multirun in ((), ("-m",)):
            assert main([*multirun, *SCORE, *FILES]) == 2
            assert "another run writes into run_dir=" in capsys.readouterr().err
        assert snapshot(place) == before
    assert main([*SCORE, *FILES]) == 0
