"""A user's own texts with labels, or own dialogues."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from core.errors import InputError, fault, format_value, read_all
from core.example import Example
from data.corpus import HELD_OUT_FRACTION, Corpus, content_of, fold_text, refuse_shared, split_share
from data.files import iterate_examples
from data.records import require_none
from data.sets.dialogues import read_utt_lines
from meta_eval.scored_set import ScoredSet


def own_corpus(
    path: Path | str,
    requires: Sequence[str],
    rated_path: Path | str | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> Corpus:
    """Reads texts with labels, or dialogues, and optionally rated ones. Copies of a text stay on the same side.

    Args:
        path, rated_path: .jsonl, .csv or .tsv files, or of dialogues .txt files (see `read_utt_lines`).
        requires: the fields of every text: `text` and `label`, or `turns`.
        columns: by field, the column of `path` that gives it.

    Raises InputError with all faults of the files, such as fewer than two labels (or different dialogues), and
    SettingError if a rated text is also a training text.
    """
    readers = [
        partial(
            _read,
            Path(path),
            requires,
            columns,
        )
    ]
    if rated_path is not None:
        readers.append(partial(_read, Path(rated_path), [*requires, "ratings"]))
    texts, *rated = read_all(readers)
    has_labels = "label" in requires
    different = sorted({example.label if has_labels else fold_text(example.full_text) for example in texts})
    if len(different) < 2:
        what = "labels" if has_labels else "dialogues"
        rule = f"at least two different {what} are needed, found only {format_value(different[0])}"
        raise InputError([fault(path, 0, rule)])
    sets = tuple(ScoredSet(Path(rated_path or "").stem, examples) for examples in rated)
    named = [(example.id, fold_text(example.full_text)) for rated_set in sets for example in rated_set.examples]
    known = [fold_text(example.full_text) for example in texts]
    refuse_shared("a rated text must not be a training one too, but {} are", named, known)
    train, held_out = split_share(
        texts,
        content_of,
        held_out_fraction,
        seed,
    )
    return Corpus(
        Path(path).stem,
        train,
        held_out,
        sets,
        synthetic=False,
    )


def own_dialogues(train_path: Path | str, **settings: Any) -> Corpus:
    """Reads dialogues to train on, as `own_corpus` does with the same settings."""
    return own_corpus(train_path, requires=["turns"], **settings)


def _read(
    path: Path, requires: Sequence[str], columns: Mapping[str, str | Sequence[str]] | None = None
) -> tuple[Example, ...]:
    """The texts of a file; a label is one line, without the spaces around it."""
    if path.suffix == ".txt" and "turns" in requires:
        aspect = "rating" if "ratings" in requires else None
        return tuple(example for _, example in read_utt_lines(path, aspect))
    faults: list[str] = []
    examples: list[Example] = []
    for line, example in iterate_examples(path, requires, columns=columns):
        label = (example.label or "").strip()
        if len(label.splitlines()) > 1:
            faults.append(fault(path, line, f'"label" must be one line, found {format_value(label)}'))
        examples.append(replace(example, label=label or None))
    return require_none(examples, faults)
