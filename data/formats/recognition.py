"""Recognises files of other evaluation tools by their keys or column names."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.errors import blame_file, check_names, fault
from data.columns import (
    MOST_COLUMNS,
    Columns,
    add_nested,
    describe_spellings,
    find_absent,
    find_spellings,
    fold_name,
    fold_names,
)
from data.formats import (
    alpaca_eval,
    arena,
    chosen_rejected,
    deepeval,
    inspect_logs,
    label_studio,
    lm_eval,
    mt_bench,
    potato,
    promptfoo,
    ragas,
    wmt,
)
from data.formats.tool_file import Located, Row, Rows, ToolFile, describe, iterate_objects, list_objects, refuse
from data.records import Record, check_rows, require_none
from data.table_files import DELIMITERS, TABLES
from data.text_files import STANDARD, holds_objects_by_line, iterate_lines, read_json

log = logging.getLogger(__name__)

# a tool and what it writes, what every row has, and the reader; the first that fits reads the file
ROWS: Sequence[tuple[str, type[Record], Callable[[Located, Path], Rows]]] = (
    ("lm-eval samples", lm_eval.SAMPLES, lm_eval.read),
    ("Label Studio tasks", label_studio.TASKS, label_studio.read),
    ("Potato annotations", potato.LINES, potato.read),
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
DOCUMENTS: Sequence[tuple[type[Record], Callable[[Row, Path], ToolFile]]] = (
    (inspect_logs.LOG, inspect_logs.read),
    (promptfoo.FILE, promptfoo.read),
    *((layout, deepeval.read) for layout in deepeval.FILES),
)


def fits(layout: type[Record], row: Row) -> bool:
    """Whether an object has the keys that a layout needs."""
    return all(name in row for name, field in layout.model_fields.items() if field.is_required())


def recognise_chosen(path: Path, form: str, columns: Columns, split: str | None = None) -> ToolFile:
    """Reads rows of a chosen and a rejected answer, whose columns `columns` names; several columns are several answers.

    Raises SettingError for a name in `columns` that means nothing here, and InputError with all faults of the file.
    """
    names = (*chosen_rejected.PAIRS.model_fields, "prompt", "id", "references")
    check_names((name for name, _ in columns), names, "data.columns of chosen and rejected answers")
    faults: list[str] = []
    seen: dict[str, None] = {}
    renamed: list[tuple[int, Row]] = []
    for line, row in iterate_objects(path, form, faults, split):
        nested = add_nested(row, columns)
        seen |= dict.fromkeys(nested)
        renamed.append((line, {**row, **dict(_rename(nested, columns))}))
    faults += [fault(path, 0, problem) for problem in find_absent(columns, list(seen))]
    rows = check_rows(require_none(renamed, faults), path, chosen_rejected.PAIRS)
    return ToolFile.of("chosen and rejected answers", [*chosen_rejected.read_pairs(rows, path)])


def _rename(row: Mapping[str, Any], columns: Columns) -> Iterator[tuple[str, Any]]:
    """The values of a row by the names that `columns` give them."""
    for name, keys in columns:
        values = [row[key] for key in keys if key in row]
        if values:
            yield name, values if len(keys) > 1 else values[0]


def recognise(path: Path, split: str | None = None) -> ToolFile | None:
    """Reads a file or folder of another tool; None for a file of our own format.

    `split` chooses one of several parts.

    Raises InputError for a file that cannot be read, and for a file of a known tool in a layout that its reader does
    not know.
    """
    if path == STANDARD or not (path.is_file() or path.is_dir()):
        return None
    with blame_file(path):  # what a stranger's file holds is of any type
        tool_file = _read_folder(path, split) if path.is_dir() else _read_file(path, split)
    if tool_file is not None:
        log.info("%s: %s", path, tool_file)
    return tool_file


def _read_folder(path: Path, split: str | None) -> ToolFile | None:
    return wmt.read(path, split) if wmt.is_evalset(path) else None


def _read_file(path: Path, split: str | None) -> ToolFile | None:
    form = path.suffix.lower()
    if form == ".gz":
        form = path.with_suffix("").suffix.lower()
    if form == ".eval":
        return inspect_logs.read_eval(path)
    if form == ".json" and holds_objects_by_line(path):
        form = ".jsonl"
    if form == ".json":
        return _read_document(path)
    if form in DELIMITERS and _read_header(path) >= wmt.ERRORS:
        return ToolFile.of("WMT MQM errors", wmt.read_errors(path))
    if form in (".jsonl", ".parquet", *TABLES):
        return _read_rows(path, form, split)
    return None


def _read_header(path: Path) -> set[str]:
    """The tab-separated names on the first line of a table."""
    _, header = next(iterate_lines(path, []))
    return set(header.split("\t"))


def _read_document(path: Path) -> ToolFile | None:
    document = read_json(path)
    if isinstance(document, list):
        return _read(list_objects(document, path), path)
    if isinstance(document, dict):
        for layout, read in DOCUMENTS:
            if fits(layout, document):
                return read(document, path)
    known = "a JSON file must be an array of objects, or a file of a known tool"
    raise refuse(path, 0, f"{known}, found {describe(document)}")


def _read_rows(path: Path, form: str, split: str | None) -> ToolFile | None:
    faults: list[str] = []
    rows = iterate_objects(path, form, faults, split)
    first = next(rows, None)
    if first is None:
        return None
    if any(fits(layout, first[1]) for _, layout, _ in ROWS):
        line, row = first
        faults += [fault(path, line, f"{describe_spellings(names)}: rename one") for names in find_spellings(row)]
        return _read(require_none([first, *rows], faults), path)
    layout = _find_layout(first[1])
    if layout is None:
        return None
    located = require_none([first, *rows], faults)
    return _read([(line, _spell_names(fold_names(row), layout)) for line, row in located], path)


def _find_layout(row: Row) -> type[Record] | None:
    """The layout that an object has but for the spelling of its keys; None where two keys are one name."""
    if len(row) > MOST_COLUMNS or find_spellings(row):
        return None
    folded = fold_names(row)
    return next((layout for _, layout, _ in ROWS if fits(layout, _spell_names(folded, layout))), None)


def _spell_names(folded: Row, layout: type[Record]) -> Row:
    """The object of `fold_names` with the keys of a layout in the spelling of the layout."""
    known = {fold_name(name): name for name in layout.model_fields}
    return {known.get(name, name): value for name, value in folded.items()}


def _read(rows: Located, path: Path) -> ToolFile | None:
    for tool, layout, read in ROWS:
        if not fits(layout, rows[0][1]):
            continue
        checked = check_rows(rows, path, layout)
        listed = list(read(checked, path))
        names = dict.fromkeys(name for _, row in listed for name in row.get("scores") or ())
        lower = LOWER[tool](names, path) if tool in LOWER else []
        return ToolFile.of(tool, listed, lower)
    return None
