"""Scores sets by metrics, and keeps the scores: a second run, and another command, score nothing again.

The scores of a metric on a set are a cache of `core.stages`. A file that is scored in chunks has a value for each.
"""

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core.errors import ExampleError, InputError, fault
from core.progress import step
from core.scores import LOST, CorpusMetric, Metric, Scores
from core.source import Code, hash_sources
from core.stages import Cache, Stages, fingerprint
from data.files import iterate_rows, to_record
from data.scored import ScoredFile, decode_scores, encode_scores
from meta_eval.scored_set import ScoredSet

NAME = "scores"
FRAME = (iterate_rows, encode_scores)  # the code before and behind the metric that kept scores depend on
LACKING = " lacks answers"  # ends the key of scores that the next run computes again


def score_set(scored: ScoredSet, metrics: Mapping[str, Metric], stages: Stages | None = None) -> ScoredSet:
    """Adds the scores of metrics to a set; `stages` keeps them, as `judge score` does for a file.

    Raises InputError by file and line.
    """
    scores = dict(scored.scores)
    for name, metric in metrics.items():
        with step(f"scoring by {name}", len(scored)) as advance:
            prepared = metric.with_corpus(scored.examples) if isinstance(metric, CorpusMetric) else metric
            scores[name] = find_scores(scored, prepared, stages)
            advance(len(scored))
    return replace(scored, scores=scores)


def find_scores(scored: ScoredSet, metric: Metric, stages: Stages | None) -> Scores:
    """Scores a set by a prepared metric, or returns the scores that `stages` keeps.

    Raises InputError by file and line.
    """
    if stages is None:
        return score_all(scored, metric)
    kept = open_scores(
        stages,
        identify(scored),
        metric.signature,
        hash_sources(list_code(metric)),
    )
    with kept.locked():
        parts = read_kept(kept, len(scored))
        if parts is None:
            found = score_all(scored, metric)
            keep_part(kept, (0, len(scored)), encode_scores(found))
            return found
    return Scores.join(parts, metric.signature)


def score_all(scored: ScoredSet, metric: Metric) -> Scores:
    """Scores all examples. Raises InputError, by file and line, for examples that the metric refuses."""
    try:
        return metric.score(scored.examples)
    except ExampleError as faults:
        raise InputError(fault(*scored.locate(i), what) for i, what in faults.at) from None


def identify(scored: ScoredSet) -> str:
    """Computes the key of a set's kept scores: a hash of its file, or of its texts."""
    if isinstance(scored, ScoredFile):
        return scored.source.sha256()
    return fingerprint([to_record(example) for example in scored.examples])


def list_code(metric: Metric) -> list[Code]:
    """Lists the code behind the scores of a metric: its class, and the functions that it wraps."""
    return [type(metric), *filter(inspect.isroutine, vars(metric).values())]


def open_scores(
    stages: Stages,
    content: str,
    signature: str,
    code: Mapping[str, str],
) -> Cache:
    """Opens the kept scores of a metric by its signature, and the hashes of its code, on the input with this hash."""
    return stages.open_cache(NAME, {"input": content, "signature": signature}, code=[*FRAME, code])


def name_part(part: tuple[int, int]) -> str:
    """Names the scores of the examples from one number up to another."""
    begin, end = part
    return f"{begin}-{end}"


def keep_part(kept: Cache, part: tuple[int, int], scores: Mapping[str, Any]) -> None:
    """Keeps the scores of a part of the input; with lost answers, only until the next run."""
    is_lacking = any(LOST in (reason or "") for reason in scores["reasons"])
    kept.add({f"{name_part(part)}{LACKING if is_lacking else ''}": scores})


def read_part(kept: Cache, part: tuple[int, int]) -> Scores:
    """Reads the kept scores of a part of the input, without signature."""
    key = name_part(part)
    return decode_scores(kept[key if key in kept else f"{key}{LACKING}"])


def read_kept(kept: Cache, n: int) -> list[Scores] | None:
    """Reads the kept scores of all `n` examples, in parts of any length; None if a part is missing."""
    ends: dict[int, int] = {}
    for key in kept:
        begin, _, end = key.partition("-")
        if end.isdecimal():
            ends[int(begin)] = int(end)
    parts: list[tuple[int, int]] = []
    reached = 0
    while reached < n and reached in ends:
        parts.append((reached, ends[reached]))
        reached = ends[reached]
    return [read_part(kept, part) for part in parts] if reached == n else None
