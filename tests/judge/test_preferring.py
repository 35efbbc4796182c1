"""Studies of preferences: ranking, metrics and a judge with a known effect of position."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

import judge
from core.example import Example
from core.faults import InputFaults, SettingFault
from judge.preferring import PreferenceStudy
from meta_eval.preferences import Verdicts


class Reader:
    """Prefers the longer text, but picks the first one without reading in this share of questions."""

    def __init__(self, share: float = 0.0) -> None:
        self.share, self.rng, self.pairs = share, random.Random(0), 0

    def compare(self, pairs: Sequence[tuple[Example, Example]]) -> Verdicts:
        self.pairs += len(pairs)
        first = [[self._choose(a, b), self._choose(b, a)] for a, b in pairs]
        return Verdicts(np.array(first), [None] * len(pairs), "reader")

    def _choose(self, first: Example, second: Example) -> float:
        if len(first.text) == len(second.text):
            return 0.5
        return float(self.rng.random() < self.share or len(first.text) > len(second.text))


def outputs(inputs: int = 40) -> list[Example]:
    """Systems x, y and z with texts of three words, two words and one."""
    return [
        Example(f"{s}{i}", text=" ".join(["word"] * (3 - k)), system=s, group=f"q{i}")
        for i in range(inputs)
        for k, s in enumerate("xyz")
    ]


def judged(inputs: int = 40, winners: Sequence[str] = ("x", "x", "tie")) -> list[dict[str, str]]:
    return [
        {"id": f"q{i}", "system_a": "x", "system_b": "y", "winner": winners[i % len(winners)]} for i in range(inputs)
    ]


def ask(share: float) -> PreferenceStudy:
    return judge.prefer(outputs=outputs(), judge=Reader(share), resamples=500)


def test_a_judge_ranks_all_pairs_of_systems() -> None:
    found = ask(0)
    assert [(each.system, each.cluster, each.wins) for each in found.ranking.systems] == [
        ("x", "1", 80),
        ("y", "2", 40),
        ("z", "3", 0),
    ]
    assert found.notes == ("x is preferred to y and z; y is preferred to z",)
    assert found.position is not None
    assert found.position.value == 0


def test_an_effect_of_position_makes_ties() -> None:
    found = ask(0.5)
    assert found.position is not None
    assert found.position.low < 0.25 < found.position.high
    ties = sum(pair.ties for pair in found.ranking.pairs)
    assert found.position.value == pytest.approx(ties / 120 / 2)
    assert any("reads first" in note for note in found.notes)


def test_metrics_and_a_judge_beside_people() -> None:
    found = judge.prefer(judged(), outputs=outputs(), metrics="word_count", judge=Reader(), resamples=100)
    assert found.agreement is not None
    for name in ("word_count", "judge"):
        whole = found.agreement[name, "all", "all"]
        assert (whole.n, whole.missing) == (40, 0)
        assert whole.accuracy.value == pytest.approx(27 / 40)
        assert whole.untied.value == 1
    assert [table.title for table in found.tables][-2:] == ["Agreement with preferences", "The judge"]


def test_a_judge_reads_only_pairs_whose_outputs_are_there() -> None:
    reader = Reader()
    found = judge.prefer(judged(), outputs=outputs(30), judge=reader, resamples=100)
    assert reader.pairs == 30
    assert found.agreement is not None
    assert (found.agreement["judge", "all", "all"].n, found.agreement["judge", "all", "all"].missing) == (30, 10)
    assert "10 of 40 judgements have no output" in found.notes[-1]


def test_what_is_missing_is_named() -> None:
    rows = judged(2)
    with pytest.raises(SettingFault, match="outputs must hold"):
        judge.prefer(rows, judge=Reader())
    with pytest.raises(SettingFault, match="preferences, or a judge"):
        judge.prefer(outputs=outputs(2))
    with pytest.raises(SettingFault, match="must compare pairs"):
        judge.prefer(outputs=outputs(2), judge="word_count")
    with pytest.raises(InputFaults, match="preferences: the judged systems and inputs must be in"):
        judge.prefer([{**rows[0], "id": "elsewhere"}], outputs=outputs(2), metrics="word_count")
    with pytest.raises(InputFaults, match=r'preferences:2: "winner" must be'):
        judge.prefer([rows[0], {**rows[0], "winner": "nobody"}])


def test_tests_that_separate_nothing_are_said() -> None:
    assert judge.prefer(judged(40, ("x", "y")), resamples=100).notes == ("the tests separate no two systems",)
    (few,) = judge.prefer(judged(10), resamples=100).notes
    assert few.startswith("the systems are not tested: an interval over inputs needs at least 30")
