"""Two processes train and sample as one, with a copy of the model on each or a half."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
from models.tiny import TinyCausal
from models.batching import Task
from models.training import LanguageModelSchedule, train_language_model
from discriminators.guides import new_causal_guide

folder, devices, encoder = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
trainer = partial(
    Trainer, accelerator="cpu", devices=devices, strategy="ddp" if devices > 1 else "auto", enable_progress_bar=False
)
words = "the cat sat on a mat and ran".split()
texts = [" ".join(words[(i * j + k) % 8] for k in range(2 + i % 5)) for j in (1, 3) for i in range(16)]
labelled = [LabelledText((text,), int("cat" in text), str(i)) for i, text in enumerate(texts)]

lm = TinyCausal(300, 16, 2, 1, 32, max_length=32).build(texts, (), seed=0)
tasks = [Task([1], row) for row in lm.tokenizer(texts)["input_ids"]]  # 7 batches, of which the last has 1 or 2 rows
schedule = LanguageModelSchedule(epochs=2, batch_size=5, learning_rate=0.01, muon=0.01, token_budget=40)
train_language_model(lm, lambda seed: tasks[1:], tasks[:9], schedule, folder / "language_model", trainer)

settings = TrainingSettings(epochs=2, learning_rate=0.01, token_budget=40, held_out=0.3)
bilstm = partial(new_bilstm, tokens="words", embedding_dim=8, hidden_dim=8, dropout=0.0)
train_classifier(bilstm, labelled, folder / "bilstm", trainer, settings)
train_classifier(partial(new_bert, encoder=encoder, dropout=0.0), labelled, folder / "bert", trainer, settings)
guide = partial(new_causal_guide, tokenizer=lm.tokenizer, embedding_dim=8, hidden_dim=8, dropout=0.0, max_length=64)
train_classifier(guide, labelled, folder / "guide", trainer, settings)
"""
KINDS = ("language_model", "bilstm", "bert", "guide")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.slow
def test_two_processes_train_as_one(saved_bert: Callable[..., Path], tmp_path: Path) -> None:
    encoder = saved_bert(["the", "cat", "sat", "on", "a", "mat", "and", "ran"], dimension=16, layers=1, max_length=32)
    config = json.loads((encoder / "config.json").read_text("utf-8"))
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # dropout differs between processes
    (encoder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    for devices in ("1", "2"):
        command = [sys.executable, str(tmp_path / "train.py"), str(tmp_path / devices), devices, str(encoder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, env=ENVIRONMENT, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    for kind in KINDS:
        curves = [json.loads((tmp_path / n / kind / "curve.json").read_text("utf-8")) for n in ("1", "2")]
        one, two = ([point["val/loss"] for point in curve if "val/loss" in point] for curve in curves)
        assert two == pytest.approx(one, abs=1e-4), kind
        assert one[-1] != one[0]


SPLIT = """
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from models.tiny import TinyCausal
from models.batching import Task
from models.training import LanguageModelModule, batches_of_tasks

folder, rank, processes = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{folder}/store{processes}", rank=rank, world_size=processes)
words = "the cat sat on a mat and ran".split()
texts = [" ".join(words[(i * j + k) % 8] for k in range(2 + i % 5)) for j in (1, 3) for i in range(16)]
lm = TinyCausal(300, 16, 2, 1, 32, max_length=32).build(texts, (), seed=0)
tasks = [Task([1], row) for row in lm.tokenizer(texts)["input_ids"]]
training = LanguageModelModule(lm.model.eval(), learning_rate=0.01)
if processes > 1:
    mesh = init_device_mesh("cpu", (processes,))
    for layer in lm.model.transformer.h:
        fully_shard(layer, mesh=mesh)
    fully_shard(lm.model, mesh=mesh)
    whole = sum(p.numel() for p in lm.model.parameters())
    assert sum(p.to_local().numel() for p in lm.model.parameters()) < 0.6 * whole
optimizer = training.make_optimizer()
for tasks_of_batch in batches_of_tasks(tasks, 5, shuffle_seed=0):
    whole_batch = lm.training_batch(tasks_of_batch)
    share = lm.training_batch(tasks_of_batch[rank::processes])
    loss = training.summed_loss(share) / (whole_batch["labels"] != -100).sum()
    (loss * processes).backward()  # gradients are averaged over processes
    torch.nn.utils.clip_grad_norm_(training.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    dist.all_reduce(total := loss.detach())
    if rank == 0:
        print(float(total))
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_with_half_a_model_each_train_as_one(tmp_path: Path) -> None:
    """Lightning refuses FSDP without a GPU: its loop is not part of this, loss, optimizer and shares of a batch are."""
    (tmp_path / "train.py").write_text(SPLIT, encoding="utf-8")
    losses: list[list[float]] = []
    for processes in (1, 2):
        command = [sys.executable, str(tmp_path / "train.py"), str(tmp_path)]
        settings: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": ENVIRONMENT}
        started = [subprocess.Popen([*command, str(rank), str(processes)], **settings) for rank in range(processes)]
        ended = [each.communicate(timeout=900) for each in started]
        assert [each.returncode for each in started] == [0] * processes, ended[-1][1]
        losses.append([float(line) for line in ended[0][0].split()])
    one, two = losses
    assert two == pytest.approx(one, abs=1e-4)
    assert one[-1] < one[0]


SAMPLES = """
import json
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch
from pytorch_lightning import Trainer

from cdm.negatives import NegativeSampler
from cdm.parallel import find_steps_on_all, sample_negatives_on_all
from cdm.sampling import Sampling
from tests.toy_models import toy_pair

folder, devices = Path(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(1)
trainer = partial(Trainer, accelerator="cpu", devices=devices, enable_progress_bar=False)
words = "the cat sat on a mat and ran".split()
dialogues = [tuple(" ".join(words[(i * j + k) % 8] for k in range(2 + i % 5)) for j in (1, 3)) for i in range(11)]
pair = toy_pair([turn for turns in dialogues for turn in turns])
sampler = NegativeSampler(pair, dialogues, "mixed-multi", Sampling(gamma=0.5, longest=6), seed=1)
steps = find_steps_on_all(pair, sampler.tokenised, folder, trainer, size=3)
negatives = sample_negatives_on_all(sampler, folder, trainer, size=3)
rank = 0
if devices > 1:
    assert (torch.distributed.get_backend(), torch.distributed.get_world_size()) == ("gloo", devices)
    rank = torch.distributed.get_rank()
folder.mkdir(exist_ok=True)
kept = {"negatives": asdict(negatives), "momentum": [step.momentum.tolist() for step in steps]}
(folder / f"{rank}.json").write_text(json.dumps(kept), "utf-8")
"""


@pytest.mark.slow
def test_two_processes_sample_and_read_the_bytes_of_one(tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(SAMPLES, encoding="utf-8")
    for devices in ("1", "2"):
        command = [sys.executable, str(tmp_path / "sample.py"), str(tmp_path / devices), devices]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=ENVIRONMENT, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    expected = (tmp_path / "1" / "0.json").read_bytes()
    assert json.loads(expected)["negatives"]["negatives"]
    assert [(tmp_path / "2" / f"{rank}.json").read_bytes() for rank in "01"] == [expected, expected]
