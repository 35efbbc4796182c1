"""+exp=runs and +exp=kept_stages through the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from baselines.chat import CachedChat, Reply
from core.stages import Stages

ROOT = Path(__file__).parents[3]


def test_runs_of_a_folder_are_linked_and_compared(
    run_here: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = f"data.path={ROOT / 'examples' / 'summaries.jsonl'}"
    for seed, metrics in enumerate(("word_count", "word_count,rouge_l")):
        assert run_here("+exp=meta_eval", file, f"metrics=[{metrics}]", f"seed={seed}", f"run_dir=mine/{seed}") == 0
    assert run_here("+exp=runs", "folder=mine", "run_dir=all") == 0
    table = json.loads((tmp_path / "all" / "results.json").read_text("utf-8"))["table"]
    listed = [row for row in table if row["table"] == "Runs"]
    assert [(row["run"], row["experiment"], row["seed"]) for row in listed] == [
        ("../mine/0/report.html", "meta_eval", "0"),
        ("../mine/1/report.html", "meta_eval", "1"),
    ]
    joint = [row for row in table if row["table"] == "Agreement with ratings: meta_eval"]
    assert [row["run"] for row in joint] == ["0", "1"]
    assert all(isinstance(row["word_count"], float) for row in joint)
    assert [row["rouge_l"] == "" for row in joint] == [True, False]
    (written,) = (tmp_path / "all/tables").glob("agreement*.csv")
    assert written.read_text("utf-8").splitlines()[0].endswith("rouge_l,rouge_l_low,rouge_l_high")
    assert 'href="../mine/0/report.html"' in (tmp_path / "all" / "report.html").read_text("utf-8")


def test_a_sweep_takes_several_metrics(run_here: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    file = f"data.path={ROOT / 'examples' / 'summaries.jsonl'}"
    settings = ("metrics=[word_count,rouge_l]", "cues=none", "seed=0,1", "run_dir=here")
    assert run_here("-m", "+exp=meta_eval", file, *settings) == 0
    jobs = capsys.readouterr().out.partition("2 jobs")[2]
    assert jobs.count("word_count") == jobs.count("rouge_l") == 2  # one row for each job and metric


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
