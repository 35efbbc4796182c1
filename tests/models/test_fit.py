"""What all trainings share: the learning rate, Muon and the loss beside those of libraries, and shares of a batch."""

import json
import pickle
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pytorch_lightning import Callback
from transformers import get_linear_schedule_with_warmup

from core.errors import SettingError
from models.batching import NOT_LEARNED, Task
from models.causal import CausalLM
from models.fit import LearningCurve, build_trainer, learning_rate_factor
from models.model import ConditionalLM
from models.muon import MuonAdamW
from models.tiny import TinyCausal, TinyT5
from models.training import (
    LanguageModelModule,
    LanguageModelSchedule,
    Lora,
    TaskDataModule,
    add_lora,
    batches_of_tasks,
    train_language_model,
)
from tests.toy_models import QUIET, kill_in

CAUSAL, T5 = TinyCausal(300, 16, 2, 1, 32, max_length=32), TinyT5(300, 16, 32, 2, 1, 1)
ONE = [Task([5, 6, 7], [8, 9])]
EIGHT = [Task([5, 6, 7], [8, 9, 10 + i]) for i in range(8)]
UNEQUAL = [Task([5, 6], list(range(8, 9 + 2 * i))) for i in range(6)]
IDS = torch.tensor([[5, 6, 7, 8, 9, 10]])


def new_lm(tiny: TinyCausal | TinyT5 = CAUSAL, seed: int = 0) -> Any:
    return tiny.build(["the cat sat on the mat"], (), seed)


def train(
    folder: Path,
    lm: ConditionalLM,
    tasks: Sequence[Task] = ONE,
    trainer: Callable[..., Any] = QUIET,
    held_out: Sequence[Task] | None = None,
    **settings: Any,
) -> None:
    schedule = LanguageModelSchedule(**{"epochs": 1, "batch_size": 2, "learning_rate": 0.05, **settings})
    train_language_model(lm, lambda seed: tasks, held_out or tasks[:2], schedule, folder, trainer)


@given(st.integers(2, 60), st.integers(0, 59))
def test_the_learning_rate_is_that_of_transformers(steps: int, warm: int) -> None:
    warm = min(warm, steps - 1)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    expected = get_linear_schedule_with_warmup(optimizer, warm, steps).lr_lambdas[0]  # pyright: ignore[reportAttributeAccessIssue]
    found = [learning_rate_factor(step, steps, warm) for step in range(steps + 1)]
    assert found == pytest.approx([expected(step) for step in range(steps + 1)], abs=1e-12)


@pytest.mark.parametrize(("steps", "expected"), [(1, [1]), (4, [1, 1, 2 / 3, 1 / 3]), (8, [0.5, 1, 1, 5 / 6])])
def test_the_first_step_of_a_language_model_learns(steps: int, expected: list[float]) -> None:
    module = LanguageModelModule(torch.nn.Linear(1, 1), learning_rate=0.1, warm_up=0.25)
    module._trainer = SimpleNamespace(estimated_stepping_batches=steps)  # pyright: ignore[reportAttributeAccessIssue]
    (factor,) = module.configure_optimizers()["lr_scheduler"]["scheduler"].lr_lambdas
    assert [factor(step) for step in range(len(expected))] == pytest.approx(expected)


@pytest.mark.parametrize(("tasks", "sizes"), [(0, []), (5, [5]), (11, [3, 4, 4]), (16, [4, 4, 4, 4])])
def test_no_step_of_an_epoch_is_a_rest(tasks: int, sizes: list[int]) -> None:
    """Sixteen tasks in batches of five left one task alone, a whole step on the longest dialogue."""
    batches = batches_of_tasks([Task([1] * (i + 1), [1]) for i in reversed(range(tasks))], size=5)
    assert [len(batch) for batch in batches] == sizes
    assert [len(task.source) for batch in batches for task in batch] == [*range(1, tasks + 1)]


@pytest.mark.parametrize("tiny", [CAUSAL, T5])
def test_the_loss_is_that_of_all_logits(tiny: TinyCausal | TinyT5) -> None:
    lm = new_lm(tiny)
    model = lm.model.eval()
    tasks = [Task([5, 6, 7], [8, 9, 10], given=1), Task([5], [11, 12]), Task([6, 7], [13], given=1)]
    batch = lm.training_batch(tasks)
    training = LanguageModelModule(model, learning_rate=0.1)
    labels = batch["labels"]
    logits = model(**{name: tensor for name, tensor in batch.items() if name != "labels"}).logits
    rows = [(i, j) for i in range(3) for j in range(labels.shape[1]) if labels[i, j] != NOT_LEARNED]
    expected = -sum(logits[i, j].log_softmax(0)[labels[i, j]] for i, j in rows)
    assert len(rows) == 4
    torch.testing.assert_close(training.summed_loss(batch), expected)


def read_weights(lm: ConditionalLM) -> list[torch.Tensor]:
    return [weight.detach().clone() for weight in lm.model.parameters()]


def test_a_killed_training_ends_as_a_whole_one_also_where_its_folder_was_moved(tmp_path: Path) -> None:
    def train_four(folder: str, trainer: Callable[..., Any] = QUIET) -> list[torch.Tensor]:
        lm = new_lm()
        held_out = [Task([5], [11, 12])]  # the model forgets it, so the first epoch is the best one
        train(tmp_path / folder, lm, EIGHT, trainer, held_out, epochs=4)
        return read_weights(lm)

    whole = train_four("whole")
    with pytest.raises(RuntimeError, match="killed"):
        train_four("killed", partial(kill_in, 2))
    (tmp_path / "killed").rename(tmp_path / "moved")
    assert all(map(torch.equal, train_four("moved", partial(kill_in, 0)), whole))  # epochs 0 and 1 are not run again


@pytest.mark.parametrize("name", ["last.ckpt", "epoch_0.ckpt"])
@pytest.mark.parametrize("is_cut", [True, False])
def test_a_training_with_a_damaged_checkpoint_begins_anew(
    name: str,
    is_cut: bool,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    whole = new_lm()
    train(tmp_path / "whole", whole, EIGHT, epochs=2)
    with pytest.raises(RuntimeError, match="killed"):
        train(tmp_path / "killed", new_lm(), EIGHT, partial(kill_in, 1), epochs=2)
    file = tmp_path / "killed" / "checkpoints" / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content[: len(content) // 2] if is_cut else content)
    again = new_lm()
    train(tmp_path / "killed", again, EIGHT, epochs=2)
    assert all(map(torch.equal, read_weights(again), read_weights(whole)))
    assert f"{name} is damaged" in caplog.text


class Planted:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_a_pickle_in_the_place_of_a_checkpoint_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="killed"):
        train(tmp_path, new_lm(), EIGHT, partial(kill_in, 1), epochs=2)
    trace = tmp_path / "trace"
    for write in (torch.save, lambda content, path: path.write_bytes(pickle.dumps(content))):
        (tmp_path / "checkpoints").mkdir(exist_ok=True)
        write({"state_dict": Planted(trace)}, tmp_path / "checkpoints" / "last.ckpt")
        train(tmp_path, new_lm(), EIGHT, epochs=2)
        assert not trace.exists()
    pickle.loads(pickle.dumps(Planted(trace)))
    assert trace.exists()  # it would run


def test_a_training_that_diverges_ends_as_a_fault_of_the_setting(tmp_path: Path) -> None:
    message = "^the training diverged: val/loss is NaN in every epoch, or was never measured: set a lower learning rate"
    with pytest.raises(SettingError, match=message):
        train(tmp_path, new_lm(), learning_rate=1e38)
    assert not (tmp_path / "config.json").exists()


def test_a_gradient_that_is_not_finite_changes_no_weight(tmp_path: Path) -> None:
    lm = new_lm()
    lm.model.transformer.h[0].ln_1.weight.register_hook(lambda gradient: gradient * torch.inf)
    before = read_weights(lm)
    with pytest.raises(SettingError, match="the gradient is not finite in step 1, and no weight took it: set a lower"):
        train(tmp_path, lm)
    assert all(map(torch.equal, before, lm.model.parameters()))


def test_no_gradient_comes_from_the_attention_of_cudnn(tmp_path: Path) -> None:
    """For some lengths with a mask its gradient is NaN."""
    lm = new_lm()
    is_allowed: list[bool] = []

    def look(*_: Any) -> None:
        if torch.is_grad_enabled():
            is_allowed.append(torch.backends.cuda.cudnn_sdp_enabled())

    lm.model.register_forward_pre_hook(look)
    train(tmp_path, lm)
    assert is_allowed == [False]


def test_settings_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(SettingError, match=r"^lora trains with AdamW alone, but muon is set: set muon=null$"):
        LanguageModelSchedule(epochs=1, batch_size=1, learning_rate=0.1, muon=0.1, lora=Lora())


@pytest.mark.parametrize("tiny", [CAUSAL, T5])
def test_processes_share_the_rows_of_a_batch_and_one_without_a_row_learns_nothing(tiny: TinyCausal | TinyT5) -> None:
    lm = new_lm(tiny)
    tasks = [Task([5], [6, 7, 8], given=1), Task([6], [9])]
    data = TaskDataModule(lm, lambda seed: tasks, tasks, batch_size=2)
    labels = []
    for process in range(3):
        settings = {"current_epoch": 0, "accumulate_grad_batches": 1, "world_size": 3, "global_rank": process}
        data.trainer = SimpleNamespace(**settings)  # pyright: ignore[reportAttributeAccessIssue]
        (batch,) = data.train_dataloader()
        assert batch["learned"] == 3
        labels.append([label for label in batch["labels"].flatten().tolist() if label != NOT_LEARNED])
    assert labels == [[9], [7, 8], []]


class Gradients(Callback):
    """Keeps the gradient of the last step."""

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        self.found = torch.cat([weight.grad.flatten().clone() for weight in pl_module.parameters()])


def read_gradient(folder: Path, batch_size: int, **settings: Any) -> torch.Tensor:
    """The gradient of an epoch of one step, on tasks of unequal lengths."""
    gradients = Gradients()
    train(folder, new_lm(), UNEQUAL, partial(QUIET, callbacks=[gradients], **settings), batch_size=batch_size)
    return gradients.found


@pytest.mark.parametrize(("batch_size", "parts"), [(2, 3), (3, 2), (1, 6)])
def test_the_loss_of_a_step_is_the_mean_over_the_tokens_of_all_its_parts(
    batch_size: int, parts: int, tmp_path: Path
) -> None:
    """Lightning's own accumulation weighs the parts alike, whatever number of tokens each has."""
    whole = read_gradient(tmp_path / "whole", 6)
    found = read_gradient(tmp_path / "parts", batch_size, accumulate_grad_batches=parts)
    torch.testing.assert_close(found, whole, atol=1e-6, rtol=0)


def test_a_token_budget_bounds_a_batch_and_as_many_batches_make_a_step_as_have_its_tasks(tmp_path: Path) -> None:
    sizes: list[int] = []
    steps: list[int] = []

    class Watcher(Callback):
        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            sizes.append(batch["input_ids"].numel())
            steps.append(trainer.global_step)

    train(tmp_path, new_lm(), UNEQUAL, partial(QUIET, callbacks=[Watcher()]), batch_size=6, token_budget=20)
    assert len(sizes) > 2
    assert max(sizes) <= 20
    assert steps == [0] * (len(steps) - 1) + [1]  # one step of six tasks


class Stops(Callback):
    """Ends a training after its first epoch."""

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        trainer.should_stop = True


def test_what_a_trainer_says_has_the_last_word_and_its_callbacks_are_called(tmp_path: Path) -> None:
    train(tmp_path / "stops", new_lm(), trainer=partial(QUIET, callbacks=[Stops()]), epochs=4)
    train(tmp_path / "short", new_lm(), trainer=partial(QUIET, max_epochs=2), epochs=4)
    counts = []
    for folder in ("stops", "short"):
        curve = json.loads((tmp_path / folder / "curve.json").read_text("utf-8"))
        counts.append(sum("val/loss" in point for point in curve))
    assert counts == [1, 2]


def test_a_single_callback_of_a_trainer_is_kept_beside_others() -> None:
    own, added = Stops(), LearningCurve()
    trainer = build_trainer(partial(QUIET, callbacks=own, logger=False, enable_checkpointing=False), [added])
    assert {own, added} <= {*trainer.callbacks}


@pytest.mark.parametrize("epochs", [1, 4])
def test_a_training_whose_time_runs_out_is_not_kept_and_goes_on_with_more_time(epochs: int, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"trainer\.max_time\) ran out in epoch 1 of .*, so it is not kept"):
        train(tmp_path, new_lm(), EIGHT, partial(QUIET, max_time={"seconds": 0}), epochs=epochs)
    assert not (tmp_path / "config.json").exists()
    train(tmp_path, new_lm(), EIGHT, epochs=epochs)
    assert (tmp_path / "config.json").is_file()


def test_a_program_of_ones_own_trains_with_lightning_alone(tmp_path: Path) -> None:
    """A Trainer with a callback, a checkpoint of its own, and the module that reads it again."""
    gradients = Gradients()
    lm = new_lm()
    module = LanguageModelModule(lm.model, learning_rate=0.05, muon=0.02, seed=3)
    trainer = QUIET(
        max_epochs=1,
        callbacks=[gradients],
        default_root_dir=tmp_path,
        logger=False,
        reload_dataloaders_every_n_epochs=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's, on the machine
        trainer.fit(module, TaskDataModule(lm, lambda seed: ONE, ONE, batch_size=1))
    assert gradients.found.norm() > 0
    assert trainer.callback_metrics["val/loss"] > 0
    trainer.save_checkpoint(tmp_path / "a.ckpt")
    other = new_lm(seed=1).model
    found = LanguageModelModule.load_from_checkpoint(tmp_path / "a.ckpt", model=other, weights_only=True)
    assert (found.hparams["muon"], found.seed) == (0.02, 3)
    assert all(map(torch.equal, found.model.parameters(), lm.model.parameters()))


def draw_parameters(seed: int = 0) -> list[torch.nn.Parameter]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(8, 8), (24, 8), (8, 24)]
    return [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in shapes]


def test_the_rule_of_muon_is_that_of_torch() -> None:
    ours, theirs = draw_parameters(), draw_parameters()
    optimizers = (
        MuonAdamW([{"params": ours, "muon": True}], lr=0.01, weight_decay=0.1),
        torch.optim.Muon(theirs, lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
    )
    generator = torch.Generator().manual_seed(1)
    optimizers[0].step()  # without a gradient nothing moves
    assert all(map(torch.equal, ours, theirs))
    for _ in range(4):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = torch.randn(mine.shape, generator=generator)
            other.grad = mine.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    for mine, other, start in zip(ours, theirs, draw_parameters(), strict=True):
        moved = (mine - start).norm()
        assert (mine - other).norm() < 0.02 * moved  # torch's products are rounded to bfloat16's 8 bits


def test_one_optimizer_steps_as_two_and_its_state_is_restored() -> None:
    ours, theirs = draw_parameters(), draw_parameters()
    groups: list[dict[str, Any]] = [{"params": ours[:1]}, {"params": ours[1:], "muon": True, "lr": 0.02}]
    one = MuonAdamW(groups, lr=0.01)
    adam, muon = torch.optim.AdamW(theirs[:1], lr=0.01), MuonAdamW([{"params": theirs[1:], "muon": True}], lr=0.02)
    generator = torch.Generator().manual_seed(1)
    for _ in range(4):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = torch.randn(mine.shape, generator=generator)
            other.grad = mine.grad.clone()
        again = MuonAdamW(groups, lr=0.01)
        again.load_state_dict(one.state_dict())
        one = again
        for optimizer in (one, adam, muon):
            optimizer.step()
    assert all(map(torch.equal, ours, theirs))


@pytest.mark.parametrize(("batches", "steps"), [(3, [3]), (25, [25]), (30, [25, 30])])
def test_a_training_of_few_batches_has_a_curve(batches: int, steps: list[int]) -> None:
    curve = LearningCurve()
    nothing: Any = None
    for loss in range(batches):
        metrics = {"train/loss": torch.tensor(float(loss))}
        trainer: Any = SimpleNamespace(callback_metrics=metrics, global_step=loss + 1)
        curve.on_train_batch_end(trainer, nothing, nothing, nothing, loss)
    metrics = {"val/loss": torch.tensor(0.5)}
    validated: Any = SimpleNamespace(callback_metrics=metrics, global_step=batches, sanity_checking=False)
    curve.on_validation_end(validated, nothing)
    *learned, held_out = curve.points
    assert [point["step"] for point in learned] == steps
    first = min(batches, 25)
    assert learned[0]["train/loss"] == sum(range(first)) / first
    assert held_out == {"step": batches, "val/loss": 0.5}


# ---- models that hardly fit ------------------------------------------------------------------------------------------

LARGE: dict[str, Any] = {"epochs": 2, "batch_size": 4, "learning_rate": 0.01}
TWELVE = [Task([1], [5 + (i + j) % 40 for j in range(3 + i)]) for i in range(12)]


def read_logits(lm: CausalLM) -> torch.Tensor:
    with torch.inference_mode():
        return lm.model(input_ids=IDS).logits


def train_large(folder: Path, lm: CausalLM, trainer: Callable[..., Any] = QUIET, **settings: Any) -> torch.Tensor:
    """The logits of a text after training."""
    train(folder, lm, TWELVE, trainer, **LARGE, **settings)
    return read_logits(lm)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> torch.Tensor:
    return train_large(tmp_path_factory.mktemp("whole"), new_lm())


def test_recomputed_activations_change_nothing(whole: torch.Tensor, tmp_path: Path) -> None:
    torch.testing.assert_close(train_large(tmp_path, new_lm(), checkpointing=True), whole, atol=1e-4, rtol=0)


def test_mixed_precision_keeps_float32_weights(whole: torch.Tensor, tmp_path: Path) -> None:
    lm = new_lm()
    found = train_large(tmp_path, lm, partial(QUIET, precision="bf16-mixed"))
    assert lm.dtype == "float32"
    torch.testing.assert_close(found, whole, atol=0.3, rtol=0)
    assert not torch.equal(found, whole)


@pytest.mark.slow
def test_lora_is_merged_into_what_is_saved(tmp_path: Path) -> None:
    lm = new_lm()
    lm.model.config.new_tokens = ["</s>"]  # begin at random; no other embedding is trained
    before = {name: value.clone() for name, value in lm.model.state_dict().items()}
    untrained = read_logits(lm)
    logits = train_large(tmp_path, lm, lora=Lora(rank=4), checkpointing=True)
    assert (logits - untrained).abs().max() > 0.01
    loaded = CausalLM.from_pretrained(tmp_path)
    after = loaded.model.state_dict()
    assert after.keys() == before.keys()
    changed = {name for name, value in after.items() if not torch.equal(value, before[name])}
    parts = ("h.0.attn.c_attn", "h.0.attn.c_proj", "h.0.mlp.c_fc", "h.0.mlp.c_proj", "wte")
    assert changed == {"lm_head.weight", *(f"transformer.{part}.weight" for part in parts)}  # tied to the embeddings
    rows = (after["lm_head.weight"] != before["lm_head.weight"]).any(dim=1).nonzero().flatten()
    assert rows.tolist() == [lm.tokenizer.convert_tokens_to_ids("</s>")]
    torch.testing.assert_close(read_logits(loaded), logits, atol=1e-5, rtol=0)
    points = json.loads((tmp_path / "curve.json").read_text("utf-8"))
    losses = [point["val/loss"] for point in points if "val/loss" in point]
    assert losses[-1] < losses[0]


@pytest.mark.slow
def test_checkpoints_hold_what_is_learned() -> None:
    learner = add_lora(new_lm().model, Lora(rank=4), seed=0, tokens=[1])
    state = LanguageModelModule(learner, learning_rate=0.01).state_dict()
    assert state
    assert all("lora_" in name or "trainable_tokens_" in name for name in state)
