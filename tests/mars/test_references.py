"""Augmented references in a cache: read instead of made; refused jobs are reported and not kept."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.faults import ExampleFaults
from mars.masking import Blank, Kept
from mars.references import Augmented, Fill, Job, load_or_augment


class Counting:
    """Fills blanks with the context and remembers how often it was asked."""

    def __init__(self, model: str = "a") -> None:
        self.model = model
        self.asked: list[Job] = []

    @property
    def depends(self) -> dict[str, Any]:
        return {"model": self.model, "use_context": True}

    def augment(self, jobs: Sequence[Job]) -> list[Augmented]:
        if long := [(i, "too long") for i, job in enumerate(jobs) if job.context == "long"]:
            raise ExampleFaults(long)
        self.asked += jobs
        return [
            Augmented(f"{job.context}\u2028 fill", (Fill(" fill", (3,), (1.5, float("inf"))),), 0.25, 1, 2)
            for job in jobs
        ]


def job(context: str, words: int = 1) -> Job:
    return Job(context, (Blank(words), Kept(" end")))


def test_equal_jobs_are_done_once_and_found_again(tmp_path: Path) -> None:
    jobs = [job("x"), job("y"), job("x"), job("x", words=2)]
    first = Counting()
    made = load_or_augment(first, jobs, tmp_path)
    assert first.asked == [jobs[0], jobs[1], jobs[3]]
    again = Counting()
    assert load_or_augment(again, [*reversed(jobs)], tmp_path) == [*reversed(made)]
    assert again.asked == []


def test_what_the_model_cannot_read_is_reported_and_the_rest_is_done(tmp_path: Path) -> None:
    made = load_or_augment(Counting(), [job("x"), job("long"), job("y")], tmp_path)
    assert made[1] == "too long"
    assert [isinstance(one, Augmented) for one in made] == [True, False, True]
    again = Counting()
    assert load_or_augment(again, [job("long"), job("y")], tmp_path) == made[1:]
    assert again.asked == []
