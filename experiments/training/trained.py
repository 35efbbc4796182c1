"""Trained: a model from the hub, from a user's folder, or trained here and kept as a stage."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.contracts import Run
from models.identity import folder_fingerprint


@dataclass(frozen=True)
class Trained:
    """A model that is ready to be loaded.

    Attributes:
        name: the hub name, the folder as the user gave it, or the experiment's name for the model.
        folder: None for a model from the hub.
        curve: the points of its learning curve; empty for a pretrained model.
    """

    name: str
    folder: Path | None = None
    curve: tuple[Mapping[str, float], ...] = ()

    @property
    def source(self) -> str:
        """The argument of `from_pretrained`."""
        return self.name if self.folder is None else str(self.folder)

    @property
    def is_trained_here(self) -> bool:
        """Whether a stage of this project made it."""
        return bool(self.curve)

    @property
    def is_language_model(self) -> bool:
        """Whether it is a language model that was trained here; curves of classifiers have an accuracy."""
        return self.is_trained_here and not any("val/accuracy" in point for point in self.curve)

    @cached_property
    def identity(self) -> str:
        """What identifies the model in hashes: its stage, a hash of the files in its folder, or its hub name."""
        if self.folder is None:
            return self.name
        return self.folder.name if self.is_trained_here else folder_fingerprint(self.folder)

    @property
    def held_out_nll(self) -> float:
        """The lowest held-out loss of a language model trained here, in nats per token."""
        return min(point["val/loss"] for point in self.curve if "val/loss" in point)


def use_pretrained(name: str) -> Trained:
    """A pretrained model, by its hub name or folder."""
    return Trained(name, Path(name) if Path(name).is_dir() else None)


def find_or_train(
    run: Run, name: str, depends: Mapping[str, Any], build: Callable[[Path], None], version: int
) -> Trained:
    """The stage `name` of a model; if it does not exist, `build(folder)` trains it with the trainer of the run.

    `build` writes the model and `curve.json`. `depends` and `version` are as in `Stages.get`; `depends` gets the
    precision of the training as well.
    """
    with run.timed(f"training {name}"):
        depends = {**depends, "precision": run.precision}
        folder = run.stages.get(name, depends, build, version=version, together=True)
    return Trained(name, folder, tuple(json.loads((folder / "curve.json").read_text(encoding="utf-8"))))


def folders_of(models: Mapping[str, Trained]) -> dict[str, Path]:
    """The folders of the models that were trained here, for `Outcome.models`."""
    return {name: model.folder for name, model in models.items() if model.is_trained_here and model.folder is not None}
