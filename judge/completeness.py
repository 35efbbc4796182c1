"""Inputs that some system did not answer: refused, or dropped and counted."""

from __future__ import annotations

from typing import Literal, TypeVar

import numpy as np

from core.faults import InputFaults, SettingFault, fault, format_value
from meta_eval.scored_set import ScoredSet

Incomplete = Literal["refuse", "drop"]
Outputs = TypeVar("Outputs", bound=ScoredSet)


def check_incomplete(incomplete: str) -> None:
    """Raises SettingFault for a value that is none."""
    if incomplete not in ("refuse", "drop"):
        raise SettingFault(f"incomplete must be refuse or drop, found {incomplete}")


def find_lacking(outputs: ScoredSet) -> dict[str, list[str]]:
    """By input, the systems that have no output for it. Every example names its system and its input."""
    systems, groups = ([str(getattr(each, name)) for each in outputs.examples] for name in ("system", "group"))
    there = set(zip(systems, groups, strict=True))
    lacking = {
        group: [name for name in dict.fromkeys(systems) if (name, group) not in there]
        for group in dict.fromkeys(groups)
    }
    return {group: names for group, names in lacking.items() if names}


def refuse_lacking(outputs: ScoredSet) -> list[str]:
    """A fault for each input that some system did not answer."""
    first: dict[str, int] = {}
    for i, example in enumerate(outputs.examples):
        first.setdefault(str(example.group), i)
    return [
        fault(
            *outputs.locate(first[group]),
            f"all systems must answer the same inputs, but {format_value(group)} has no output of {names[0]}: "
            "incomplete=drop leaves such inputs out",
        )
        for group, names in find_lacking(outputs).items()
    ]


def drop_lacking(outputs: Outputs) -> tuple[Outputs, tuple[str, ...]]:
    """The outputs for inputs that every system answers, and a note on the others. Raises InputFaults if none."""
    lacking = find_lacking(outputs)
    if not lacking:
        return outputs, ()
    inputs = len({example.group for example in outputs.examples})
    if len(lacking) == inputs:
        raise InputFaults([fault(outputs.locate(0)[0], 0, f"no input of {inputs} has an output of every system")])
    kept = np.flatnonzero([str(example.group) not in lacking for example in outputs.examples])
    by_system = {name: sum(name in names for names in lacking.values()) for names in lacking.values() for name in names}
    counts = ", ".join(f"{name} lacks {number}" for name, number in by_system.items())
    said = f"{len(lacking)} of {inputs} inputs are left out, because some system has no output for them ({counts})"
    return outputs.take(kept), (said,)
