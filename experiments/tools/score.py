"""Score: one metric on a user's file (`+exp=score`)."""

import json
import logging
import math
import os
import sys
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from hydra.utils import get_object
from numpy.typing import NDArray

from core.example import Example
from core.faults import InputFaults, fault
from core.scores import Field
from core.selection import find_lack
from core.settings import Count, check
from core.stages import file_sha256
from data.parquet_files import import_pyarrow
from data.score_files import ENDINGS, write_score_rows
from data.scored import iterate_unscored
from data.text_files import MOST_FAULTS, STANDARD, describe_special, readable_path, written_aside
from experiments.contracts import Outcome, Run, Table
from experiments.tools.engines import Engine, ScoredChunk

log = logging.getLogger(__name__)

ROWS, PROGRESS = "rows.jsonl", "progress.json"  # of a kept stage
SPEAK_EVERY = 30  # seconds between progress messages
FIRST, WIDTH = 5, 60  # number of examples to show, and of characters of each
BARS = " ▁▂▃▄▅▆▇█"


def output_file(path: str, given: str, endings: Sequence[str], standard: bool = False) -> Path:
    """Checks the output path before a model is loaded, and returns it.

    Args:
        path: the output.
        given: the input.
        endings: those that the name of the output may have.
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
    if file.resolve() == Path(given).resolve():
        raise InputFaults([f"output and data.path must be different files, found {file} for both"])
    if not file.parent.is_dir():
        raise InputFaults([f"output must be in an existing folder, but there is no {file.parent}"])
    if file.suffix.lower() == ".parquet":
        import_pyarrow(file)
    return file


def score_output(path: str, given: str) -> Path:
    """`output_file` for a file of scores."""
    return output_file(path, given, ENDINGS, standard=True)


@dataclass(frozen=True)
class ScorableFile:
    """A file that was read completely and can be scored.

    Attributes:
        requires: the fields that the metric requires.
        rows: number of examples.
        sha256: of the file's bytes.
        first: the first example that has these fields.
    """

    path: Path
    requires: tuple[Field, ...]
    rows: int
    sha256: str
    first: Example


def check_scorable(path: str, metric: Mapping[str, Any]) -> ScorableFile:
    """Reads a whole file and checks that it has the fields that the configured metric requires.

    Raises InputFaults, by file and line, for a faulty file, and if no example has these fields.
    """
    requires, rows, first = required_fields(metric), 0, None
    faults: list[str] = []
    for line, example in iterate_unscored(path):
        rows += 1
        if first is None:
            reason = find_lack(example, requires, "the metric")
            if reason is None:
                first, faults = example, []
            elif len(faults) < MOST_FAULTS:
                faults.append(fault(path, line, f"{reason} for {example.id!r}"))
    if first is None:
        raise InputFaults(faults)
    return ScorableFile(Path(path), requires, rows, file_sha256(readable_path(Path(path))), first)


def required_fields(metric: Mapping[str, Any]) -> tuple[Field, ...]:
    """The fields that a configured metric requires, from its class and settings, before its models are loaded."""
    target = get_object(metric["_target_"])
    kind = getattr(target, "__self__", target)  # the class of `from_pretrained`, or the target itself
    if isinstance(kind.requires, property):  # such a property reads only settings (see Metric)
        return kind.requires.__get__(SimpleNamespace(**metric))
    return kind.requires


def score(run: Run, file: ScorableFile, output: Path, engine: Engine, chunk: int) -> Outcome:
    """Scores a file in order, `chunk` examples at a time, and writes `output` and `output.meta.json` at the end.

    If `output` is `-`, the rows go to standard output as JSONL, and the signature stands only in results.json.
    Finished chunks are kept: if the run is killed, the same command continues after them.

    Raises InputFaults, by file and line, for examples that the metric refuses.
    """
    check(Count, chunk=chunk)
    with redirect_stdout(sys.stderr) if output == STANDARD else nullcontext():  # libraries print
        with run.timed("loading"):
            signature = engine.signature(file.path, file.first)
        with run.timed("scoring"):
            depends = {"input": file.sha256, "signature": signature, "chunk": chunk}
            kept = run.stages.get("scores", depends, partial(score_chunks, run, file, engine, chunk), version=1)
    progress = Progress(**json.loads((kept / PROGRESS).read_text("utf-8")))
    if output != STANDARD:
        write_score_rows(kept / ROWS, output, list(progress.sums))
        meta = {"signature": signature, "aspects": list(progress.sums), "n": progress.rows}
        meta |= {"unscored": progress.unscored, "truncated": progress.truncated}
        with written_aside(output.with_name(f"{output.name}.meta.json")) as meta_file:
            json.dump(meta, meta_file, indent=2, ensure_ascii=False, allow_nan=False)
            meta_file.write("\n")

    figures: dict[str, float] = {"examples": progress.rows}
    figures |= {"unscored": progress.unscored, "truncated": progress.truncated}
    figures |= {f"mean {aspect}": total / n if n else math.nan for aspect, (n, total) in progress.sums.items()}
    notes = []
    if progress.unscored:
        where = "the output" if output == STANDARD else output
        notes.append(f"{progress.unscored} of {progress.rows} examples could not be scored; {where} says why")
    if progress.truncated:
        notes.append(f"{progress.truncated} of {progress.rows} examples lost tokens that the model could not read")
    return Outcome(
        signature=signature,
        figures=figures,
        tables=[first_rows(file.path, kept / ROWS), distribution(kept / ROWS, list(progress.sums))],
        notes=notes,
        files=[] if output == STANDARD else [output],
        printed=kept / ROWS if output == STANDARD else None,
    )


@dataclass
class Progress:
    """The progress on a file.

    Attributes:
        rows, bytes: number of finished examples, and the length of their lines.
        unscored, truncated: number of examples that could not be scored, and that lost tokens.
        sums: by aspect, the number of scores and their sum.
    """

    rows: int = 0
    bytes: int = 0
    unscored: int = 0
    truncated: int = 0
    sums: dict[str, tuple[int, float]] = field(default_factory=dict)

    def add(self, scored: ScoredChunk) -> None:
        """Counts one more chunk."""
        self.rows += scored.rows
        self.unscored += scored.unscored
        self.truncated += scored.truncated
        for aspect, (n, total) in scored.sums.items():
            before, sum_before = self.sums.get(aspect, (0, 0.0))
            self.sums[aspect] = (before + n, sum_before + total)


def score_chunks(run: Run, file: ScorableFile, engine: Engine, chunk: int, folder: Path) -> None:
    """Writes the scores of a file to `folder`; continues where an earlier run stopped."""
    state = folder / PROGRESS
    progress = Progress(**json.loads(state.read_text("utf-8"))) if state.is_file() else Progress()
    if progress.rows:
        log.info("%d of %d examples of %s are already scored", progress.rows, file.rows, file.path)
    began, spoke, before = time.monotonic(), time.monotonic(), progress.rows
    with (folder / ROWS).open("ab") as rows, run.progress("scoring", file.rows) as advance:
        rows.truncate(progress.bytes)  # an unfinished chunk is scored again
        advance(before)
        left = islice(iterate_unscored(file.path), before, None)
        for scored in engine.score(file.path, split_chunks(left, chunk, file.requires)):
            rows.write(scored.text.encode())
            rows.flush()
            os.fsync(rows.fileno())
            progress.add(scored)
            progress.bytes = rows.tell()
            with written_aside(state) as state_file:
                json.dump(asdict(progress), state_file)
            advance(scored.rows)
            if time.monotonic() - spoke > SPEAK_EVERY:
                spoke = time.monotonic()
                rate = (progress.rows - before) / (spoke - began)
                minutes = (file.rows - progress.rows) / rate / 60
                log.info("scored %d of %d, %.3g a second, %.1f minutes left", progress.rows, file.rows, rate, minutes)


def split_chunks(
    located: Iterable[tuple[int, Example]], size: int, requires: Sequence[Field]
) -> Iterator[list[tuple[int, Example]]]:
    """Yields chunks of `size` examples; a chunk is longer if necessary, so that one of its examples can be scored."""
    whole: list[tuple[int, Example]] = []  # a chunk that can be scored; unscorable examples at the end join it
    chunk: list[tuple[int, Example]] = []
    scorable = False
    for line, example in located:
        chunk.append((line, example))
        scorable = scorable or find_lack(example, requires, "") is None
        if len(chunk) >= size and scorable:
            if whole:
                yield whole
            whole, chunk, scorable = chunk, [], False
    if scorable and whole:
        yield whole
        whole = []
    if whole or chunk:
        yield whole + chunk


def first_rows(path: Path, rows: Path) -> Table:
    """The table of the first examples with their scores."""
    shown = []
    with rows.open(encoding="utf-8") as lines:
        for (_, example), line in islice(zip(iterate_unscored(path), lines, strict=False), FIRST):
            text = " ".join(example.full_text.split())
            scores = {aspect: _number(score) for aspect, score in json.loads(line)["scores"].items()}
            shown.append({"id": example.id, "text": text[:WIDTH] + "…" * (len(text) > WIDTH), **scores})
    return Table("First rows", "The first examples and their scores.", shown)


def distribution(rows: Path, aspects: Sequence[str]) -> Table:
    """The table of the distribution of the scores of each aspect."""
    numbers = {aspect: array("d") for aspect in aspects}
    with rows.open(encoding="utf-8") as lines:
        for line in lines:
            for aspect, score in json.loads(line)["scores"].items():
                numbers[aspect].append(_number(score))
    found = []
    for aspect, values in ((aspect, np.frombuffer(each)) for aspect, each in numbers.items()):
        known = values[~np.isnan(values)]
        row: dict[str, Any] = {"aspect": aspect, "n": len(known)}
        ends = {"min": np.min, "median": np.median, "mean": np.mean, "max": np.max}
        row |= {name: float(take(known)) if known.size else math.nan for name, take in ends.items()}
        found.append(row | {"histogram": draw_histogram(known)})
    return Table("Distribution", "The histogram runs from min to max; a taller bar holds more scores.", found)


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


def _number(score: float | None) -> float:
    return math.nan if score is None else score
