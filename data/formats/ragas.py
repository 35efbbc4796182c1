"""ragas: results (`to_pandas().to_csv()`) with a column per metric, and verdicts that people accepted or rejected."""

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from data.formats.tool_file import Located, Row, Rows, describe, list_values, refuse
from data.numeric import is_missing, number_columns, to_number
from data.records import check_rows, layout
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
SAMPLE = layout({"response": str}, user_input=str)
JUDGED = layout(
    {
        "metric_input": Row,
        "metric_output": Any,
        "is_accepted": bool,
    },
    prompts=dict[str, Row],
)


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


def is_annotated(document: Mapping[str, Any]) -> bool:
    """Whether a JSON object has lists of judged samples by metric."""
    return bool(document) and all(map(_holds_judged_samples, document.values()))


def _holds_judged_samples(verdicts: Any) -> bool:
    if not isinstance(verdicts, list) or not verdicts:
        return False
    first = verdicts[0]
    return isinstance(first, dict) and {"metric_output", "is_accepted"} <= first.keys()


def read_annotated(document: Mapping[str, Any], path: Path) -> Rows:
    """Reads one text per verdict of a metric. The verdict is the score, the verdict that people gave is the rating.

    If people accepted the metric's verdict, their verdict is the same. Otherwise it is the verdict that they entered,
    or the opposite (0 or 1).
    """
    metrics = [metric for metric, verdicts in document.items() for _ in verdicts]
    verdicts = chain.from_iterable(document.values())
    rows = check_rows(enumerate(verdicts, start=1), path, JUDGED)
    inputs = [(line, verdict["metric_input"]) for line, verdict in rows]
    samples = check_rows(inputs, path, SAMPLE)
    for metric, (line, verdict), (_, sample) in zip(metrics, rows, samples, strict=True):
        score = to_number(verdict["metric_output"])
        if score is None:
            raise refuse(path, line, f'"metric_output" must be a number, found {describe(verdict["metric_output"])}')
        rating = _read_rating(verdict, score)
        row = {
            "text": sample["response"],
            "context": sample.get("user_input"),
            "scores": {metric: score},
            "ratings": {} if rating is None else {metric: rating},
        }
        yield line, row


def _read_rating(verdict: Row, score: float) -> float | None:
    """What people said of a score: the score where they accepted it, else the edited one, or the other of 0 and 1."""
    if verdict["is_accepted"]:
        return score
    edited = (prompt.get("edited_output") for prompt in list_values(verdict.get("prompts")))
    outputs = [output for output in edited if isinstance(output, Mapping)]
    rating = to_number(outputs[0].get("verdict")) if outputs else None
    if rating is None and score in (0, 1):
        return 1 - score
    return rating
