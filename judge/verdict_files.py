"""Reads tables for checking a judge: verdicts and labels, with or without texts, in one file or two."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeAlias

from data.input_file import InputFile
from data.label_columns import says
from data.rating_words import GivenLevels
from judge.inputs import Columns, GivenScores, Source, read
from judge.label_files import Labels, list_folders, read_labels
from judge.label_tables import Request, open_rows, read_table, require
from judge.people import choose_people, join_labels
from meta_eval.scored_set import ScoredSet

Names: TypeAlias = str | Sequence[str]


def read_verdicts(
    source: Source,
    *,
    columns: Columns | None = None,
    levels: GivenLevels | None = None,
    people: Names = (),
    judges: Names = (),
    labels: Labels | None = None,
    scores: GivenScores | None = None,
    needs: Collection[str] = ("people", "judges"),
) -> ScoredSet:
    """Reads examples with the ratings of people and the scores of judges.

    Args:
        source: as `judge.read` takes it; the rows of a file, a list or a DataFrame need no text.
        columns, levels: as in `judge.read`.
        people: columns, scorers or raters that are people, of `labels` too; by default a column or scorer `human`.
        judges: columns, scorers or raters that are judges; by default a column `judge`.
        labels: a file or several, rows or a DataFrame with the labels of people, joined by id.
        scores: by name, scores of the same texts as in `judge.read`.
        needs: what the source must hold (people, judges, text); labels that are given stand for those of people.

    Raises QuestionError if no column says that it holds what is needed, InputError for faults of the files.
    """
    of_people = list_names(people)
    given = None
    if labels is not None:
        given = read_labels(labels, levels, list_folders(source), of_people)
        of_people = [name for name in of_people if name not in given.people]
    lacking = [role for role in needs if role != "people" or given is None]
    request = Request(of_people, list_names(judges), lacking)
    table = None if scores else open_rows(source, columns, levels)
    if table is None or table.tool_file is not None:
        named = None if isinstance(source, InputFile) else columns  # an input knows them
        texts = read(source, scores, columns=named, levels=levels)
        verdicts = _choose_scorers(texts, request)
    else:
        verdicts = read_table(table, request)
    return verdicts if given is None else join_labels(verdicts, given)


def _choose_scorers(texts: ScoredSet, request: Request) -> ScoredSet:
    """The texts of a source that is no table of ours, with the asked people and judges, else a scorer `human`."""
    people = request.people
    if not (people or texts.aspects) and "people" in request.needs:
        people = [name for name in texts.scores if says(name) == "people"]
        note = f"{texts.name}: labels of people: {', '.join(people)} (people names other scorers)"
        texts = replace(texts, notes=(*texts.notes, note)) if people else texts
    texts = choose_people(texts, people, request.judges)
    if texts.scores:
        has_people = bool(texts.aspects) or "people" not in request.needs
        require(request, {"text": True, "people": has_people, "judges": has_people}, [*texts.scores])
    return texts


def have_texts(scored: ScoredSet) -> bool:
    """Whether some example has a text."""
    return any(not example.is_empty for example in scored.examples)


def list_names(names: Names) -> list[str]:
    """Lists names that are given in a list, or in one text with commas."""
    return names.split(",") if isinstance(names, str) else list(names)
