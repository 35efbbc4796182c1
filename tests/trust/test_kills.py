"""SIGKILL at random moments, then the same command: the same results as an undisturbed run.

Each run is a forked process, so that it starts at once. A command is killed again and again, at moments drawn between
its start and its usual end, until it ends by itself; then everything starts anew, until there were enough kills.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data.builtin.dialogues import rated_dialogues
from data.files import write_examples
from experiments.run import main
from judge.cli import main as judge

TOY = Path(__file__).parents[1] / "experiments" / "toy"
KILLS = int(os.environ.get("KILLS", "30"))
POEMS = ("+size=poems", "trainer=cpu", "data.train=300", "data.held_out=24", "g1_k=4", "g2_k=4")
CDM = (
    *("data.train=150", "data.held_out=40", "data.rated=20", "model.width.amateur=16"),
    *("model.width.expert=32", "model.expert.schedule.epochs=2", "model.negatives.dialogues=40"),
    *("model.negatives.sampling.longest=12", "+model.discriminators.bilstm.build.hidden_dim=16"),
    *("~model.discriminators.bert", "model.baseline=[bilstm]"),
)
KINDS = {
    "language models, sampling and a discriminator": ("+exp=cdm_dialogue", *CDM),
    "a poetry generator, its poems and discriminators": ("+exp=oumg_poetry", *POEMS),
    "scoring in chunks": ("score", "in.jsonl", "--metric", "rouge_l", "--output", "out.jsonl", "--chunk", "2"),
    "writing a run folder": ("+exp=toy",),
}

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def start(folder: Path, command: Sequence[str], name: str = "here", output: str = "out.jsonl") -> int:
    """Runs the command line in a forked process and a folder, with a run folder `name`; returns the process id."""
    if child := os.fork():
        return child
    code = 1
    try:
        for stream in (1, 2):
            os.dup2(os.open(folder / f"{name}.said", os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
        code = run(folder, command, name, output)
    finally:
        os._exit(code)


def run(folder: Path, command: Sequence[str], name: str, output: str) -> int:
    """Runs the command line in this process and a folder; returns its exit code."""
    os.chdir(folder)
    if command[0] == "score":
        words = [output if word == "out.jsonl" else word for word in command]
        return judge([*words, "--report", name, "--stages", "out/stages"])
    places = ("allow=[toy]", "logger=none", f"hydra.run.dir={name}", "outputs=out")
    sys.argv = ["experiments/run.py", "--config-dir", str(TOY), *command, *places]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture
def warm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[str]], float]:
    """Runs a command here, so that forked processes find every library loaded; returns the seconds of a forked one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(TOY)
    monkeypatch.setattr(sys, "argv", [])

    def measure(command: Sequence[str]) -> float:
        assert run(prepare(tmp_path / "warm"), command, "here", "out.jsonl") == 0
        began = time.monotonic()
        wait(start(prepare(tmp_path / "undisturbed"), command), tmp_path / "undisturbed")
        return time.monotonic() - began

    return measure


def wait(child: int, folder: Path, seconds: float | None = None) -> int | None:
    """The exit code of a run, or None if it was killed after `seconds`."""
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return None
    assert os.WEXITSTATUS(status) == 0, "\n".join(path.read_text() for path in folder.glob("*.said"))[-3000:]
    return 0


def prepare(folder: Path) -> Path:
    """An empty folder with the input of a scoring run."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    examples = [replace(example, references=(example.turns[0],)) for example in rated_dialogues(60, seed=1)]
    write_examples(folder / "in.jsonl", examples)
    return folder


def outcome(folder: Path, name: str = "here", output: str = "out.jsonl") -> dict[str, Any]:
    """What a run left that must not depend on when it ran."""
    run = folder / name
    results = json.loads((run / "results.json").read_text("utf-8"))
    found = {part: results[part] for part in ("signature", "table", "figures", "notes")}
    found["notes"] = [note.replace(output, "") for note in found["notes"]]
    files = [run / "scores.jsonl", folder / output, folder / f"{output}.meta.json"]
    found["files"] = [path.read_bytes() for path in (*files, *sorted((run / "tables").glob("*"))) if path.is_file()]
    stages = [path for path in (folder / "out" / "stages").iterdir() if path.is_dir()]
    assert not [path.name for path in stages if path.name.endswith((".partial", ".damaged"))]
    found["stages"] = {path.name: json.loads((path / "files.json").read_text("utf-8")) for path in stages}
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_run_ends_as_an_undisturbed_one(kind: str, tmp_path: Path, warm: Callable[[Sequence[str]], float]):
    command = KINDS[kind]
    usual = warm(command)
    expected = outcome(tmp_path / "undisturbed")
    rng, kills, runs, folder = random.Random(kind), 0, 0, tmp_path / "killed"
    while kills < KILLS:
        prepare(folder)
        for patience in range(12):  # later kills come later, so that a run ends
            if wait(start(folder, command), folder, usual * rng.uniform(0.02, 1.0 + patience / 4)) is not None:
                break
            kills += 1
        else:
            wait(start(folder, command), folder)
        assert outcome(folder) == expected
        runs += 1
    print(f"{kind}: {kills} kills, {runs} runs ended like the undisturbed one ({usual:.1f} s)")


@pytest.mark.parametrize("at_once", [2, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_runs_at_once_give_one_result(
    kind: str, at_once: int, tmp_path: Path, warm: Callable[[Sequence[str]], float]
) -> None:
    warm(KINDS[kind])
    shared = prepare(tmp_path / "shared")
    names = [(f"run{i}", f"out{i}.jsonl") for i in range(at_once)]
    for child in [start(shared, KINDS[kind], *name) for name in names]:
        wait(child, shared)
    assert [outcome(shared, *name) for name in names] == [outcome(tmp_path / "undisturbed")] * at_once


@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_is_answered_within_two_seconds(kind: str, tmp_path: Path, warm: Callable[[Sequence[str]], float]):
    usual, rng, slowest = warm(KINDS[kind]), random.Random(kind), 0.0
    for _ in range(6):
        folder = prepare(tmp_path / "stopped")
        child = start(folder, KINDS[kind])
        time.sleep(usual * rng.uniform(0.1, 0.8))
        asked = time.monotonic()
        os.kill(child, signal.SIGINT)
        _, status = os.waitpid(child, 0)
        slowest = max(slowest, time.monotonic() - asked)
        assert os.WEXITSTATUS(status) in (0, 130), (folder / "here.said").read_text()[-3000:]
        assert "Traceback" not in (folder / "here.said").read_text()
    print(f"{kind}: the slowest answer to Ctrl-C took {slowest:.2f} s")
    assert slowest < 2
