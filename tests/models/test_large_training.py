"""Training of models that hardly fit: parts of batches, recomputed activations, LoRA, and rows that do not fit."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning
import torch

from models.batching import Task
from models.causal import CausalLM
from models.tiny import TinyCausal
from models.training import LanguageModelModule, LanguageModelSchedule, Lora, add_lora, train_language_model

TRAINER = partial(pytorch_lightning.Trainer, accelerator="cpu", devices=1, enable_progress_bar=False)
TASKS = [Task([1], [5 + (i + j) % 40 for j in range(3 + i)]) for i in range(12)]
IDS = torch.tensor([[5, 6, 7, 8, 9, 10]])
SCHEDULE: dict[str, Any] = {"epochs": 2, "batch_size": 4, "learning_rate": 0.01}

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # Lightning's, on the trainer


def new_lm() -> CausalLM:
    return TinyCausal(300, 16, 2, 1, 32, max_length=32).build(["the cat sat on the mat"], (), seed=0)


def train(folder: Path, lm: CausalLM, trainer: Callable[..., Any] = TRAINER, **settings: Any) -> torch.Tensor:
    """The logits of a text after training."""
    train_language_model(
        lm, lambda seed: TASKS, TASKS[:5], LanguageModelSchedule(**SCHEDULE, **settings), folder, trainer
    )
    with torch.inference_mode():
        return lm.model(input_ids=IDS).logits


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> torch.Tensor:
    return train(tmp_path_factory.mktemp("whole"), new_lm())


def test_recomputed_activations_change_nothing(whole: torch.Tensor, tmp_path: Path) -> None:
    torch.testing.assert_close(train(tmp_path, new_lm(), checkpointing=True), whole, atol=1e-4, rtol=0)


def test_mixed_precision_keeps_float32_weights(whole: torch.Tensor, tmp_path: Path) -> None:
    lm = new_lm()
    found = train(tmp_path, lm, partial(TRAINER, precision="bf16-mixed"))
    assert lm.dtype == "float32"
    torch.testing.assert_close(found, whole, atol=0.3, rtol=0)
    assert not torch.equal(found, whole)


@pytest.mark.slow
def test_lora_is_merged_into_what_is_saved(tmp_path: Path) -> None:
    lm = new_lm()
    lm.model.config.new_tokens = ["</s>"]  # begin at random; no other embedding is trained
    before = {name: value.clone() for name, value in lm.model.state_dict().items()}
    with torch.inference_mode():
        untrained = lm.model(input_ids=IDS).logits
    logits = train(tmp_path, lm, lora=Lora(rank=4), checkpointing=True)
    assert (logits - untrained).abs().max() > 0.01
    loaded = CausalLM.from_pretrained(tmp_path)
    after = loaded.model.state_dict()
    assert after.keys() == before.keys()
    changed = {name for name, value in after.items() if not torch.equal(value, before[name])}
    parts = ("h.0.attn.c_attn", "h.0.attn.c_proj", "h.0.mlp.c_fc", "h.0.mlp.c_proj", "wte")
    assert changed == {"lm_head.weight", *(f"transformer.{part}.weight" for part in parts)}  # tied to the embeddings
    rows = (after["lm_head.weight"] != before["lm_head.weight"]).any(dim=1).nonzero().flatten()
    assert rows.tolist() == [lm.tokenizer.convert_tokens_to_ids("</s>")]
    with torch.inference_mode():
        torch.testing.assert_close(loaded.model(input_ids=IDS).logits, logits, atol=1e-5, rtol=0)
    points = json.loads((tmp_path / "curve.json").read_text("utf-8"))
    losses = [point["val/loss"] for point in points if "val/loss" in point]
    assert losses[-1] < losses[0]


@pytest.mark.slow
def test_checkpoints_hold_what_is_learned() -> None:
    learner = add_lora(new_lm().model, Lora(rank=4), seed=0, tokens=[1])
    state = LanguageModelModule(learner, learning_rate=0.01).state_dict()
    assert state
    assert all("lora_" in name or "trainable_tokens_" in name for name in state)
