"""Scores chunks by a pool of Ray actors, as one process does: each actor is a `Scorer`."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

from core.errors import OutsideError, SettingError, check_names, format_value
from core.extras import suggest_extra
from core.settings import Count, NonNegative, checked_dataclass
from judge.chunks import ChunkedFile, Encoded, Part, Scorer
from judge.metrics import Planned

PATIENCE = 10.0  # seconds to wait for a cluster to answer
RETRIES = 2  # of a chunk whose worker died


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


def read_ray(given: Any) -> Ray:
    """Reads settings of Ray. Raises SettingError for others."""
    names = [setting.name for setting in fields(Ray)]
    if not isinstance(given, Mapping):
        raise SettingError(f"ray has the settings {', '.join(names)}, but got {format_value(given)}")
    check_names(given, names, "ray", "ray.")
    return Ray(**given)


class RayActor(Scorer):
    """A Scorer whose calls return what can be sent."""

    def score_part(self, part: Part) -> Encoded:
        """Returns the scores of a part."""
        (scores,) = self.score([part])
        return scores


class RayScorer:
    """Signs and scores as a `Scorer` does, in a pool of actors. Needs the extra `ray`.

    Ray restarts an actor that dies; if three die in one chunk, the run ends. Raises SettingError for wrong settings, if
    ray is not installed, and for a cluster that does not answer.
    """

    def __init__(self, metrics: Mapping[str, Planned], file: ChunkedFile, settings: Ray) -> None:
        os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_IGNORE_UNHANDLED_ERRORS": "1"}
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        with suggest_extra():
            self.ray = import_module("ray")
        check_cluster(settings.address)
        here = max(1, round(settings.workers * settings.cpus)) if settings.address is None else None
        self.ray.init(
            settings.address,
            num_cpus=here,
            ignore_reinit_error=True,
            log_to_driver=False,
            include_dashboard=False,
            logging_level=logging.ERROR,
        )
        actor = self.ray.remote(
            num_cpus=settings.cpus,
            num_gpus=settings.gpus,
            max_restarts=-1,  # unlimited, as long as every chunk succeeds in the end
            max_task_retries=RETRIES,
        )(RayActor)
        arguments = (self.ray.put(metrics), self.ray.put([*file]), file.source.path)
        self.actors = [actor.remote(*arguments) for _ in range(settings.workers)]

    def sign(self) -> dict[str, tuple[str, Mapping[str, str]]]:
        """Signs in an actor, so that no model is loaded here (`Scorer.sign`)."""
        (signed,) = self._ask(lambda actor, _: actor.sign.remote(), [None])
        return signed

    def score(self, parts: Iterable[Part]) -> Iterator[Encoded]:
        """Yields the scores of each part, in order."""
        return self._ask(lambda actor, part: actor.score_part.remote(part), parts)

    def _ask(self, ask: Any, values: Iterable[Any]) -> Iterator[Any]:
        """Yields what the actors return, in order. Raises their own errors, OutsideError for one that died."""
        try:
            yield from import_module("ray.util").ActorPool(self.actors).map(ask, values)
        except self.ray.exceptions.RayActorError as error:
            times = f"{RETRIES + 1} times in the same chunk"
            rule = f"a worker died {times}: run the same command again, finished chunks are kept"
            raise OutsideError(rule) from error
        except self.ray.exceptions.RayTaskError as error:
            raise error.cause from None  # its own message has the traceback


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
