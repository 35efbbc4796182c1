"""A few studies of hard designs: intervals that hold the truth and tests that keep their level.

`python -m tests.meta_eval.coverage` has the whole table.
"""

import pytest

from tests.meta_eval.coverage import draw_designs, list_designs, simulate

DESIGNS = list_designs()
FIRST = {name.split()[0]: name for name in reversed(DESIGNS)}  # of each kind


@pytest.mark.parametrize("name", [name for kind, name in FIRST.items() if kind != "five"])
def test_a_few_studies(name: str) -> None:
    for statistic, tally in simulate(DESIGNS[name], 15).items():
        print(f"{statistic} {tally}")
        assert not tally.is_bad


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_many_studies(name: str) -> None:
    for statistic, tally in simulate(DESIGNS[name], 1000).items():
        print(f"{statistic} {tally}")
        assert not tally.is_bad


@pytest.mark.slow
def test_random_designs() -> None:
    for name, draw in draw_designs(200).items():
        for statistic, tally in simulate(draw, 200).items():
            print(f"{name}: {statistic} {tally}")
            assert not tally.is_bad
