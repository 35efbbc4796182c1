"""Settings: values that are refused, with what they must be and what was found; the signature line."""

import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import InputError, SettingError
from core.settings import (
    AscendingRatios,
    Count,
    Fraction,
    Number,
    Positive,
    Seed,
    Several,
    Share,
    Size,
    Text,
    check,
    checked_dataclass,
    one_of,
    read_settings,
)
from core.signature import signature


@pytest.mark.parametrize(
    ("kind", "good", "wrong"),
    [
        (Count, [1, 10**9], [0, -8, 1.0, True, "1", None, [1]]),
        (Size, [0], [-1, 2.5]),
        (Seed, [0, 2**32 - 1], [-1, 2**32, 0.0, True]),
        (Number, [-1.5, 0], [float("nan"), float("inf"), "0", False]),
        (Positive, [1e-9, 2], [0, -1.0, float("inf"), float("nan")]),
        (Share, [0, 0.99], [1, -0.1, float("nan")]),
        (Fraction, [0.01, 0.99], [0, 1, float("nan")]),
        (Text, ["a"], ["", " \n", 0]),
        (one_of(["bert", "bilstm"]), ["bert"], ["lstm", 0]),
        (Several[Seed], [[3, 0], (1,)], [[], [0, 0], [-1], ["0"], [None], [[0]], [True], [0.0], None, 3, "0", {0: 1}]),
        (Several[Text], [["a", "b"]], ["ab", ["a", "a"], [" "]]),
        (Several[Share], [[0, 0.2]], [[0, 0], [0, 1], [0, float("nan")]]),
        (AscendingRatios, [[0], [0, 0.2, 0.9]], [[0.2], [0, 0.4, 0.2], [0, 1], [], 0.2]),
    ],
    ids=range(13),
)
def test_types_of_settings(kind: Any, good: list[Any], wrong: list[Any]) -> None:
    for value in good:
        check(kind, setting=value)
    for value in wrong:
        with pytest.raises(SettingError, match=r"^setting(\[\d\])? must (be|not be|ascend) .*, but is "):
            check(kind, setting=value)


@checked_dataclass
class Sampling:
    least: Count
    most: Count = 8
    seeds: Several[Seed] = (0,)
    other: object = None

    def __post_init__(self) -> None:
        if self.most < self.least:
            raise ValueError(f"most must be at least least, but is {self.most}")


def test_a_checked_dataclass_is_a_dataclass() -> None:
    made = Sampling(2, seeds=[3, 1], other={})
    assert (made.least, made.most, made.seeds) == (2, 8, (3, 1))
    assert replace(made, least=5) == Sampling(5, 8, (3, 1), {})
    with pytest.raises(SettingError, match=r"^most must be at least least, but is 8$"):
        replace(Sampling(1), least=9)


def test_saved_settings_are_an_object_of_checked_values(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    for content, fault in (("[1]", "must contain an object, but contains [1]"), ('{"least": "x"}', "least must be")):
        path.write_text(content)
        with pytest.raises(InputError, match=re.escape(f"{path}: {fault}")):
            read_settings(path, Sampling)
    path.write_text('{"least": 1}')
    assert read_settings(path, Sampling) == {"least": 1}


V = f"v={version('judging-generated-text')}"


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({}, f"m|{V}"),
        ({"gamma": 0.5, "beams": 4}, f"m|beams=4|gamma=0.5|{V}"),
        ({"gamma": np.float64(0.1)}, f"m|gamma=0.1|{V}"),
        ({"cached": True, "limit": None}, f"m|cached=true|limit=none|{V}"),
        ({"tune": "浣溪沙"}, f"m|tune=浣溪沙|{V}"),
        ({"libraries": ("torch",), "a": 1}, f"m|a=1|torch={version('torch')}|{V}"),
    ],
)
def test_literal_lines(settings, line):
    assert signature("m", **settings) == line


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("m", {"model": "a|b"}, r"must not contain \| or line breaks, but model is 'a\|b'"),
        ("m", {"model": "a\nb"}, r"line breaks, but model is 'a\\nb'"),
        ("m|k", {}, r"but name is 'm\|k'"),
        ("m", {"v": 1}, "must not be called v, but 'm' has one"),
        ("m", {"sizes": [1, 2]}, r"must be a text, a number.* but sizes is \[1, 2\]"),
    ],
)
def test_faults_of_a_signature(name, settings, message):
    with pytest.raises(ValueError, match=message):
        signature(name, **settings)
