"""Compare: two files of outputs for the same inputs, with the tables of `+exp=compare`."""

from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from core.faults import ExampleFaults, InputFaults, fault
from core.scores import Metric
from data.corpus import Located
from data.files import located_examples
from judge.comparing import SystemsCompared, compare_scored
from meta_eval.intervals import Resampling
from meta_eval.scored_set import ScoredSet

Outputs: TypeAlias = tuple[Path, Located]  # of one system: their file, and each with its line


def compare_files(first: Path, second: Path, metric: Metric, most: int) -> SystemsCompared:
    """Scores both files and compares them input by input and aspect by aspect.

    Two outputs belong together if they have the same group, or, in files without groups, the same place. Both files are
    scored in one call: some metrics count words in all that they score.

    Raises InputFaults, by file and line, for a faulty file, for more than `most` outputs, and for files that do not
    answer the same inputs.
    """
    names = (first.stem, second.stem if second.stem != first.stem else f"{second.stem} (second)")
    files = [read_outputs(path, most) for path in (first, second)]
    inputs = [name_inputs(file) for file in files]
    if lacking := set(inputs[0]) ^ set(inputs[1]):
        shown = ", ".join(sorted(lacking)[:3])
        rule = f"both files must answer the same inputs, but {len(lacking)} are in one file only, such as {shown}"
        raise InputFaults([fault(second.name, 0, rule)])
    located = [(path, line, example) for path, outputs in files for line, example in outputs]
    try:
        scores = metric.score([example for _, _, example in located])
    except ExampleFaults as faults:
        raise InputFaults(fault(located[i][0].name, located[i][1], what) for i, what in faults.at) from None
    examples = tuple(
        replace(example, system=name, group=group)
        for name, (_, outputs), groups in zip(names, files, inputs, strict=True)
        for (_, example), group in zip(outputs, groups, strict=True)
    )
    aspects = {aspect: replace(scores, values={aspect: values}) for aspect, values in scores.values.items()}
    return compare_scored(ScoredSet("systems", examples, aspects), Resampling(), corpus=())


def read_outputs(path: Path, most: int) -> Outputs:
    """The file with its outputs and their lines; raises as `compare_files` does."""
    located = located_examples(path)
    if len(located) > most:
        rule = f"the page reads at most {most} outputs, found {len(located)}: use +exp=compare"
        raise InputFaults([fault(path.name, 0, rule)])
    return path, located


def name_inputs(outputs: Outputs) -> list[str]:
    """The input of each output. Raises InputFaults for two outputs of one input."""
    path, located = outputs
    groups = [example.group for _, example in located]
    if None in groups:
        return [str(place) for place in range(1, len(groups) + 1)]
    faults = [
        fault(path.name, line, f"a system must have one output for each input, found another one for {group!r}")
        for i, ((line, _), group) in enumerate(zip(located, groups, strict=True))
        if group in groups[:i]
    ]
    if faults:
        raise InputFaults(faults)
    return [group for group in groups if group is not None]
