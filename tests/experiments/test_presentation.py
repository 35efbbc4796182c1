from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from experiments.contracts import Run
from experiments.presentation import present
from report.wording import format_cell
from tests.meta_eval.sets import make_set
from tests.meta_eval.test_scored_set import make_long_and_good


@dataclass(frozen=True)
class ToyRun:
    """What `present` reads of a run."""

    name: str = "toy"
    seed: int = 3
    cues: bool = False


def test_cues_can_be_left_out() -> None:
    outcome = present(cast(Run, ToyRun()), [make_long_and_good()])
    assert {row["metric"] for row in outcome.tables[0].rows} == {"quality", "length", "noise"}
    assert all(row["beyond_cues"].reason for row in outcome.tables[0].rows)
    assert "cues" not in outcome.signature
    assert outcome.notes == []
    assert outcome.answer == "length agrees best with q of toys (over all texts, spearman 0.585 [0.49, 0.67])"


def test_notes_of_a_set_stand_beside_its_tables() -> None:
    scored = replace(make_long_and_good(), notes=("toys: systems are inferred",))
    assert present(cast(Run, ToyRun()), [scored, scored]).notes == ["toys: systems are inferred"]


def test_an_agreement_that_is_not_shown_is_not_the_best() -> None:
    noise = replace(make_long_and_good(), scores={"noise": make_long_and_good().scores["noise"]})
    assert present(cast(Run, ToyRun()), [noise]).answer.startswith(
        "No agreement with q of toys is shown (highest: noise, over all texts, spearman "
    )


def test_a_headline_without_an_interval_says_why() -> None:
    scored = make_long_and_good()
    few = scored.take(range(6))
    outcome = present(cast(Run, ToyRun()), [few])
    reason = outcome.tables[0].rows[0]["spearman"].reason
    assert reason
    assert outcome.answer.endswith(f", but without an interval: {reason}")


def test_a_headline_names_what_leads_the_table() -> None:
    scored = make_long_and_good()
    outcome = present(cast(Run, ToyRun(cues=True)), [scored])
    (table, *_) = outcome.tables
    assert table.rows[0]["metric"] == "cheap_cues"
    cues = format_cell(table.rows[0]["spearman"])
    best = "of these length agrees best (over all texts, spearman 0.585 [0.49, 0.67])"
    assert outcome.answer == f"Cheap cues alone predict q of toys better (spearman {cues}) than any metric; {best}"


def test_a_headline_says_what_the_system_alone_and_texts_of_one_system_show() -> None:
    """Two systems, one far better; the metric knows the system and nothing else."""
    rng = np.random.default_rng(0)
    systems = [0, 1] * 60
    ratings = [3 * system + rng.normal() for system in systems]
    scored = make_set(ratings, {"m": [system + rng.normal() for system in systems]}, systems)
    outcome = present(cast(Run, ToyRun()), [scored])
    (table, *_) = outcome.tables
    best, alone, within = outcome.answer.split("; ")
    assert best.startswith("m agrees best with q of toy (over all texts, spearman 0.")
    assert alone.startswith("which system wrote a text agrees better (spearman 0.8")
    assert within.startswith("within systems no agreement of m is shown (")
    assert [row["metric"] for row in table.rows] == ["system_alone", "m"]
