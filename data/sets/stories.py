"""Stories: the built-in ones, and ROC stories with continuations that people rated.

`root` is the folder that holds `roc_stories/`, or this folder itself.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from core.example import Example
from core.faults import fault, format_value
from data.corpus import fold_text
from data.download import require_file
from data.files import load_examples
from data.records import require_none
from data.sentences import split_at_marks
from data.text_files import iterate_lines
from meta_eval.scored_set import ScoredSet


def load_mans_roc(root: Path | str, download: bool = False) -> ScoredSet:
    """MANS (Guan et al. 2021): 200 first sentences, each continued by five systems and rated by five annotators.

    `context` is the first sentence, the reference is the human continuation, and `ratings["overall"]` is the mean of
    the five ratings of 1 to 5.
    """

    def to_records(line: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        yield {
            "id": line["id"],
            "text": line["text"],
            "context": line["prompt"],
            "references": [line["reference"]],
            "system": line["system"],
            "group": line["id"].removesuffix(f"-{line['system']}"),
            "ratings": {"overall": line["mean_rating"]},
        }

    return ScoredSet("mans_roc", load_examples(require_file(root, "roc_stories/mans_roc.jsonl", download), to_records))


def load_roc_plain(root: Path | str, download: bool = False) -> tuple[Example, ...]:
    """Plain ROC stories (Mostafazadeh et al. 2016), mostly of five sentences; `context` is all but the last of them."""
    path = require_file(root, "roc_stories/roc_plain.txt", download)
    faults: list[str] = []
    examples: list[Example] = []
    for line, text in iterate_lines(path, faults):
        if not text.strip():
            faults.append(fault(path, line, f"a line must be a story, found {format_value(text)}"))
            continue
        beginning = split_at_marks(text)[:-1]
        examples.append(Example(f"{path.stem}-{line}", text=text.strip(), context=" ".join(beginning) or None))
    return require_none(examples, faults)


def read_rated(folder: Path) -> Iterator[dict[str, Any]]:
    """Every continuation of `mans_roc.json` with its ratings."""
    for key, story in json.loads((folder / "mans_roc.json").read_text("utf-8")).items():
        for system, continuation in story["gen"].items():
            yield {
                "id": f"mans-roc-{key}-{system}",
                "prompt": story["prompt"],
                "reference": story["gold_response"],
                "system": system,
                "text": continuation["text"],
                "mean_rating": fmean(continuation["score"]),
            }


def read_plain(folder: Path) -> Iterator[str]:
    """The distinct stories of `reference.txt` that are not references in `mans_roc.jsonl`, the rated set."""
    with (folder / "mans_roc.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rated = {fold_text(f"{row['prompt']} {row['reference']}") for row in rows}
    with (folder / "reference.txt").open(encoding="utf-8") as file:
        stories = dict.fromkeys(line.strip() for line in file)
    return (story for story in stories if story and fold_text(story) not in rated)
