"""DeepEval: test runs (`.latest_test_run.json`, `.temp_test_run_data.json`), results of `evaluate`, and its cache."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic.alias_generators import to_snake

from core.settings import Number
from data.formats.tool_file import Row, ToolFile, describe, refuse
from data.numeric import to_number
from data.records import Text, check_rows, drop_nan, layout
from data.text_files import parse_json

CACHE = "test_cases_lookup_map"
FILES = tuple(layout({key: Any}) for key in ("testCases", "testRunData", "test_results", CACHE))
RUN = layout(
    {},
    testCases=list[Any],
    test_results=list[Any],
    **{CACHE: dict[str, Row]},
)
CASE = layout(
    {"input": str, "actual_output": str | None},
    expected_output=str,
    metrics_data=list[Row],
)
CACHED = layout({"cached_metrics_data": list[Row]})
METRIC = layout({"name": Text}, score=Annotated[Number | None, BeforeValidator(drop_nan)])


def read(document: Row, path: Path) -> ToolFile:
    """Reads one text per test case; the case's input is the group. If a metric failed, its score is missing."""
    whole = document.get("testRunData") or document
    ((_, run),) = check_rows([(0, whole)], path, RUN)
    cases = run.get("testCases") or run.get("test_results")
    if not cases:
        cases = list(_read_cached(run.get(CACHE) or {}, path))
    if not cases:
        more = " (conversational ones are not read)" if run.get("conversationalTestCases") else ""
        raise refuse(path, 0, f"a test run of DeepEval needs test cases{more}, found none")
    renamed = list(map(_rename, cases))
    checked = check_rows(enumerate(renamed, start=1), path, CASE)
    rows = [(line, _read_case(case, path, line)) for line, case in checked]
    return ToolFile.of("DeepEval test run", rows, _find_lower(renamed))


def _read_case(
    case: Row,
    path: Path,
    line: int,
) -> Row:
    given = case.get("metrics_data") or ()
    named = [(line, {"name": metric.get("metric"), **_rename(metric)}) for metric in given]
    metrics = [metric for _, metric in check_rows(named, path, METRIC)]
    scores: dict[str, float | None] = {}
    for metric in metrics:
        scores[metric["name"]] = None if metric.get("error") else metric.get("score")
    if len(scores) < len(metrics):
        raise refuse(path, line, f"each metric needs a name of its own, found {describe([*scores])}")
    expected = case.get("expected_output")
    return {
        "text": case["actual_output"],
        "context": case["input"],
        "group": case["input"],
        "scores": scores,
        "references": [expected] if expected else [],
    }


def _find_lower(cases: Iterable[Row]) -> list[str]:
    """The metrics whose `success` says that scores below the threshold pass, such as Bias and Toxicity."""
    passes_below: dict[str, set[bool]] = {}
    for case in cases:
        for metric in map(_rename, case.get("metrics_data") or ()):
            score = to_number(metric.get("score"))
            threshold = to_number(metric.get("threshold"))
            if score is None or threshold is None or score == threshold:
                continue
            name = metric.get("name") or metric.get("metric")
            is_below = score < threshold
            passes_below.setdefault(name, set()).add(is_below == metric.get("success"))
    return [name for name, passes in passes_below.items() if passes == {True}]


def _read_cached(cached: Mapping[str, Row], path: Path) -> Iterator[Row]:
    """The test cases of the cache: a key that is JSON, and the data of its metrics."""
    checked = check_rows(enumerate(cached.values(), start=1), path, CACHED)
    for key, (_, value) in zip(cached, checked, strict=True):
        metrics = [metric.get("metric_data") for metric in value["cached_metrics_data"]]
        parsed = parse_json(path, key.encode())
        ((_, case),) = check_rows([(0, parsed)], path, layout({}))
        yield {**case, "metrics_data": metrics}


def _rename(values: Any) -> Any:
    """The keys in snake case, as they are in Python: `actualOutput` is `actual_output`."""
    if not isinstance(values, dict):
        return values
    return {to_snake(key): value for key, value in values.items()}
