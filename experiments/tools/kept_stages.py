"""Kept stages and caches: lists them, and removes those that are chosen (`+exp=kept_stages`)."""

from fnmatch import fnmatchcase

from core.settings import NonNegative, Text, checked_dataclass
from core.stages import KeptStage, list_stages
from experiments.contracts import Outcome, Run, Table

CAPTION = (
    "Each row is a stage, or a cache of a metric (augmented references, replies of a judge). `MB` are millions of "
    "bytes and `days` its age. `version` is that of the code that made it; a run uses no stage of another version. "
    "`made from` names other stages."
)


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
    tables = [Table("Kept stages", CAPTION, rows)] if rows else []
    return Outcome(signature=run.name, tables=tables, figures=figures)


def _remove(stage: KeptStage) -> str:
    """Removes a stage, but neither a link nor one that a run builds; returns what was done."""
    if stage.state == "link":
        return "kept"
    return "removed" if stage.remove() else "in use, kept"
