"""Checkpoints of a training: written aside and renamed, checked before they are used, and never unpickled."""

import logging
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from pytorch_lightning.plugins.io import TorchCheckpointIO

from core.faults import InputFaults, fault
from core.stages import file_sha256
from data.text_files import temporary_path

log = logging.getLogger(__name__)

SEALS = "sha256"  # the file of the checkpoints' folder with the digest of every checkpoint that was written there


class SealedCheckpoints(TorchCheckpointIO):
    """Saves a checkpoint under a temporary name in its own folder, notes its digest, then renames it.

    Lightning itself writes to the system's temporary folder, and a move from there to another disk is not atomic.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Path | str, storage_options: Any = None) -> None:
        """Writes the checkpoint; a killed process leaves the old one or the new one, never a part."""
        path = Path(path)
        with temporary_path(path) as aside:
            with aside.open("wb") as file:  # torch itself reports a full disk as "unexpected pos"
                torch.save(checkpoint, file)
            with (path.parent / SEALS).open("a", encoding="utf-8") as seals:
                seals.write(f"{file_sha256(aside)}\n")

    def load_checkpoint(
        self, path: Path | str, map_location: Any = None, weights_only: bool | None = True
    ) -> dict[str, Any]:
        """Reads tensors and plain values; raises InputFaults for anything else, because a pickle may run code."""
        try:
            return torch.load(path, map_location=map_location or "cpu", weights_only=True)
        except UnpicklingError as error:
            what = "a checkpoint must hold tensors and plain values only; delete this file to train again"
            raise InputFaults([fault(path, 0, what)]) from error


def is_whole(path: Path) -> bool:
    """Whether a checkpoint is as it was written; logs a warning for a damaged one."""
    if not path.is_file():
        return False
    seals = path.parent / SEALS
    if seals.is_file() and file_sha256(path) in seals.read_text(encoding="utf-8", errors="replace").split():
        return True
    log.warning("%s is damaged, or a training of another version wrote it: the training starts again", path)
    return False
