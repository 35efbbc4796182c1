"""Truncation: what to do with a text that is longer than a model reads at once."""

from collections.abc import Iterable
from typing import Literal

from core.faults import ExampleFaults

# Refuse the text; cut it and count the lost tokens; or read all of it in windows.
Truncation = Literal["error", "warn", "window"]
# The same for a model that reads no windows.
CutTruncation = Literal["error", "warn"]


def refuse_cut(rule: str, dropped: Iterable[int]) -> None:
    """Raises ExampleFaults for all examples that would lose tokens, by the rule that they break.

    `dropped` says for each example how many.
    """
    faults = [(i, f"{rule} ({n} too many): set truncation=warn") for i, n in enumerate(dropped) if n]
    if faults:
        raise ExampleFaults(faults)
