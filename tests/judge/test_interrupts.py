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
from discriminators.guides import CausalGuide
from models.causal import CausalLM
from tests.baselines.test_endpoint import Server, answer_with, completion, serve
from tests.baselines.test_llm_judge import toy_chat_model
from tests.data.sets.small_files import write

__all__ = ["serve", "toy_chat_model"]  # fixtures
ROOT = Path(__file__).parents[2]
PROGRAM = "import sys; from judge.cli import console; sys.exit(console())"
WATCHED = """
import sys
from importlib import import_module

module, name = sys.argv[1].rsplit(":")
owner = import_module(module)
*inside, last = name.split(".")
for part in inside:
    owner = getattr(owner, part)
plain = getattr(owner, last)

def say_and_call(*args, **settings):
    found = plain(*args, **settings)
    print("began", flush=True)
    return found

setattr(owner, last, say_and_call)
sys.argv[1:] = sys.argv[2:]
"""  # says on standard output that a function has returned for the first time, and again
SLOW = 60  # seconds until an endpoint answers
SOON = 10  # seconds in which Ctrl-C must have ended the command, also on a busy machine
pytestmark = pytest.mark.filterwarnings("default")


def start(folder: Path, *words: str, watched: str = "") -> subprocess.Popen[str]:
    """Starts a command that heeds Ctrl-C, wherever the tests run; `watched` is MODULE:FUNCTION (`WATCHED`)."""
    program = f"{WATCHED}\n{PROGRAM}" if watched else PROGRAM
    words = (watched, *words) if watched else words
    heeded = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-c", program, *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, heeded)


def test_ctrl_c_ends_while_an_endpoint_is_awaited(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve(lambda handler: time.sleep(SLOW))
    write(tmp_path / "in.jsonl", *({"text": f"text {i}"} for i in range(8)))
    plain = ("--metric.logprobs", "false")  # no question before the first text
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


def check_interrupted(running: subprocess.Popen[str]) -> None:
    """Waits until the watched function has returned, and checks that Ctrl-C then ends the command soon."""
    assert running.stdout is not None
    assert running.stdout.readline() == "began\n"
    began = time.monotonic()
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=SLOW)
    assert (running.returncode, time.monotonic() - began < SOON) == (130, True)
    assert said.endswith("interrupted: run the same command again to continue; finished stages are kept\n")


def test_ctrl_c_ends_while_a_local_model_generates(lm: CausalLM, guide: CausalGuide, tmp_path: Path) -> None:
    lm.save_pretrained(tmp_path / "generator")
    guide.save_pretrained(tmp_path / "guide")
    models = ("--generator", "generator", "--guide", "guide")
    endless = ("--prompts", "the red cat", "--new_tokens", "8", "--samples", "1000000")
    running = start(tmp_path, "steer", *models, *endless, watched="oumg.generation:describe_step")
    check_interrupted(running)


def test_ctrl_c_ends_while_a_local_model_judges(toy_chat_model: Path, tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", *({"text": f"text {i}"} for i in range(20_000)))
    model = ("--metric", "llm_judge", "--metric.model", str(toy_chat_model))
    running = start(tmp_path, "score", "in.jsonl", *model, watched="baselines.local_chat:LocalChat._answer")
    check_interrupted(running)


def test_progress_counts_the_questions_of_a_judge(serve: Callable[..., Server]) -> None:
    server = serve(answer_with(200, completion("3")))
    counted: dict[str, list[int]] = {}

    @contextmanager
    def count(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        counted[what] = [total or 0, 0]

        def advance(parts: int) -> None:
            counted[what][1] += parts

        yield advance

    judge = LLMJudge.from_settings("toy", server.url, aspects=["coherence", "fluency"], logprobs=False, parallel=2)
    before = shown.set(count)
    try:
        judge.score([Example(str(i), f"text {i}", context="a context") for i in range(5)])
    finally:
        shown.reset(before)
    assert counted == {"asking": [10, 10]}
