"""Scores a file in chunks: reads it once, keeps the scores of each chunk, and writes each row once.

A long file takes little memory: its chunks wait in a temporary file, and of a row only the scores stay.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
import weakref
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import IO, Any

from core.errors import ExampleError, InputError, fault
from core.example import Example
from core.progress import step
from core.scores import (
    CorpusMetric,
    Metric,
    Scores,
)
from core.selection import describe_missing_fields, hint_field
from core.source import hash_sources
from core.stages import Cache, Stages
from data.files import iterate_examples
from data.input_file import InputFile
from data.scored import (
    WRITTEN,
    encode_scores,
    list_rows,
    score_records,
    write_score_rows,
)
from data.scoring import (
    keep_part,
    list_code,
    name_part,
    open_scores,
    read_part,
)
from data.text_files import MOST_FAULTS, STANDARD, describe_special
from judge.metrics import Planned
from judge.scoring import load_all

log = logging.getLogger(__name__)

SHOWN_EXAMPLES = 1000  # first examples of the result
IN_MEMORY = 2**24  # bytes of checked chunks; more of them wait in a file

Chunk = Sequence[tuple[int, Example]]  # examples with their line numbers
Part = tuple[bytes, Sequence[str]]  # an encoded chunk, and the names of the metrics that score it
Encoded = dict[str, dict[str, Any]]  # the scores of a chunk by metric, as JSON values


def check_output(path: str, given: InputFile) -> Path:
    """Checks the output path before a model is loaded, and returns it; `-` is standard output.

    Raises InputError for another ending, for anything but a regular file (a folder, a link, a device), for the input
    file (`given`), and for a path in a folder that does not exist.
    """
    file = Path(str(path))  # it may be called 5
    if file == STANDARD:
        return file
    if special := describe_special(file):
        raise InputError([f"output must be a regular file, found {special}"])
    if not file.name.lower().endswith(WRITTEN):
        raise InputError([f"output must end in one of {', '.join(WRITTEN)}, found {file.name}"])
    if os.path.realpath(file) in map(os.path.realpath, [given.path, *(path for _, path in given.aligned)]):
        raise InputError([f"output and FILE must be different files, found {file} for both"])
    if not file.parent.is_dir():
        raise InputError([f"output must be in an existing folder, but there is no {file.parent}"])
    probe = file.with_name(f".{file.name}.meta.json.{os.getpid()}.partial")  # the longest name beside it
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError([f"output cannot be {file}: {error.strerror}"]) from error
    return file


@dataclass(frozen=True, eq=False)
class ChunkedFile:
    """The chunks of a file that was read completely and passed all checks, each as a line of JSON."""

    source: InputFile
    # of the file's bytes
    sha256: str
    first: tuple[Example, ...]
    # for each chunk, the number of examples before it, and up to its end
    bounds: Sequence[tuple[int, int]]
    # in memory or, where chunks are many, in a temporary file without a name
    held: IO[bytes]

    def __post_init__(self) -> None:
        weakref.finalize(self, self.held.close)

    def __iter__(self) -> Iterator[bytes]:
        """Yields the chunks, for `decode_chunk`."""
        self.held.seek(0)
        yield from self.held


def encode_chunk(chunk: Chunk) -> bytes:
    """Writes examples with their line numbers as a line of JSON."""
    rows = [[line, vars(example)] for line, example in chunk]
    return json.dumps(rows, default=dict).encode() + b"\n"


def decode_chunk(line: bytes) -> Chunk:
    """Reads what `encode_chunk` wrote."""
    return [(number, Example(**fields)) for number, fields in json.loads(line)]


def decode_all(lines: Iterable[bytes]) -> Iterator[Example]:
    """Yields the examples of all chunks."""
    for line in lines:
        for _, example in decode_chunk(line):
            yield example


def read_chunks(source: InputFile, metrics: Mapping[str, Planned], size: int) -> ChunkedFile:
    """Reads a whole file, and checks it for metrics before their models are loaded.

    Raises InputError, by file and line, for a faulty file, and for each metric whose required fields no example has.
    """
    first: list[Example] = []
    sizes: list[int] = []
    with ExitStack() as opened:
        held = opened.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))
        for chunk in split(
            iterate_examples(source, refuse_scores=True),
            metrics,
            size,
            source.path,
        ):
            held.write(encode_chunk(chunk))
            sizes.append(len(chunk))
            first += [example for _, example in chunk[: SHOWN_EXAMPLES - len(first)]]
        opened.pop_all()
    bounds = [*pairwise(accumulate(sizes, initial=0))]
    return ChunkedFile(
        source,
        source.sha256(),
        first=tuple(first),
        bounds=bounds,
        held=held,
    )


def split(
    rows: Iterable[tuple[int, Example]],
    metrics: Mapping[str, Planned],
    size: int,
    path: Path,
) -> Iterator[Chunk]:
    """Splits rows into chunks of at least `size` examples, of which every metric can score one.

    Examples at the end that some metric cannot score belong to the chunk before.
    """
    requires = {name: metric.requires for name, metric in metrics.items()}
    called = {name: "the metric" if len(metrics) == 1 else name for name in metrics}
    faults: dict[str, list[str]] = {name: [] for name in metrics}
    complete: list[tuple[int, Example]] = []
    chunk: list[tuple[int, Example]] = []
    waiting = [*metrics]  # those that can score no example of the chunk yet
    for line, example in rows:
        chunk.append((line, example))
        for name in [*waiting]:
            reason = describe_missing_fields(
                example,
                requires[name],
                called[name],
                scores_empty=getattr(metrics[name], "scores_empty", False),
            )
            if reason is None:
                waiting.remove(name)
            elif not complete and len(faults[name]) < MOST_FAULTS:
                faults[name].append(fault(path, line, f"{reason}{hint_field(example, requires[name])}"))
        if not waiting and len(chunk) >= size:
            if complete:
                yield complete
            complete, chunk, waiting = chunk, [], [*metrics]
    if waiting and not complete:
        raise InputError(chain.from_iterable(faults[name] for name in waiting))
    if waiting:
        yield [*complete, *chunk]
    else:
        yield from filter(None, [complete, chunk])


@dataclass(frozen=True)
class Scorer:
    """Scores chunks by metrics, which it loads at first use; `chunks` are the corpus of metrics that need one.

    Raises InputError, by file and line, for examples that a metric refuses.
    """

    planned: Mapping[str, Planned]
    chunks: Iterable[bytes]
    # of the file, for messages
    path: Path

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """The loaded metrics, prepared for the file."""
        loaded = load_all(self.planned)
        for name, metric in loaded.items():
            if isinstance(metric, CorpusMetric):
                loaded[name] = metric.with_corpus(decode_all(self.chunks))
        return loaded

    def sign(self) -> dict[str, tuple[str, Mapping[str, str]]]:
        """Returns by metric the signature of its scores, and by file the hash of its code."""
        return {name: (metric.signature, hash_sources(list_code(metric))) for name, metric in self.metrics.items()}

    def score(self, parts: Iterable[Part]) -> Iterator[Encoded]:
        """Yields the scores of each part, in order."""
        for chunk, names in parts:
            lines, examples = zip(*decode_chunk(chunk), strict=True)
            try:
                yield {name: encode_scores(self.metrics[name].score(examples)) for name in names}
            except ExampleError as faults:
                raise faults.located(self.path, lines) from None


def score_file(
    file: ChunkedFile,
    signed: Mapping[str, tuple[str, Mapping[str, str]]],
    score: Callable[[Iterable[Part]], Iterable[Encoded]],
    stages: Stages,
) -> dict[str, Cache]:
    """Scores the chunks of a file in order by metrics (`Scorer.sign`); returns by metric what keeps their scores.

    After a kill the same call continues after the finished chunks, and a call with one more metric computes only this
    one. Chunks in which answers were lost are scored again.
    """
    kept: dict[str, Cache] = {}
    for name, (signature, code) in signed.items():
        kept[name] = open_scores(
            stages,
            file.sha256,
            signature,
            code,
        )
    _, total = file.bounds[-1]
    with ExitStack() as opened, step("scoring", total) as advance:
        # in one order, so that no runs wait in a ring
        for cache in sorted(kept.values(), key=lambda cache: cache.file):
            opened.enter_context(cache.locked())
        missing: dict[tuple[int, int], list[str]] = {}
        for bounds in file.bounds:
            missing[bounds] = [name for name, cache in kept.items() if name_part(bounds) not in cache]
        done = total - sum(end - begin for (begin, end), names in missing.items() if names)
        if done:
            log.info(
                "%d of %d examples of %s are already scored",
                done,
                total,
                file.source.path,
            )
        advance(done)
        parts = ((line, names) for line, names in zip(file, missing.values(), strict=True) if names)
        for bounds, scored in zip(filter(missing.get, missing), score(parts), strict=True):
            for name, scores in scored.items():
                keep_part(kept[name], bounds, scores)
            advance(bounds[1] - bounds[0])
    return kept


def write_scores(file: ChunkedFile, kept: Mapping[str, Cache], output: Path) -> dict[str, list[Scores]]:
    """Writes the examples with their kept scores, and returns the scores in parts, by metric.

    Only the parts of the first examples have explanations.
    """
    parts: dict[str, list[Scores]] = {name: [] for name in kept}

    def read_rows(name: str) -> Iterator[Mapping[str, Any]]:
        for bounds in file.bounds:
            part = read_part(kept[name], bounds)
            yield from list_rows(part)
            parts[name].append(part if bounds[0] < SHOWN_EXAMPLES else replace(part, explanations=()))

    write_score_rows(score_records(decode_all(file), {name: read_rows(name) for name in kept}), output)
    return parts
