"""Score: one metric, or several, on a user's file (`+exp=score`)."""

import json
import logging
import math
import os
import sys
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext, redirect_stdout
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from hydra.utils import get_object
from numpy.typing import NDArray

from core.example import Example
from core.faults import InputFaults, fault
from core.scores import Field, required_fields
from core.selection import describe_missing_fields
from core.settings import Count, check
from data.files import InputFile, Source, json_line
from data.scored import ENDINGS, extra_types, iterate_unscored, join_records, read_kept_scores, write_score_rows
from data.table_files import import_pyarrow
from data.text_files import MOST_FAULTS, STANDARD, decoder, describe_special, open_atomically
from experiments.contracts import Outcome, Run
from experiments.tools.engines import Chunk, Engine
from experiments.tools.metric_scores import ROWS, STAGE, VERSION, add_notes, read_notes
from judge.scoring import FIRST, describe_losses, join_signatures, score_tables
from meta_eval.scored_set import ScoredSet

log = logging.getLogger(__name__)

JOINED = "scores.jsonl"  # of the run folder
LOG_INTERVAL = 30  # seconds between progress messages
SYNC_INTERVAL = 2  # seconds of work that a machine that loses power loses; a killed run loses none but its last chunk
SHOWN = 1000  # first examples on the page


def output_file(path: str, given: Source, endings: Sequence[str] = ENDINGS, standard: bool = False) -> Path:
    """Checks the output path before a model is loaded, and returns it.

    Args:
        path: the output.
        given: the input, or its path.
        endings: those that the name of the output may have; by default those of a file of scores.
        standard: whether `-` stands for standard output.

    Raises InputFaults for another ending, for what is not a regular file (a folder, a link, a device), for the input
    file itself, and for a path in a folder that does not exist.
    """
    file = Path(path)
    if standard and file == STANDARD:
        return file
    hint = "; output=- writes to standard output" if standard else ""
    if special := describe_special(file):
        raise InputFaults([f"output must be a regular file, found {special}{hint}"])
    if not file.name.lower().endswith(tuple(endings)):
        raise InputFaults([f"output must end in one of {', '.join(endings)}, found {file.name}{hint}"])
    if os.path.realpath(file) in map(os.path.realpath, InputFile.of(given).files):
        raise InputFaults([f"output and data.path must be different files, found {file} for both"])
    if not file.parent.is_dir():
        raise InputFaults([f"output must be in an existing folder, but there is no {file.parent}"])
    probe = file.with_name(f".{file.name}.meta.json.{os.getpid()}.partial")  # the longest name beside it
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputFaults([f"output cannot be {file}: {error.strerror}"]) from error
    if file.suffix.lower() == ".parquet":
        import_pyarrow(file)
    return file


@dataclass(frozen=True)
class ScorableFile:
    """A file that was read completely and can be scored.

    Attributes:
        ends: for each chunk, the number of examples up to its end.
        sha256: of the file's bytes.
        first: the first examples.
        source: how the file is read.
    """

    path: Path
    ends: tuple[int, ...]
    sha256: str
    first: tuple[Example, ...]
    source: InputFile

    def chunks(self, start: int) -> Iterator[Chunk]:
        """Reads the chunks from number `start` on, with the lines of their examples."""
        located = iterate_unscored(self.source)
        for i, (begin, end) in enumerate(pairwise((0, *self.ends))):
            chunk = list(islice(located, end - begin))
            if i >= start:
                yield chunk


def check_scorable(
    data: Source, metrics: Mapping[str, Mapping[str, Any]], chunk: int, metric: str | None = None
) -> ScorableFile:
    """Reads a whole file, checks it for the configured metrics before their models are loaded, and plans chunks.

    `metric` is the one of them whose settings are those of `metric=NAME`, for hints.

    A chunk has `chunk` examples, or more, so that for every metric one of them has the fields that it requires.

    Raises SettingFault for `chunk`; InputFaults, by file and line, for a faulty file, and for each
    metric whose fields no example has.
    """
    check(Count, chunk=chunk)
    source = InputFile.of(data)
    requires = {name: _find_required(config) for name, config in metrics.items()}
    called = {name: "the metric" if len(metrics) == 1 else name for name in metrics}
    first: list[Example] = []
    ends, faults = [0], dict[str, list[str]]({name: [] for name in metrics})
    rows, waiting = 0, set(metrics)  # the metrics that can score no example of the chunk yet
    for rows, (line, example) in enumerate(iterate_unscored(source, refuse_scores=True), start=1):
        if rows <= SHOWN:
            first.append(example)
        for name in [name for name in metrics if name in waiting]:
            if (reason := describe_missing_fields(example, requires[name], called[name])) is None:
                waiting.remove(name)
            elif len(ends) == 1 and len(faults[name]) < MOST_FAULTS:
                hint = _suggest_aspects(metrics[name], example, "metric" if name == metric else f"metrics.{name}")
                faults[name].append(fault(source.path, line, f"{reason} for {example.id!r}{hint}"))
        if not waiting and rows - ends[-1] >= chunk:
            ends.append(rows)
            waiting = set(metrics)
    if not waiting:
        ends.append(rows)
    if len(ends) == 1:
        raise InputFaults([each for name in metrics if name in waiting for each in faults[name]])
    ends[-1] = rows  # examples at the end that cannot be scored belong to the last chunk
    return ScorableFile(source.path, tuple(ends[1:]), source.sha256(), tuple(first), source)


def _suggest_aspects(metric: Mapping[str, Any], example: Example, place: str) -> str:
    """The aspects of the metric whose fields the example has, as the end of a sentence; empty if it has none."""
    required = {aspect: _find_required({**metric, "aspects": [aspect]}) for aspect in metric.get("aspects", ())}
    known = [aspect for aspect, fields in required.items() if describe_missing_fields(example, fields, place) is None]
    return f"; {place}.aspects=[{','.join(known)}] does without" if known else ""


def _find_required(metric: Mapping[str, Any]) -> tuple[Field, ...]:
    target = get_object(metric["_target_"])
    return required_fields(getattr(target, "__self__", target), metric)  # the class of `from_pretrained`


def score(run: Run, file: ScorableFile, output: Path, engine: Engine) -> Outcome:
    """Scores a file in order, chunk by chunk, and writes `output` and `output.meta.json` at the end.

    If `output` is `-`, the rows go to standard output as JSONL, and the signature stands only in results.json. The
    finished chunks of each metric are kept: if the run is killed, the same command continues after them, and a run with
    one more metric computes only this one.

    Raises InputFaults, by file and line, for examples that a metric refuses.
    """
    with redirect_stdout(sys.stderr) if output == STANDARD else nullcontext():  # libraries print
        with run.timed("loading"):
            signatures = engine.prepare(file.source)
        with run.timed("scoring"):
            names = list(signatures)
            depends = [{"input": file.sha256, "signature": each} for each in signatures.values()]

            def build(folders: Mapping[int, Path]) -> None:
                score_chunks(run, file, engine, {names[i]: folder for i, folder in folders.items()})

            kept = run.stages.get_several(STAGE, depends, build, version=VERSION)
    rows = join_rows(dict(zip(names, kept, strict=True)), run.folder / JOINED)
    found = read_rows(rows)
    notes = list(dict.fromkeys(note for folder in kept for note in read_notes(folder)))
    if output != STANDARD:
        write_score_rows(rows, output, list(found.values), found.extra)
        (run.folder / JOINED).unlink(missing_ok=True)
        meta = {"signature": join_signatures(signatures), "signatures": signatures, "aspects": list(found.values)}
        meta |= {"n": found.rows, "unscored": found.unscored, "truncated": found.truncated, "notes": notes}
        with open_atomically(output.with_name(f"{output.name}.meta.json")) as meta_file:
            json.dump(meta, meta_file, indent=2, ensure_ascii=False, allow_nan=False)
            meta_file.write("\n")
    figures: dict[str, float] = {"examples": found.rows, "unscored": found.unscored, "truncated": found.truncated}
    shown = {
        name: read_kept_scores(folder / ROWS, signatures[name], len(file.first))
        for name, folder in zip(names, kept, strict=True)
    }
    tables = score_tables(file.first[:FIRST], found.values)
    where = "the output" if output == STANDARD else str(output)
    return Outcome(
        signature=join_signatures(signatures),
        figures=figures | {f"mean {row['aspect']}": row["mean"] for row in tables[-1].rows},
        tables=tables,
        shown=[ScoredSet(file.path.name, file.first, shown)],
        notes=[*notes, *describe_losses(found.rows, found.unscored, found.truncated, where)],
        files=[] if output == STANDARD else [output],
        printed=rows if output == STANDARD else None,
    )


def score_chunks(run: Run, file: ScorableFile, engine: Engine, folders: Mapping[str, Path]) -> None:
    """Writes the scores of a file by metric to `folders`; continues where an earlier run stopped.

    The file is read once. A chunk is scored by the metrics that have not finished it.
    """
    total = file.ends[-1]
    with ExitStack() as held, run.progress("scoring", total) as advance:
        rows = {name: held.enter_context((folder / ROWS).open("ab+")) for name, folder in folders.items()}
        done = {name: keep_finished(each, file.ends) for name, each in rows.items()}
        start = min(done.values())
        before = file.ends[start - 1] if start else 0
        if before:
            log.info("%d of %d examples of %s are already scored", before, total, file.path)
        advance(before)
        began = logged = synced = time.monotonic()
        parts = (
            (chunk, [name for name in rows if done[name] <= i]) for i, chunk in enumerate(file.chunks(start), start)
        )
        scored = engine.score(file.source, parts)
        for (begin, end), found in zip(pairwise((before, *file.ends[start:])), scored, strict=True):
            for name, (text, notes) in found.items():
                add_notes(folders[name], notes)
                rows[name].write(text.encode())
                rows[name].flush()
            advance(end - begin)
            now = time.monotonic()
            if now - synced > SYNC_INTERVAL or end == total:
                synced = now
                for each in rows.values():
                    os.fsync(each.fileno())
            if now - logged > LOG_INTERVAL:
                logged = now
                rate = (end - before) / (logged - began)
                minutes = (total - end) / rate / 60
                log.info("scored %d of %d, %.3g a second, %.1f minutes left", end, total, rate, minutes)


def join_rows(kept: Mapping[str, Path], joined: Path) -> Path:
    """The file with the rows of all metrics: that of a single metric, or `joined`, which is written."""
    files = {name: folder / ROWS for name, folder in kept.items()}
    if len(files) == 1:
        return next(iter(files.values()))
    with ExitStack() as held, open_atomically(joined) as out:
        opened = [held.enter_context(file.open(encoding="utf-8")) for file in files.values()]
        for lines in zip(*opened, strict=True):
            out.write(json_line(join_records(dict(zip(files, map(json.loads, lines), strict=True)))))
    return joined


def keep_finished(rows: IO[bytes], ends: Sequence[int]) -> int:
    """Cuts a file of rows after its last finished chunk; returns how many chunks are finished."""
    rows.seek(0)
    done = size = at = 0
    for count, line in enumerate(rows, start=1):
        at += len(line)
        if count == ends[done] and line.endswith(b"\n"):
            done, size = done + 1, at
        if done == len(ends):
            break
    rows.truncate(size)
    return done


@dataclass(frozen=True)
class ScoredRows:
    """The rows of a scored file: how many there are, could not be scored or lost tokens, and the scores by aspect.

    `extra` has the types of the values that are passed on, by name.
    """

    rows: int
    unscored: int
    truncated: int
    values: Mapping[str, NDArray[np.float64]]
    extra: Mapping[str, type]


def read_rows(rows: Path) -> ScoredRows:
    """Counts the rows of a file and collects their scores; a missing score is NaN."""
    decode = decoder([])
    count = unscored = truncated = 0
    numbers: dict[str, array[float]] = {}
    extra: dict[str, type] = {}
    with rows.open(encoding="utf-8") as lines:
        for line in lines:
            row = decode(line)
            count += 1
            unscored += None in row["scores"].values()
            truncated += row["dropped_tokens"] > 0
            extra_types(row, extra)
            for aspect, score in row["scores"].items():
                numbers.setdefault(aspect, array("d")).append(math.nan if score is None else score)
    values = {aspect: np.frombuffer(each) for aspect, each in numbers.items()}
    return ScoredRows(count, unscored, truncated, values, extra)
