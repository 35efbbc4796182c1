"""Ctrl-C ends a command at once, and progress counts the questions of a judge."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import oumg.generation
from baselines.llm_judge import LLMJudge
from baselines.local_chat import LocalChat
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
SLOW = 60  # seconds until an endpoint answers
SOON = 10  # seconds in which Ctrl-C must have ended the command, also on a busy machine
SAID = "interrupted: run the same command again to continue; finished stages are kept\n"
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def heeded() -> Iterator[None]:
    """Ctrl-C is heeded, wherever the tests run."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded")
def test_ctrl_c_ends_while_an_endpoint_is_awaited(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve(lambda handler: time.sleep(SLOW))
    write(tmp_path / "in.jsonl", *({"text": f"text {i}"} for i in range(8)))
    plain = ("--metric.logprobs", "false")  # no question before the first text
    asked = ("--metric", "llm_judge", "--metric.model", "toy", "--metric.base_url", server.url, *plain)
    running = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "score", "in.jsonl", *asked],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + SLOW
    while len(server.requests) < 4 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(server.requests) == 4  # at once
    began = time.monotonic()
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=SLOW)
    assert (running.returncode, time.monotonic() - began < SOON) == (130, True)
    assert said.endswith(SAID)


@pytest.fixture
def interrupt_after(heeded: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], None]:
    """Makes a function of a module or class press Ctrl-C whenever it returns."""

    def watch(owner: Any, name: str) -> None:
        plain = getattr(owner, name)

        def call_and_interrupt(*args: Any, **settings: Any) -> Any:
            found = plain(*args, **settings)
            os.kill(os.getpid(), signal.SIGINT)
            return found

        monkeypatch.setattr(owner, name, call_and_interrupt)

    return watch


def test_ctrl_c_ends_while_a_local_model_generates(
    run: Callable[..., Any], interrupt_after: Callable[..., None], lm: CausalLM, guide: CausalGuide, tmp_path: Path
) -> None:
    lm.save_pretrained(tmp_path / "generator")
    guide.save_pretrained(tmp_path / "guide")
    interrupt_after(oumg.generation, "describe_step")
    ended = run("steer", "--generator", "generator", "--guide", "guide", "--prompts", "the red cat")
    assert (ended.returncode, ended.stderr.endswith(SAID)) == (130, True), ended.stderr


def test_ctrl_c_ends_while_a_local_model_judges(
    run: Callable[..., Any], interrupt_after: Callable[..., None], toy_chat_model: Path, tmp_path: Path
) -> None:
    write(tmp_path / "in.jsonl", *({"text": f"text {i}"} for i in range(200)))
    interrupt_after(LocalChat, "_answer")
    ended = run("score", "in.jsonl", "--metric", "llm_judge", "--metric.model", str(toy_chat_model))
    assert (ended.returncode, ended.stderr.endswith(SAID)) == (130, True), ended.stderr


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
