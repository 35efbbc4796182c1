"""Places of AMR graphs: reading them, finding them in tokens, and drawing there."""

import random
from pathlib import Path

import pytest

from cdm.amr import Graphs, draw_amr_gap
from cdm.infilling import Pair
from cdm.negatives import sample_negatives
from cdm.sampling import Sampling
from core.faults import InputFaults, SettingFault

WANT = """# ::snt The boy wants to sing.
# ::tok The boy wants to sing .
(w / want-01~e.2
    :ARG0 (b / boy~e.1)
    :ARG1 (s / sing-01~e.4
        :ARG0 b))
"""
NAME = """# ::tok I know Ann .
(k / know-01~1 :ARG0 (i / i~0) :ARG1 (p / person :name (n / name :op1 "Ann"~2)))
"""


@pytest.fixture
def graphs(tmp_path: Path) -> Graphs:
    path = tmp_path / "graphs.amr"
    path.write_text(f"{WANT}\n{NAME}", "utf-8")
    return Graphs.read(path)


def test_gaps_are_whole_tokens_around_a_place_and_short_enough(graphs: Graphs, monkeypatch: pytest.MonkeyPatch):
    turns = [["I", "Ġknow", "ĠAn", "n", "."], ["Ġ", "▁no", "▁graph"]]
    assert draw_amr_gap(turns, graphs, random.Random(0), given=1) is None
    for longest, expected in ((2, {(0, 1, 2), (0, 0, 2), (0, 2, 4)}), (1, {(0, 1, 2)})):
        monkeypatch.setattr("cdm.amr.LONGEST_SEGMENT", longest)
        gaps = {draw_amr_gap(turns, graphs, random.Random(i)) for i in range(30)}
        assert {(gap.turn, gap.start, gap.stop) for gap in gaps if gap} == expected


def test_graphs_that_do_not_fit_their_tokens_are_refused_at_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "graphs.amr"
    path.write_text(f"{WANT}\n(k / know-01~1)\n\n# ::tok I .\n(s / sleep-01~e.5)\n", "utf-8")
    with pytest.raises(InputFaults) as caught:
        Graphs.read(path)
    assert str(caught.value).splitlines() == [
        f"{path}:8: a graph needs a line # ::tok with its 2 or more tokens, found 0",
        f"{path}:10: a graph needs a line # ::tok with its 6 or more tokens, found 2",
    ]


def test_negatives_change_turns_with_a_graph_and_need_one(pair: Pair, graphs: Graphs) -> None:
    talk = [("the boy wants to sing.", "good.")] * 3
    sampling = Sampling(gamma=0.0, longest=9)
    found = sample_negatives(pair, talk, "amr-multi", sampling, seed=1, graphs=graphs)
    assert len(found.negatives) == 3
    for positive, negative in zip(found.positives, found.negatives, strict=True):
        assert positive[0] != negative[0]
    for none in (None, Graphs({"other": [(0, 5)]})):
        with pytest.raises(SettingFault, match="needs AMR graphs"):
            sample_negatives(pair, talk, "amr-multi", sampling, seed=1, graphs=none)
