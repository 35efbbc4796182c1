"""Score: one metric on a file of one's own texts (`+exp=score`)."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from hydra.utils import get_object

from core.example import Example
from core.faults import ExampleFaults, InputFaults
from core.scores import Field, Metric
from core.selection import select_complete
from data.files import located_examples, write_scores
from experiments.runner.contracts import Outcome, Run


def output_file(path: str, given: str) -> Path:
    """The path to write, checked before a model is loaded.

    Raises InputFaults for a folder, for the input itself, and where the folder to write into is missing.
    """
    file = Path(path)
    if file.is_dir():
        raise InputFaults([f"output must be a file, found the folder {file}"])
    if file.resolve() == Path(given).resolve():
        raise InputFaults([f"output must be another file than data.path, found {file} for both"])
    if not file.parent.is_dir():
        raise InputFaults([f"output must lie in a folder that exists, found no {file.parent}"])
    return file


def read_scorable(path: str, metric: Mapping[str, Any]) -> list[Example]:
    """The examples of a file, checked for the fields that the configured metric requires.

    Raises InputFaults, by file and line, for what is wrong with the file, and where no example has these fields.
    """
    located = located_examples(path)
    examples = [example for _, example in located]
    try:
        select_complete(examples, required_fields(metric), "the metric")
    except ExampleFaults as faults:
        raise faults.located(path, [line for line, _ in located]) from None
    return examples


def required_fields(metric: Mapping[str, Any]) -> tuple[Field, ...]:
    """What a configured metric requires, known from its class and settings before its models are loaded."""
    target = get_object(metric["_target_"])
    kind = getattr(target, "__self__", target)  # the class of `from_pretrained`, or the target itself
    if isinstance(
        kind.requires, property
    ):  # it reads settings alone (see Metric), which are those of the configuration
        return kind.requires.__get__(SimpleNamespace(**metric))
    return kind.requires


def score(run: Run, examples: Sequence[Example], given: str, output: Path, metric: Metric) -> Outcome:
    """Scores the examples of the file `given` in order and writes `output` (JSONL) and `output.meta.json` at the end.

    Raises InputFaults, by file and line, for examples that the metric refuses.
    """
    with run.timed("scoring"):
        try:
            scores = metric.score(examples)
        except ExampleFaults as faults:
            raise faults.located(given, [line for line, _ in located_examples(given)]) from None
    write_scores(output, examples, scores)
    figures: dict[str, float] = {"examples": len(scores), "unscored": scores.unscored, "truncated": scores.truncated}
    for aspect, values in scores.values.items():
        scored = values[~np.isnan(values)]
        figures[f"mean {aspect}"] = float(scored.mean()) if scored.size else math.nan
    notes = []
    if scores.unscored:
        notes.append(f"{scores.unscored} of {len(scores)} examples could not be scored; {output} says why")
    if scores.truncated:
        notes.append(f"{scores.truncated} of {len(scores)} examples lost tokens that the model could not read")
    return Outcome(signature=scores.signature, figures=figures, notes=notes, files=[output])
