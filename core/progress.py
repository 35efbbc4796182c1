"""Progress: work reports how far it is, and the program that started the work may show this."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

# `progress(what, total)` shows that a step runs, and of `total` parts how many are done. It yields `advance(parts)`.
Progress = Callable[..., AbstractContextManager[Callable[[int], None]]]


@contextmanager
def show_nothing(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Shows no progress: the default of `shown`."""
    yield lambda parts: None


shown: ContextVar[Progress] = ContextVar("shown", default=show_nothing)


def step(what: str, total: int | None = None) -> AbstractContextManager[Callable[[int], None]]:
    """Shows the progress of one step of work, if the program asked for it (`shown`).

    >>> with step("counting", total=3) as advance:
    ...     advance(3)
    """
    return shown.get()(what, total)
