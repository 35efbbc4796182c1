"""A small file costs little: each of these is refused within a second, by file and line, with exit code 2."""

import json
import re
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from core.errors import InputError
from data.scored import read_scored

N = 50_000


def line(**values: object) -> str:
    return json.dumps({"text": "x", **values}) + "\n"


def numbers(prefix: object, n: int) -> dict[str, int]:
    return {f"{prefix}{i}": 1 for i in range(n)}


DOUBLED = json.dumps(numbers("k", 20_000))[:-1] + ', "k7": 2}'
FILES: Mapping[str, tuple[str, str]] = {
    "columns.csv": (f"text,{','.join(map(str, range(N)))}\nx{',' * N}\n", ":1: .* at most 2,000 columns .* 50,001"),
    "keys.jsonl": (line(**numbers("k", N)), ":1: .* at most 2,000 columns or keys .* 50,001"),
    "lines.jsonl": ("".join(line(**numbers(f"k{i}-", 9)) for i in range(N // 9)), ":223: .* keys of its lines"),
    "double.jsonl": (f'{{"text": "x", "o": {DOUBLED}}}\n', ':1: a key must occur once, but "k7" is repeated'),
    "scores.jsonl": (line(scores=numbers("m", N)), ":1: .* at most 10,000 columns of ratings and scores"),
    "ratings.jsonl": (line(ratings=numbers("a", N // 2)), ":1: .* at most 10,000 columns of ratings and scores"),
    "raters.jsonl": (line(ratings={"q": [1] * N}) + line() * 99, ":1: .* at most 10,000 columns of ratings and scores"),
    "deep.jsonl": (f'{{"text": "x", "o": {"[" * 400}{"]" * 400}}}\n', ":1: JSON .* at most 100 levels, found more"),
    "nested.jsonl": (f'{{"text": "x", "o": {"[" * N}{"]" * N}}}\n', ":1: JSON that cannot be read"),
}


def find_faults(path: Path) -> str:
    begun = time.process_time()
    with pytest.raises(InputError) as found:
        read_scored(path)
    assert time.process_time() - begun < 1
    return str(found.value)


@pytest.mark.parametrize("name", FILES)
def test_a_small_text_file_is_refused_at_once(name: str, tmp_path: Path) -> None:
    content, message = FILES[name]
    (tmp_path / name).write_text(content)
    assert re.search(f"{name}{message}", find_faults(tmp_path / name))
