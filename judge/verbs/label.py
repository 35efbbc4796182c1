"""Draws texts at random for people to label, and writes a blind sheet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from core.errors import SettingError
from core.settings import Count, Seed, check
from data.rating_words import GivenLevels
from judge.inputs import Columns, Source
from judge.label_sheets import DESIGN, make_rows, write_design, write_sheet
from judge.verdict_files import Names, have_texts, read_verdicts
from meta_eval.estimates import FEWEST
from meta_eval.scored_set import ScoredSet
from report.study import Study
from report.tables import Table
from report.wording import join_names

CAPTION = "texts: in the file; drawn: on the sheet."


def label(
    source: Source,
    *,
    n: int = 100,
    output: Path | str = "sheet",
    columns: Columns | None = None,
    judges: Names = (),
    levels: GivenLevels | None = None,
    seed: int = 0,
) -> Study:
    """The work of `judge.label`, which says what it takes and raises."""
    check(Count, n=n)
    check(Seed, seed=seed)
    paths = list_files(Path(output))
    texts = read_verdicts(
        source,
        columns=columns,
        levels=levels,
        judges=judges,
        needs=["judges"],  # as judge agree reads the file, so that ids are the same
    )
    places = np.random.default_rng(seed).permutation(len(texts))[:n]
    examples = [texts.examples[place] for place in places]
    rows = make_rows(examples, seed)
    write_design(rows, examples, paths[1])
    write_sheet(rows, paths[0])
    table = Table("Drawn texts", CAPTION, [{"texts": len(texts), "drawn": len(rows)}])
    line = f"label|{texts.name}|n={len(rows)}|seed={seed}"
    return Study(
        answer=describe_next(paths, str(source) if isinstance(source, str | Path) else texts.name),
        tables=[table],
        notes=[*texts.notes, *note_sheet(texts, len(rows), n)],
        signature=line,
        files=paths,
    )


def list_files(output: Path) -> list[Path]:
    """Lists the paths of a sheet and its design. Raises SettingError if one exists.

    `output` is their name without an ending; that of the sheet does not count.
    """
    name = output.stem if output.suffix == ".csv" else output.name
    paths = [output.with_name(f"{name}{end}") for end in (".csv", DESIGN)]
    there = [str(path) for path in paths if path.exists()]
    if there:
        raise SettingError(f"output must be a new name, because labels may be lost, but {join_names(there)} exists")
    return paths


def note_sheet(
    texts: ScoredSet,
    drawn: int,
    wanted: int,
) -> list[str]:
    """Notes the limits of the sheet."""
    notes: list[str] = []
    if not have_texts(texts):
        notes.append(f"{texts.name} has no texts: the sheet shows ids, and people must look the texts up")
    if drawn < wanted:
        notes.append(f"{texts.name} has only {drawn} texts, and all of them are on the sheet")
    if drawn < FEWEST:
        notes.append(f"intervals need at least {FEWEST} labels")
    return notes


def describe_next(paths: Sequence[Path], name: str) -> str:
    """Writes instructions for using the sheet."""
    sheet, design = paths
    return f"fill the column label of {sheet}, keep {design.name} beside it, then judge agree {name} --labels {sheet}"
