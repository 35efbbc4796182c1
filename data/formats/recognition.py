"""Recognises files of other evaluation tools by their keys or column names, and reports rows of another layout."""

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from core.errors import InputError, blame_file, fault, setting
from data.columns import USUAL_RATERS, fold_name, fold_names, list_spellings
from data.formats import annotations, judgements, logs
from data.formats.tool_file import Row, Rows, ToolFile, describe, iterate_objects, list_objects, refuse
from data.records import Located, require_none
from data.table_files import TABLES
from data.text_files import STANDARD, holds_objects_by_line, read_json

log = logging.getLogger(__name__)
OWN = frozenset({"text"})  # in no file of these tools
LABELS = OWN | {"rating", "ratings", "score", "scores", "human", "judge", *USUAL_RATERS}
ODD = (KeyError, TypeError, ValueError, IndexError, AttributeError)  # what a row of another layout raises


class Tool(NamedTuple):
    """What a tool writes."""

    name: str
    # that the first row has
    keys: str
    read: Callable[[Rows, Path], Rows]
    # which of its scores are better if they are lower
    find_lower: Callable[[Iterable[str], Path], list[str]] = lambda names, path: []
    # with one of these beside the keys, or with their parts as in rating:fluency, a row is of our own format
    own: Collection[str] = OWN


TOOLS = (  # the first whose keys a row has reads the file
    Tool(
        "lm-eval samples",
        "doc_id doc target arguments resps filtered_resps",
        logs.read_lm_eval,
        logs.find_lower_lm_eval,
    ),
    Tool("Label Studio tasks", "id annotations data", annotations.read_label_studio),
    Tool(
        "alpaca_eval annotations",
        "instruction output_1 output_2 generator_1 generator_2 preference",
        judgements.read_alpaca_annotations,
    ),
    Tool("alpaca_eval outputs", "instruction output generator", judgements.read_alpaca_outputs, own=LABELS),
    Tool("MT-Bench pairs", "question_id model_1 model_2 g1_winner g2_winner", judgements.read_mt_pairs),
    Tool("arena battles", "model_a model_b winner", judgements.read_battles),
    Tool("promptfoo results", "provider prompt testIdx success score", logs.read_promptfoo),
    Tool(
        "ragas results",
        "user_input response",
        logs.read_ragas,
        lambda names, path: [name for name in names if name.startswith("noise_sensitivity")],
        own=LABELS,
    ),
    Tool("chosen and rejected answers", "chosen rejected", judgements.read_chosen),
)
PROMPTFOO = next(tool for tool in TOOLS if tool.name == "promptfoo results")
DEEPEVAL = Tool("DeepEval test run", "", logs.read_deepeval)
DEEPEVAL_KEYS = {"testCases", "testRunData"}


def recognise(path: Path) -> ToolFile | None:
    """Reads a file of another tool; None for a file of our own format.

    Raises InputError for a file that cannot be read, and for a file of a known tool in a layout that its reader does
    not know.
    """
    if path == STANDARD or not path.is_file():
        return None
    with blame_file(path):  # what a stranger's file holds is of any type
        tool_file = _read_path(path)
    if tool_file is not None:
        log.info("%s: %s", path, tool_file)
    return tool_file


def _read_path(path: Path) -> ToolFile | None:
    form = path.suffix.lower()
    if form == ".eval":
        return _read_document(logs.unpack_inspect(path), path)
    if form == ".json":
        if holds_objects_by_line(path):
            form = ".jsonl"
        else:
            document = read_json(path)
            if isinstance(document, dict):
                return _read_document(document, path)
            return _read_rows(list_objects(document, path), path)
    if form not in (".jsonl", *TABLES):
        return None
    faults: list[str] = []
    rows = iterate_objects(path, form, faults)
    first = next(rows, None)
    if first is None or _find_tool(first[1]) is None:
        return None
    return _read_rows(require_none([first, *rows], faults), path)


def _find_tool(row: Row) -> Tool | None:
    """The tool whose keys a row has, in any spelling, without keys of our own."""
    keys = fold_names(row).keys() | row.keys()
    names = {re.split("[:.]", key)[0] for key in keys}
    return next((tool for tool in TOOLS if keys >= {*tool.keys.split()} and names.isdisjoint(tool.own)), None)


def _read_document(document: Row, path: Path) -> ToolFile:
    if {"eval", "status"} <= document.keys():
        tool = Tool(f"Inspect log of {_guard(document, 'eval').get('task')}", "", logs.read_inspect)
        return read_tool(tool, logs.list_inspect(document, path), path)
    if "results" in document:
        return read_tool(PROMPTFOO, logs.list_promptfoo(document, path), path)
    if DEEPEVAL_KEYS & document.keys():
        with _refuse_odd(DEEPEVAL, path, [0]):
            cases = list(logs.list_deepeval(document, path))
            lower = logs.find_lower_deepeval([case for _, case in cases])
        return read_tool(DEEPEVAL._replace(find_lower=lambda names, path: lower), cases, path)
    known = "a JSON file must be an array of objects, or a file of a known tool"
    raise refuse(path, 0, f"{known}, found {describe(document)}")


def _guard(document: Row, key: str) -> Row:
    return document[key] if isinstance(document[key], dict) else {}


def _read_rows(rows: Located, path: Path) -> ToolFile | None:
    line, first = rows[0]
    tool = _find_tool(first)
    if tool is None:
        return None
    keys = {*tool.keys.split()}
    layouts = {tuple(row): row for _, row in rows}.values()
    if any(row.keys() >= keys and _find_tool(row) is None for row in layouts):
        return None
    problems = list_spellings(name for name in first if fold_name(name) in keys)
    if problems:
        raise refuse(path, line, problems[0])
    if not first.keys() >= keys:
        rows = [(number, fold_names(row)) for number, row in rows]
    try:
        return read_tool(tool, rows, path)
    except InputError as error:
        hint = f"its keys are those of {tool.name}: {setting('columns.text', 'COLUMN')} reads its rows as they stand"
        raise InputError([*error.faults, fault(path, 0, hint)]) from error


def read_tool(tool: Tool, rows: Rows, path: Path) -> ToolFile:
    """Reads all rows of a tool's file; a row of another layout is a fault at its line."""
    at = [0]

    def watch() -> Iterator[tuple[int, Row]]:
        for line, row in rows:
            at[0] = line
            yield line, row

    with _refuse_odd(tool, path, at):
        listed = list(tool.read(watch(), path))
        names = dict.fromkeys(name for _, row in listed for name in row.get("scores") or ())
        lower = tool.find_lower(names, path)
    return ToolFile.of(tool.name, listed, lower)


@contextmanager
def _refuse_odd(tool: Tool, path: Path, at: Sequence[int]) -> Iterator[None]:
    """Turns what a row of another layout raises into a fault at its line, the element of `at`."""
    try:
        yield
    except ODD as error:
        what = f"{error} is required" if isinstance(error, KeyError) else str(error)
        raise refuse(path, at[0], f"a row must be as in {tool.name}, but here {what}".replace("'", '"')) from error
