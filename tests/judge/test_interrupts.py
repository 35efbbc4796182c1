"""Ctrl-C ends a command at once, and progress counts the questions of a judge."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from baselines.llm_judge import LLMJudge
from core.example import Example
from core.progress import shown
from tests.baselines.test_endpoint import Server, answer_with, completion, serve
from tests.data.sets.small_files import write

__all__ = ["serve"]  # a fixture
ROOT = Path(__file__).parents[2]
PROGRAM = "import sys; from judge.cli import console; sys.exit(console())"
SLOW = 60  # seconds until an endpoint answers
SOON = 10  # seconds in which Ctrl-C must have ended the command, also on a busy machine
pytestmark = pytest.mark.filterwarnings("default")


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Starts a command that heeds Ctrl-C, wherever the tests run."""
    heeded = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache")},
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, heeded)


def test_ctrl_c_ends_while_an_endpoint_is_awaited(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve(lambda handler: time.sleep(SLOW))
    write(tmp_path / "in.jsonl", *({"text": f"text {i}"} for i in range(8)))
    plain = ("--metric.structured", "false", "--metric.logprobs", "false")  # no question before the first text
    asked = ("--metric", "llm_judge", "--metric.model", "toy", "--metric.base_url", server.url, *plain)
    running = start(tmp_path, "score", "in.jsonl", *asked)
    until = time.monotonic() + SLOW
    while len(server.requests) < 4 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(server.requests) == 4  # at once
    began = time.monotonic()
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=SLOW)
    assert (running.returncode, time.monotonic() - began < SOON) == (130, True)
    assert said.endswith("interrupted: run the same command again to continue; finished stages are kept\n")


def test_progress_counts_the_questions_of_a_judge(serve: Callable[..., Server]) -> None:
    server = serve(answer_with(200, completion("3")))
    counted: dict[str, list[int]] = {}

    @contextmanager
    def count(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        counted[what] = [total or 0, 0]

        def advance(parts: int) -> None:
            counted[what][1] += parts

        yield advance

    judge = LLMJudge.from_settings(
        "toy", server.url, aspects=["coherence", "fluency"], structured=False, logprobs=False, parallel=2
    )
    before = shown.set(count)
    try:
        judge.score([Example(str(i), f"text {i}", context="a context") for i in range(5)])
    finally:
        shown.reset(before)
    assert counted == {"asking": [10, 10]}
