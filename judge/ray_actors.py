"""Scores chunks by a pool of Ray actors, as one process does: each actor is a `Scorer`."""

from __future__ import annotations

import json
import logging
import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from core.errors import InputError, OutsideError, SettingError
from core.extras import suggest_extra
from core.settings import Count, NonNegative, checked_dataclass
from judge.chunks import ChunkedFile, Encoded, Part, Scorer
from judge.metrics import Planned

PATIENCE = 10.0  # seconds to wait for a cluster to answer
RETRIES = 2  # of a chunk whose worker died
FAULTS = {fault.__name__: fault for fault in (InputError, OutsideError)}  # that a worker hands on


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


class RayActor(Scorer):
    """A Scorer that Ray Data calls with a batch of one part."""

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
        """Scores a part; a fault of the input is handed on as a row."""
        try:
            (scores,) = self.score([(batch["chunk"][0], json.loads(batch["names"][0]))])
        except tuple(FAULTS.values()) as error:
            return {"scores": [""], "fault": [json.dumps([type(error).__name__, error.args])]}
        return {"scores": [json.dumps(scores)], "fault": [""]}


class RayScorer:
    """Signs and scores as a `Scorer` does, with Ray Data. Needs the extra `ray`.

    Ray restarts an actor that dies; if three die in one chunk, the run ends. Raises SettingError for wrong settings, if
    ray is not installed, and for a cluster that does not answer.
    """

    def __init__(self, metrics: Mapping[str, Planned], file: ChunkedFile, settings: Ray) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        with suggest_extra():
            self.ray = import_module("ray")
            self.data = import_module("ray.data")
        check_cluster(settings.address)
        is_here = settings.address is None
        self.ray.init(
            settings.address,
            num_cpus=max(1, round(settings.workers * settings.cpus)) + 1 if is_here else None,
            ignore_reinit_error=True,
            log_to_driver=False,
            include_dashboard=False,
            logging_level=logging.ERROR,
        )
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context = self.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        self.workers = settings.workers
        self.resources = {"num_cpus": settings.cpus, "num_gpus": settings.gpus}
        self.arguments = (metrics, [*file], file.source.path)

    def sign(self) -> dict[str, tuple[str, Mapping[str, str]]]:
        """Signs in an actor, so that no model is loaded here (`Scorer.sign`)."""
        ask = self.ray.remote(**self.resources)(_sign)
        try:
            return self.ray.get(ask.remote(*self.arguments))
        except self.ray.exceptions.RayTaskError as error:
            raise error.cause from None  # its own message has the traceback

    def score(self, parts: Iterable[Part]) -> Iterator[Encoded]:
        """Yields the scores of each part, in order."""
        rows = [{"chunk": line, "names": json.dumps(names)} for line, names in parts]
        if not rows:
            return
        scored = self.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            RayActor,
            batch_size=1,
            fn_constructor_args=self.arguments,
            compute=self.data.ActorPoolStrategy(size=self.workers),
            max_restarts=-1,  # of an actor; unlimited, as long as every chunk succeeds in the end
            max_task_retries=RETRIES,
            **self.resources,
        )
        try:
            for row in scored.iter_rows():
                if row["fault"]:
                    name, arguments = json.loads(row["fault"])
                    raise FAULTS[name](*arguments)
                yield json.loads(row["scores"])
        except self.ray.exceptions.RayActorError as error:
            times = f"{RETRIES + 1} times in the same chunk"
            rule = f"a worker died {times}: run the same command again, finished chunks are kept"
            raise OutsideError(rule) from error


def _sign(*arguments: Any) -> dict[str, tuple[str, Mapping[str, str]]]:
    return Scorer(*arguments).sign()


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
