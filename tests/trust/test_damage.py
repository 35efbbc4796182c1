"""Damaged and planted files of kept stages: recognised, built again with the same result, and never run."""

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch

from core.stages import FILES, Stages
from models.fit import fit
from tests.toy_models import QUIET


def flip_a_bit(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGES = [
    *(lambda content: content[: len(content) // 2], lambda content: bytes(len(content))),
    *(flip_a_bit, lambda content: b""),
]
damages = pytest.mark.parametrize("damage", DAMAGES, ids=["truncated", "zeroed", "flipped bit", "empty"])


def build(count: list[int], folder: Path) -> None:
    count.append(1)
    (folder / "inner").mkdir(exist_ok=True)
    (folder / "inner" / "weights").write_bytes(bytes(range(256)))


@damages
@pytest.mark.parametrize("file", ["inner/weights", "depends.json", FILES])
def test_a_damaged_stage_is_built_again(tmp_path: Path, damage: Callable[[bytes], bytes], file: str) -> None:
    built: list[int] = []
    find = partial(Stages(tmp_path).get, "model", {"a": 1}, partial(build, built))
    kept = find()
    assert find() == kept
    assert len(built) == 1
    (kept / file).write_bytes(damage((kept / file).read_bytes()))
    assert find() == kept
    assert (kept / "inner" / "weights").read_bytes() == bytes(range(256))
    assert len(built) == 2
    assert {path.name.partition(".")[2] for path in tmp_path.iterdir() if path.is_dir()} == {"", "damaged"}


def empty(stage: Path) -> None:
    for path in sorted(stage.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def change_without_a_list(stage: Path) -> None:
    (stage / FILES).unlink()
    (stage / "inner" / "weights").write_bytes(b"another score")


def replace_by_a_file(stage: Path) -> None:
    empty(stage)
    stage.rmdir()
    stage.write_bytes(b"")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a lost file": lambda stage: (stage / "inner" / "weights").unlink(),
    "a planted file": lambda stage: (stage / "inner" / "adapter_config.json").write_text("{}"),
    "a planted link": lambda stage: (stage / "inner" / "note.txt").symlink_to("/etc/passwd"),
    "no list": change_without_a_list,
    "an empty list": lambda stage: (stage / FILES).write_text("{}"),
    "another list": lambda stage: (stage / FILES).write_text("[]"),
    "no file": empty,
    "a file": replace_by_a_file,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_stage_that_differs_from_its_list_is_built_again(tmp_path: Path, change: str) -> None:
    built: list[int] = []
    find = partial(Stages(tmp_path).get, "model", {"a": 1}, partial(build, built))
    CHANGES[change](kept := find())
    assert find() == kept
    assert (kept / "inner" / "weights").read_bytes() == bytes(range(256))
    find()
    assert len(built) == 2
    CHANGES[change](kept)  # the one put aside before makes room
    assert (find(), len(built)) == (kept, 3)


class Slope(pl.LightningModule):
    """y = w x, towards w = 2; stops at an epoch as Ctrl-C does."""

    def __init__(self, stops: int | None) -> None:
        super().__init__()
        self.stops = stops
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def training_step(self, batch: list[torch.Tensor]) -> torch.Tensor:
        if self.current_epoch == self.stops:
            raise RuntimeError("stopped")
        loss = ((self.weight - 2) * batch[0]).square().mean()
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch: list[torch.Tensor], _: int) -> None:
        self.log("val/loss", (self.weight - 2).abs())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)


class Ones(pl.LightningDataModule):
    def train_dataloader(self) -> Any:
        return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(2, 1)))

    val_dataloader = train_dataloader


def fit_slope(folder: Path, stops: int | None = None) -> float:
    model, trainer = Slope(stops), partial(QUIET, max_epochs=3)
    save = partial(torch.save, model.weight)
    fit(model, Ones(), folder, trainer, (), lambda f: save(f / "w"), log_every_n_steps=1)
    return float(model.weight.detach())


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> float:
    return fit_slope(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.filterwarnings("default")
def test_a_whole_checkpoint_is_continued(tmp_path: Path, undisturbed: float) -> None:
    with pytest.raises(RuntimeError, match="stopped"):
        fit_slope(tmp_path, stops=2)
    assert fit_slope(tmp_path, stops=0) == undisturbed  # epochs 0 and 1 are not run again


class Planted:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.filterwarnings("default")
def test_a_planted_pickle_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="stopped"):
        fit_slope(tmp_path, stops=2)
    checkpoints, trace = tmp_path / "checkpoints", tmp_path / "trace"
    for write in (torch.save, lambda content, path: path.write_bytes(pickle.dumps(content))):
        write({"state_dict": Planted(trace)}, checkpoints / "last.ckpt")
        with pytest.raises(pickle.UnpicklingError):
            fit_slope(tmp_path)
        assert not trace.exists()
    pickle.loads(pickle.dumps(Planted(trace)))
    assert trace.exists()  # it would run
