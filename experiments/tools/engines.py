"""Engines: score the chunks of a file in this process or with a pool of Ray actors.

Both give the same rows in the same order, because both score the same chunks with `score_chunk`.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from hydra.utils import instantiate

from core.example import Example
from core.faults import ExampleFaults, InputFaults, SettingFault
from core.scores import CorpusMetric, Metric
from core.settings import Count, NonNegative, check
from data.files import InputFile, json_line
from data.scored import iterate_unscored, score_records
from data.text_files import longest_line, set_longest_line

Chunk = Sequence[tuple[int, Example]]  # examples with their line numbers
PATIENCE = 10.0  # seconds to wait for a cluster to answer
RETRIES = 2  # of a chunk whose worker died
PROBE = "import ray, sys; print(flush=True); ray.init(sys.argv[1], log_to_driver=False)"


class Engine(Protocol):
    """Scores chunks in their order."""

    def prepare(self, file: InputFile) -> str:
        """Prepares the metric for a file; returns the signature of its scores."""
        ...

    def score(self, file: InputFile, chunks: Iterable[Chunk]) -> Iterator[str]:
        """The rows of each chunk as lines of JSON. Raises InputFaults for examples that the metric refuses."""
        ...


def score_chunk(metric: Metric, file: Path, chunk: Chunk) -> str:
    """The rows of one chunk. Raises InputFaults, by file and line, for examples that the metric refuses."""
    examples = [example for _, example in chunk]
    try:
        return "".join(map(json_line, score_records(examples, metric.score(examples))))
    except ExampleFaults as faults:
        raise faults.located(file, [line for line, _ in chunk]) from None


def prepare(metric: Metric, file: InputFile) -> Metric:
    """Prepares the metric for a file: a metric that needs a corpus uses the file as its corpus."""
    if not isinstance(metric, CorpusMetric):
        return metric
    return metric.with_corpus(example for _, example in iterate_unscored(file))


class LocalEngine:
    """Scores in this process."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    def prepare(self, file: InputFile) -> str:
        self.metric = prepare(self.metric, file)
        return self.metric.signature

    def score(self, file: InputFile, chunks: Iterable[Chunk]) -> Iterator[str]:
        for chunk in chunks:
            yield score_chunk(self.metric, file.path, chunk)


class RayEngine:
    """Scores with Ray Data: a pool of actors, each of which holds the metric. Needs the extra `ray`.

    All chunks of the file are in Ray's object store, which spills to disk. If the metric depends on a corpus, the
    actors read the file too, so it must be in a folder that all nodes share. Ray restarts an actor that dies; a chunk
    in which three die ends the run.

    Args:
        metric: the configuration of the metric; every actor builds its own metric.
        workers: number of actors.
        cpus, gpus: resources that each actor reserves.
        address: `HOST:PORT` of a cluster; None starts one on this machine.

    Raises SettingFault for wrong settings, if ray is not installed, and for a cluster that does not answer.
    """

    def __init__(
        self, metric: Mapping[str, Any], workers: int, cpus: float, gpus: float, address: str | None = None
    ) -> None:
        check(Count, workers=workers)
        check(NonNegative, cpus=cpus, gpus=gpus)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no network by default
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        try:
            import ray
            import ray.data
        except ImportError as error:
            raise SettingFault("engine=ray needs ray: pip install 'judging-generated-text[ray]'") from error
        if address is not None:
            check_port(address)
            check_cluster(address)
        self.ray, self.metric, self.workers = ray, metric, workers
        self.resources = {"num_cpus": cpus, "num_gpus": gpus}
        own = None if address is not None else max(1, round(workers * cpus)) + 1
        ray.init(
            address,
            num_cpus=own,
            ignore_reinit_error=True,
            log_to_driver=False,
            include_dashboard=False,
            logging_level=logging.ERROR,
        )
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False

    def prepare(self, file: InputFile) -> str:
        ask = self.ray.remote(**self.resources)(_ask_signature)
        return self.ray.get(ask.remote(self.metric, file.resolve(), longest_line()))

    def score(self, file: InputFile, chunks: Iterable[Chunk]) -> Iterator[str]:
        rows = [{"chunk": json.dumps([[line, asdict(example)] for line, example in chunk])} for chunk in chunks]
        if not rows:
            return
        scored = self.ray.data.from_items(rows, override_num_blocks=len(rows)).map(
            ScoringActor,
            fn_constructor_args=(self.metric, file.resolve(), str(file.path), longest_line()),
            compute=self.ray.data.ActorPoolStrategy(size=self.workers),
            max_restarts=-1,  # of an actor; unlimited, as long as every chunk succeeds in the end
            max_task_retries=RETRIES,
            **self.resources,
        )
        try:
            for row in scored.iter_rows():
                found = json.loads(row["scored"])
                if "faults" in found:
                    raise InputFaults(found["faults"])
                yield found["rows"]
        except self.ray.exceptions.RayActorError as error:
            times = f"{RETRIES + 1} times in the same chunk"
            raise RuntimeError(f"a worker died {times}; finished chunks are kept for the same command") from error


class ScoringActor:
    """Holds a metric and scores chunks of a file, which messages call `name`; a line has `longest` bytes at most."""

    def __init__(self, metric: Mapping[str, Any], file: InputFile, name: str, longest: int) -> None:
        set_longest_line(longest)
        self.metric, self.name = prepare(instantiate(metric), file), Path(name)

    def __call__(self, row: dict[str, str]) -> dict[str, str]:
        chunk = [(line, Example(**fields)) for line, fields in json.loads(row["chunk"])]
        try:
            return {"scored": json.dumps({"rows": score_chunk(self.metric, self.name, chunk)})}
        except InputFaults as faults:
            return {"scored": json.dumps({"faults": faults.faults})}


def _ask_signature(metric: Mapping[str, Any], file: InputFile, longest: int) -> str:
    set_longest_line(longest)
    return LocalEngine(instantiate(metric)).prepare(file)


def check_port(address: str) -> None:
    """Raises SettingFault if nothing answers at the address."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise SettingFault(f"engine.address must be HOST:PORT, but is {address!r}")
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except OSError as error:
        raise SettingFault(f"engine.address={address} does not answer within {PATIENCE:g} s: {error}") from error


def check_cluster(address: str) -> None:
    """Raises SettingFault if what listens at the address is no Ray cluster.

    Another process asks, because a connection that Ray has begun cannot be given up.
    """
    with subprocess.Popen(
        [sys.executable, "-c", PROBE, address], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as asking:
        assert asking.stdout is not None
        asking.stdout.readline()  # ray is imported
        try:
            code = asking.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            asking.kill()
            code = None
    if code != 0:
        raise SettingFault(f"engine.address={address} does not answer as a Ray cluster within {PATIENCE:g} s")
