"""Augment: write the augmented references of a file of one's own, for reading (`+exp=augment`)."""

import json
from collections.abc import Sequence
from pathlib import Path

from data.example import Example
from data.faults import ExampleFaults
from data.files import located_examples, written_aside
from experiments.contracts import Outcome, Run
from mars.keeping import json_numbers
from mars.metric import MARS


def augment(run: Run, examples: Sequence[Example], given: str, output: Path, metric: MARS) -> Outcome:
    """Writes `output` (JSONL): for each reference and masking ratio its template, the filled text and its fills.

    Raises InputFaults, by file and line, where no example has references.
    """
    with run.timed("augmentation"):
        try:
            references = metric.augmented(examples)
        except ExampleFaults as faults:
            raise faults.located(given, [line for line, _ in located_examples(given)]) from None
    lines = [
        {
            "reference": one.reference,
            "ratio": one.ratio,
            "template": one.shown,
            "text": one.augmented.text,
            "fills": [
                {"text": fill.text, "perplexities": json_numbers(fill.perplexities)} for fill in one.augmented.fills
            ],
            "dropped_context": one.augmented.dropped_context,
        }
        for row in references
        for one in row
    ]
    with written_aside(output) as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    figures = {
        "references": len(references),
        "augmented references": sum(bool(one.augmented.fills) for row in references for one in row),
        "references with a cut context": sum(any(one.augmented.dropped_context for one in row) for row in references),
    }
    return Outcome(signature=metric.signature, figures=figures, files=[output])
