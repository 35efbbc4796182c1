"""The signature line: its form, its order, what it rejects."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest

from core.signature import MODEL_LIBRARIES, signature

V = f"v={version('judging-generated-text')}"


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({}, f"m|{V}"),
        ({"gamma": 0.5, "beams": 4}, f"m|beams=4|gamma=0.5|{V}"),
        ({"gamma": np.float64(0.1)}, f"m|gamma=0.1|{V}"),
        ({"gamma": 1e-07}, f"m|gamma=1e-07|{V}"),
        ({"cached": True, "limit": None}, f"m|cached=true|limit=none|{V}"),
        ({"model": "t5-base@rev=1"}, f"m|model=t5-base@rev=1|{V}"),
        ({"tune": "浣溪沙"}, f"m|tune=浣溪沙|{V}"),
    ],
)
def test_literal_lines(settings, line):
    assert signature("m", **settings) == line


def test_the_order_of_settings_does_not_matter():
    assert signature("m", a=1, b=2) == signature("m", b=2, a=1)


def test_every_setting_matters():
    lines = {signature("m"), signature("k"), signature("m", a=1), signature("m", a=2), signature("m", b=1)}
    lines |= {signature("m", a=True), signature("m", a=1.0)}
    assert len(lines) == 7


def test_libraries_come_with_their_versions():
    expected = f"m|a=1|torch={version('torch')}|transformers={version('transformers')}|{V}"
    assert signature("m", a=1, libraries=MODEL_LIBRARIES) == expected


def test_missing_library():
    with pytest.raises(PackageNotFoundError):
        signature("m", libraries=("no-such-library",))


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("m", {"model": "a|b"}, r"must not contain \| or line breaks, but model is 'a\|b'"),
        ("m", {"model": "a\nb"}, r"line breaks, but model is 'a\\nb'"),
        ("m", {"model": "a\n"}, r"line breaks, but model is 'a\\n'"),
        ("m|k", {}, r"but name is 'm\|k'"),
        ("m", {"v": 1}, "must not be called v, but 'm' has one"),
        ("m", {"torch": "2", "libraries": ("torch",)}, "must not be called torch"),
        ("m", {"sizes": [1, 2]}, r"must be a text, a number.* but sizes is \[1, 2\]"),
    ],
)
def test_faults(name, settings, message):
    with pytest.raises(ValueError, match=message):
        signature(name, **settings)


def test_nothing_heavy_is_imported():
    code = (
        "import sys, core.signature as s; s.signature('m', libraries=s.MODEL_LIBRARIES); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
