"""lm-evaluation-harness: `samples_TASK_TIME.jsonl` of `--log_samples`, a line per document and filter."""

import json
from collections.abc import Iterable, Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from data.formats.tool_file import Located, Row, Rows, describe, list_values, refuse
from data.numeric import number_columns, to_number
from data.records import layout
from data.text_files import read_json

ANY = dict.fromkeys(("doc", "target", "arguments", "resps", "filtered_resps"), Any)
SAMPLES = layout({"doc_id": int, **ANY}, filter=str, metrics=list[str])


def read(rows: Located, path: Path) -> Rows:
    """Reads one text per document: the answer, or the most likely choice. Scores are `METRIC` or `METRIC/FILTER`."""
    names = _name_metrics(rows)
    by_document: dict[Any, dict[str, tuple[int, Row]]] = {}
    for line, row in rows:
        filters = by_document.setdefault(row["doc_id"], {})
        key = row.get("filter") or f"filter {len(filters) + 1}"  # older versions do not name it
        if key in filters:
            raise refuse(path, line, f"document {row['doc_id']} has the filter {describe(key)} twice: is it one task?")
        filters[key] = (line, row)
    has_several_filters = max(map(len, by_document.values())) > 1
    model = _find_model(path)
    for number, filters in by_document.items():
        scores: dict[str, float | None] = {}
        for key, (_, row) in filters.items():
            for name in names:
                label = f"{name}/{key}" if has_several_filters else name
                scores[label] = to_number(row.get(name))
        line, first_row = next(iter(filters.values()))
        described = {
            "id": str(number),
            "group": str(number),
            "system": model,
            "scores": scores,
        }
        yield line, {**described, **_read_answer(first_row, path, line)}


def _name_metrics(rows: Located) -> list[str]:
    """The columns of scores: those that `metrics` of some row lists, where all rows list them."""
    names = number_columns([row for _, row in rows], SAMPLES.model_fields)
    if any(row.get("metrics") is None for _, row in rows):
        return names
    metrics = {metric for _, row in rows for metric in row["metrics"]}
    return [name for name in names if name in metrics]


def _read_answer(
    row: Row,
    path: Path,
    line: int,
) -> Row:
    """The prompt, the answer and the references; of choices, the one with the highest log-likelihood."""
    requests = _list_requests(row["arguments"])
    if not requests or any(len(request) < 2 for request in requests):
        raise refuse(path, line, f'"arguments" must list prompts and what follows, found {describe(row["arguments"])}')
    target = row["target"]
    references = target if isinstance(target, list) else [target]
    answer = _find_first_answer(row["resps"])
    if isinstance(answer, str):
        is_blank = not any(str(reference).strip() for reference in references)
        if is_blank and isinstance(row["doc"], dict):
            references = list_values(row["doc"].get("correct_answers"))  # truthfulqa_gen
    else:
        likelihoods = _read_likelihoods(row["filtered_resps"])
        if not likelihoods or None in likelihoods or len(likelihoods) != len(requests):
            responses = describe(row["filtered_resps"])
            raise refuse(path, line, f"each request needs a text or a log-likelihood, found {responses}")
        choices = _list_choices(requests)
        most_likely = max(range(len(choices)), key=lambda i: likelihoods[i] or 0.0)
        answer = choices[most_likely]
        references = _find_target_choice(target, choices, references)
    prompt = requests[0][0]
    context = prompt if isinstance(prompt, str) else json.dumps(prompt, ensure_ascii=False)
    texts = [str(reference).strip() for reference in references if isinstance(reference, str | int | float)]
    return {
        "text": answer,
        "context": context,
        "references": list(filter(None, texts)),
    }


def _list_requests(arguments: Any) -> list[list[Any]]:
    """A prompt and what follows it for each request; older versions write one request without a list around it."""
    requests = list_values(arguments)
    if requests and isinstance(requests[0], str):
        return [requests]
    return list(map(list_values, requests))


def _find_first_answer(responses: Any) -> Any:
    """The first answer to the first request."""
    for _ in range(2):
        is_filled = isinstance(responses, list) and responses
        responses = responses[0] if is_filled else None
    return responses


def _read_likelihoods(responses: Any) -> list[float | None]:
    """The log-likelihood of each request."""
    pairs = [pair for pair in list_values(responses) if isinstance(pair, list) and pair]
    return [to_number(pair[0]) for pair in pairs]


def _list_choices(requests: Sequence[Sequence[Any]]) -> list[str]:
    """What follows the prompt of each request; behind the prompt where choices differ in it alone."""
    choices = [str(request[1]).strip() for request in requests]
    if len(set(choices)) < len(choices):
        return [f"{request[0]}{request[1]}" for request in requests]
    return choices


def _find_target_choice(
    target: Any,
    choices: list[str],
    references: list[Any],
) -> list[Any]:
    """The choice that the target is the index of; none if the target is a choice itself as well as an index."""
    index = to_number(target) if len(choices) > 1 else None
    if index is None or index not in range(len(choices)):
        return references
    return [] if str(target) in choices else [choices[int(index)]]


def _split_name(path: Path) -> tuple[str, str]:
    """The task and the time in the name of a file, `samples_TASK_TIME.jsonl`."""
    name = path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
    task, _, time = name.rpartition("_")
    return task.removeprefix("samples_"), time


def _read_results(path: Path) -> list[Row]:
    """The results that lm-eval wrote beside the samples."""
    _, time = _split_name(path)
    files = sorted(path.parent.glob(f"*_{escape(time)}.json"))
    documents = [read_json(file) for file in files if file != path]
    return [document for document in documents if isinstance(document, dict)]


def find_lower(names: Iterable[str], path: Path) -> list[str]:
    """Lists the scores of which lower is better, by `higher_is_better` in the results file beside the samples."""
    task, _ = _split_name(path)
    lower: list[str] = []
    for results in _read_results(path):
        directions = _find_directions(results, task)
        metrics = [metric for metric, is_higher in directions.items() if is_higher is False]
        with_filters = tuple(f"{metric}/" for metric in metrics)
        lower += [name for name in names if name in metrics or name.startswith(with_filters)]
    return lower


def _find_directions(results: Row, task: str) -> Mapping[str, Any]:
    """By metric, whether higher is better: of the task, or of the only one."""
    by_task = results.get("higher_is_better")
    if not isinstance(by_task, Mapping):
        return {}
    if by_task.get(task):
        return by_task[task]
    return next(iter(by_task.values())) if len(by_task) == 1 else {}


def _find_model(path: Path) -> str | None:
    """The model that the results beside the samples name, or else their folder (ORGANISATION__MODEL)."""
    for results in _read_results(path):
        model = results.get("model_name")
        if isinstance(model, str) and model.strip():
            return model
    organisation, separator, name = path.absolute().parent.name.partition("__")
    return f"{organisation}/{name}" if separator else None
