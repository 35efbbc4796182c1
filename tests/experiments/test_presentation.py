from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import pytest

from experiments.contracts import Run
from experiments.presentation import present
from tests.meta_eval.test_scored_set import make_long_and_good


@dataclass(frozen=True)
class ToyRun:
    """What `present` reads of a run."""

    name: str = "toy"
    seed: int = 3
    cues: bool = False


@pytest.mark.filterwarnings("default")  # the toy experiment warns
def test_cues_can_be_left_out(run_here: Callable[..., int]) -> None:
    outcome = present(cast(Run, ToyRun()), [make_long_and_good()])
    assert {row["metric"] for row in outcome.tables[0].rows} == {"quality", "length", "noise"}
    assert all(row["beyond_cues"].reason for row in outcome.tables[0].rows)
    assert "cues" not in outcome.signature
    assert outcome.notes == []
    assert outcome.tables[0].finding == "length agrees best with q of toys (spearman 0.585 [0.49, 0.66])"
    assert run_here("+exp=toy", "cues=none") == 0


def test_an_agreement_that_is_not_shown_is_not_the_best() -> None:
    noise = replace(make_long_and_good(), scores={"noise": make_long_and_good().scores["noise"]})
    (table, *_) = present(cast(Run, ToyRun()), [noise]).tables
    assert table.finding.startswith("no agreement with q of toys is shown (highest: noise, spearman ")
