"""Notes of models: a sentence in a model's folder that stands with all its scores."""

from pathlib import Path

FILE = "note.txt"
TINY = "tiny model of synthetic text: shows how it works, is no judgement"  # of models that learned built-in text


def write_note(folder: Path, note: str) -> None:
    """Leaves a note in a model's folder."""
    (folder / FILE).write_text(f"{note}\n", encoding="utf-8")


def read_note(name: Path | str) -> tuple[str, ...]:
    """The note in a model's folder, for `Scores.notes`; empty for a folder without one and for a hub name."""
    path = Path(name) / FILE
    return (path.read_text(encoding="utf-8").strip(),) if path.is_file() else ()
