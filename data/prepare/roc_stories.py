"""ROC stories: rated continuations (MANS) and plain stories."""

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any


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
                "ratings": continuation["score"],
                "mean_rating": fmean(continuation["score"]),
            }


def read_plain(folder: Path) -> Iterator[str]:
    """The distinct stories of `reference.txt` that are not references in `mans_roc.jsonl`, the rated set."""
    with (folder / "mans_roc.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rated = {_normalise(f"{row['prompt']} {row['reference']}") for row in rows}
    with (folder / "reference.txt").open(encoding="utf-8") as file:
        stories = dict.fromkeys(line.strip() for line in file)
    return (story for story in stories if story and _normalise(story) not in rated)


def _normalise(text: str) -> str:
    return " ".join(text.split()).casefold()
