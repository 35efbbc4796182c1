"""`judge label`."""

from pathlib import Path
from typing import TYPE_CHECKING

from core.settings import Count, Seed
from judge.options import Columns, File, GivenLevels, Names, Source, list_names, verb

if TYPE_CHECKING:
    from report.study import Study


@verb
def label(
    source: Source,
    *,
    n: Count = 100,
    output: File = "sheet",
    columns: Columns | None = None,
    judges: Names = (),
    levels: GivenLevels | None = None,
    seed: Seed = 0,
) -> "Study":
    """Draws texts at random for people to label, on a blind sheet that `judge agree --labels` reads back.

    The sheet is a table in random order, without verdicts, systems and ids; the design beside it keeps the ids.

    Args:
        source: texts with verdicts, as `judge.agree` takes them.
        n: how many texts to draw.
        output: the name of the files without their ends: NAME.csv and NAME.design.csv.
        columns: by field its column of the source.
        judges: the columns that hold verdicts of judges.
        levels: the scale of verdicts in words, from the worst to the best.
        seed: of the draw.

    Raises SettingError for wrong settings and for files that exist, InputError for faults of the source.
    """
    from data.columns import freeze_columns
    from data.rating_words import freeze_levels
    from judge.label_sheets import draw_sheet
    from judge.verdict_files import have_texts, read_verdicts

    # as judge agree reads the file, so that ids are the same
    texts = read_verdicts(source, columns=columns, levels=levels, judges=judges, needs=["judges"])
    given = {"path": [str(source)]} if isinstance(source, str | Path) else {}
    given |= {f"columns.{name}": list(keys) for name, keys in freeze_columns(columns or {})}
    given |= {f"levels.{name}".rstrip("."): [*map(str, scale)] for name, scale in freeze_levels(levels)}
    given |= {"judges": list_names(judges)} if judges else {}
    return draw_sheet(
        texts,
        Path(output),
        n=n,
        seed=seed,
        given=given,
        has_texts=have_texts(texts),
    )
