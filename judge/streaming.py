"""Scores a file and writes another: reads it once, keeps the scores of each chunk, and writes each row once."""

from __future__ import annotations

import logging
import os
import pickle
import tempfile
import time
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, Any

from core.errors import InputError, fault, setting
from core.example import Example
from core.progress import step
from core.scores import LOST, CorpusMetric, Metric, Scores
from core.selection import describe_missing_fields, hint_field
from core.settings import Count, check
from core.stages import Stages, fingerprint
from data.files import iterate_examples, iterate_rows, to_record
from data.input_file import FileLike, InputFile
from data.scored import WRITTEN, ScoredFile, decode_scores, encode_scores, list_rows, score_records, write_score_rows
from data.text_files import MOST_FAULTS, STANDARD, describe_special
from judge.engines import Chunk, Engine, Part, list_code, score_all
from judge.metrics import MetricPlan, Planned
from meta_eval.scored_set import ScoredSet

log = logging.getLogger(__name__)

STAGE, KEPT = "scores", "scores.jsonl"  # a stage has the scores of one metric on one file, a line per chunk
LACKS = "lost.txt"  # a file of a stage in which answers are lost
FRAME = (iterate_rows, encode_scores)  # the code before and behind the metric that a stage of scores depends on
SYNC_INTERVAL = 2  # seconds of work that a machine that loses power loses; a killed run loses none but its last chunk
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

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Yields the chunks from number `start` on, with the lines of their examples."""
        for begin, end in pairwise(self.places[start:]):
            self.held.seek(begin)
            chunk: list[tuple[int, Example]] = []
            while self.held.tell() < end:
                chunk += pickle.load(self.held)
            yield chunk

    def examples(self) -> Iterator[Example]:
        """Yields all examples of the file."""
        return (example for chunk in self.chunks() for _, example in chunk)


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
        pickle.dump(self.chunk, self.file, pickle.HIGHEST_PROTOCOL)
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


def keep_scores(file: ScorableFile, engine: Engine, signatures: Mapping[str, str], stages: Stages) -> dict[str, Path]:
    """Scores a file in order, chunk by chunk; returns for each metric the folder (a stage) that keeps its scores.

    After a kill the same call continues after the finished chunks, and a call with one more metric computes only this
    one. Chunks in which answers were lost are scored again. Raises InputError, by file and line, for examples that a
    metric refuses.
    """
    names = list(signatures)

    def build(folders: Mapping[int, Path]) -> None:
        score_chunks(file, engine, {names[i]: folder for i, folder in folders.items()})

    depends = [{"input": file.sha256, "signature": signature} for signature in signatures.values()]
    code = [[*FRAME, engine.code[name]] for name in names]
    for of_metric, its_code in zip(depends, code, strict=True):
        stages.reopen(STAGE, of_metric, code=its_code, mark=LACKS)
    folders = stages.get_several(STAGE, depends, build, code=code)
    return dict(zip(names, folders, strict=True))


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
    """Scores a set by a prepared metric, or returns the scores that `stages` keeps."""
    if stages is None:
        return score_all(scored, metric)

    def build(folder: Path) -> None:
        line = encode_scores(score_all(scored, metric))
        (folder / KEPT).write_text(line, encoding="utf-8", newline="\n")
        mark_lost(folder, LOST in line)

    depends = {"input": identify(scored), "signature": metric.signature}
    code = [*FRAME, *list_code(metric)]
    stages.reopen(STAGE, depends, code=code, mark=LACKS)
    kept = stages.get(STAGE, depends, build, code=code)
    return Scores.join(list(read_kept(kept)), metric.signature)


def identify(scored: ScoredSet) -> str:
    """Computes the key of a set's kept scores: a hash of its file, or of its texts."""
    if isinstance(scored, ScoredFile):
        return scored.source.sha256()
    return fingerprint([to_record(example) for example in scored.examples])


def write_scores(file: ScorableFile, kept: Mapping[str, Path], output: Path) -> dict[str, list[Scores]]:
    """Writes the examples with their kept scores, and returns the scores in parts, by metric.

    Only the parts of the first examples have explanations.
    """
    parts: dict[str, list[Scores]] = {name: [] for name in kept}

    def read_rows(name: str) -> Iterator[Mapping[str, Any]]:
        rows = 0
        for part in read_kept(kept[name]):
            yield from list_rows(part)
            parts[name].append(part if rows < SHOWN_EXAMPLES else replace(part, explanations=()))
            rows += len(part)

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


def read_kept(folder: Path) -> Iterator[Scores]:
    """Yields the scores in the folder of a stage, chunk by chunk, without signature."""
    with (folder / KEPT).open(encoding="utf-8") as lines:
        yield from map(decode_scores, lines)


def score_chunks(file: ScorableFile, engine: Engine, folders: Mapping[str, Path]) -> None:
    """Writes the scores of a file by metric to `folders`; continues where an earlier run stopped.

    A chunk is scored by the metrics that have not finished it.
    """
    total = file.ends[-1]
    with ExitStack() as opened, step("scoring", total) as advance:
        kept = {name: opened.enter_context((folder / KEPT).open("ab+")) for name, folder in folders.items()}
        finished = {name: keep_finished(scores, file.ends) for name, scores in kept.items()}
        start = min(finished.values())
        ends = (0, *file.ends)[start:]
        if start:
            log.info("%d of %d examples of %s are already scored", ends[0], total, file.source.path)
        advance(ends[0])
        lost: set[str] = set()
        synced = time.monotonic()
        scored = engine.score(file, list_parts(file, finished, start))
        for (begin, end), lines in zip(pairwise(ends), scored, strict=True):
            for name, line in lines.items():
                kept[name].write(line.encode())
                kept[name].flush()
                if LOST in line:
                    lost.add(name)
            advance(end - begin)
            now = time.monotonic()
            if now - synced > SYNC_INTERVAL or end == total:
                sync(kept.values())
                synced = now
        for name, folder in folders.items():
            mark_lost(folder, name in lost)


def list_parts(file: ScorableFile, finished: Mapping[str, int], start: int) -> Iterator[Part]:
    """Yields the chunks from number `start` on, each with the metrics that have not finished it.

    `finished` is the number of chunks that each metric has finished.
    """
    for number, chunk in enumerate(file.chunks(start), start):
        yield chunk, [name for name, count in finished.items() if count <= number]


def sync(files: Iterable[IO[bytes]]) -> None:
    """Waits until the disk holds what was written to the files."""
    for file in files:
        os.fsync(file.fileno())


def mark_lost(folder: Path, is_lost: bool) -> None:
    """Marks a stage in which answers of a model were lost, so that the next run asks again.

    Removes the mark if `is_lost` is false.
    """
    if is_lost:
        (folder / LACKS).touch()
    else:
        (folder / LACKS).unlink(missing_ok=True)


def keep_finished(kept: IO[bytes], ends: Sequence[int]) -> int:
    """Truncates a file of kept scores before the first chunk that is unfinished or has lost answers.

    Returns the number of chunks before it.
    """
    kept.seek(0)
    numbers = {end: number for number, end in enumerate(ends, start=1)}
    finished = finished_size = 0
    rows = size = 0  # of the lines that were read
    for line in kept:
        if not line.endswith(b"\n") or LOST.encode() in line:
            break
        size += len(line)
        rows += len(decode_scores(line.decode()))
        if rows in numbers:
            finished = numbers[rows]
            finished_size = size
    kept.truncate(finished_size)
    return finished
