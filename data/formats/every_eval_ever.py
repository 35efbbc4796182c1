"""Every Eval Ever: rows in its schema for single samples. Its converters make such rows from logs of other tools."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from data.formats.tool_file import Located, Name, Row, Rows, list_values, text_of
from data.numeric import to_number
from data.records import layout
from data.text_files import read_json

NEEDED = {
    "evaluation_id": Any,
    "evaluation_name": str,
    "model_id": str,
    "sample_id": Name,
    "evaluation": Row,
    "input": Row,
}
SAMPLES = layout(
    NEEDED,
    evaluation_result_id=str,
    output=Row,
    messages=list[Row],
)
ENDS = ("_samples.jsonl", ".jsonl")  # of a file of samples; what stands before names the results beside it


def read(rows: Located, path: Path) -> Rows:
    """Reads one text per model and sample; each score is named after its evaluation.

    A sample that one evaluation scored several times becomes several texts.
    """
    models = {row["model_id"] for _, row in rows}
    with_results = _find_several_results(rows)
    texts: list[tuple[int, Row]] = []
    latest: dict[tuple[str, str], Row] = {}
    for line, row in rows:
        model = row["model_id"]
        sample = str(row["sample_id"])
        label = row["evaluation_name"]
        if label in with_results:
            label += f"/{row.get('evaluation_result_id')}"
        text = latest.get((model, sample))
        if text is None or label in text["scores"]:
            text = _read_text(row)
            text["id"] = sample if len(models) == 1 else f"{model}-{sample}"
            latest[model, sample] = text
            texts.append((line, text))
        text["scores"][label] = to_number(row["evaluation"].get("score"))
    return texts


def _find_several_results(rows: Located) -> set[str]:
    """The evaluations with several results, such as two metrics."""
    results: dict[str, set[str]] = {}
    for _, row in rows:
        results.setdefault(row["evaluation_name"], set()).add(str(row.get("evaluation_result_id")))
    return {evaluation for evaluation, names in results.items() if len(names) > 1}


def _read_text(row: Row) -> Row:
    """The answer, which is the first output or the last message of the model, with the input and references."""
    given = row["input"]
    references = given.get("reference")
    if isinstance(references, str):
        references = [references]
    return {
        "group": str(row["sample_id"]),
        "system": row["model_id"],
        "text": text_of(_find_answer(row)),
        "context": text_of(given.get("raw")),
        "references": list_values(references),
        "scores": {},
    }


def _find_answer(row: Row) -> Any:
    """The first output, or the last message of the model where there is no output."""
    output = (row.get("output") or {}).get("raw")
    if isinstance(output, list):
        return output[:1]
    if output is not None:
        return output
    messages = row.get("messages") or []
    answers = [message for message in messages if message.get("role") == "assistant"]
    return answers[-1:]


def find_lower(names: Iterable[str], path: Path) -> list[str]:
    """Lists the scores of which lower is better, according to the results file beside the samples."""
    directions: dict[str, bool] = {}
    for end in ENDS:
        results = path.with_name(f"{path.name.removesuffix(end)}.json")
        if path.name.endswith(end) and results.is_file():
            directions |= _read_directions(read_json(results))
    return [name for name in names if directions.get(name.partition("/")[0]) or directions.get(name)]


def _read_directions(document: Any) -> dict[str, bool]:
    """By evaluation whether lower scores are better."""
    results = document.get("evaluation_results") if isinstance(document, Mapping) else None
    directions: dict[str, bool] = {}
    for result in list_values(results):
        if isinstance(result, Mapping):
            config = result.get("metric_config")
            is_lower = isinstance(config, Mapping) and config.get("lower_is_better") is True
            directions[str(result.get("evaluation_name"))] = is_lower
    return directions
