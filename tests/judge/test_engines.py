"""Chunks on a real local Ray cluster, of which a worker dies."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import judge
from baselines.word_count import WordCount
from core.errors import ExampleError, InputError, SettingError
from core.example import Example
from core.scores import Scores
from judge.ray_actors import Ray
from tests.data.sets.small_files import write

REPOSITORY = Path(__file__).parents[2]
METRICS = """
import os
from pathlib import Path
from typing import Any

import numpy as np

from core.scores import Scores


class Dying:
    requires = ()
    signature = "dying"

    def __init__(self, marker=None):
        self.marker = marker and Path(marker)

    def score(self, examples):
        if any(example.text == "die" for example in examples) and not (self.marker and self.marker.exists()):
            if self.marker:
                self.marker.touch()
            os._exit(1)
        return Scores({"quality": np.array([len(e.text.split()) for e in examples], float)}, self.signature)
"""  # a process that scores the text "die" is killed, with a marker the first one only
ENDS = ({"text": "die"}, {"text": "text"})


def run_score(folder: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    """Runs judge score in a process of its own, which can import the metrics above."""
    (folder / "dying_metrics.py").write_text(METRICS)
    program = "import sys; from judge.cli import console; sys.exit(console())"
    command = [sys.executable, "-c", program, "score", "in.jsonl", "--chunk", "3"]
    return subprocess.run(
        [*command, *settings],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": f"{folder}:{REPOSITORY}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
def test_a_ray_cluster_writes_the_same_bytes_though_a_worker_dies(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    write(tmp_path / "in.jsonl", *({"text": f"text {'word ' * (i % 7)}"} for i in range(20)), *ENDS)
    metric = ["--metrics", "dying_metrics.Dying", "word_count", "--metrics.Dying.marker", f"{tmp_path}/marker"]
    (tmp_path / "marker").touch()
    here = run_score(tmp_path, *metric, "--output", "here.jsonl", "--stages", "here")
    assert here.returncode == 0, here.stderr
    (tmp_path / "marker").unlink()
    there = run_score(tmp_path, *metric, "--output", "there.jsonl", "--stages", "there", "--ray.workers", "2")
    assert there.returncode == 0, there.stderr
    assert (tmp_path / "marker").exists()  # a worker did die
    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()


@pytest.mark.slow
def test_a_worker_that_dies_again_and_again_ends_the_run_and_finished_chunks_stay(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    write(tmp_path / "in.jsonl", *({"text": f"text {i}"} for i in range(20)), *ENDS)
    metric = ("--metric", "dying_metrics.Dying", "--output", "out.jsonl")
    done = run_score(tmp_path, *metric, "--stages", "stages", "--ray.workers", "1")
    assert done.returncode == 1
    assert "a worker died 3 times in the same chunk: run the same command again" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()
    (rows,) = (tmp_path / "stages").glob("scores-*.values")
    assert len(rows.read_text("utf-8").splitlines()) > 1


@pytest.mark.slow
@pytest.mark.parametrize("trial", ["true", "false"])
def test_an_endpoint_that_is_down_ends_the_run_in_one_line(tmp_path: Path, trial: str) -> None:
    """While the metric is prepared, which tries the endpoint, and in an actor."""
    pytest.importorskip("ray")
    write(tmp_path / "in.jsonl", *ENDS)
    asked = {"model": "m", "base_url": "http://127.0.0.1:1/v1", "logprobs": trial}
    flags = [word for name, value in asked.items() for word in (f"--metric.{name}", value)]
    done = run_score(tmp_path, "--metric", "llm_judge", *flags, "--output", "o.jsonl", "--ray.workers", "1")
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if "logging.cc" not in line]  # of Ray itself
    assert line.startswith("127.0.0.1:1/v1 cannot be reached: ")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": 0}, "workers must be greater than or equal to 1, but is 0"),
        ({"gpus": -1.0}, "gpus must be greater than or equal to 0"),
        ({"address": "127.0.0.1:1"}, "must be HOST:PORT of a Ray cluster, but none answers at 127.0.0.1:1"),
    ],
)
def test_bad_settings_of_a_cluster(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    write(tmp_path / "in.jsonl", *ENDS)
    with pytest.raises(SettingError) as found:
        judge.score(tmp_path / "in.jsonl", "word_count", output=tmp_path / "out.jsonl", ray=Ray(**settings))
    assert message in str(found.value)


def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    write(tmp_path / "in.jsonl", *ENDS)
    with pytest.raises(SettingError, match=r"pip install 'judging-generated-text\[ray\]'"):
        judge.score(tmp_path / "in.jsonl", "word_count", output=tmp_path / "out.jsonl", ray=Ray())


def test_refused_examples_are_faults_by_line(tmp_path: Path) -> None:
    class Refusing(WordCount):
        def score(self, examples: Sequence[Example]) -> Scores:
            raise ExampleError((i, "must not be no") for i, example in enumerate(examples) if example.text == "no")

    write(tmp_path / "in.jsonl", {"text": "x"}, {"text": "no"})
    with pytest.raises(InputError, match=r"in\.jsonl:2: must not be no"):
        judge.score(tmp_path / "in.jsonl", Refusing(), output=tmp_path / "out.jsonl")
