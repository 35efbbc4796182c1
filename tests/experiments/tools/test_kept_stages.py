"""+exp=kept_stages through the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from baselines.chat import CachedChat, Reply
from core.stages import Stages


@pytest.fixture
def stages(tmp_path: Path) -> Path:
    """Two stages in the folder of the runs."""
    kept = Stages(tmp_path / "outputs" / "stages")

    def build(folder: Path) -> None:
        (folder / "model").write_bytes(bytes(2_000_000))

    for name in ("amateur", "expert"):
        kept.get(name, {"a": 1}, build, version=1)
    return kept.root


def test_chosen_stages_are_listed_and_removed(
    run_here: Callable[..., int], stages: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_here("+exp=kept_stages", "run_dir=listed") == 0
    rows = json.loads((tmp_path / "listed" / "results.json").read_text("utf-8"))["table"]
    assert [(row["stage"].split("-")[0], row["state"], row["MB"], row["version"]) for row in rows] == [
        ("amateur", "whole", 2.0, 1),
        ("expert", "whole", 2.0, 1),
    ]
    assert "amateur" in capsys.readouterr().out
    assert run_here("+exp=kept_stages", "stage=amateur*", "older_than=1", "remove=true", "run_dir=none") == 0
    assert run_here("+exp=kept_stages", "larger_than=3", "remove=true", "run_dir=none") == 0
    assert len([path for path in stages.iterdir() if path.is_dir()]) == 2
    assert run_here("+exp=kept_stages", "stage=amateur*", "remove=true", "run_dir=removed") == 0
    assert [path.name.split("-")[0] for path in stages.iterdir() if path.is_dir()] == ["expert"]


class Echo:
    """A chat model that repeats the question."""

    def __init__(self) -> None:
        self.name, self.depends = "echo", {"model": "echo"}

    def ask(self, question: str) -> Reply:
        return Reply(question, [], 1, 1)


def test_caches_of_metrics_are_listed_and_removed_and_other_folders_are_not(
    run_here: Callable[..., int], stages: Path, tmp_path: Path
) -> None:
    CachedChat(Echo(), stages).ask("How good?")
    (stages / "thesis").mkdir()
    (stages / "thesis" / "chapter.tex").write_text("years of work")
    assert run_here("+exp=kept_stages", "run_dir=listed") == 0
    rows = json.loads((tmp_path / "listed" / "results.json").read_text("utf-8"))["table"]
    assert [(row["stage"].split("-")[0], row["state"]) for row in rows[2:]] == [("llm_judge", "cache")]
    assert run_here("+exp=kept_stages", "remove=true", "run_dir=removed") == 0
    assert [path.name for path in stages.iterdir() if path.is_dir()] == ["thesis"]


def test_a_link_is_listed_and_kept(run_here: Callable[..., int], stages: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (stages / next(path.name for path in stages.iterdir() if path.is_dir())).rename(mine)
    link = stages / f"mine-{'0' * 16}"
    link.symlink_to(mine)
    assert run_here("+exp=kept_stages", "remove=true", "run_dir=removed") == 0
    rows = json.loads((tmp_path / "removed" / "results.json").read_text("utf-8"))["table"]
    assert [(row["state"], row["done"]) for row in rows] == [("whole", "removed"), ("link", "kept")]
    assert link.is_symlink()
    assert (mine / "model").is_file()
