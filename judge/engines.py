"""Engines: score the chunks of a file in this process or with a pool of Ray actors.

Both give the same rows in the same order, because both score the same chunks with `score_chunk`.
"""

from __future__ import annotations

import json
import logging
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import ExampleError, InputError, OutsideError, SettingError, fault
from core.example import Example
from core.extras import suggest_extra
from core.scores import AnnouncesCost, CorpusMetric, Metric
from core.settings import Count, NonNegative, checked_dataclass
from core.source import hash_sources
from data.files import iterate_examples
from data.input_file import InputFile
from data.scored import encode_scores
from data.scoring import list_code
from judge.metrics import Planned, load_planned

if TYPE_CHECKING:
    from judge.streaming import ScorableFile

Chunk = Sequence[tuple[int, Example]]  # examples with their line numbers
Part = tuple[int, Sequence[str]]  # the number of a chunk, and the names of the metrics that score it
PATIENCE = 10.0  # seconds to wait for a cluster to answer
RETRIES = 2  # of a chunk whose worker died


def encode_chunk(chunk: Chunk) -> bytes:
    """Writes examples with their line numbers as a line of JSON."""
    rows = [[line, vars(example)] for line, example in chunk]
    return json.dumps(rows, default=dict).encode() + b"\n"


def decode_chunk(content: bytes) -> Chunk:
    """Reads what `encode_chunk` wrote; several chunks, one behind another, are one."""
    rows = [row for line in content.splitlines() for row in json.loads(line)]
    return [(line, Example(**fields)) for line, fields in rows]


def score_chunk(metric: Metric, file: Path, chunk: Chunk) -> dict[str, Any]:
    """Scores one chunk of a file; returns the scores as JSON values (`encode_scores`).

    Raises InputError, by file and line, for examples that the metric refuses.
    """
    examples = [example for _, example in chunk]
    try:
        return encode_scores(metric.score(examples))
    except ExampleError as faults:
        raise faults.located(file, [line for line, _ in chunk]) from None


def prepare(metrics: Mapping[str, Metric], read: Callable[[], Iterator[Example]]) -> dict[str, Metric]:
    """Prepares metrics for a file: a metric that needs a corpus gets the examples that `read` yields."""
    prepared = dict(metrics)
    for name, metric in metrics.items():
        if isinstance(metric, CorpusMetric):
            prepared[name] = metric.with_corpus(read())
    return prepared


def read_again(file: InputFile, sha256: str) -> Iterator[Example]:
    """Yields the examples of a file that another process has read. Raises InputError if it has changed since."""
    if file.sha256() != sha256:
        raise InputError([fault(file.path, 0, "the file changed while it was read: run the command again")])
    for _, example in iterate_examples(file):
        yield example


class LocalEngine:
    """Scores in this process."""

    def __init__(self, metrics: Mapping[str, Metric]) -> None:
        self.metrics = dict(metrics)
        # by metric and file, the hash of the source behind its scores
        self.code = {name: hash_sources(list_code(metric)) for name, metric in metrics.items()}

    def prepare(self, file: ScorableFile) -> dict[str, str]:
        """Prepares the metrics for a file; returns the signature of the scores of each metric."""
        return self.prepare_for(file.examples)

    def prepare_for(self, read: Callable[[], Iterator[Example]]) -> dict[str, str]:
        """Prepares the metrics for the examples that `read` returns; returns the signature of each metric's scores."""
        self.metrics = prepare(self.metrics, read)
        for metric in self.metrics.values():
            if isinstance(metric, AnnouncesCost):
                metric.announce(read())
        return {name: metric.signature for name, metric in self.metrics.items()}

    def score(self, file: ScorableFile, parts: Iterable[Part]) -> Iterator[dict[str, dict[str, Any]]]:
        """Yields the scores of each part by metric, as JSON values.

        Raises InputError for examples that a metric refuses.
        """
        for number, names in parts:
            chunk = decode_chunk(file.chunk(number))
            yield {name: score_chunk(self.metrics[name], file.source.path, chunk) for name in names}


@checked_dataclass
class Ray:
    """Settings of a pool of Ray actors, each of which loads the metrics."""

    # actors
    workers: Count = 2
    # of each actor
    cpus: NonNegative = 1.0
    # of each actor; a metric on a GPU needs its own device=cuda too
    gpus: NonNegative = 0.0
    # HOST:PORT of a cluster; without one it starts on this machine
    address: str | None = None


class RayEngine:
    """Scores with Ray Data: a pool of actors (`Ray`). Needs the extra `ray`.

    Every actor builds its own metrics from their plans. If a metric depends on a corpus, the actors read the file, too,
    so it must be in a folder that all nodes share. Ray restarts an actor that dies; if three die in one chunk, the run
    ends.

    Raises SettingError for wrong settings, if ray is not installed, and for a cluster that does not answer.
    """

    def __init__(self, metrics: Mapping[str, Planned], ray: Ray) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        with suggest_extra():
            library = import_module("ray")
            import_module("ray.data")
        check_cluster(ray.address)
        self.ray = library
        self.metrics = metrics
        self.workers = ray.workers
        # by metric, once it is prepared: the signature of its scores, and its code as in LocalEngine
        self.signatures: dict[str, str] = {}
        self.code: Mapping[str, Mapping[str, str]] = {}
        self.resources = {"num_cpus": ray.cpus, "num_gpus": ray.gpus}
        cores = max(1, round(ray.workers * ray.cpus)) + 1  # of a cluster on this machine
        library.init(
            ray.address,
            num_cpus=cores if ray.address is None else None,
            ignore_reinit_error=True,
            log_to_driver=False,
            include_dashboard=False,
            logging_level=logging.ERROR,
        )
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context = library.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False

    def prepare(self, file: ScorableFile) -> dict[str, str]:
        """Prepares the metrics, as `LocalEngine.prepare` does."""
        ask = self.ray.remote(**self.resources)(_prepare_local)
        try:
            self.signatures, self.code = self.ray.get(ask.remote(self.metrics, file.source.resolve(), file.sha256))
        except self.ray.exceptions.RayTaskError as error:
            raise error.cause from None  # its own message has the traceback
        return self.signatures

    def score(self, file: ScorableFile, parts: Iterable[Part]) -> Iterator[dict[str, dict[str, Any]]]:
        """Yields the scores of each part, as `LocalEngine.score` does."""
        rows = [{"chunk": file.chunk(number), "names": json.dumps(names)} for number, names in parts]
        if not rows:
            return
        scored = self.ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            ScoringActor,
            batch_size=1,
            fn_constructor_args=(self.metrics, self.signatures, file.source.resolve(), file.sha256, file.source.path),
            compute=self.ray.data.ActorPoolStrategy(size=self.workers),
            max_restarts=-1,  # of an actor; unlimited, as long as every chunk succeeds in the end
            max_task_retries=RETRIES,
            **self.resources,
        )
        try:
            for row in scored.iter_rows():
                yield json.loads(row["scores"])
        except self.ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self.ray.exceptions.RayActorError as error:
            times = f"{RETRIES + 1} times in the same chunk"
            raise OutsideError(
                f"a worker died {times}: run the same command again, finished chunks are kept"
            ) from error


Engine = LocalEngine | RayEngine


class ScoringActor:
    """An actor that holds metrics and scores chunks of a file; error messages call the file `name`.

    If a file of a metric (a corpus, a rubric) has changed since the signatures were made, every chunk fails.
    """

    def __init__(
        self, metrics: Mapping[str, Planned], signatures: Mapping[str, str], file: InputFile, sha256: str, name: Path
    ) -> None:
        self.given = metrics
        self.signatures = signatures
        self.name = name
        self.read = partial(read_again, file, sha256)

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """The metrics, which are loaded at first use. Raises InputError if a file that a metric reads has changed."""
        prepared = prepare(load_all(self.given), self.read)
        changed = [name for name, metric in prepared.items() if metric.signature != self.signatures[name]]
        if changed:
            rule = "its files and models must stay as they are during a run, but they changed: run the command again"
            raise InputError(f"{name}: {rule}" for name in changed)
        return prepared

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
        """Scores a batch of one chunk by the metrics that it names."""
        chunk = decode_chunk(batch["chunk"][0])
        names = json.loads(batch["names"][0])
        scores = {name: score_chunk(self.metrics[name], self.name, chunk) for name in names}
        return {"scores": [json.dumps(scores)]}


def load_all(metrics: Mapping[str, Planned]) -> dict[str, Metric]:
    """Loads the metrics with their models."""
    return {name: load_planned(metric) for name, metric in metrics.items()}


def make_engine(metrics: Mapping[str, Planned], ray: Ray | None = None) -> Engine:
    """Makes the engine that scores the chunks of a file."""
    return LocalEngine(load_all(metrics)) if ray is None else RayEngine(metrics, ray)


def _prepare_local(
    metrics: Mapping[str, Planned], file: InputFile, sha256: str
) -> tuple[dict[str, str], Mapping[str, Mapping[str, str]]]:
    """The signatures of the metrics and the hashes of their code."""
    engine = LocalEngine(load_all(metrics))
    return engine.prepare_for(partial(read_again, file, sha256)), engine.code


def check_cluster(address: str | None) -> None:
    """Raises SettingError if nothing listens at the address of a Ray cluster."""
    if address is None:
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except (OSError, ValueError):
        rule = "ray.address must be HOST:PORT of a Ray cluster"
        raise SettingError(f"{rule}, but none answers at {address}") from None
