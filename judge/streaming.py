"""Scores a file and writes another: reads it once, keeps the scores of each chunk, and writes each row once."""

from __future__ import annotations

import logging
import os
import tempfile
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, Any

from core.errors import InputError, fault, setting
from core.example import Example
from core.progress import step
from core.scores import Scores
from core.selection import describe_missing_fields, hint_field
from core.settings import Count, check
from core.stages import Cache, Stages
from data.files import iterate_examples, to_record
from data.input_file import FileLike, InputFile
from data.scored import WRITTEN, list_rows, score_records, write_score_rows
from data.scoring import keep_part, name_part, open_scores, read_part
from data.text_files import MOST_FAULTS, STANDARD, describe_special
from judge.engines import Engine, Part, decode_chunk, encode_chunk
from judge.metrics import MetricPlan, Planned

log = logging.getLogger(__name__)

SHOWN_EXAMPLES = 1000  # first examples of the result
IN_MEMORY = 2**24  # bytes of checked chunks; more of them wait in a file


def check_output(path: str, given: FileLike, endings: Sequence[str] = WRITTEN, standard: bool = False) -> Path:
    """Checks the output path before a model is loaded, and returns it; if `standard`, `-` is standard output.

    Raises InputError for another ending, for anything but a regular file (a folder, a link, a device), for the input
    file (`given`), and for a path in a folder that does not exist.
    """
    file = Path(str(path))  # it may be called 5
    if standard and file == STANDARD:
        return file
    hint = f"; {setting('output', str(STANDARD))} writes to standard output" if standard else ""
    if special := describe_special(file):
        raise InputError([f"output must be a regular file, found {special}{hint}"])
    if not file.name.lower().endswith(tuple(endings)):
        raise InputError([f"output must end in one of {', '.join(endings)}, found {file.name}{hint}"])
    read = InputFile.of(given)
    if os.path.realpath(file) in map(os.path.realpath, [read.path, *(path for _, path in read.aligned)]):
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
class ScorableFile:
    """A file that was read completely and passed all checks."""

    source: InputFile
    sha256: str  # of the file's bytes
    first: tuple[Example, ...]
    ends: tuple[int, ...]  # for each chunk, the number of examples up to its end
    held: IO[bytes]  # the chunks, in memory or, where they are many, in a temporary file without a name
    places: tuple[int, ...]  # where each chunk begins in it, and the last one ends

    def __post_init__(self) -> None:
        weakref.finalize(self, self.held.close)

    @cached_property
    def bounds(self) -> list[tuple[int, int]]:
        """For each chunk, the number of examples before it, and up to its end."""
        return list(pairwise((0, *self.ends)))

    def chunk(self, number: int) -> bytes:
        """The chunk of this number, for `decode_chunk`."""
        begin = self.places[number]
        self.held.seek(begin)
        return self.held.read(self.places[number + 1] - begin)

    def examples(self) -> Iterator[Example]:
        """Yields all examples of the file."""
        for number in range(len(self.ends)):
            for _, example in decode_chunk(self.chunk(number)):
                yield example


@dataclass
class ChunkWriter:
    """Writes examples in chunks to a file; a chunk ends once each metric can score one of its examples."""

    file: IO[bytes]
    # examples of a chunk, at least
    size: int
    metrics: Collection[str]
    rows: int = 0
    # for each chunk, the number of examples up to its end
    ends: list[int] = field(default_factory=list)
    # where each chunk begins in the file, and the last one ends
    places: list[int] = field(default_factory=lambda: [0])
    chunk: list[tuple[int, Example]] = field(default_factory=list)
    # the metrics that can score no example of the chunk yet
    waiting: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.waiting = set(self.metrics)

    def add(self, line: int, example: Example, able: Collection[str]) -> None:
        """Adds an example that the metrics `able` can score."""
        self.rows += 1
        self.chunk.append((line, example))
        self.waiting.difference_update(able)
        if not self.waiting and len(self.chunk) >= self.size:
            self.end_chunk()

    def end_chunk(self) -> None:
        """Writes the chunk and begins the next one."""
        self.file.write(encode_chunk(self.chunk))
        self.ends.append(self.rows)
        self.places.append(self.file.tell())
        self.chunk = []
        self.waiting = set(self.metrics)

    def finish(self) -> None:
        """Writes the last chunk; examples at the end that some metric cannot score belong to the chunk before."""
        if self.waiting:
            self.ends.pop()
            self.places.pop()
        self.end_chunk()


def check_scorable(data: FileLike, metrics: Mapping[str, Planned], chunk: int) -> ScorableFile:
    """Reads a whole file, checks it for metrics before their models are loaded, and plans chunks.

    A chunk has `chunk` examples, or more until, for every metric, one example has the required fields. Raises
    InputError, by file and line, for a faulty file, and for each metric whose required fields no example has.
    """
    check(Count, chunk=chunk)
    source = InputFile.of(data)
    requires = {name: metric.requires for name, metric in metrics.items()}
    called = {name: "the metric" if len(metrics) == 1 else name for name in metrics}
    first: list[Example] = []
    faults: dict[str, list[str]] = {name: [] for name in metrics}
    with ExitStack() as opened:
        held = opened.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))
        writer = ChunkWriter(held, chunk, metrics)
        for line, example in iterate_examples(source, refuse_scores=True):
            if len(first) < SHOWN_EXAMPLES:
                first.append(example)
            able: list[str] = []
            for name in [name for name in metrics if name in writer.waiting]:
                reason = describe_missing_fields(example, requires[name], called[name])
                if reason is None:
                    able.append(name)
                elif not writer.ends and len(faults[name]) < MOST_FAULTS:
                    hint = hint_field(example, requires[name]) + _suggest_aspects(metrics[name], example)
                    faults[name].append(fault(source.path, line, f"{reason}{hint}"))
            writer.add(line, example, able)
        if writer.waiting and not writer.ends:
            raise InputError([said for name in metrics if name in writer.waiting for said in faults[name]])
        writer.finish()
        opened.pop_all()
    return ScorableFile(
        source=source,
        sha256=source.sha256(),
        first=tuple(first),
        ends=tuple(writer.ends),
        held=held,
        places=tuple(writer.places),
    )


def _suggest_aspects(metric: Planned, example: Example) -> str:
    """The aspects of the metric whose fields the example has, as the end of a sentence; empty if it has none."""
    if not isinstance(metric, MetricPlan):
        return ""
    usable: list[str] = []
    for aspect in metric.config.get("aspects") or ():
        of_aspect = replace(metric, config={**metric.config, "aspects": [aspect]})
        if describe_missing_fields(example, of_aspect.requires, "") is None:
            usable.append(aspect)
    return f"; with the setting aspects={','.join(usable)} it needs no more" if usable else ""


def keep_scores(file: ScorableFile, engine: Engine, signatures: Mapping[str, str], stages: Stages) -> dict[str, Cache]:
    """Scores a file in order, chunk by chunk; returns for each metric the cache that keeps its scores.

    After a kill the same call continues after the finished chunks, and a call with one more metric computes only this
    one. Chunks in which answers were lost are scored again. Raises InputError, by file and line, for examples that a
    metric refuses.
    """
    kept: dict[str, Cache] = {}
    for name, signature in signatures.items():
        kept[name] = open_scores(stages, file.sha256, signature, engine.code[name])
    total = file.ends[-1]
    with ExitStack() as opened, step("scoring", total) as advance:
        for cache in sorted(
            kept.values(), key=lambda cache: cache.file
        ):  # in one order, so that no runs wait in a ring
            opened.enter_context(cache.locked())
        missing: list[Part] = []
        for number, bounds in enumerate(file.bounds):
            names = [name for name, cache in kept.items() if name_part(bounds) not in cache]
            if names:
                missing.append((number, names))
        done = total - sum(end - begin for begin, end in (file.bounds[number] for number, _ in missing))
        if done:
            log.info("%d of %d examples of %s are already scored", done, total, file.source.path)
        advance(done)
        for (number, _), scored in zip(missing, engine.score(file, missing), strict=True):
            begin, end = file.bounds[number]
            for name, scores in scored.items():
                keep_part(kept[name], (begin, end), scores)
            advance(end - begin)
    return kept


def write_scores(file: ScorableFile, kept: Mapping[str, Cache], output: Path) -> dict[str, list[Scores]]:
    """Writes the examples with their kept scores, and returns the scores in parts, by metric.

    Only the parts of the first examples have explanations.
    """
    parts: dict[str, list[Scores]] = {name: [] for name in kept}

    def read_rows(name: str) -> Iterator[Mapping[str, Any]]:
        for begin, end in file.bounds:
            part = read_part(kept[name], (begin, end))
            yield from list_rows(part)
            parts[name].append(part if begin < SHOWN_EXAMPLES else replace(part, explanations=()))

    columns = () if output.suffix.lower() == ".jsonl" else list_columns(file)
    records = score_records(file.examples(), {name: read_rows(name) for name in kept})
    first = next(records)
    write_score_rows(chain([first], records), output, [*first["scores"]], columns)
    return parts


def list_columns(file: ScorableFile) -> tuple[str, ...]:
    """Lists the columns of a table of the examples, besides the id, in the order in which they first have a value."""
    columns: dict[str, None] = {}
    for example in file.examples():
        for name, value in to_record(example).items():
            if name != "id" and value is not None:
                columns[name] = None
    return tuple(columns)
