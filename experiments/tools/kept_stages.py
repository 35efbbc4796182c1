"""Kept stages and caches: lists them, and removes or copies those that are chosen (`+exp=kept_stages`)."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from core.faults import SettingFault
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


@dataclass(frozen=True)
class Action:
    """What is done with the chosen stages: they are listed; `remove` removes them, `copy_to` copies whole ones.

    Links are only listed.

    Raises SettingFault if both are asked for.
    """

    remove: bool = False
    copy_to: str | None = None

    def __post_init__(self) -> None:
        if self.remove and self.copy_to is not None:
            raise SettingFault("remove=true and copy_to=FOLDER cannot be combined: copy first, then remove")

    def take(self, stage: KeptStage) -> str:
        """Does it; returns what was done."""
        if stage.state == "link":
            return "kept" if self.remove or self.copy_to is not None else ""
        if self.remove:
            return "removed" if stage.remove() else "in use, kept"
        if self.copy_to is None:
            return ""
        if stage.state not in ("whole", "cache"):
            return "not copied"
        stage.copy(Path(self.copy_to))
        return "copied"


def kept_stages(run: Run, choice: Choice, action: Action) -> Outcome:
    """Lists the stages that are chosen, with their size, age and what they were made from."""
    chosen = [stage for stage in list_stages(run.stages.root) if choice.holds(stage)]
    rows = [
        {
            "stage": stage.path.name,
            "state": stage.state,
            "MB": round(stage.bytes / 1e6, 1),
            "days": round(stage.days, 1),
            "version": "" if stage.version is None else stage.version,
            "made from": ", ".join(stage.depends),
            "done": action.take(stage),
        }
        for stage in chosen
    ]
    figures = {"stages": len(chosen), "MB": sum(stage.bytes for stage in chosen) / 1e6}
    tables = [Table("Kept stages", CAPTION, rows)] if rows else []
    return Outcome(signature=run.name, tables=tables, figures=figures)
