"""CSV and TSV files, read with the lines on which rows begin, and parquet files, by pyarrow (extra `parquet`)."""

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from core.faults import InputFaults, blame_file, fault, format_value
from data.text_files import iterate_raw_lines, longest_line

DELIMITERS = {".csv": ",", ".tsv": "\t"}
CheckHeader: TypeAlias = Callable[[list[str]], tuple[list[str], bool]]
ROWS = 1024  # of a parquet file, to read or write at once


def read_rows(
    path: Path, delimiter: str, faults: list[str], check_header: CheckHeader
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a file as cells by column, each with the number of the line on which it begins, from 1.

    `check_header(header)` returns the problems of the header, and whether rows can be read under it.

    Raises InputFaults if the file is missing or empty, or has a row of more than `longest_line()` characters.
    """
    longest = longest_line()
    csv.field_size_limit(longest)
    begins, length = 1, 0

    def take_lines() -> Iterator[str]:
        nonlocal length
        for _, line in iterate_raw_lines(path, faults):
            length += len(line) + 1
            if length > longest:
                rule = f"a row must have at most {longest} characters (longest_line), found more; is a quote missing?"
                raise InputFaults([*faults, fault(path, begins, rule)])
            yield f"{line}\n"

    reader = csv.reader(take_lines(), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    try:
        for row in reader:
            number, begins, length = begins, reader.line_num + 1, 0
            if header is None:
                header = row
                problems, is_readable = check_header(row)
                problems += [
                    f"a column must occur once, but {format_value(n)} is repeated" for n in _find_repeated(row)
                ]
                faults += [fault(path, number, problem) for problem in problems]
                if not is_readable or len(set(row)) < len(row):
                    return  # every row would have the same fault
            elif len(row) != len(header):
                faults.append(fault(path, number, f"a row must have {len(header)} cells, found {len(row)}"))
            else:
                yield number, dict(zip(header, row, strict=True))
    except csv.Error as error:
        rule = "a cell with a quote, a separator or a line break must be in quotes, its own quotes doubled"
        faults.append(fault(path, begins, f"{rule}, found: {error}"))


def _find_repeated(names: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]


def parse_number(cell: str) -> float | str:
    """The number in a cell; a cell that holds none stays a text.

    >>> parse_number("0.5"), parse_number("1_0")  # only Python reads 1_0 as ten
    (0.5, '1_0')
    """
    try:
        return float(cell) if "_" not in cell else cell
    except ValueError:
        return cell


def parse_finite(text: str) -> float | None:
    """The finite number that a text is, None for any other text."""
    number = parse_number(text)
    return number if isinstance(number, float) and math.isfinite(number) else None


def row_writer(file: TextIO, delimiter: str) -> Callable[[Sequence[Any]], None]:
    """A function that writes one row of cells."""
    minimal = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def write(row: Sequence[Any]) -> None:
        # Python before 3.11.8 leaves a lone carriage return unquoted, and then cannot read it back
        (quoted if any(isinstance(cell, str) and "\r" in cell for cell in row) else minimal).writerow(row)

    return write


def to_cell(value: Any) -> str | None:
    """A value as a text: itself, or JSON. None stays None."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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


def read_dataset(path: Path, split: str | None, network: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a data set of Hugging Face as records without nulls, numbered from 1.

    Args:
        path: the folder that `save_to_disk` wrote, or OWNER/NAME on the hub.
        split: needed where there are several.
        network: whether the hub may be asked.

    Raises InputFaults for what is missing: the library, the data set, the permission, the split.
    """
    is_folder = path.is_dir()
    if not is_folder and not network:
        what = "no such file; network=true reads the data set of this name on the Hugging Face hub"
        raise InputFaults([fault(path, 0, what)])
    try:
        import datasets  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        what = "a data set of Hugging Face needs datasets: pip install 'judging-generated-text[datasets]'"
        raise InputFaults([fault(path, 0, what)]) from error
    with blame_file(path):
        found: Any = datasets.load_from_disk(str(path)) if is_folder else datasets.load_dataset(path.as_posix())
    if isinstance(found, Mapping):
        splits = list(found)
        name = splits[0] if split is None and len(splits) == 1 else split
        if name not in found:
            raise InputFaults([fault(path, 0, f"data.split must be one of {', '.join(splits)}, found {split}")])
        found = found[name]
    for number, row in enumerate(found, start=1):
        yield number, _without_nulls(row)


def write_parquet(records: Path, path: Path, aspects: Sequence[str], extra: Mapping[str, type]) -> None:
    """Writes the score records of a JSONL file as parquet; explanations are JSON texts, as are mixed extra values."""
    arrow = import_pyarrow(path)
    kinds = {str: arrow.string(), int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_()}
    columns = arrow.schema(
        [
            ("id", arrow.string()),
            *((name, kinds.get(kind, arrow.string())) for name, kind in extra.items()),
            ("scores", arrow.struct([(aspect, arrow.float64()) for aspect in aspects])),
            ("dropped_tokens", arrow.int64()),
            ("reason", arrow.string()),
            ("explanation", arrow.string()),
        ]
    )
    texts = ["explanation", *(name for name, kind in extra.items() if kind not in kinds)]
    with arrow.parquet.ParquetWriter(path, columns) as writer, records.open(encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = []
        for line in lines:
            row = json.loads(line)
            row |= {name: to_cell(row.get(name)) for name in texts}
            rows.append(row)
            if len(rows) == ROWS:
                writer.write_table(arrow.Table.from_pylist(rows, columns))
                rows = []
        writer.write_table(arrow.Table.from_pylist(rows, columns))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value if isinstance(value, str | int | float | None) else str(value)  # JSON has no dates and bytes
