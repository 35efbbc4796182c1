"""Parquet files: reading and writing with pyarrow (extra `parquet`)."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from core.faults import InputFaults, fault

ROWS = 1024  # number of rows to read or write at once


def import_pyarrow(path: Path) -> Any:
    """Imports pyarrow.parquet. Raises InputFaults if pyarrow is not installed."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        what = "a parquet file needs pyarrow: pip install 'judging-generated-text[parquet]'"
        raise InputFaults([fault(path, 0, what)]) from error
    return pyarrow


def read_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file as records without nulls, numbered from 1.

    Raises InputFaults if the file is missing or not parquet.
    """
    arrow = import_pyarrow(path)
    if not path.is_file():
        raise InputFaults([fault(path, 0, "no such file")])
    try:
        file = arrow.parquet.ParquetFile(path)
    except arrow.ArrowInvalid as error:
        raise InputFaults([fault(path, 0, f"the file must be parquet: {error}")]) from error
    number = 0
    for batch in file.iter_batches(batch_size=ROWS):
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            number += 1
            yield number, _without_nulls(row)


def write_parquet(records: Path, path: Path, aspects: list[str]) -> None:
    """Writes the score records of a JSONL file as parquet; explanations are JSON texts."""
    arrow = import_pyarrow(path)
    columns = arrow.schema(
        [
            ("id", arrow.string()),
            ("scores", arrow.struct([(aspect, arrow.float64()) for aspect in aspects])),
            ("dropped_tokens", arrow.int64()),
            ("reason", arrow.string()),
            ("explanation", arrow.string()),
        ]
    )
    with arrow.parquet.ParquetWriter(path, columns) as writer, records.open(encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = []
        for line in lines:
            row = json.loads(line)
            if "explanation" in row:
                row["explanation"] = json.dumps(row["explanation"], ensure_ascii=False)
            rows.append(row)
            if len(rows) == ROWS:
                writer.write_table(arrow.Table.from_pylist(rows, columns))
                rows = []
        writer.write_table(arrow.Table.from_pylist(rows, columns))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return value
