"""Score: one metric on a user's file (`+exp=score`)."""

import json
import logging
import math
import os
import sys
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from hydra.utils import get_object, instantiate
from numpy.typing import NDArray

from core.example import Example
from core.faults import InputFaults, fault
from core.scores import required_fields
from core.selection import find_lack
from core.settings import Count, check
from data.files import InputFile, Source
from data.scored import ENDINGS, extra_types, iterate_unscored, write_score_rows
from data.table_files import import_pyarrow
from data.text_files import MOST_FAULTS, STANDARD, describe_special, open_atomically
from experiments.contracts import Outcome, Run, Table
from experiments.tools.engines import Chunk, Engine

log = logging.getLogger(__name__)

ROWS = "rows.jsonl"  # of a kept stage
LOG_INTERVAL = 30  # seconds between progress messages
FIRST, WIDTH = 5, 60  # number of examples to show, and of characters of each
BARS = " ▁▂▃▄▅▆▇█"


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
    if file.resolve() in [each.resolve() for each in InputFile.of(given).files]:
        raise InputFaults([f"output and data.path must be different files, found {file} for both"])
    if not file.parent.is_dir():
        raise InputFaults([f"output must be in an existing folder, but there is no {file.parent}"])
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


def check_scorable(data: Mapping[str, Any] | Source, metric: Mapping[str, Any], chunk: int) -> ScorableFile:
    """Reads a whole file, checks it for the configured metric before its models are loaded, and plans chunks.

    `data` is an input or its configuration. A chunk has `chunk` examples, or more, so that one of them has the fields
    that the metric requires.

    Raises SettingFault for `chunk`; InputFaults, by file and line, for a faulty file, and if no example has these
    fields.
    """
    check(Count, chunk=chunk)
    target = get_object(metric["_target_"])
    requires = required_fields(getattr(target, "__self__", target), metric)  # the class of `from_pretrained`
    source: InputFile = instantiate(data) if isinstance(data, Mapping) else InputFile.of(data)
    first: list[Example] = []
    ends, faults = [0], list[str]()
    rows, is_scorable = 0, False
    for rows, (line, example) in enumerate(iterate_unscored(source), start=1):
        if rows <= FIRST:
            first.append(example)
        reason = find_lack(example, requires, "the metric")
        is_scorable = is_scorable or reason is None
        if reason is not None and len(ends) == 1 and not is_scorable and len(faults) < MOST_FAULTS:
            faults.append(fault(source.path, line, f"{reason} for {example.id!r}"))
        if is_scorable and rows - ends[-1] >= chunk:
            ends.append(rows)
            is_scorable = False
    if is_scorable:
        ends.append(rows)
    if len(ends) == 1:
        raise InputFaults(faults)
    ends[-1] = rows  # examples at the end that cannot be scored belong to the last chunk
    return ScorableFile(source.path, tuple(ends[1:]), source.sha256(), tuple(first), source)


def score(run: Run, file: ScorableFile, output: Path, engine: Engine, chunk: int) -> Outcome:
    """Scores a file in order, chunk by chunk, and writes `output` and `output.meta.json` at the end.

    If `output` is `-`, the rows go to standard output as JSONL, and the signature stands only in results.json.
    Finished chunks are kept: if the run is killed, the same command continues after them.

    Raises InputFaults, by file and line, for examples that the metric refuses.
    """
    with redirect_stdout(sys.stderr) if output == STANDARD else nullcontext():  # libraries print
        with run.timed("loading"):
            signature = engine.prepare(file.source)
        with run.timed("scoring"):
            depends = {"input": file.sha256, "signature": signature, "chunk": chunk}
            rows = run.stages.get("scores", depends, partial(score_chunks, run, file, engine), version=1) / ROWS
    found = read_rows(rows)
    if output != STANDARD:
        write_score_rows(rows, output, list(found.values), found.extra)
        meta = {"signature": signature, "aspects": list(found.values), "n": found.rows}
        meta |= {"unscored": found.unscored, "truncated": found.truncated}
        with open_atomically(output.with_name(f"{output.name}.meta.json")) as meta_file:
            json.dump(meta, meta_file, indent=2, ensure_ascii=False, allow_nan=False)
            meta_file.write("\n")

    figures: dict[str, float] = {"examples": found.rows, "unscored": found.unscored, "truncated": found.truncated}
    known = {aspect: values[~np.isnan(values)] for aspect, values in found.values.items()}
    figures |= {f"mean {aspect}": float(each.mean()) if each.size else math.nan for aspect, each in known.items()}
    notes = []
    if found.unscored:
        where = "the output" if output == STANDARD else output
        notes.append(f"{found.unscored} of {found.rows} examples could not be scored; {where} says why")
    if found.truncated:
        notes.append(f"{found.truncated} of {found.rows} examples lost tokens that the model could not read")
    return Outcome(
        signature=signature,
        figures=figures,
        tables=[first_rows(file.first, found.values), distribution(known)],
        notes=notes,
        files=[] if output == STANDARD else [output],
        printed=rows if output == STANDARD else None,
    )


def score_chunks(run: Run, file: ScorableFile, engine: Engine, folder: Path) -> None:
    """Writes the scores of a file to `folder`; continues where an earlier run stopped."""
    total = file.ends[-1]
    with (folder / ROWS).open("ab+") as rows, run.progress("scoring", total) as advance:
        done = keep_finished(rows, file.ends)
        before = file.ends[done - 1] if done else 0
        if before:
            log.info("%d of %d examples of %s are already scored", before, total, file.path)
        advance(before)
        began = logged = time.monotonic()
        scored = engine.score(file.source, file.chunks(done))
        for (begin, end), text in zip(pairwise((before, *file.ends[done:])), scored, strict=True):
            rows.write(text.encode())
            rows.flush()
            os.fsync(rows.fileno())
            advance(end - begin)
            if time.monotonic() - logged > LOG_INTERVAL:
                logged = time.monotonic()
                rate = (end - before) / (logged - began)
                minutes = (total - end) / rate / 60
                log.info("scored %d of %d, %.3g a second, %.1f minutes left", end, total, rate, minutes)


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
    count = unscored = truncated = 0
    numbers: dict[str, array[float]] = {}
    extra: dict[str, type] = {}
    with rows.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            count += 1
            unscored += None in row["scores"].values()
            truncated += row["dropped_tokens"] > 0
            extra_types(row, extra)
            for aspect, score in row["scores"].items():
                numbers.setdefault(aspect, array("d")).append(math.nan if score is None else score)
    values = {aspect: np.frombuffer(each) for aspect, each in numbers.items()}
    return ScoredRows(count, unscored, truncated, values, extra)


def first_rows(examples: Sequence[Example], values: Mapping[str, NDArray[np.float64]]) -> Table:
    """The table of the first examples with their scores."""
    rows = []
    for i, example in enumerate(examples):
        text = " ".join(example.full_text.split())
        scores = {aspect: float(each[i]) for aspect, each in values.items()}
        rows.append({"id": example.id, "text": text[:WIDTH] + "…" * (len(text) > WIDTH), **scores})
    return Table("First rows", "The first examples and their scores.", rows)


def distribution(known: Mapping[str, NDArray[np.float64]]) -> Table:
    """The table of the distribution of the known scores of each aspect."""
    ends: dict[str, Callable[..., Any]] = {"min": np.min, "median": np.median, "mean": np.mean, "max": np.max}
    rows = [
        {"aspect": aspect, "n": len(values)}
        | {name: float(take(values)) if values.size else math.nan for name, take in ends.items()}
        | {"histogram": draw_histogram(values)}
        for aspect, values in known.items()
    ]
    return Table("Distribution", "The histogram runs from min to max; a taller bar holds more scores.", rows)


def draw_histogram(values: NDArray[np.float64]) -> str:
    """Draws a histogram with ten bars as characters.

    >>> draw_histogram(np.array([0.0, 0.0, 0.0, 0.5, 1.0]))
    '█    ▃   ▃'
    """
    if not values.size:
        return ""
    counts, _ = np.histogram(values, bins=10)
    heights = np.ceil(counts / counts.max() * (len(BARS) - 1)).astype(int)
    return "".join(BARS[height] for height in heights)
