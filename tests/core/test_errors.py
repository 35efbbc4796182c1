"""Faults in a message, templates that hold names only, and the extra that a missing module is answered by."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from core.errors import InputError, SettingError, fault
from core.extras import suggest_extra
from core.templates import LARGEST_TEMPLATE, fill_template, names_in, read_template


def test_equal_faults_of_a_file_are_one_line() -> None:
    many = [fault("in.jsonl", line, "text is empty") for line in range(1, 1001)]
    few = [fault("in.jsonl", line, 'must be a list, found ["a", 1: 2]') for line in (4, 2)]
    other = [fault("other.jsonl", 3, "text is empty"), "output must be a regular file"]
    assert str(InputError([*few, *many, *other])).splitlines() == [
        "in.jsonl:1: text is empty (the first of 1,000 lines with this fault: 1, 2, 3, 4, 5, …)",
        *reversed(few),
        *other,
    ]
    assert InputError(many).faults == tuple(many)


def test_a_message_of_different_faults_ends_after_a_hundred_lines() -> None:
    faults = [fault("in.jsonl", line, f'must be a number, found "{line}"') for line in range(1, 1001)]
    assert str(InputError(faults)).splitlines() == [*faults[:100], "… and 900 more such lines"]


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
        (b"x" * (LARGEST_TEMPLATE + 1), r"x.txt: must have at most 1000000 bytes, found more"),
        (None, r"x.txt: no such file"),
    ],
)
def test_a_file_that_is_no_template_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "x.txt").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_template(tmp_path / "x.txt")


@pytest.mark.parametrize(
    ("module", "needed", "named"),
    [
        ("jaxtyping", None, "models"),
        ("jaxtyping", "papers", "papers"),
        ("sklearn", "demo", "demo"),
        ("gradio", "papers", "demo"),
    ],
)
def test_the_largest_extra_is_named(monkeypatch: pytest.MonkeyPatch, module: str, needed: str, named: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    with (
        pytest.raises(SettingError, match=rf"^{module} is not installed: pip install '.*\[{named}\]'$"),
        suggest_extra(needed),
    ):
        import_module(module)
