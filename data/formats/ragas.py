"""ragas: results (`to_pandas().to_csv()`) with a column per metric."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from data.formats.tool_file import Located, Rows, describe, refuse
from data.numeric import is_missing, number_columns, to_number
from data.records import layout
from data.written_lists import parse_list

ROWS = layout({"user_input": Any, "response": str | None})
OLDER = layout(
    {
        "question": Any,
        "answer": str | None,
        "contexts": Any,
    }
)
APART = {
    "retrieved_contexts", "reference_contexts", "reference", "references", "ground_truth", "ground_truths", "rubric",
    "rubrics", "multi_responses", "retrieved_context_ids", "reference_context_ids", "persona_name", "query_style",
    "query_length", "synthesizer_name", "", "Unnamed: 0", "index", "idx", "id", "episode_done",
    *ROWS.model_fields, *OLDER.model_fields,
}  # fmt: skip
LOWER_IS_BETTER = "noise_sensitivity"  # the share of wrong claims, in several modes


def read(rows: Located, path: Path) -> Rows:
    """Reads one text per row, with the score of each metric; an empty score is missing."""
    names = number_columns([row for _, row in rows], APART)
    for line, row in rows:
        question = row.get("user_input", row.get("question"))
        if not isinstance(question, str) or question.startswith("[{"):
            raise refuse(path, line, f"a sample of several turns is not read, found {describe(question)}")
        references = row.get("reference", row.get("ground_truth", row.get("ground_truths")))
        sample = {
            "group": question,
            "context": question,
            "text": row.get("response", row.get("answer")),
            "references": _list_texts(references),
            "scores": {name: _read_score(row.get(name)) for name in names},
            "retrieved_contexts": row.get("retrieved_contexts"),
        }
        yield line, sample


def _read_score(cell: Any) -> float | None:
    return None if is_missing(cell) else to_number(cell)


def find_lower(names: Iterable[str], path: Path) -> list[str]:
    """Lists the names of scores of which lower is better."""
    return [name for name in names if name.startswith(LOWER_IS_BETTER)]


def _list_texts(cell: Any) -> list[str]:
    """A text, a list of them, or a list that was written as a text."""
    if isinstance(cell, str):
        listed = parse_list(cell)
        texts = [cell] if listed is None else listed
    else:
        texts = cell if isinstance(cell, list) else []
    return [text for text in texts if isinstance(text, str) and text.strip() and not is_missing(text)]
