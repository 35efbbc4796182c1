"""A small file costs little: each of these is refused within a second, by file and line, with exit code 2."""

import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from core.errors import InputError
from data.scored import read_scored

N = 100_000


def line(**values: object) -> str:
    return json.dumps({"text": "x", **values}) + "\n"


def numbers(prefix: object, n: int) -> dict[str, int]:
    return {f"{prefix}{i}": 1 for i in range(n)}


DOUBLED = json.dumps(numbers("k", 20_000))[:-1] + ', "k7": 2}'
FILES: Mapping[str, tuple[str, str]] = {
    "columns.csv": (f"text,{','.join(map(str, range(N)))}\nx{',' * N}\n", ":1: .* at most 2,000 columns .* 100,001"),
    "keys.jsonl": (line(**numbers("k", N)), ":1: .* at most 2,000 columns or keys .* 100,001"),
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


@pytest.fixture
def parquet() -> Any:
    return pytest.importorskip("pyarrow.parquet")


def make_table(kind: str) -> Any:
    import pyarrow as pa

    zeros = pa.array([0] * 1_000_000, pa.int32())
    match kind:
        case "rows":
            return pa.table({"text": pa.array(["x"]).take(zeros)})
        case "list":
            return pa.table({"text": ["x"], "o": pa.array([[None] * 1_000_000], pa.list_(pa.int8()))})
        case "text":
            return pa.table({"text": ["x" * 20_000_000]})
        case "dictionary":
            return pa.table({"text": pa.DictionaryArray.from_arrays(zeros[:5000], pa.array(["x" * 1_000_000]))})
        case "columns":
            return pa.table({"text": ["x"], **{name: [1] for name in numbers("c", 3000)}})
        case _:
            maps = pa.array([[("a", 1)], [("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))
            return pa.table({"text": ["x", "y"], "o": maps})


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("rows", r": a parquet file of \d+ bytes must have at most \d+ values, found 1000000"),
        ("list", r": a parquet file of \d+ bytes must have at most \d+ values, found 1000001"),
        ("text", r": a parquet file of \d+ bytes must have at most \d+ bytes in a column"),
        ("dictionary", r":68: the texts of a file of \d+ bytes must have at most \d+ characters"),
        ("columns", r": a file must have at most 2,000 columns .*, found 3,001"),
        ("double", r": a key of a map must occur once"),
    ],
)
def test_a_small_parquet_file_is_refused_at_once(kind: str, message: str, parquet: Any, tmp_path: Path) -> None:
    parquet.write_table(make_table(kind), tmp_path / "x.parquet", compression="zstd")
    assert re.search(f"x.parquet{message}", find_faults(tmp_path / "x.parquet"))


def test_broken_pages_of_parquet_are_a_fault_of_the_file(parquet: Any, tmp_path: Path) -> None:
    import pyarrow as pa

    file = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"text": [f"text number {i}" for i in range(3000)]}), file)
    content = bytearray(file.read_bytes())
    content[500:900] = bytes(byte ^ 0x5A for byte in content[500:900])
    file.write_bytes(content)
    assert "x.parquet: cannot be read: OSError: Corrupt snappy" in find_faults(file)
