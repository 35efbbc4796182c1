"""Judgements and outputs as `judge prefer` reads them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judge.pair_inputs import read_pairs
from meta_eval.preferences import Preferences
from meta_eval.scored_set import ScoredSet


def read_judged(
    path: Path, outputs: Path | None = None, columns: Mapping[str, Any] | None = None
) -> tuple[Preferences | None, ScoredSet | None]:
    """The judgements and the outputs of a file, or of two."""
    read = read_pairs(path, outputs, scores=None, columns=columns, is_asked=False, has_metrics=False)
    return read.given, read.texts if read.has_outputs else None
