"""Negatives differ from their positives where they were manipulated, and nowhere else; cues of them, and AMR graphs."""

import random
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from cdm.amr import Graphs, draw_amr_gap, letters
from cdm.cues import measure_cues
from cdm.infilling import Pair
from cdm.negatives import Negatives, sample_negatives, to_labelled
from cdm.sampling import Sampling
from cdm.segments import Strategy
from core.errors import InputError, SettingError

SAMPLING = Sampling(longest=6)


@pytest.mark.parametrize("strategy", get_args(Strategy))
def test_negatives_differ_in_as_many_turns_as_were_manipulated(
    pair: Pair, dialogues: list[tuple[str, ...]], strategy: Strategy
) -> None:
    graphs = Graphs({letters(turn): [(0, 4)] for turns in dialogues for turn in turns})
    found = sample_negatives(
        pair,
        dialogues[:10],
        strategy,
        SAMPLING,
        seed=1,
        graphs=graphs,
    )
    assert len(found.positives) == len(found.negatives) == len(found.indices) == 10 - found.failures
    for i, positive, negative in zip(
        found.indices,
        found.positives,
        found.negatives,
        strict=True,
    ):
        assert positive == dialogues[i]
        assert len(negative) == len(positive)
        assert all(turn and turn == " ".join(turn.split()) for turn in negative)
        changed = sum(a != b for a, b in zip(positive, negative, strict=True))
        assert 1 <= changed <= (4 if strategy.endswith("multi") else 1)


def test_negatives_are_the_same_again_whatever_comes_after_them(pair: Pair, dialogues: list[tuple[str, ...]]):
    first = sample_negatives(
        pair,
        dialogues[:5],
        "mixed-multi",
        SAMPLING,
        seed=3,
    )
    small = sample_negatives(
        pair,
        dialogues[:3],
        "mixed-multi",
        SAMPLING,
        seed=3,
    )
    assert small.negatives == first.negatives[:3]
    assert (
        sample_negatives(
            pair,
            dialogues[:5],
            "mixed-multi",
            SAMPLING,
            seed=4,
        )
        != first
    )


def test_a_dialogue_that_cannot_be_changed_again_keeps_its_earlier_changes(pair: Pair, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("cdm.negatives.manipulations", lambda *_: ["utterance"] * 4)
    monkeypatch.setattr("cdm.negatives.sample_segments", lambda _pair, sources, *_: [[260] for _ in sources])
    (same,) = pair.amateur.tokenizer.batch_decode([[260]])
    found = sample_negatives(
        pair,
        [("good morning", "hello there")],
        "mixed-multi",
        SAMPLING,
        seed=0,
    )
    assert (found.negatives, found.indices, found.failures) == (((same, same),), (0,), 0)


def test_segments_that_do_not_end_are_drawn_again_then_counted(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    draws: list[int] = []

    def sample(
        closing: int,
        _pair: Pair,
        sources: list[list[int]],
        _sampling: Sampling,
        uniforms: np.ndarray,
        *_: object,
    ):  # type: ignore[no-untyped-def]
        draws.append(len(sources))
        length = 1 if len(draws) == closing else uniforms.shape[1]
        return [[270 + len(draws)] * length for _ in sources]

    talk = ("hello there", "good morning to you")
    for closing, tried, unclosed in ((2, 2, 0), (9, 3, 1)):
        draws.clear()
        monkeypatch.setattr("cdm.negatives.sample_segments", partial(sample, closing))
        found = sample_negatives(
            pair,
            [talk],
            "utterance-single",
            Sampling(),
            seed=0,
        )
        assert (len(draws), found.unclosed, found.failures) == (tried, unclosed, 0)


def test_of_several_segments_the_one_of_the_nearest_length_stays(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = ("good morning to you", "good morning to you")
    removed = len(pair.tokenise([talk]).dialogues[0][0])
    drawn = [[270] * length for length in (1, removed + 1, removed + 30)]
    monkeypatch.setattr("cdm.negatives.sample_segments", lambda *_: drawn)
    found = sample_negatives(
        pair,
        [talk],
        "utterance-single",
        Sampling(candidates=3, longest=25),
        seed=2,
    )
    (nearest,) = pair.amateur.tokenizer.batch_decode(drawn[1:2])
    assert " ".join(nearest.split()) in found.negatives[0]


def test_the_share_of_tokens_that_the_amateur_finds_implausible_is_of_all_draws(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rank is implausible from 3 % of the vocabulary on, so that it can be reached with any vocabulary."""
    limit = round(0.03 * pair.vocabulary)
    assert 0 < limit < pair.vocabulary

    def sample(_pair: Pair, sources: list[list[int]], *others: object) -> list[list[int]]:
        others[-1].extend([0, limit - 2, limit - 1, limit + 1, pair.vocabulary - 1])  # type: ignore[attr-defined]
        return [[270] for _ in sources]

    monkeypatch.setattr("cdm.negatives.sample_segments", sample)
    talk = ("good morning to you", "good morning to you")
    assert (
        sample_negatives(
            pair,
            [talk],
            "utterance-single",
            SAMPLING,
            seed=0,
        ).implausible
        == 2 / 5
    )


def test_redrawn_segments_stand_between_whole_words(
    pair: Pair, dialogues: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {word for turns in dialogues for turn in turns for word in turn.split()}
    tea = pair.amateur.tokenizer(" oo", add_special_tokens=False)["input_ids"]  # a word by itself: it has its blank
    monkeypatch.setattr("cdm.negatives.sample_segments", lambda _pair, sources, *_: [tea for _ in sources])
    found = sample_negatives(
        pair,
        dialogues,
        "segment-single",
        SAMPLING,
        seed=0,
    )
    assert {word for turns in found.negatives for turn in turns for word in turn.split()} <= known | {"oo"}


def test_a_dialogue_and_its_negative_are_one_group() -> None:
    texts = to_labelled(
        Negatives(
            (("a", "b"), ("c",)),
            (("a", "x"), ("d",)),
            (0, 2),
            0,
        )
    )
    assert [(t.segments, t.label, t.group, t.pair) for t in texts] == [
        (("a", "b"), 1, "0", ("a", "x")),
        (("a", "x"), 0, "0", ("a", "b")),
        (("c",), 1, "2", ("d",)),
        (("d",), 0, "2", ("c",)),
    ]


SAME = dict.fromkeys(("words", "turns", "final punctuation", "capitals", "unseen words"), 0.5)


@pytest.mark.parametrize(
    ("negative", "expected"),
    [
        (("X y.", "z"), {}),
        (("X.", "z"), {"words": 1.0, "capitals": 0.0}),
        (("X y.", "z", ""), {"turns": 0.0, "final punctuation": 0.0}),
        (("X y", "z"), {"final punctuation": 1.0}),
        (("x y.", "z"), {"capitals": 1.0}),
        (("X new.", "z"), {"unseen words": 0.0, "capitals": 1.0}),
    ],
)
def test_cues_by_hand(negative: tuple[str, ...], expected: dict[str, float]) -> None:
    found = measure_cues(
        Negatives(
            (("A b.", "c"),),
            (negative,),
            (0,),
            0,
        ),
        [("a b, c!", "x"), ("Y", "z")],
    )
    assert found == SAME | expected


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
    pytest.importorskip("penman", reason="the extra amr is not installed")
    path = tmp_path / "graphs.amr"
    path.write_text(f"{WANT}\n{NAME}", "utf-8")
    return Graphs.read(path)


def test_gaps_are_whole_tokens_around_a_place_and_short_enough(graphs: Graphs, monkeypatch: pytest.MonkeyPatch):
    turns = [["I", "Ġknow", "ĠAn", "n", "."], ["Ġ", "▁no", "▁graph"]]
    assert (
        draw_amr_gap(
            turns,
            random.Random(0),
            prompt_turns=1,
            graphs=graphs,
        )
        is None
    )
    for longest, expected in ((2, {(0, 1, 2), (0, 0, 2), (0, 2, 4)}), (1, {(0, 1, 2)})):
        monkeypatch.setattr("cdm.amr.LONGEST_SEGMENT", longest)
        gaps = {draw_amr_gap(turns, random.Random(i), graphs=graphs) for i in range(30)}
        assert {(gap.turn, gap.start, gap.stop) for gap in gaps if gap} == expected


def test_a_concept_goes_with_the_one_above_it_and_a_value_with_its_own(graphs: Graphs) -> None:
    assert graphs.places("theboywantstosing") == [(6, 11), (3, 11), (6, 17)]
    assert graphs.places("hiiknowann") == [(3, 7), (2, 7), (7, 10)]


def test_an_inverted_role_relates_a_concept_to_the_one_above_it(graphs: Graphs, tmp_path: Path) -> None:
    path = tmp_path / "inverted.amr"
    path.write_text("# ::tok a boy wants\n(b / boy~1 :ARG0-of (w / want-01~2))\n", "utf-8")
    assert Graphs.read(path).spans == {"aboywants": [(1, 4), (1, 9)]}


def test_graphs_that_do_not_fit_their_tokens_are_refused_at_their_lines(graphs: Graphs, tmp_path: Path) -> None:
    path = tmp_path / "graphs.amr"
    path.write_text(
        f"{WANT}\n(k / know-01~1)\n\n# ::tok I .\n(s / sleep-01~e.5)\n\n# ::tok I .\n(s / sleep-01\n", "utf-8"
    )
    with pytest.raises(InputError) as caught:
        Graphs.read(path)
    assert str(caught.value).splitlines() == [
        f"{path}:8: a graph needs a line # ::tok with its 2 or more tokens, found 0",
        f"{path}:10: a graph needs a line # ::tok with its 6 or more tokens, found 2",
        f"{path}:14: no AMR graph: Unexpected end of input",
    ]


def test_graphs_must_cover_half_of_the_dialogues_and_others_are_counted(pair: Pair, graphs: Graphs) -> None:
    known, other = ("the boy wants to sing.", "good."), ("it is.", "no it is not.")
    sampling = Sampling(gamma=0.0, longest=9)
    found = sample_negatives(
        pair,
        [known, other, known, other],
        "amr-multi",
        sampling,
        seed=1,
        graphs=graphs,
    )
    assert found.uncovered == 2
    for positive, negative in zip(found.positives[::2], found.negatives[::2], strict=True):
        assert positive[0] != negative[0]  # the turn with a graph
    with pytest.raises(SettingError, match="needs AMR graphs"):
        sample_negatives(
            pair,
            [known],
            "amr-multi",
            sampling,
            seed=1,
        )
    rule = "for 50% of the dialogues, but only 1 of 3 have one: write their sentences with \\+exp=cdm_sentences"
    with pytest.raises(SettingError, match=rule):
        sample_negatives(
            pair,
            [known, other, other],
            "amr-multi",
            sampling,
            seed=1,
            graphs=graphs,
        )
    assert (
        sample_negatives(
            pair,
            [other, known],
            "content-multi",
            sampling,
            seed=1,
        ).uncovered
        == 1
    )
