"""The signature line: its form, its order, what it rejects."""

from importlib.metadata import version

import numpy as np
import pytest

from core.signature import signature

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
def test_faults(name, settings, message):
    with pytest.raises(ValueError, match=message):
        signature(name, **settings)
