"""Compare: two files of outputs for the same inputs, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from core.example import Example
from core.faults import ExampleFaults, InputFaults, fault
from core.scores import Metric, Scores
from data.files import located_examples
from experiments.tools.compare import compare_pairs, lay_grid
from meta_eval.scored_set import ScoredSet
from meta_eval.systems import SystemComparison


@dataclass(frozen=True)
class SystemFile:
    """The outputs of one system.

    Attributes:
        name: of the system, from the name of the file.
        path: the file.
        lines: the line of each example.
        examples: its outputs.
    """

    name: str
    path: Path
    lines: tuple[int, ...]
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class ComparedFiles:
    """Two systems under one metric, aspect by aspect; a comparison is positive where the first is better."""

    names: tuple[str, str]
    means: dict[str, tuple[float, float]]
    comparisons: dict[str, SystemComparison]


def compare_files(first: Path, second: Path, metric: Metric, most: int) -> ComparedFiles:
    """Scores both files and compares them input by input.

    Two outputs belong together if they have the same group, or, in files without groups, the same place.

    Raises InputFaults, by file and line, for a faulty file, for more than `most` outputs, and for files that do not
    answer the same inputs.
    """
    systems = [read_system(path, most) for path in (first, second)]
    if systems[0].name == systems[1].name:
        systems[1] = replace(systems[1], name=f"{systems[1].name} (second)")
    inputs = [inputs_of(system) for system in systems]
    if lacking := set(inputs[0]) ^ set(inputs[1]):
        shown = ", ".join(sorted(lacking)[:3])
        rule = f"both files must answer the same inputs, but {len(lacking)} are in one file only, such as {shown}"
        raise InputFaults([fault(second.name, 0, rule)])
    examples = [
        replace(example, system=system.name, group=group)
        for system, groups in zip(systems, inputs, strict=True)
        for example, group in zip(system.examples, groups, strict=True)
    ]
    scores = score_systems(metric, systems)
    aspects = {aspect: replace(scores, values={aspect: values}) for aspect, values in scores.values.items()}
    grid = lay_grid(ScoredSet("systems", tuple(examples), aspects))
    names = (systems[0].name, systems[1].name)
    return ComparedFiles(
        names,
        {aspect: (float(np.nanmean(a)), float(np.nanmean(b))) for aspect, (a, b) in grid.scores.items()},
        {aspect: pairs[names] for aspect, pairs in compare_pairs(grid).items()},
    )


def read_system(path: Path, most: int) -> SystemFile:
    """The outputs in a file; raises as `compare_files` does."""
    located = located_examples(path)
    if len(located) > most:
        raise InputFaults(
            [fault(path.name, 0, f"the page reads at most {most} outputs, found {len(located)}: use +exp=compare")]
        )
    lines, examples = zip(*located, strict=True)
    return SystemFile(path.stem, path, lines, examples)


def inputs_of(system: SystemFile) -> list[str]:
    """The input of each output. Raises InputFaults for two outputs of one input."""
    groups = [example.group for example in system.examples]
    if None in groups:
        return [str(place) for place in range(1, len(groups) + 1)]
    faults = [
        fault(system.path.name, line, f"a system must have one output for each input, found another one for {group!r}")
        for i, (line, group) in enumerate(zip(system.lines, groups, strict=True))
        if group in groups[:i]
    ]
    if faults:
        raise InputFaults(faults)
    return [group for group in groups if group is not None]


def score_systems(metric: Metric, systems: Sequence[SystemFile]) -> Scores:
    """The scores of all systems in one call: some metrics count words in all that they score.

    Raises InputFaults by file and line.
    """
    at = [(system, line) for system in systems for line in system.lines]
    try:
        return metric.score([example for system in systems for example in system.examples])
    except ExampleFaults as faults:
        raise InputFaults(fault(at[i][0].path.name, at[i][1], what) for i, what in faults.at) from None
