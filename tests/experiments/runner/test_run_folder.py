"""A run changes only folders that are its own, one run at a time."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.errors import SettingError
from report.results import MARK, claim_folder, refuse_cleared

TOY = ("+exp=toy", "logger=none", "hydra.run.dir=here")
Run = Callable[..., Any]

pytestmark = pytest.mark.filterwarnings("default")


def snapshot(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file and folder below `folder`: when it changed and the hash of its content."""
    found: dict[str, tuple[int, str]] = {}
    for path in sorted(folder.rglob("*")):
        content = b"" if path.is_dir() else path.read_bytes()
        found[str(path.relative_to(folder))] = (path.lstat().st_mtime_ns, hashlib.sha256(content).hexdigest())
    return found


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """The folder of an earlier run."""
    folder = tmp_path / "here"
    (folder / "models").mkdir(parents=True)
    (folder / MARK).touch()
    (folder / "scores.jsonl").write_text('{"turns": ["a", "b"]}\n', encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["scores.jsonl", "models/expert", "plots/../models/in.jsonl"])
def test_an_input_that_a_run_would_clear_is_refused(name: str) -> None:
    rule = f"^data.train_path=here/{name} is in .*here, which is cleared: choose another hydra.run.dir$"
    with pytest.raises(SettingError, match=rule):
        refuse_cleared({"data": {"train_path": f"here/{name}"}}, Path("here").resolve(), "hydra.run.dir")


def test_a_link_to_what_a_run_would_clear_is_refused(run: Run, earlier: Path, tmp_path: Path) -> None:
    (tmp_path / "linked.jsonl").symlink_to(earlier / "scores.jsonl")
    before = snapshot(earlier)
    ended = run("+exp=train_cdm", *TOY[1:], "data.train_path=linked.jsonl")
    assert (ended.returncode, "here, which is cleared" in ended.stderr) == (2, True)
    assert snapshot(earlier) == before


def test_a_folder_may_be_called_as_the_value_of_a_setting(run: Run) -> None:
    assert run("+exp=toy", "logger=none", "hydra.run.dir=tiny", "ending=faults").stderr.startswith("in.jsonl:2: ")


def test_a_folder_with_files_of_its_own_is_not_a_run(run: Run, tmp_path: Path) -> None:
    mine = tmp_path / "here"
    (mine / "models").mkdir(parents=True)
    for name in ("run.log", "config.yaml", "models/weights"):
        (mine / name).write_text("mine", encoding="utf-8")
    before = snapshot(mine)
    ended = run(*TOY)
    assert ended.returncode == 2
    assert "hydra.run.dir must be a new or empty folder, or the folder of an earlier run" in ended.stderr
    assert snapshot(mine) == before


@pytest.mark.parametrize("fault", ["seed=-1", "ending=faults"])
def test_a_run_that_does_not_begin_leaves_no_folder(run: Run, tmp_path: Path, fault: str) -> None:
    assert run("+exp=toy", "logger=none", fault, "stages_dir=kept").returncode == 2
    assert [path.name for path in tmp_path.iterdir() if path.name != "kept"] == []


@pytest.mark.parametrize("option", ["hydra.verbose=true", "hydra.output_subdir=.hydra", "hydra/job_logging=default"])
def test_what_hydra_writes_before_a_run_is_no_file_of_its_user(run: Run, option: str) -> None:
    assert run(*TOY, "ending=faults", option).stderr.startswith("in.jsonl:2: ")


@pytest.mark.usefixtures("no_training")
@pytest.mark.parametrize(("fault", "code"), [("ending=faults", 2), ("trainer.devices=4096", 2), ("ending=broken", 1)])
def test_a_run_that_does_not_begin_leaves_what_an_earlier_one_wrote(
    run: Run, earlier: Path, fault: str, code: int
) -> None:
    before = snapshot(earlier)
    assert run(*TOY, fault).returncode == code
    after = snapshot(earlier)
    after.pop("run.log", None)
    assert after == before


def test_a_second_run_in_the_same_folder_says_so(run: Run, earlier: Path) -> None:
    with claim_folder(earlier):
        before = snapshot(earlier)
        ended = run(*TOY)
        assert ended.returncode == 2
        assert "another run writes into hydra.run.dir=" in ended.stderr
        assert snapshot(earlier) == before
