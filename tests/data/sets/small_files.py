"""Small files of public sets, and the faults that reading them finds."""

import csv
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from core.errors import InputError
from data.sets.judged_pairs import load_alpaca_eval


def write(path: Path, *lines: object, end: str = "\n") -> Path:
    """Writes lines, JSON for what is no text, or bytes as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = (line if isinstance(line, str | bytes) else json.dumps(line, ensure_ascii=False) for line in lines)
    path.write_bytes(b"".join(text if isinstance(text, bytes) else f"{text}{end}".encode() for text in texts))
    return path


def faults_of(read: Callable[[], object], path: Path) -> list[str]:
    """The faults without the name of the file."""
    with pytest.raises(InputError) as found:
        read()
    return [each.removeprefix(f"{path}:") for each in found.value.faults]


read_alpaca_eval = cache(load_alpaca_eval)


def read_leaderboard(root: Path) -> Mapping[str, Mapping[str, float]]:
    """The win rates, lengths and standard errors of each model that AlpacaEval published, in percent."""
    with (root / "alpaca_eval/leaderboard.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row.pop("model"): {name: float(cell) for name, cell in row.items() if cell} for row in rows}
