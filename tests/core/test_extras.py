"""Extras: a missing module is answered by the extra that brings it and all else that the command needs."""

import sys
from importlib import import_module

import pytest

from core.extras import named_extras
from core.faults import SettingFault


@pytest.mark.parametrize(
    ("module", "needed", "named"),
    [
        ("jaxtyping", None, "models"),
        ("jaxtyping", "papers", "papers"),
        ("sklearn", "demo", "demo"),
        ("gradio", "papers", "demo"),
        ("pyarrow", "papers", "parquet"),
    ],
)
def test_the_largest_extra_is_named(monkeypatch: pytest.MonkeyPatch, module: str, needed: str, named: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    with (
        pytest.raises(SettingFault, match=rf"^{module} is not installed: pip install '.*\[{named}\]'$"),
        named_extras(needed),
    ):
        import_module(module)
