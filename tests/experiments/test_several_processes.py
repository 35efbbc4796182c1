"""Two processes train every kind of model to the results of one."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
from functools import partial
from pathlib import Path

import torch
from pytorch_lightning import Trainer

from discriminators.texts import LabelledText
from discriminators.discriminator import new_bert, new_bilstm
from discriminators.training import TrainingSettings, train_classifier
from models.tiny import TinyGPT2
from models.training import LanguageModelSchedule, Task, train_language_model
from discriminators.guides import new_causal_guide

folder, devices, encoder = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
trainer = partial(
    Trainer, accelerator="cpu", devices=devices, strategy="ddp" if devices > 1 else "auto", enable_progress_bar=False
)
words = "the cat sat on a mat and ran".split()
texts = [" ".join(words[(i * j + k) % 8] for k in range(2 + i % 5)) for j in (1, 3) for i in range(16)]
labelled = [LabelledText((text,), int("cat" in text), str(i)) for i, text in enumerate(texts)]

lm = TinyGPT2(300, 16, 2, 1, 32, longest=32).build(texts, (), seed=0)
tasks = [Task([1], row) for row in lm.tokenizer(texts)["input_ids"]]  # 7 batches, of which the last has 1 or 2 rows
schedule = LanguageModelSchedule(epochs=2, batch_size=5, learning_rate=0.01, muon=0.01, token_budget=40)
train_language_model(lm, lambda seed: tasks[1:], tasks[:9], schedule, folder / "language_model", trainer)

settings = TrainingSettings(epochs=2, learning_rate=0.01, token_budget=40, held_out=0.3)
bilstm = partial(new_bilstm, tokens="words", embedding_dim=8, hidden_dim=8, dropout=0.0)
train_classifier(bilstm, labelled, folder / "bilstm", trainer, settings)
train_classifier(partial(new_bert, encoder=encoder, dropout=0.0), labelled, folder / "bert", trainer, settings)
guide = partial(new_causal_guide, tokenizer=lm.tokenizer, embedding_dim=8, hidden_dim=8, dropout=0.0, max_tokens=64)
train_classifier(guide, labelled, folder / "guide", trainer, settings)
"""
KINDS = ("language_model", "bilstm", "bert", "guide")


@pytest.mark.slow
def test_two_processes_train_as_one(saved_bert: Callable[..., Path], tmp_path: Path) -> None:
    encoder = saved_bert(["the", "cat", "sat", "on", "a", "mat", "and", "ran"], dimension=16, layers=1, longest=32)
    config = json.loads((encoder / "config.json").read_text("utf-8"))
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # dropout differs between processes
    (encoder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    for devices in ("1", "2"):
        command = [sys.executable, str(tmp_path / "train.py"), str(tmp_path / devices), devices, str(encoder)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    for kind in KINDS:
        one, two = (
            [
                point["val/loss"]
                for point in json.loads((tmp_path / n / kind / "curve.json").read_text("utf-8"))
                if "val/loss" in point
            ]
            for n in ("1", "2")
        )
        assert two == pytest.approx(one, abs=1e-4), kind
        assert one[-1] != one[0]
