"""Sampling and momentum by a trainer are those of plain calls, in parts, and go on where a killed run was."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdm.discriminative import find_steps
from cdm.infilling import Pair
from cdm.negatives import Negatives, NegativeSampler, sample_negatives
from cdm.parallel import find_steps_on_all, sample_negatives_on_all
from cdm.sampling import Sampling
from models.predict import split_into_parts
from tests.toy_models import QUIET

SAMPLING = Sampling(gamma=0.5, longest=6)
Dialogues = list[tuple[str, ...]]


@pytest.fixture
def sampler(pair: Pair, dialogues: Dialogues) -> NegativeSampler:
    return NegativeSampler(
        pair,
        dialogues[:7],
        "mixed-multi",
        SAMPLING,
        seed=3,
    )


def test_negatives_by_a_trainer_are_those_of_a_plain_call(
    sampler: NegativeSampler, dialogues: Dialogues, tmp_path: Path
) -> None:
    expected = sample_negatives(
        sampler.pair,
        dialogues[:7],
        "mixed-multi",
        SAMPLING,
        seed=3,
    )
    done: list[int] = []
    assert (
        sample_negatives_on_all(
            sampler,
            tmp_path,
            QUIET,
            done.append,
            size=3,
        )
        == expected
    )
    assert sum(done) == 7
    assert list(tmp_path.iterdir()) == []


def test_momentum_by_a_trainer_is_that_of_a_plain_call(pair: Pair, dialogues: Dialogues, tmp_path: Path) -> None:
    tokenised = pair.tokenise([*dialogues[:4], ("", "hi")])
    found = find_steps_on_all(
        pair,
        tokenised,
        tmp_path,
        QUIET,
        size=2,
    )
    for mine, expected in zip(found, find_steps(pair, tokenised), strict=True):
        np.testing.assert_allclose(mine.momentum, expected.momentum, atol=1e-5)
        np.testing.assert_array_equal(mine.turn, expected.turn)
        assert mine.dropped == expected.dropped


def test_a_killed_sampling_goes_on_with_the_next_part(
    sampler: NegativeSampler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    draw = NegativeSampler.draw

    def count(self: NegativeSampler, indices: Sequence[int], advance: Any) -> Negatives:
        if len(drawn) == 1:
            drawn.append(-1)
            raise RuntimeError("killed")
        drawn.extend(indices[:1])
        return draw(self, indices, advance)

    monkeypatch.setattr(NegativeSampler, "draw", count)
    with pytest.raises(RuntimeError, match="killed"):
        sample_negatives_on_all(
            sampler,
            tmp_path / "a",
            QUIET,
            size=3,
        )
    found = sample_negatives_on_all(
        sampler,
        tmp_path / "a",
        QUIET,
        size=3,
    )
    assert drawn == [0, -1, 2, 4]
    assert found == sample_negatives_on_all(
        sampler,
        tmp_path / "b",
        QUIET,
        size=3,
    )


def test_no_items_have_no_parts() -> None:
    assert split_into_parts(0) == []
