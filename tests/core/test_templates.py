"""Templates hold names only: no formats, no attributes, no second pass."""

from pathlib import Path

import pytest

from core.faults import InputFaults
from core.templates import LONGEST, fill_template, names_in, read_template

VALUES = {"text": "a {low} b", "low": 1}


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{text}|{low}", "a {low} b|1"),
        ('{"score": {low}}', '{"score": 1}'),
        *((left, left) for left in ("{text", "text}", "{text:d}", "{text!r}", "{text:>3000000000}", "{}", "{0}", "{")),
        *((left, left) for left in ("{text.__class__}", "{text!r:{low.__class__.__mro__}}", "{text[0]}", "{secret}")),
        ("{{text}}", "{a {low} b}"),
    ],
)
def test_only_known_names_are_replaced(template: str, filled: str) -> None:
    assert fill_template(template, VALUES) == filled


def test_names_are_found_as_they_are_filled() -> None:
    assert names_in("{text:d} {low} {other} {{text}}", VALUES) == ["low", "text"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{text}\nna\xffme", r"x.txt:2: must be UTF-8, found byte 0xff"),
        (b"x" * (LONGEST + 1), r"x.txt: must have at most 1000000 bytes, found more"),
        (None, r"x.txt: no such file"),
    ],
)
def test_a_file_that_is_no_template_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "x.txt").write_bytes(content)
    with pytest.raises(InputFaults, match=message):
        read_template(tmp_path / "x.txt")
