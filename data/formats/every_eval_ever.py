"""Every Eval Ever: rows of its schema for single samples, to which its converters translate logs of other tools."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from data.formats.tool_file import Located, Name, Row, Rows, list_values, text_of
from data.numeric import to_number
from data.records import layout
from data.text_files import read_json

SAMPLES = layout(
    {"evaluation_id": Any, "evaluation_name": str, "model_id": str, "sample_id": Name, "evaluation": Row, "input": Row},
    output=Row,
    messages=list[Row],
    evaluation_result_id=str,
)
ENDS = ("_samples.jsonl", ".jsonl")  # of a file of samples; what stands before names the results beside it


def read(rows: Located, path: Path) -> Rows:
    """Reads a text per model and sample; each score is named after its evaluation.

    A sample that one evaluation scored several times becomes several texts.
    """
    models = {row["model_id"] for _, row in rows}
    with_results = _find_several_results(rows)
    texts: list[tuple[int, Row]] = []
    latest: dict[tuple[str, str], Row] = {}
    for line, row in rows:
        model = row["model_id"]
        sample = str(row["sample_id"])
        evaluation = row["evaluation_name"]
        label = f"{evaluation}/{row.get('evaluation_result_id')}" if evaluation in with_results else evaluation
        text = latest.get((model, sample))
        if text is None or label in text["scores"]:
            name = sample if len(models) == 1 else f"{model}-{sample}"
            text = {"id": name, "group": sample, "system": model, **_read_text(row)}
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
    output = (row.get("output") or {}).get("raw")
    answers = [message for message in row.get("messages") or [] if message.get("role") == "assistant"]
    answer = output[:1] if isinstance(output, list) else output
    references = given.get("reference")
    return {
        "text": text_of(answer if answer is not None else answers[-1:]),
        "context": text_of(given.get("raw")),
        "references": [references] if isinstance(references, str) else list_values(references),
        "scores": {},
    }


def find_lower(names: Iterable[str], path: Path) -> list[str]:
    """The scores of which lower is better, by the results beside the samples."""
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
