"""DeepEval: test runs (`.latest_test_run.json`, `.temp_test_run_data.json`), results of `evaluate`, and its cache."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic.alias_generators import to_snake

from core.settings import Number
from data.formats.found import Found, Row, describe, refuse
from data.numeric import to_number
from data.records import Text, check_rows, drop_nan, layout
from data.text_files import parse_json

CACHE = "test_cases_lookup_map"
FILES = tuple(layout({key: Any}) for key in ("testCases", "testRunData", "test_results", CACHE))
RUN = layout(
    {},
    testCases=list[Any],
    test_results=list[Any],
    **{CACHE: dict[str, dict[str, Any]]},
)
CASE = layout({"input": str, "actual_output": str | None}, expected_output=str, metrics_data=list[dict[str, Any]])
CACHED = layout({"cached_metrics_data": list[dict[str, Any]]})
METRIC = layout({"name": Text}, score=Annotated[Number | None, BeforeValidator(drop_nan)])


def read(document: Row, path: Path) -> Found:
    """A text per test case, its input the group; the score of a metric that failed is missing."""
    ((_, run),) = check_rows([(0, document.get("testRunData") or document)], path, RUN)
    cases = run.get("testCases") or run.get("test_results") or list(_read_cached(run.get(CACHE) or {}, path))
    if not cases:
        more = " (conversational ones are not read)" if run.get("conversationalTestCases") else ""
        raise refuse(path, 0, f"a test run of DeepEval needs test cases{more}, found none")
    named = [(line, _rename(case)) for line, case in enumerate(cases, start=1)]
    rows = [(line, _read_case(case, path, line)) for line, case in check_rows(named, path, CASE)]
    return Found.of("DeepEval test run", rows, _find_lower(case for _, case in named))


def _read_case(
    case: Row,
    path: Path,
    line: int,
) -> Row:
    listed = [(line, {"name": each.get("metric"), **_rename(each)}) for each in case.get("metrics_data") or ()]
    metrics = [each for _, each in check_rows(listed, path, METRIC)]
    scores = {each["name"]: None if each.get("error") else each.get("score") for each in metrics}
    if len(scores) < len(metrics):
        raise refuse(path, line, f"each metric needs a name of its own, found {describe([*scores])}")
    row = {"text": case["actual_output"], "context": case["input"], "group": case["input"], "scores": scores}
    return row | {"references": [case["expected_output"]] if case.get("expected_output") else []}


def _find_lower(cases: Iterable[Row]) -> list[str]:
    """The metrics whose `success` says that scores below the threshold pass, such as Bias and Toxicity."""
    passes_below: dict[str, set[bool]] = {}
    for case in cases:
        for each in map(_rename, case.get("metrics_data") or ()):
            score, threshold = (to_number(each.get(key)) for key in ("score", "threshold"))
            if score is not None and threshold is not None and score != threshold:
                name = each.get("name") or each.get("metric")
                passes_below.setdefault(name, set()).add((score < threshold) == each.get("success"))
    return [name for name, found in passes_below.items() if found == {True}]


def _read_cached(cached: Mapping[str, Row], path: Path) -> Iterator[Row]:
    """The test cases of the cache: a key that is JSON, and the data of its metrics."""
    for key, (_, value) in zip(cached, check_rows(enumerate(cached.values(), start=1), path, CACHED), strict=True):
        metrics = [each.get("metric_data") for each in value["cached_metrics_data"]]
        ((_, case),) = check_rows([(0, parse_json(path, key.encode()))], path, layout({}))
        yield {**case, "metrics_data": metrics}


def _rename(values: Any) -> Any:
    """The keys in snake case, as they are in Python: `actualOutput` is `actual_output`."""
    return {to_snake(key): value for key, value in values.items()} if isinstance(values, dict) else values
