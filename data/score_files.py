"""Files of scores that `+exp=score` writes: JSONL, CSV, TSV or parquet by their suffix. `read_score_rows` reads them.

A CSV or TSV file has the columns `id`, `scores.ASPECT`, `dropped_tokens`, `reason` and `explanation` (as JSON).
"""

import gzip
import io
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from core.faults import shown
from core.settings import Number
from data.parquet_files import read_parquet, write_parquet
from data.records import Identified, Text, check_records
from data.table_files import DELIMITERS, parse_number, read_rows, row_writer
from data.text_files import form_of, read_json_lines, temporary_path

TEXTS = (".jsonl", *DELIMITERS)
FORMS = (*TEXTS, ".parquet")
ENDINGS = (*(text + zipped for text in TEXTS for zipped in ("", ".gz")), ".parquet")  # of a file to write
SCORES = "scores."


class ScoreRow(Identified):
    """A row of such a file, as far as it is read."""

    scores: Mapping[Text, Number | None]


def write_score_rows(rows: Path, path: Path, aspects: Sequence[str]) -> None:
    """Writes the rows of a JSONL file to `path` in the form of its suffix, under a temporary name until it is whole."""
    form = form_of(path, FORMS)
    with temporary_path(path) as aside:
        if form == ".parquet":
            write_parquet(rows, aside, list(aspects))
            return
        with rows.open("rb") as source, _open_to_write(aside, path.suffix.lower() == ".gz") as target:
            if form == ".jsonl":
                shutil.copyfileobj(source, target)
            else:
                text = io.TextIOWrapper(target, encoding="utf-8", newline="", write_through=True)
                write = row_writer(text, DELIMITERS[form])
                write(["id", *(f"{SCORES}{aspect}" for aspect in aspects), "dropped_tokens", "reason", "explanation"])
                for line in source:
                    write(_cells(json.loads(line), aspects))
                text.detach()


@contextmanager
def _open_to_write(path: Path, zipped: bool) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with path.open("wb") as file:
        if not zipped:
            yield file
            return
        with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as compressed:  # the same bytes each time
            yield compressed


def _cells(row: Mapping[str, Any], aspects: Sequence[str]) -> list[Any]:
    explanation = json.dumps(row["explanation"], ensure_ascii=False) if "explanation" in row else None
    scores = [row["scores"].get(aspect) for aspect in aspects]
    return [row["id"], *scores, row["dropped_tokens"], row.get("reason"), explanation]


def read_score_rows(path: Path, faults: list[str]) -> list[tuple[int, ScoreRow]]:
    """The valid rows with their lines; adds a fault to `faults` for every broken rule.

    Raises InputFaults if the file is missing or empty, and for another suffix.
    """
    match form_of(path, FORMS):
        case ".jsonl":
            records = read_json_lines(path, faults)
        case ".parquet":
            records = read_parquet(path)
        case form:
            rows = read_rows(path, DELIMITERS[form], faults, _check_header)
            records = ((line, _row_record(cells)) for line, cells in rows)
    return check_records(path, records, ScoreRow, faults)


def _check_header(header: list[str]) -> tuple[list[str], bool]:
    is_readable = "id" in header and any(name.startswith(SCORES) for name in header)
    rule = f'the header needs a column "id" and a column "{SCORES}ASPECT", found {shown(header)}'
    return [] if is_readable else [rule], is_readable


def _row_record(cells: Mapping[str, str]) -> dict[str, Any]:
    scores = {
        name.removeprefix(SCORES): parse_number(cell) if cell else None
        for name, cell in cells.items()
        if name.startswith(SCORES)
    }
    return {"id": cells["id"], "scores": scores}
