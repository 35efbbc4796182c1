"""Recognises files of other evaluation tools by what they hold: the keys of rows, of a document, or of a header."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.errors import blame_file, check_names, fault
from data.columns import Columns, add_nested, find_absent
from data.formats import (
    alpaca_eval,
    arena,
    chosen_rejected,
    deepeval,
    inspect_logs,
    lm_eval,
    mt_bench,
    promptfoo,
    ragas,
    wmt,
)
from data.formats.found import Found, Located, Row, Rows, describe, iterate_objects, list_objects, refuse
from data.records import Record, check_rows, require_none
from data.table_files import DELIMITERS
from data.text_files import STANDARD, iterate_lines, read_json

log = logging.getLogger(__name__)

# a tool and what it writes, what every row has, and the reader; the first that fits reads the file
ROWS: Sequence[tuple[str, type[Record], Callable[[Located, Path], Rows]]] = (
    ("lm-eval samples", lm_eval.SAMPLES, lm_eval.read),
    ("alpaca_eval annotations", alpaca_eval.ANNOTATIONS, alpaca_eval.read_annotations),
    ("alpaca_eval outputs", alpaca_eval.OUTPUTS, alpaca_eval.read_outputs),
    ("MT-Bench pairs", mt_bench.PAIRS, mt_bench.read_pairs),
    ("MT-Bench scores", mt_bench.SINGLE, mt_bench.read_single),
    ("MT-Bench questions", mt_bench.QUESTIONS, mt_bench.refuse_questions),
    ("Arena-Hard judgments", arena.GAMES, arena.read_games),
    ("arena battles", arena.BATTLES, arena.read_battles),
    (promptfoo.TOOL, promptfoo.ROWS, promptfoo.read_rows),
    ("ragas results", ragas.ROWS, ragas.read),
    ("ragas results", ragas.OLDER, ragas.read),
    ("chosen and rejected answers", chosen_rejected.PAIRS, chosen_rejected.read_pairs),
    ("chosen and rejected answers", chosen_rejected.MESSAGES, chosen_rejected.read_pairs),
    ("labelled answers", chosen_rejected.LABELLED, chosen_rejected.read_labelled),
    ("labelled answers", chosen_rejected.COMPLETIONS, chosen_rejected.read_labelled),
)
# of a tool that tells, which scores of a file are better if they are lower
LOWER: Mapping[str, Callable[[Iterable[str], Path], list[str]]] = {
    "lm-eval samples": lm_eval.find_lower,
    "ragas results": ragas.find_lower,
}
# what a JSON object has, and the reader
DOCUMENTS: Sequence[tuple[type[Record], Callable[[Row, Path], Found]]] = (
    (inspect_logs.LOG, inspect_logs.read),
    (promptfoo.FILE, promptfoo.read),
    *((layout, deepeval.read) for layout in deepeval.FILES),
)


def fits(layout: type[Record], row: Row) -> bool:
    """Whether an object has the keys that a layout needs."""
    return all(name in row for name, field in layout.model_fields.items() if field.is_required())


def recognise_chosen(path: Path, form: str, columns: Columns) -> Found:
    """Rows of a chosen and a rejected answer in columns of any name; several columns hold several answers.

    Raises SettingError for a name that such rows do not have, InputError with all faults of the file.
    """
    names = (*chosen_rejected.PAIRS.model_fields, "prompt", "id", "references")
    check_names((name for name, _ in columns), names, "data.columns of chosen and rejected answers")
    faults: list[str] = []
    seen: dict[str, None] = {}
    renamed: list[tuple[int, Row]] = []
    for line, row in iterate_objects(path, form, faults):
        nested = add_nested(row, columns)
        seen |= dict.fromkeys(nested)
        renamed.append((line, {**row, **dict(_rename(nested, columns))}))
    faults += [fault(path, 0, problem) for problem in find_absent(columns, list(seen))]
    rows = check_rows(require_none(renamed, faults), path, chosen_rejected.PAIRS)
    return Found.of("chosen and rejected answers", [*chosen_rejected.read_pairs(rows, path)])


def _rename(row: Mapping[str, Any], columns: Columns) -> Iterator[tuple[str, Any]]:
    """The values of a row by the names that `columns` give them."""
    for name, keys in columns:
        values = [row[key] for key in keys if key in row]
        if values:
            yield name, values if len(keys) > 1 else values[0]


def recognise(path: Path, split: str | None = None) -> Found | None:
    """What a file or folder of another tool holds, `split` of several parts; None for one of ours.

    Raises InputError for a file that cannot be read, and for one of a known tool in a layout that its reader does not
    know.
    """
    form = path.with_suffix("").suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()
    found = None
    if path == STANDARD or not path.exists():
        return None
    with blame_file(path):  # what a stranger's file holds is of any type
        if path.is_dir():
            found = wmt.read(path, split) if wmt.is_evalset(path) else None
        elif form == ".eval":
            found = inspect_logs.read_eval(path)
        elif form == ".json":
            found = _read_document(path)
        elif form in DELIMITERS and set(next(iterate_lines(path, []))[1].split("\t")) >= wmt.ERRORS:
            found = Found.of("WMT MQM errors", wmt.read_errors(path))
        elif form in (".jsonl", ".parquet", *DELIMITERS):
            found = _read_rows(path, form)
    if found is not None:
        log.info("%s: %s", path, found)
    return found


def _read_document(path: Path) -> Found | None:
    document = read_json(path)
    if isinstance(document, list):
        return _read(list_objects(document, path), path)
    if isinstance(document, dict):
        if ragas.is_annotated(document):
            return Found.of("ragas annotated verdicts", ragas.read_annotated(document, path))
        if read := next((read for layout, read in DOCUMENTS if fits(layout, document)), None):
            return read(document, path)
    known = "a JSON file must be an array of objects, or a file of a known tool"
    raise refuse(path, 0, f"{known}, found {describe(document)}")


def _read_rows(path: Path, form: str) -> Found | None:
    faults: list[str] = []
    rows = iterate_objects(path, form, faults)
    first = next(rows, None)
    if first is None or not any(fits(layout, first[1]) for _, layout, _ in ROWS):
        return None
    return _read(require_none([first, *rows], faults), path)


def _read(rows: Located, path: Path) -> Found | None:
    for tool, layout, read in ROWS:
        if fits(layout, rows[0][1]):
            checked = check_rows(rows, path, layout)
            listed = [*read(checked, path)]
            names = dict.fromkeys(name for _, row in listed for name in row.get("scores") or ())
            lower = LOWER[tool](names, path) if tool in LOWER else []
            return Found.of(tool, listed, lower)
    return None
