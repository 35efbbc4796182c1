"""Augmented references on disk: a file per model and settings, a line per context and template."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import inf, isinf
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock

from core.faults import ExampleFaults
from core.stages import fingerprint
from mars.cloze import Augmented, Fill, Job
from mars.masking import Blank

VERSION = 4  # raised whenever the same job and settings would give another text
AT_ONCE = 512  # jobs between two writes; a killed run loses no more


class Augmenter(Protocol):
    """Fills the blanks of references: SelfPlanningAugmenter or NaiveAugmenter."""

    @property
    def depends(self) -> Mapping[str, Any]:
        """What a text depends on besides its job, for JSON and signatures; has `use_context`."""
        ...

    def augment(self, jobs: Sequence[Job]) -> list[Augmented]:
        """The references with their blanks filled, in the order of the jobs; equal jobs give equal results.

        Raises ExampleFaults, before the model is called, for all jobs that the model cannot read.
        """
        ...


def load_or_augment(augmenter: Augmenter, jobs: Sequence[Job], folder: Path | None) -> list[Augmented | str]:
    """The filled reference of every job, or the reason why it cannot be filled.

    References that `folder` keeps are read and the others are made; without a folder nothing is kept. Equal jobs are
    done once. A run that was killed continues where it stopped, and several processes may share a folder.
    """
    keys = [_make_key(job) for job in jobs]
    wanted = dict(zip(keys, jobs, strict=True))
    path = None if folder is None else folder / f"augmented-{fingerprint([VERSION, dict(augmenter.depends)])}.jsonl"
    found: dict[str, Augmented | str] = dict(_read_kept(path) if path else {})
    missing = [key for key in wanted if key not in found]
    for start in range(0, len(missing), AT_ONCE):
        chunk = missing[start : start + AT_ONCE]
        made, refused = _augment(augmenter, chunk, wanted)
        found |= made | refused
        if path:
            _append(path, made, wanted)
    return [found[key] for key in keys]


def _augment(
    augmenter: Augmenter, keys: Sequence[str], jobs: Mapping[str, Job]
) -> tuple[dict[str, Augmented], dict[str, str]]:
    """The filled references by key, and by key the reasons of jobs that the augmenter refuses."""
    try:
        return dict(zip(keys, augmenter.augment([jobs[key] for key in keys]), strict=True)), {}
    except ExampleFaults as faults:
        refused = {keys[i]: what for i, what in faults.at}
    rest = [key for key in keys if key not in refused]
    return dict(zip(rest, augmenter.augment([jobs[key] for key in rest]), strict=True)), refused


def to_json_numbers(perplexities: Sequence[float]) -> list[float | None]:
    """Perplexities for JSON, which has no infinity: null for a length that may not be chosen.

    >>> to_json_numbers([1.5, inf])
    [1.5, None]
    """
    return [None if isinf(perplexity) else perplexity for perplexity in perplexities]


def _make_key(job: Job) -> str:
    template = [part.count if isinstance(part, Blank) else part.text for part in job.template]
    return fingerprint([job.context, template])


def _read_kept(path: Path) -> dict[str, Augmented]:
    """The references in the file; an unfinished last line of a killed process is removed."""
    if not path.is_file():
        return {}
    with FileLock(f"{path}.lock"):
        text = path.read_bytes().decode("utf-8", errors="ignore")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            path.write_text(whole, encoding="utf-8")
    found: dict[str, Augmented] = {}
    for line in whole.split("\n")[:-1]:
        entry = json.loads(line)
        fills = tuple(
            Fill(f["text"], tuple(f["tokens"]), tuple(inf if p is None else p for p in f["perplexities"]))
            for f in entry["fills"]
        )
        found[entry["key"]] = Augmented(entry["text"], fills, entry["kl"], entry["dropped_context"], entry["planned"])
    return found


def _append(path: Path, made: Mapping[str, Augmented], jobs: Mapping[str, Job]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for key, augmented in made.items():
        fills = [{**asdict(fill), "perplexities": to_json_numbers(fill.perplexities)} for fill in augmented.fills]
        entry = {"key": key, "context": jobs[key].context, **asdict(augmented), "fills": fills}
        lines.append(json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n")
    with FileLock(f"{path}.lock"), path.open("a", encoding="utf-8", newline="\n") as file:
        file.writelines(lines)
