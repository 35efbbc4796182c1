"""ragas: results (`to_pandas().to_csv()`) with a column per metric, and verdicts that people accepted or rejected."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from data.formats.found import Located, Row, Rows, describe, list_values, refuse
from data.numeric import is_missing, number_columns, to_number
from data.records import check_rows, layout
from data.written_lists import parse_list

ROWS = layout({"user_input": Any, "response": str | None})
OLDER = layout({"question": Any, "answer": str | None, "contexts": Any})
APART = {
    "retrieved_contexts", "reference_contexts", "reference", "references", "ground_truth", "ground_truths", "rubric",
    "rubrics", "multi_responses", "retrieved_context_ids", "reference_context_ids", "persona_name", "query_style",
    "query_length", "synthesizer_name", "", "Unnamed: 0", "index", "idx", "id", "episode_done",
    *ROWS.model_fields, *OLDER.model_fields,
}  # fmt: skip
LOWER_IS_BETTER = "noise_sensitivity"  # the share of wrong claims, in several modes
SAMPLE = layout({"response": str}, user_input=str)
JUDGED = layout({"metric_input": Row, "metric_output": Any, "is_accepted": bool}, prompts=dict[str, Row])


def read(rows: Located, path: Path) -> Rows:
    """A text per row, with the score of each metric; an empty score is missing."""
    names = number_columns([row for _, row in rows], APART)
    for line, row in rows:
        asked, answer = row.get("user_input", row.get("question")), row.get("response", row.get("answer"))
        if not isinstance(asked, str) or asked.startswith("[{"):
            raise refuse(path, line, f"a sample of several turns is not read, found {describe(asked)}")
        references = row.get("reference", row.get("ground_truth", row.get("ground_truths")))
        scores = {name: None if is_missing(row.get(name)) else to_number(row[name]) for name in names}
        known = {"group": asked, "context": asked, "text": answer, "references": _list_texts(references)}
        yield line, {**known, "scores": scores, "retrieved_contexts": row.get("retrieved_contexts")}


def find_lower(names: Iterable[str], path: Path) -> list[str]:
    """The scores that are better if they are lower."""
    return [name for name in names if name.startswith(LOWER_IS_BETTER)]


def _list_texts(cell: Any) -> list[str]:
    """A text, a list of them, or a list that was written as a text."""
    listed = parse_list(cell) if isinstance(cell, str) else None
    found = cell if isinstance(cell, list) else [cell] if listed is None else listed
    return [each for each in found if isinstance(each, str) and each.strip() and not is_missing(each)]


def is_annotated(document: Mapping[str, Any]) -> bool:
    """Whether a JSON object has lists of judged samples by metric."""
    firsts = [each[0] if isinstance(each, list) and each else None for each in document.values()]
    are_judged = (isinstance(each, dict) and {"metric_output", "is_accepted"} <= each.keys() for each in firsts)
    return bool(firsts) and all(are_judged)


def read_annotated(document: Mapping[str, Any], path: Path) -> Rows:
    """A text per verdict; the metric is its score. The rating is the verdict that people gave it: the same where they
    accepted it, else the edited one, or the other one of 0 and 1.
    """
    named = [(metric, each) for metric, verdicts in document.items() for each in verdicts]
    rows = check_rows(enumerate((each for _, each in named), start=1), path, JUDGED)
    samples = check_rows(((line, each["metric_input"]) for line, each in rows), path, SAMPLE)
    for (metric, _), (line, each), (_, sample) in zip(named, rows, samples, strict=True):
        if (score := to_number(each["metric_output"])) is None:
            raise refuse(path, line, f'"metric_output" must be a number, found {describe(each["metric_output"])}')
        edited = [given.get("edited_output") for given in list_values(each.get("prompts"))]
        rating = next((to_number(given.get("verdict")) for given in edited if isinstance(given, Mapping)), None)
        if each["is_accepted"] or rating is None:
            rating = score if each["is_accepted"] else 1 - score if score in (0, 1) else None
        row = {"text": sample["response"], "context": sample.get("user_input"), "scores": {metric: score}}
        yield line, {**row, "ratings": {} if rating is None else {metric: rating}}
