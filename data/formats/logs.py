"""Logs of runs: lm-evaluation-harness, Inspect, promptfoo, DeepEval and ragas."""

import json
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from glob import escape
from itertools import chain
from pathlib import Path
from typing import Any

from data.columns import FIELDS, OTHER_NAMES, USUAL_NAMES
from data.formats.tool_file import REMARK, Row, Rows, describe, leave_out, list_values, refuse, text_of
from data.numeric import is_missing, number_columns, to_number
from data.table_files import check_unpacked_size
from data.text_files import parse_json, read_json

INSPECT_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}  # correct, incorrect, partial, no answer
SAMPLE_KEYS = frozenset({"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter"})
INDEX = ("", "Unnamed: 0")  # of pandas
NO_METRICS = frozenset({*INDEX, "index", "idx", "query_length", *FIELDS, *OTHER_NAMES, *USUAL_NAMES})  # of ragas
ERROR = 2  # promptfoo's `failureReason` of a call that failed


# ---- lm-evaluation-harness: a line per document and filter ----


def read_lm_eval(rows: Rows, path: Path) -> Rows:
    """Reads one text per document: the answer, or the most likely choice. Scores are `METRIC` or `METRIC/FILTER`."""
    documents: dict[Any, dict[str, tuple[int, Row]]] = {}
    for line, row in rows:
        filters = documents.setdefault(row["doc_id"], {})
        key = row.get("filter") or "none"
        if key in filters:
            raise refuse(path, line, f"document {row['doc_id']} has the filter {describe(key)} twice: is it one task?")
        filters[key] = (line, row)
    of_all = [row for filters in documents.values() for _, row in filters.values()]
    listed = dict.fromkeys(metric for row in of_all for metric in row.get("metrics") or ())
    names = [name for name in number_columns(of_all, SAMPLE_KEYS) if name in listed or not listed]
    given = {name for row in of_all for name, value in row.items() if not is_missing(value)}
    remark = _remark_unread([name for name in listed if name in given.difference(names)])
    has_several = max(map(len, documents.values())) > 1
    for number, filters in documents.items():
        scores: Row = {}
        for key, (_, row) in filters.items():
            scores |= {f"{name}/{key}" if has_several else name: to_number(row.get(name)) for name in names}
        line, row = next(iter(filters.values()))
        named = {
            "id": str(number),
            "group": str(number),
            "system": _find_model(path),
            "scores": scores,
            REMARK: remark,
        }
        yield line, {**named, **_read_answer(row, path, line)}


def _remark_unread(names: Sequence[str]) -> str:
    return f"scores of {' and '.join(names)} that are lists or words left out" if names else ""


def _read_answer(row: Row, path: Path, line: int) -> Row:
    """The prompt, the answer and the references; of choices, the one with the highest log-likelihood."""
    requests = [list_values(request) for request in list_values(row["arguments"])]
    if not requests or any(len(request) < 2 for request in requests):
        raise refuse(path, line, f'"arguments" must list prompts and what follows, found {describe(row["arguments"])}')
    target = row["target"]
    references = target if isinstance(target, list) else [target]
    answer = row["resps"][0][0]
    if not isinstance(answer, str):
        given = [to_number(response[0]) for response in row["filtered_resps"] if isinstance(response, list)]
        likelihoods = [likelihood for likelihood in given if likelihood is not None]
        if not len(given) == len(likelihoods) == len(requests):
            found = describe(row["filtered_resps"])
            raise refuse(path, line, f"each request needs a text or a log-likelihood, found {found}")
        choices = [str(request[1]).strip() for request in requests]
        answer = choices[likelihoods.index(max(likelihoods))]
        index = to_number(target) if len(choices) > 1 else None
        if index is not None and index in range(len(choices)):
            references = [] if str(target) in choices else [choices[int(index)]]
    prompt = requests[0][0]
    stripped = [str(reference).strip() for reference in references]
    return {
        "text": answer,
        "context": prompt if isinstance(prompt, str) else json.dumps(prompt, ensure_ascii=False),
        "references": list(filter(None, stripped)),
    }


def _read_results(path: Path) -> Iterator[Row]:
    """The results that lm-eval wrote beside `samples_TASK_TIME.jsonl`."""
    time = path.name.split(".json")[0].rpartition("_")[2]
    for file in sorted(path.parent.glob(f"*_{escape(time)}.json")):
        document = read_json(file) if file != path else None
        if isinstance(document, dict):
            yield document


def _find_model(path: Path) -> str | None:
    """The model that the results name, or else their folder (ORGANISATION__MODEL)."""
    named = [str(results.get("model_name") or "").strip() for results in _read_results(path)]
    organisation, separator, name = path.absolute().parent.name.partition("__")
    return next(filter(None, named), f"{organisation}/{name}" if separator else None)


def find_lower_lm_eval(names: Iterable[str], path: Path) -> list[str]:
    """Lists the scores of which lower is better, by `higher_is_better` in the results beside the samples."""
    task = path.name.split(".json")[0].rpartition("_")[0].removeprefix("samples_")
    lower: set[str] = set()
    for results in _read_results(path):
        by_task = results.get("higher_is_better") or {}
        only = [*by_task.values()][:1] if len(by_task) == 1 else []
        directions = by_task.get(task) or next(iter(only), {})
        lower |= {metric for metric, is_higher in directions.items() if is_higher is False}
    return [name for name in names if name.partition("/")[0] in lower]


# ---- Inspect: a log as JSON, or a zip with a file per sample ----


def unpack_inspect(path: Path) -> Row:
    """Reads the log in an `.eval` file; nothing is unpacked to disk."""
    with zipfile.ZipFile(path) as packed:
        sizes = {file.filename: file.file_size for file in packed.infolist()}
        head = next((name for name in ("header.json", "_journal/start.json") if name in sizes), None)
        if head is None:
            raise refuse(path, 0, "an .eval file needs header.json or _journal/start.json: is it an Inspect log?")
        names = [name for name in sizes if name.startswith("samples/") and name.endswith(".json")]
        check_unpacked_size(path, (sizes[name] for name in [head, *names]))
        header = parse_json(path, packed.read(head))
        return {
            "status": None,
            **header,
            "samples": [parse_json(path, packed.read(name)) for name in names],
        }


def list_inspect(log: Row, path: Path) -> Rows:
    """Lists the samples of a log with the model, in the order of epochs and ids."""
    model = log["eval"].get("model")
    if not isinstance(model, str):
        raise refuse(path, 0, f'an Inspect log needs "eval" with "model", found {describe(log["eval"])}')
    if not log.get("samples"):
        raise refuse(path, 0, "this Inspect log has no samples (a header alone, or a run that stopped at once)")
    rows: list[tuple[int, Row]] = []
    for line, sample in enumerate(log["samples"], start=1):
        rows.append((line, {"epoch": 1, **sample, "model": model}))
    rows.sort(key=lambda row: str(row[1]["id"]).zfill(20))
    rows.sort(key=lambda row: row[1]["epoch"])
    return rows


def read_inspect(rows: Rows, path: Path) -> Rows:
    """Reads one text per sample and epoch, the input. Scores are `SCORER`, or `SCORER/NAME` of several.

    The letters C, I, P and N are numbers where a scorer gives no other words, such as the grades A to D.
    """
    answers: list[tuple[int, Row]] = []
    words: dict[str, set[str]] = defaultdict(set)
    for line, sample in rows:
        name = sample["id"]
        if not isinstance(name, str | int):
            raise refuse(path, line, f'"id" must be a text or a whole number, found {describe(name)}')
        values = dict(_list_inspect_values(sample.get("scores") or {}))
        for label, value in values.items():
            if isinstance(value, str) and to_number(value) is None and not is_missing(value):
                words[label].add(value)
        output = sample.get("output") or {}
        target = sample.get("target")
        targets = target if isinstance(target, list) else [target]
        read = partial(_read_attached, sample.get("attachments") or {})
        answer = {
            "id": f"{name}-{sample['epoch']}",
            "group": str(name),
            "system": sample["model"],
            "epoch": sample["epoch"],
            "text": read(output.get("choices", [])[:1]),
            "context": read(sample["input"]),
            "references": [text.strip() for text in map(read, targets) if text and text.strip()],
            "scores": values,
        }
        answers.append((line, answer))
    letters = {label for label, given in words.items() if given <= INSPECT_VALUES.keys()}
    for line, answer in answers:
        scores: Row = {}
        unread: list[str] = []
        for label, value in answer["scores"].items():
            known = INSPECT_VALUES if label in letters else {}
            number = known.get(str(value), to_number(value))
            if number is None and not is_missing(value):
                unread.append(label)
            else:
                scores[label] = number
        yield line, {**answer, "scores": scores, REMARK: _remark_unread(unread)}


def _list_inspect_values(given: Row) -> Iterator[tuple[str, Any]]:
    """What scorers gave, by name."""
    for scorer, score in given.items():
        value = score["value"]
        if isinstance(value, Mapping):
            yield from ((f"{scorer}/{part}", inner) for part, inner in value.items())
        else:
            yield scorer, value


def _read_attached(attached: Row, content: Any) -> str | None:
    """The text of a message, which may stand among the attachments of its sample."""
    text = text_of(content)
    return text and attached.get(text.removeprefix("attachment://"), text)


# ---- promptfoo ----


def list_promptfoo(document: Row, path: Path) -> Rows:
    """Lists the results of version 3."""
    results = document["results"]
    if not isinstance(results, Mapping) or not results.get("results") or not isinstance(results.get("version"), int):
        hint = "; those of lm-eval are in samples_TASK_TIME.jsonl" if "configs" in document else ""
        raise refuse(path, 0, f'results of promptfoo need "version" and "results", found {describe(results)}{hint}')
    return enumerate(results["results"], start=1)


def read_promptfoo(rows: Rows, path: Path) -> Rows:
    """Reads one text per result, in the order of tests. A system is a provider, with its prompt if there are more."""
    listed = sorted(rows, key=lambda row: (row[1]["testIdx"], row[1].get("promptIdx") or 0))
    prompts = {_name(row["prompt"], "raw") for _, row in listed}
    is_repeated = all(row["score"] == row["success"] for _, row in listed)  # it would count as a second judge
    for line, row in listed:
        system = _name(row["provider"], "id")
        output = (row.get("response") or {}).get("output") if row.get("failureReason") != ERROR else None
        scores = {} if is_repeated else {"score": to_number(row["score"])}
        scores["pass"] = float(row["success"])
        scores |= {key: to_number(score) for key, score in (row.get("namedScores") or {}).items()}
        answer = {
            "text": _write_output(output),
            "context": row["prompt"].get("raw"),
            "group": str(row["testIdx"]),
            "scores": scores,
            "system": f"{system} / {_name(row['prompt'], 'raw')}" if len(prompts) > 1 else system,
        }
        remark = "score says the same as pass in every row and is left out" if is_repeated else ""
        yield line, {**answer, REMARK: remark}


def _write_output(output: Any) -> str | None:
    if output is None or isinstance(output, str):
        return output
    return json.dumps(output, ensure_ascii=False)


def _name(part: Any, key: str) -> str:
    return str(part.get("label") or part.get(key)) if isinstance(part, Mapping) else str(part)


# ---- DeepEval: test runs, results of `evaluate` ----


def list_deepeval(document: Row, path: Path) -> Rows:
    """Lists the test cases of a run."""
    cases = (document.get("testRunData") or document).get("testCases")
    if not cases:
        raise refuse(path, 0, "a test run of DeepEval needs test cases (conversational ones are not read), found none")
    return enumerate(cases, start=1)


def read_deepeval(rows: Rows, path: Path) -> Rows:
    """Reads one text per test case; the case's input is the group. If a metric failed, its score is missing."""
    for line, case in rows:
        metrics = case.get("metricsData") or []
        scores: Row = {}
        for metric in metrics:
            scores[metric["name"]] = None if metric.get("error") else metric.get("score")
        if len(scores) < len(metrics):
            raise refuse(path, line, f"each metric needs a name of its own, found {describe([*scores])}")
        expected = case.get("expectedOutput")
        answer = {
            "text": case["actualOutput"],
            "context": case["input"],
            "group": case["input"],
            "scores": scores,
            "references": [expected] if expected else [],
        }
        yield line, answer


def find_lower_deepeval(cases: Iterable[Row]) -> list[str]:
    """The metrics whose `success` says that scores below the threshold pass, such as Bias and Toxicity."""
    below: dict[str, set[bool]] = {}
    for metric in chain.from_iterable(case.get("metricsData") or () for case in cases):
        score = to_number(metric.get("score"))
        threshold = to_number(metric.get("threshold"))
        if score is not None and threshold is not None and score != threshold:
            passes = (score < threshold) == metric.get("success")
            below.setdefault(metric["name"], set()).add(passes)
    return [name for name, passes in below.items() if passes == {True}]


# ---- ragas ----


def read_ragas(rows: Rows, path: Path) -> Rows:
    """Reads one text per row, with each column of numbers as the score of a metric. Other columns are passed on."""
    listed = list(rows)
    names = number_columns([row for _, row in listed], NO_METRICS)
    read = [*names, *INDEX, "user_input", "response", "reference"]
    for line, row in listed:
        question = row["user_input"]
        if not isinstance(question, str) or question.startswith("[{"):
            raise refuse(path, line, f"a sample of several turns is not read, found {describe(question)}")
        reference = row.get("reference")
        answer = {
            "group": question,
            "context": question,
            "text": row["response"],
            "references": [] if is_missing(reference) else [reference],
            "scores": {name: to_number(row.get(name)) for name in names},
        }
        yield line, answer | leave_out(row, read)
