"""Draws texts for people to label, and writes a blind sheet: a table, and a page that works by keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.errors import SettingError
from core.settings import Count, Seed, check
from data.rating_words import GivenLevels
from judge.inputs import Columns, Source
from judge.label_sheets import DESIGN, check_choices, make_rows, write_design, write_page, write_sheet
from judge.tables import Result, Table
from judge.verdict_files import Names, have_texts, read_verdicts
from judge.wording import join_names
from meta_eval.bootstrap import FEWEST_UNITS
from meta_eval.designs import draw_texts
from meta_eval.scored_set import ScoredSet

MOST_STRATA = 10  # different verdicts; more are parted at their quantiles
PARTS = 4
QUESTION = "Which label fits?"
NO_VERDICT = "no verdict"
CAPTION = "texts: in the file; drawn: on the sheet; probability: with which each of them was drawn."


@dataclass(frozen=True)
class LabelSheet(Result):
    """The written sheet and its sample."""

    signature: str
    # how many texts were drawn, by verdict where the draw is stratified
    strata: Table
    # the sheet as a table and as a page, and its design
    files: Sequence[Path]
    # how the file was read, and what to do next
    notes: tuple[str, ...]

    @property
    def tables(self) -> list[Table]:
        """A table of the sample."""
        return [self.strata]


def label(
    source: Source,
    *,
    n: int = 100,
    stratify: str | None = None,
    output: Path | str = "sheet",
    question: str = QUESTION,
    choices: Names = ("no", "yes"),
    columns: Columns | None = None,
    judges: Names = (),
    levels: GivenLevels | None = None,
    seed: int = 0,
) -> LabelSheet:
    """Draws texts for people to label and writes a blind sheet, which `judge.agree(source, labels=...)` reads back.

    The sheet is a table and one page without network, in random order, without verdicts, systems and ids. The design
    beside it keeps ids and the probabilities with which texts were drawn, so that figures of all texts stay unbiased.

    Args:
        source: texts with verdicts, as `judge.agree` takes them.
        n: how many texts to draw.
        stratify: a judge, of whose verdicts each gives equally many texts; by default every text has the same chance.
        output: the name of the files without their ends: NAME.csv, NAME.html and NAME.design.csv.
        question: what people are asked about each text.
        choices: the labels, from the worst to the best.
        columns: by field its column of the source.
        judges: the columns that hold verdicts of judges.
        levels: the scale of verdicts in words, from the worst to the best.
        seed: of the draw.

    Raises SettingError for wrong settings and for files that exist, InputError for faults of the source.
    """
    check(Count, n=n)
    check(Seed, seed=seed)
    listed = check_choices(choices)
    paths = list_files(Path(output))
    texts, _ = read_verdicts(
        source,
        columns=columns,
        levels=levels,
        judges=judges,
        needs=["judges"],  # as judge agree reads the file, so that ids are the same
        command="judge label",
    )
    strata = None if stratify is None else name_strata(texts, stratify)
    drawn = draw_texts(n, len(texts), strata, seed)
    examples = [texts.examples[i] for i in drawn.places]
    rows = make_rows(examples, seed)
    write_design(rows, examples, drawn.probabilities.tolist(), paths[2])
    write_sheet(rows, paths[0])
    write_page(rows, paths[1], question=question, choices=listed)
    counted = count_strata(strata, drawn.places.tolist(), len(texts))
    table = Table("Drawn texts", CAPTION, counted)
    line = f"label|{texts.name}|n={len(rows)}|stratify={stratify}|seed={seed}"
    notes = (
        *texts.notes,
        *note_sheet(texts, len(rows), n),
        describe_next(paths, str(source) if isinstance(source, str | Path) else texts.name),
    )
    return LabelSheet(line, table, paths, notes)


def list_files(output: Path) -> list[Path]:
    """Lists the paths of the table, the page and the design of a sheet. Raises SettingError if one exists.

    `output` is their name without an ending; that of the table or of the page does not count.
    """
    name = output.stem if output.suffix in (".csv", ".html") else output.name
    paths = [output.with_name(f"{name}{end}") for end in (".csv", ".html", DESIGN)]
    there = [str(path) for path in paths if path.exists()]
    if there:
        raise SettingError(f"output must be a new name, because labels may be lost, but {join_names(there)} exists")
    return paths


def name_strata(texts: ScoredSet, judge: str) -> list[str]:
    """Names the stratum of each text: the verdict of a judge, or a range of verdicts if many are different."""
    if judge not in texts.scores:
        known = join_names([*texts.scores]) if texts.scores else "none"
        raise SettingError(f"stratify must be a judge of {texts.name}, but {judge} is none of {known}")
    values = texts.values(judge, "")
    known = values[~np.isnan(values)]
    if len(np.unique(known)) > MOST_STRATA:
        ends = np.quantile(known, np.arange(1, PARTS) / PARTS)
        parts = np.searchsorted(ends, values, side="right")
        names = [f"part {part + 1} of {PARTS}" for part in parts.tolist()]
    else:
        names = [f"{judge} {value:g}" for value in values.tolist()]
    missing = np.isnan(values).tolist()
    return [NO_VERDICT if lacks else name for name, lacks in zip(names, missing, strict=True)]


def count_strata(
    strata: Sequence[str] | None,
    places: Sequence[int],
    total: int,
) -> list[dict[str, str | int | float]]:
    """Makes a row for each stratum: its number of texts, the number drawn, and the probability of being drawn."""
    names = ["all"] * total if strata is None else [*strata]
    drawn = [names[i] for i in places]
    rows: list[dict[str, str | int | float]] = []
    for name in dict.fromkeys(names):
        size, count = names.count(name), drawn.count(name)
        rows.append({"verdict": name, "texts": size, "drawn": count, "probability": count / size})
    return rows


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
    if drawn < FEWEST_UNITS:
        notes.append(f"intervals need at least {FEWEST_UNITS} labels")
    return notes


def describe_next(paths: Sequence[Path], name: str) -> str:
    """Writes instructions for using the sheet."""
    sheet, page, design = paths
    return (
        f"open {page} in a browser, or fill the column label of {sheet}; keep {design.name} beside the labels; then "
        f"judge agree {name} --labels LABELS"
    )
