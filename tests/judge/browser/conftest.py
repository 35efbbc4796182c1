"""The tiny models of `make models`, smaller still."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from experiments.run import main
from tests.baselines.test_endpoint import closed_port
from tests.experiments.steering.conftest import guide, lm

PROGRAM = "import sys; from judge.cli import console; sys.exit(console())"
__all__ = ["guide", "lm"]  # fixtures of guided decoding

ROOT = Path(__file__).parents[3]
SMALL = """
data.train=120 data.held_out=30 remarks.train=400 remarks.held_out=20 stories.train=60 stories.held_out=10 trainer=cpu
model.expert.schedule.epochs=1 model.negatives.dialogues=24 model.pooler.dialogues=16 ~model.discriminators.bert
model.ctrleval.infiller.schedule.epochs=1 model.mars.language_model.schedule.epochs=1
model.guided.generator.schedule.epochs=1 model.guided.guides.causal.training.epochs=1
model.guided.judge.training.epochs=1
"""


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of `+exp=models` on few texts: its models know next to nothing."""
    folder = tmp_path_factory.mktemp("tiny")
    words = ["experiments/run.py", "+exp=models", f"outputs={folder}", *SMALL.split()]
    own_handlers = patch.object(logging, "_handlerList", [])  # Hydra closes all that there are
    with own_handlers, patch.dict(os.environ), patch.object(sys, "argv", words), pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    return folder / "tiny"


@contextmanager
def serve_demo(folder: Path, *settings: str, end: signal.Signals = signal.SIGINT, **more: str) -> Iterator[str]:
    """The address of the page of `judge demo`, with more variables; the signal ends the command without a complaint."""
    port = closed_port()
    command, address = [sys.executable, "-c", PROGRAM, "demo", "--port", str(port)], f"http://127.0.0.1:{port}"
    with (folder / "log").open("w") as log:
        heeded = signal.signal(signal.SIGINT, signal.default_int_handler)
        running = subprocess.Popen(
            [*command, *settings],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **more},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        signal.signal(signal.SIGINT, heeded)
    until = time.monotonic() + 300
    while f"the page is at {address}" not in (folder / "log").read_text() and time.monotonic() < until:
        assert running.poll() is None, (folder / "log").read_text()
        time.sleep(0.2)
    yield address
    running.send_signal(end)
    assert running.wait(60) == 0, (folder / "log").read_text()
    assert "Traceback" not in (folder / "log").read_text()


@pytest.fixture(autouse=True)
def loops_of_gradio(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Closes the event loops that gradio makes where there is none, and leaves open."""
    made: list[asyncio.AbstractEventLoop] = []
    make_loop = asyncio.new_event_loop

    def make_and_note() -> asyncio.AbstractEventLoop:
        made.append(make_loop())
        return made[-1]

    monkeypatch.setattr(asyncio, "new_event_loop", make_and_note)
    yield
    for loop in made:
        loop.close()
    if made:
        asyncio.set_event_loop(None)
