"""The rated sets of the built-in corpora, made once for all tests."""

from functools import cache

from core.example import Example
from data.sets.builtin import SOURCES


@cache
def rate(name: str, seed: int) -> tuple[Example, ...]:
    """400 rated texts; 408 remarks, 399 concept sentences, which come in threes."""
    make = SOURCES[name].rate
    assert make is not None
    return make({"builtin_concepts": 399, "builtin_remarks": 408}.get(name, 400), seed=seed)
