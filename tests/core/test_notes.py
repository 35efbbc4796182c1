"""Notes of models: a folder's own sentence, and nothing for other folders and hub names."""

from pathlib import Path

from core.notes import TINY, read_note, write_note


def test_a_note_is_read_where_it_was_written(tmp_path: Path) -> None:
    write_note(tmp_path, TINY)
    assert read_note(tmp_path) == (TINY,)
    assert read_note(tmp_path.parent) == read_note("openai-community/gpt2") == ()
