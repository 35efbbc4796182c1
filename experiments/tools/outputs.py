"""Outputs: finished runs side by side with links to their pages (`+exp=runs`), and kept stages (`+exp=kept_stages`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from core.faults import InputFaults, fault
from core.settings import NonNegative, Text, checked_dataclass
from core.stages import KeptStage, list_stages
from experiments.contracts import Outcome, Run, Table
from experiments.report.joint import joint_rows, varied_settings

ASIDE = ("description", "experiment", "joint", "logger", "name", "outputs", "recipe_of", "run_dir", "stages_dir")
STAGES_CAPTION = (
    "Each row is a stage, or a cache of a metric (augmented references, replies of a judge). `MB` are millions of "
    "bytes and `days` its age. `version` is that of the code that made it; a run uses no stage of another version. "
    "`made from` names other stages."
)


def runs(run: Run, folder: str) -> Outcome:
    """The table of the runs under a folder: their pages, the settings that differ, and their figures.

    Runs of one experiment are compared: their agreement with ratings stands in one table, a column for each metric.

    Raises InputFaults for a folder without finished runs.
    """
    found = [read_run(path) for path in sorted(Path(folder).rglob("results.json"))]
    if not found:
        raise InputFaults([fault(folder, 0, "must hold finished runs (results.json), found none")])
    varied = list_varied(found)
    figures = dict.fromkeys(name for each in found for name in each["figures"])
    rows = [
        {
            "run": os.path.relpath(each["page"], run.folder),
            "experiment": each["experiment"],
            "started": each["started"][:16].replace("T", " "),
            **{key: each["settings"].get(key, "") for key in varied},
            **{name: "" if each["figures"].get(name) is None else each["figures"][name] for name in figures},
            "seconds": each["seconds"],
        }
        for each in found
    ]
    caption = "Each row is a run: its page, when it started, the settings that differ between these runs, its figures."
    tables = [Table("Runs", caption, rows, pages="run"), *agreement_tables(found)]
    return Outcome(signature=f"runs|folder={folder}|runs={len(found)}", tables=tables)


def read_run(path: Path) -> dict[str, Any]:
    """The results of a run with its page and its flat settings."""
    results = json.loads(path.read_text("utf-8"))
    config = path.with_name("config.yaml")
    settings = yaml.safe_load(config.read_text("utf-8")) if config.is_file() else {}
    kept = {key: value for key, value in settings.items() if key not in ASIDE}
    return {**results, "page": path.with_name("report.html"), "settings": dict(flatten(kept))}


def flatten(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Every setting as a text by its dotted name.

    >>> dict(flatten({"a": {"b": 1}, "c": [1, 2]}))
    {'a.b': '1', 'c': '[1, 2]'}
    """
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", str(value)


def list_varied(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """The settings that all of these runs have, and that differ."""
    return [key for key in varied_settings(found) if all(key in each["settings"] for each in found)]


def agreement_tables(found: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """A table for each experiment with several runs and ratings: Spearman's rho by run, set and aspect."""
    for name in dict.fromkeys(each["experiment"] for each in found):
        own = [each for each in found if each["experiment"] == name]
        varied = list_varied(own)
        named = [{**each, "settings": {**each["settings"], "run": each["page"].parent.name}} for each in own]
        rows = joint_rows(named, ["run", *varied], None)
        if len(own) > 1 and rows:
            columns = dict.fromkeys(key for row in rows for key in row)
            caption = "Spearman's rho of each metric with the ratings, with its 95 % interval; higher is better."
            filled = [{key: row.get(key, "") for key in columns} for row in rows]
            yield Table(f"Agreement with ratings: {name}", caption, filled)


@checked_dataclass
class Choice:
    """Which stages are chosen: those that meet all conditions.

    Attributes:
        stage: a pattern for the name, such as `amateur*`.
        older_than: days.
        larger_than: millions of bytes.
    """

    stage: Text = "*"
    older_than: NonNegative = 0.0
    larger_than: NonNegative = 0.0

    def holds(self, stage: KeptStage) -> bool:
        """Whether the stage is chosen."""
        is_named = fnmatchcase(stage.path.name, self.stage) or fnmatchcase(stage.name, self.stage)
        return is_named and stage.days >= self.older_than and stage.bytes >= self.larger_than * 1e6


def kept_stages(run: Run, choice: Choice, remove: bool = False) -> Outcome:
    """Lists the stages that are chosen, with their size, age and what they were made from; `remove` removes them."""
    chosen = [stage for stage in list_stages(run.stages.root) if choice.holds(stage)]
    rows = [
        {
            "stage": stage.path.name,
            "state": stage.state,
            "MB": round(stage.bytes / 1e6, 1),
            "days": round(stage.days, 1),
            "version": "" if stage.version is None else stage.version,
            "made from": ", ".join(stage.depends),
            "done": _remove(stage) if remove else "",
        }
        for stage in chosen
    ]
    figures = {"stages": len(chosen), "MB": sum(stage.bytes for stage in chosen) / 1e6}
    tables = [Table("Kept stages", STAGES_CAPTION, rows)] if rows else []
    return Outcome(signature=run.name, tables=tables, figures=figures)


def _remove(stage: KeptStage) -> str:
    """Removes a stage, but neither a link nor one that a run builds; returns what was done."""
    if stage.state == "link":
        return "kept"
    return "removed" if stage.remove() else "in use, kept"
