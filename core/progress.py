"""Progress: a step of work says how far it is, and whoever started the work may show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

# `progress(what, total)` shows that a step runs, and of `total` parts how many are done. It yields `advance(parts)`.
Progress = Callable[..., AbstractContextManager[Callable[[int], None]]]


@contextmanager
def show_nothing(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A progress that nobody sees."""
    yield lambda parts: None


shown: ContextVar[Progress] = ContextVar("shown", default=show_nothing)


def step(what: str, total: int | None = None) -> AbstractContextManager[Callable[[int], None]]:
    """Shows a step of work if the caller asked for progress (`shown`).

    >>> with step("counting", total=3) as advance:
    ...     advance(3)
    """
    return shown.get()(what, total)
