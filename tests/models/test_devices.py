"""Devices, precisions and memory: what this machine lacks is a fault, and bfloat16 rounds no logits."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from core.errors import MissingModelError, SettingError
from models import devices, model
from models.causal import CausalLM
from models.devices import check_device, count_weights, free_memory, set_aside
from models.masked import MaskedLM
from models.model import Float32Linear
from models.seq2seq import Seq2SeqLM
from models.tiny import TinyBert, TinyCausal, TinyT5
from models.training import LanguageModelModule


@pytest.mark.parametrize("bias", [False, True])
def test_a_layer_in_float32_copies_some_rows_at_a_time(bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "COPIED", 3)
    layer = Float32Linear(3, 8, bias=bias).to(torch.bfloat16)
    states = torch.randn(2, 4, 3)
    with torch.inference_mode():
        first = layer(states)
        exact = states @ layer.weight.float().T
        torch.testing.assert_close(first, exact + layer.bias.float() if bias else exact)
    with torch.no_grad():
        if bias:
            layer.bias.mul_(2)
        layer.weight.mul_(2)
        torch.testing.assert_close(layer(states), 2 * first)
    assert layer(states).requires_grad


def test_a_gpu_without_bfloat16_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available: torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: False)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "V100")
    check_device("cuda:1", "float16")
    with pytest.raises(SettingError, match="dtype=bfloat16, but V100 does not support bfloat16"):
        check_device("cuda", "bfloat16")
    with pytest.raises(SettingError, match="this machine has 2 devices of the kind cuda"):
        check_device("cuda:2")


def test_weights_are_counted_from_headers(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(3, 4)}, tmp_path / "model-1.safetensors")
    save_file({"b": torch.zeros(5, dtype=torch.bfloat16), "c": torch.zeros(())}, tmp_path / "model-2.safetensors")
    places = {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-2.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}), encoding="utf-8")
    assert count_weights(tmp_path) == 12 + 5 + 1
    assert count_weights(tmp_path / "nothing") is None
    assert count_weights("no/such") is None


def test_weights_on_a_hub_that_does_not_answer_are_not_counted(network: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's client raises errors of a class of its own for a refused connection, which are no OSError."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    assert count_weights("owner/model") is None
    assert network.refused  # by the tests' own guard, as a machine without a network does
    network.refused.clear()


@pytest.mark.parametrize("damage", ["empty", "bytes", "header", "pointer"])
def test_damaged_weights_are_a_fault_of_the_model(damage: str, tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    save_file({"a": torch.zeros(3, 4)}, file)
    contents = {"empty": b"", "bytes": b"\xff" * 64, "header": (3).to_bytes(8, "little") + b"{}{"}
    file.write_bytes({**contents, "pointer": b"version https://git-lfs"}[damage])
    with pytest.raises(MissingModelError, match=r"model\.safetensors.*fetch the model again"):
        count_weights(tmp_path)


def test_a_model_that_does_not_fit_is_refused_before_it_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lm = TinyCausal(300, 8, 1, 1, 8, max_length=16).build(["a b"], (), seed=0)
    lm.save_pretrained(tmp_path)
    assert count_weights(tmp_path) == lm.parameters
    monkeypatch.setattr(devices, "free_memory", lambda device: 3 * lm.parameters)
    assert CausalLM.from_pretrained(tmp_path, dtype="bfloat16").parameters == lm.parameters
    with pytest.raises(SettingError, match=r"need 0.0 GB in float32, but cpu has 0.0 GB free: .* or dtype=bfloat16"):
        CausalLM.from_pretrained(tmp_path)


def test_free_memory_heeds_the_limit_of_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(devices, "GROUP_LIMIT", tmp_path / "memory.max")
    assert free_memory("cpu") is None
    devices.MEMORY.write_text("MemTotal:  9000 kB\nMemAvailable:   2000 kB\n", encoding="utf-8")
    assert free_memory("cpu") == 2000 * 1024
    devices.GROUP_LIMIT.write_text("max\n", encoding="utf-8")
    assert free_memory("cpu") == 2000 * 1024
    devices.GROUP_LIMIT.write_text("1024\n", encoding="utf-8")
    assert free_memory("cpu") == 1024


@pytest.mark.parametrize(("device", "dtype"), [("gpu", "float32"), ("cuda:99", "float32"), ("cpu", "bf16")])
def test_what_is_not_there_is_a_fault(device: str, dtype: str) -> None:
    with pytest.raises(SettingError, match=f"(device|dtype).*({device}|{dtype})"):
        check_device(device, dtype)


def test_models_leave_their_device_while_others_train() -> None:
    class OnDevice:
        device = torch.device("cuda:1")

        def to(self, device: torch.device | str) -> None:
            self.device = torch.device(device)

    models = OnDevice(), OnDevice()
    with set_aside(*models):
        assert {model.device.type for model in models} == {"cpu"}
    assert {str(model.device) for model in models} == {"cuda:1"}


TEXTS = ["the cat sat on the mat.", "the dog ran."]
PLANS = {
    "t5": (TinyT5(300, 16, 32, 2, 1, 1), Seq2SeqLM),
    "gpt2": (TinyCausal(300, 16, 2, 1, 32), CausalLM),
    "bert": (TinyBert(300, 16, 2, 1, 32), MaskedLM),
}


@pytest.fixture(params=PLANS)
def lm(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    plan, kind = PLANS[request.param]
    plan.build(TEXTS, (), seed=0).save_pretrained(tmp_path)
    return kind.from_pretrained(tmp_path, dtype="bfloat16")


def exact_logits(lm: Any, **inputs: torch.Tensor) -> torch.Tensor:
    """The product of the last hidden states and the vocabulary in float64."""
    seen: list[torch.Tensor] = []
    layer = lm.model.get_output_embeddings()
    hook = layer.register_forward_pre_hook(lambda module, arguments: seen.append(arguments[0]))
    with torch.inference_mode():
        lm.model(**inputs)
    hook.remove()
    bias = 0.0 if layer.bias is None else layer.bias.double()
    return seen[0].double() @ layer.weight.double().T + bias


def test_log_probabilities_are_not_rounded_to_bfloat16(lm: Any) -> None:
    assert lm.model.dtype == torch.bfloat16
    ids = torch.tensor([[5, 9, 40, 7]])
    if isinstance(lm, Seq2SeqLM):
        inputs = {"input_ids": ids, "decoder_input_ids": torch.tensor([[0, 11, 12]])}
        (found,) = lm.log_probabilities([([5, 9, 40, 7], [11, 12, 13])])
        wanted = exact_logits(lm, **inputs)[0].log_softmax(-1)[range(3), [11, 12, 13]]
    elif isinstance(lm, CausalLM):
        (found,) = lm.log_probabilities([([5, 9], [40, 7])])
        wanted = exact_logits(lm, input_ids=ids[:, :-1])[0, 1:].log_softmax(-1)[range(2), [40, 7]]
    else:
        logits = lm.model(input_ids=ids).logits
        assert logits.dtype == torch.float32
        torch.testing.assert_close(logits.double(), exact_logits(lm, input_ids=ids), atol=1e-5, rtol=0)
        return
    torch.testing.assert_close(torch.tensor(found).double(), wanted, atol=1e-5, rtol=0)


def test_float16_training_is_refused() -> None:
    """Its gradients are scaled, and clipping would see the scaled ones."""
    model = torch.nn.Linear(2, 2)
    module = LanguageModelModule(model, learning_rate=0.1)
    module._trainer = SimpleNamespace(precision="16-mixed")  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(SettingError, match="must be 32-true or bf16-mixed for language models, but is 16-mixed"):
        module.on_fit_start()
    module._trainer = SimpleNamespace(precision="bf16-mixed", strategy=None)  # pyright: ignore[reportAttributeAccessIssue]
    module.on_fit_start()
