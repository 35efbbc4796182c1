"""A function that a configuration names is checked where it is imported."""

import pytest

from core.errors import SettingError
from judge.metrics import FunctionMetric
from judge.yaml_objects import importable


def test_a_function_is_checked_where_it_is_imported() -> None:
    token = importable.set(frozenset({"judge"}))
    try:
        with pytest.raises(SettingError, match=r"pydoc\.pipepager is refused"):
            FunctionMetric.from_name("pydoc.pipepager", {"cmd": "true"})
        with pytest.raises(SettingError, match="must be MODULE"):
            FunctionMetric.from_name("judge.nothing.f")
    finally:
        importable.reset(token)
