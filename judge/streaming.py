"""Scores a file and writes another: reads it once, keeps the scores of each chunk, and writes each row once."""

from __future__ import annotations

import logging
import os
import pickle
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, Any

from core.errors import InputError, fault
from core.example import Example
from core.progress import step
from core.scores import LOST, CorpusMetric, Field, Metric, Scores
from core.selection import describe_missing_fields, hint_field
from core.settings import Count, check
from core.stages import Stages, fingerprint
from data.files import iterate_examples, iterate_rows, to_record
from data.input_file import FileLike, InputFile
from data.scored import WRITTEN, ScoredFile, decode_scores, encode_scores, list_rows, score_records, write_score_rows
from data.text_files import MOST_FAULTS, STANDARD, describe_special
from judge.engines import Chunk, Engine, list_code, score_all
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
    hint = "; output=- writes to standard output" if standard else ""
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


def check_scorable(data: FileLike, metrics: Mapping[str, Planned], chunk: int) -> ScorableFile:
    """Reads a whole file, checks it for metrics before their models are loaded, and plans chunks.

    A chunk has `chunk` examples, or more until, for every metric, one example has the required fields.

    Raises InputError, by file and line, for a faulty file, and for each metric whose fields no example has.
    """
    check(Count, chunk=chunk)
    source = InputFile.of(data)
    requires = {name: metric.requires for name, metric in metrics.items()}
    called = {name: "the metric" if len(metrics) == 1 else name for name in metrics}
    first, now = list[Example](), list[tuple[int, Example]]()
    ends, places, faults = [0], [0], dict[str, list[str]]({name: [] for name in metrics})
    rows, waiting = 0, set(metrics)  # the metrics that can score no example of the chunk yet
    with ExitStack() as opened:
        held = opened.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))
        for rows, (line, example) in enumerate(iterate_examples(source, refuse_scores=True), start=1):
            now.append((line, example))
            if rows <= SHOWN_EXAMPLES:
                first.append(example)
            for name in [name for name in metrics if name in waiting]:
                if (reason := describe_missing_fields(example, requires[name], called[name])) is None:
                    waiting.remove(name)
                elif len(ends) == 1 and len(faults[name]) < MOST_FAULTS:
                    hint = hint_field(example, requires[name]) + _suggest_aspects(metrics[name], example)
                    faults[name].append(fault(source.path, line, f"{reason}{hint}"))
            if not waiting and len(now) >= chunk:
                pickle.dump(now, held, pickle.HIGHEST_PROTOCOL)
                ends.append(rows)
                places.append(held.tell())
                now, waiting = [], set(metrics)
        if len(ends) == 1 and waiting:
            raise InputError([each for name in metrics if name in waiting for each in faults[name]])
        pickle.dump(now, held, pickle.HIGHEST_PROTOCOL)
        if waiting:  # examples at the end that cannot be scored belong to the last chunk
            del ends[-1], places[-1]
        ends.append(rows)
        places.append(held.tell())
        opened.pop_all()
        return ScorableFile(
            source=source,
            sha256=source.sha256(),
            first=tuple(first),
            ends=tuple(ends[1:]),
            held=held,
            places=tuple(places),
        )


def _suggest_aspects(metric: Planned, example: Example) -> str:
    """The aspects of the metric whose fields the example has, as the end of a sentence; empty if it has none."""
    given = metric.config if isinstance(metric, MetricPlan) else {}
    required = {aspect: _require_for(metric, aspect) for aspect in given.get("aspects") or ()}
    known = [aspect for aspect, fields in required.items() if describe_missing_fields(example, fields, "") is None]
    return f"; with the setting aspects={','.join(known)} it needs no more" if known else ""


def _require_for(metric: Planned, aspect: str) -> tuple[Field, ...]:
    """The fields that a metric needs for one of its aspects."""
    if not isinstance(metric, MetricPlan):
        return metric.requires
    return replace(metric, config={**metric.config, "aspects": [aspect]}).requires


def keep_scores(file: ScorableFile, engine: Engine, signatures: Mapping[str, str], stages: Stages) -> dict[str, Path]:
    """Scores a file in order, chunk by chunk; returns for each metric the folder (a stage) that keeps its scores.

    After a kill the same call continues after the finished chunks, and a call with one more metric computes only this
    one. Chunks in which answers were lost are scored again. Raises InputError, by file and line, for examples that a
    metric refuses.
    """
    names = list(signatures)

    def build(folders: Mapping[int, Path]) -> None:
        score_chunks(file, engine, {names[i]: folder for i, folder in folders.items()})

    depends = [{"input": file.sha256, "signature": each} for each in signatures.values()]
    code = [[*FRAME, engine.code[name]] for name in names]
    for kept, used in zip(depends, code, strict=True):
        stages.reopen(STAGE, kept, code=used, mark=LACKS)
    return dict(zip(names, stages.get_several(STAGE, depends, build, code=code), strict=True))


def score_set(scored: ScoredSet, metrics: Mapping[str, Metric], stages: Stages | None = None) -> ScoredSet:
    """Adds the scores of metrics to a set; `stages` keeps them, as `judge score` does for a file.

    Raises InputError by file and line.
    """
    found = dict(scored.scores)
    for name, metric in metrics.items():
        with step(f"scoring by {name}", len(scored)) as advance:
            prepared = metric.with_corpus(scored.examples) if isinstance(metric, CorpusMetric) else metric
            found[name] = find_scores(scored, prepared, stages)
            advance(len(scored))
    return replace(scored, scores=found)


def find_scores(scored: ScoredSet, metric: Metric, stages: Stages | None) -> Scores:
    """Scores a set by a prepared metric, or reuses the kept scores."""
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
    extra: dict[str, None] = {}
    if output.suffix.lower() != ".jsonl":
        for example in file.examples():
            given = to_record(example).items()
            extra.update(dict.fromkeys(name for name, value in given if name != "id" and value is not None))
    parts: dict[str, list[Scores]] = {name: [] for name in kept}

    def read_rows(name: str) -> Iterator[Mapping[str, Any]]:
        rows = 0
        for part in read_kept(kept[name]):
            yield from list_rows(part)
            parts[name].append(part if rows < SHOWN_EXAMPLES else replace(part, explanations=()))
            rows += len(part)

    records = score_records(file.examples(), {name: read_rows(name) for name in kept})
    first = next(records)
    write_score_rows(chain([first], records), output, list(first["scores"]), [*extra])
    return parts


def read_kept(folder: Path) -> Iterator[Scores]:
    """Yields the scores in the folder of a stage, chunk by chunk, without signature."""
    with (folder / KEPT).open(encoding="utf-8") as lines:
        yield from map(decode_scores, lines)


def score_chunks(file: ScorableFile, engine: Engine, folders: Mapping[str, Path]) -> None:
    """Writes the scores of a file by metric to `folders`; continues where an earlier run stopped.

    A chunk is scored by the metrics that have not finished it.
    """
    total, path = file.ends[-1], file.source.path
    with ExitStack() as held, step("scoring", total) as advance:
        rows = {name: held.enter_context((folder / KEPT).open("ab+")) for name, folder in folders.items()}
        done = {name: keep_finished(each, file.ends) for name, each in rows.items()}
        lost = dict.fromkeys(rows, False)
        start = min(done.values())
        before = file.ends[start - 1] if start else 0
        if before:
            log.info("%d of %d examples of %s are already scored", before, total, path)
        advance(before)
        synced = time.monotonic()
        parts = (
            (chunk, [name for name in rows if done[name] <= i]) for i, chunk in enumerate(file.chunks(start), start)
        )
        scored = engine.score(file, parts)
        for (begin, end), found in zip(pairwise((before, *file.ends[start:])), scored, strict=True):
            for name, line in found.items():
                rows[name].write(line.encode())
                rows[name].flush()
                lost[name] = lost[name] or LOST in line
            advance(end - begin)
            now = time.monotonic()
            if now - synced > SYNC_INTERVAL or end == total:
                synced = now
                for each in rows.values():
                    os.fsync(each.fileno())
        for name, folder in folders.items():
            mark_lost(folder, lost[name])


def mark_lost(folder: Path, is_lost: bool) -> None:
    """Marks a stage in which answers of a model were lost, so that the next run asks again; or removes the mark."""
    if is_lost:
        (folder / LACKS).touch()
    else:
        (folder / LACKS).unlink(missing_ok=True)


def keep_finished(kept: IO[bytes], ends: Sequence[int]) -> int:
    """Truncates a file of kept scores before the first chunk that is unfinished or has lost answers.

    Returns the number of chunks before it.
    """
    kept.seek(0)
    chunks = {end: number for number, end in enumerate(ends, start=1)}
    done = size = at = rows = 0
    for line in kept:
        if not line.endswith(b"\n") or LOST.encode() in line:
            break
        at += len(line)
        rows += len(decode_scores(line.decode()))
        if rows in chunks:
            done, size = chunks[rows], at
    kept.truncate(size)
    return done
