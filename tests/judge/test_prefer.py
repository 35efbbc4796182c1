"""Studies of preferences and comparisons of systems, with people as one more metric."""

import json
import math
import random
import statistics
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score

import judge
from core.errors import InputError, SettingError
from core.example import Example
from data.scored import mark_missing
from data.sets.judged_pairs import load_pandalm
from meta_eval.preferences import Verdicts
from meta_eval.scored_set import ScoredSet
from report.study import Study


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


def ask(share: float) -> Study:
    return judge.prefer(outputs=outputs(), judge=Reader(share))


def test_a_judge_ranks_all_pairs_of_systems() -> None:
    found = ask(0)
    ranked = [(each.system, each.cluster, each.wins) for each in found.found.ranking.systems]
    assert ranked == [("x", "1", 80), ("y", "2", 40), ("z", "3", 0)]
    assert (found.answer, found.notes) == ("x is preferred to y and z; y is preferred to z", [])
    assert found.found.position["judge"].value == 0


def test_a_judge_without_answers_or_pairs_is_refused_in_words() -> None:
    class Mute(Reader):
        def compare(self, pairs: Sequence[tuple[Example, Example]]) -> Verdicts:
            return Verdicts(np.full((len(pairs), 2), math.nan), ["it said nothing"] * len(pairs), "mute")

    alone, texts = outputs(3)[::3], outputs(3)
    for asked, labels, message in (
        (texts, None, "the judge gave no answer: it said nothing"),
        (texts, judged(3), "the judge gave no answer: it said nothing"),
        (alone, None, "two systems must have outputs for one input, but no input has two"),
    ):
        with pytest.raises((InputError, SettingError), match=message):
            judge.prefer(outputs=asked, judge=Mute(0), human_labels=labels)


def test_an_effect_of_position_makes_ties() -> None:
    found = ask(0.5)
    position = found.found.position["judge"]
    assert position.low < 0.25 < position.high
    ties = sum(pair.ties for pair in found.found.ranking.pairs)
    assert position.value == pytest.approx(ties / 120 / 2)
    assert any("reads first" in note for note in found.notes)


def test_metrics_and_a_judge_beside_people() -> None:
    found = judge.prefer(judged(), outputs=outputs(), metrics="word_count", judge=Reader())
    for name in ("word_count", "judge"):
        whole = found.found.agreement[name]
        assert (whole.n, whole.missing) == (40, 0)
        assert whole.accuracy.value == pytest.approx(27 / 40)
    titles = ["Agreement with preferences", "How the judges favour longer texts", "Systems by judges and by people"]
    assert [table.title for table in found.filled][-5:] == [*titles, "At equal lengths", "The judge"]
    assert found.found.favours["judge"].by_people.value == pytest.approx((27 + 13 / 2) / 40)
    assert found.found.favours["judge"].effect.value == pytest.approx(13 / 2 / 40)


def test_winners_by_a_model_are_not_passed_off_as_peoples(tmp_path: Path) -> None:
    row = {"output_1": "a b c", "output_2": "d e", "generator_1": "x", "generator_2": "y"}
    rows = [{"instruction": f"q{i}", **row, "preference": 1.0 + i % 2} for i in range(40)]
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps(rows), "utf-8")
    found = judge.prefer(path, metrics="word_count")
    said = 'the winners in annotations.json are verdicts of a model: "people" in tables and notes is this model'
    assert found.notes[0] == said
    people = [{"id": f"q{i}", "system_a": "x", "system_b": "y", "winner": "x"} for i in range(40)]
    assert said not in judge.prefer(path, metrics="word_count", human_labels=people).notes
    alone = judge.prefer(path).notes  # says nothing about people
    assert alone[0] == "the winners in annotations.json are verdicts of a model, not of people"


def test_a_file_that_does_not_say_who_chose_is_told(tmp_path: Path) -> None:
    path = tmp_path / "chosen.jsonl"
    rows = [{"prompt": f"q{i}", "chosen": "good", "rejected": "bad"} for i in range(20)]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    notes = judge.prefer(path).notes
    assert notes[0] == "chosen.jsonl does not say whether people or a model chose the winners"


@pytest.mark.parametrize("inputs", [2, 10])
def test_one_answer_to_all_questions_is_told_at_any_number(inputs: int) -> None:
    """The judge always names what it reads first: no system is better, and nothing was read."""
    found = judge.prefer(outputs=outputs(inputs), judge=Reader(1.0))
    said = f"judge gave one answer to all {inputs * 6} questions, the output that it read first: it tells nothing apart"
    assert said in found.notes
    assert not any("one answer" in note for note in judge.prefer(outputs=outputs(inputs), judge=Reader()).notes)


def test_a_judge_reads_only_pairs_whose_outputs_are_there() -> None:
    reader = Reader()
    found = judge.prefer(judged(), outputs=outputs(30), judge=reader)
    assert reader.pairs == 30
    agreement = found.found.agreement["judge"]
    assert (agreement.n, agreement.missing) == (30, 10)


@pytest.mark.parametrize(
    ("inputs", "winners", "answer"),
    [
        (40, ("x", "y"), "the tests do not separate x and y (p 1.000)"),
        (40, ("x",), "x is preferred to y"),
        (5, ("x",), "the tests do not separate x and y (p 0.062)"),
    ],
)
def test_the_answer_holds(inputs: int, winners: Sequence[str], answer: str) -> None:
    found = judge.prefer(judged(inputs, winners))
    assert found.answer == answer
    assert any("cannot separate systems" in note for note in found.notes) == (inputs < 6)


@pytest.mark.parametrize(
    ("right", "inputs", "answer"),
    [
        (0.5, 60, "m (kappa 0.000 [-0.23, 0.28], p 1.000 by permutations) is not shown to be better than chance"),
        (1.0, 60, "m (kappa 1.000 [0.76, 1.00], p 0.001 by permutations) is better than chance"),
        (0.0, 60, "m (kappa -1.000 [-1.00, -0.62], p 0.001 by permutations) is worse than chance"),
        (1.0, 10, "m (kappa 1.000 [-0.02, 1.00], p 0.007 by permutations) is better than chance"),
        (1.0, 4, "m (accuracy 1.000, p 0.321 by permutations) is not shown to be better than chance"),
    ],
)
def test_a_judge_is_held_against_chance(right: float, inputs: int, answer: str) -> None:
    """People prefer x to y on every other input, and the metric is right on this share of both kinds."""
    signs = [1 if (i // 2) % 10 < 10 * right else -1 for i in range(inputs)]
    texts = [Example(f"{s}{i}", text="t", system=s, group=f"q{i}") for i in range(inputs) for s in "xy"]
    scores = [float((s == "x") == ((i % 2 == 0) == (signs[i] > 0))) for i in range(inputs) for s in "xy"]
    study = ScoredSet("texts", tuple(texts), {"m": mark_missing(scores, "m|v1")})
    found = judge.prefer(judged(inputs, ("x", "y")), outputs=study)
    assert answer in found.answer


def test_people_among_themselves() -> None:
    """Two people agree on x, y and ties of ten inputs each, and differ on ten more; the judge always says y."""
    said = [("x", "x"), ("y", "y"), ("tie", "tie"), ("x", "y")]
    rows = [
        {"id": f"q{i}", "system_a": "x", "system_b": "y", "winner": winner, "rater": rater, "judges": {"j": "y"}}
        for i in range(40)
        for rater, winner in zip("pq", said[i % 4], strict=True)
    ]
    found = judge.prefer(rows)
    people, own = found.found.single
    assert (people.n, people.accuracy.value, own.n, own.accuracy.value) == (40, 0.75, 80, 30 / 80)
    assert own.accuracy.low < 30 / 80 < own.accuracy.high
    by_chance = 0.5 * 0.25 + 0.25 * 0.5 + 0.25 * 0.25  # of x, y and ties; sides never change
    assert people.kappa.value == pytest.approx((0.75 - by_chance) / (1 - by_chance))


def test_judges_of_a_file_are_a_panel_too() -> None:
    """The person says x; j is right on two inputs of four, k and m on three, and most of them on all four or a tie."""
    said = {"j": "xyxy", "k": "xxyx", "m": "yxx"}  # m is silent on every fourth input
    rows = [
        {"id": f"q{i}", "system_a": "x", "system_b": "y", "winner": "x"}
        | {"judges": {name: each[i % 4] if i % 4 < len(each) else None for name, each in said.items()}}
        for i in range(40)
    ]
    found = judge.prefer(rows)
    shares = {name: each.accuracy.value for name, each in found.found.agreement.items()}
    assert shares == {"j": 0.5, "k": 0.75, "m": pytest.approx(2 / 3), "panel": 0.75}


def test_judges_of_pandalm_as_counted_from_the_file(shared_data: Path) -> None:
    rows = [json.loads(line) for line in (shared_data / "pandalm" / "pairs.jsonl").read_text().splitlines()]
    given, texts = load_pandalm(shared_data)
    found = judge.prefer(given, outputs=texts)
    people = [statistics.mode(row["people"]) for row in rows]
    for name in ("gpt-3.5-turbo", "pandalm-7b"):
        read = [(said, row["judges"][name]) for said, row in zip(people, rows, strict=True) if row["judges"][name]]
        whole = found.found.agreement[name]
        assert (whole.n, whole.missing) == (len(read), len(rows) - len(read))
        assert whole.accuracy.value == pytest.approx(accuracy_score(*zip(*read, strict=True)))
    votes = [pair for row in rows for pair in combinations(row["people"], 2)]
    turned = [tuple({"a": "b", "b": "a"}.get(each, each) for each in pair) for pair in votes]
    kappa = cohen_kappa_score(*zip(*votes, *turned, strict=True))
    assert found.found.single[0].kappa.value == pytest.approx(kappa, abs=0.001)  # people have nearly the same shares


REFERENCES = ["the cat sat on the mat", "a dog ran away from home", "it rains on the old town"]
SYSTEMS = {
    "a": ["a cat is on the mat", "the dog ran away", "it snows on the town"],
    "b": ["the cat sat on the mat", "a dog ran far away from home", "it rains on the old town"],
}


def by_input(texts: list[str]) -> dict[str, str]:
    return {str(i): text for i, text in enumerate(texts)}


def test_systems_are_aligned_by_input() -> None:
    texts = {name: by_input(each) for name, each in SYSTEMS.items()}
    mapping = judge.compare(texts, "bleu", references=by_input(REFERENCES))
    rows = [
        {"text": text, "system": name, "group": f"{i}", "references": [REFERENCES[i]]}
        for name, texts in SYSTEMS.items()
        for i, text in reversed(list(enumerate(texts)))
    ]
    shuffled = judge.compare(rows, "bleu")
    for found in (mapping, shuffled):
        assert [each.system for each in found.found.means["bleu"]] == ["b", "a"]
        assert found.found.pairs["bleu"]["a", "b"].losses == 3
    assert "bleu: bleu|" in mapping.signature


def test_incomplete_inputs_are_refused_or_dropped_and_counted() -> None:
    texts = {"a": {f"i{k}": "w " * (k + 2) for k in range(9)}, "b": {f"i{k}": "w" for k in range(6)}}
    with pytest.raises(InputError, match='no output of b: incomplete="drop" leaves such inputs out'):
        judge.compare(texts, "word_count")
    found = judge.compare(texts, "word_count", incomplete="drop")
    lacking = "3 of 9 inputs are left out, because some system has no output for them (b lacks 3)"
    assert f"{lacking}: a system that left out hard ones gains" in found.notes
    alone = judge.compare({"a": {f"i{k}": "w " * (k + 2) for k in range(6)}, "b": texts["b"]}, "word_count")
    assert found.found.pairs["word_count"]["a", "b"] == alone.found.pairs["word_count"]["a", "b"]
    with pytest.raises(InputError, match="no input of 2 has an output of every system"):
        judge.compare({"a": {"1": "x"}, "b": {"2": "x"}}, "word_count", incomplete="drop")


NAN = math.nan
EQUAL = [float(k % 3) for k in range(12)]
HIGH = [value + 1 + k % 2 / 10 for k, value in enumerate(EQUAL)]


@pytest.mark.parametrize(
    ("scores", "answer"),
    [
        ({"a": EQUAL, "b": HIGH}, "By m, b scores higher than a (p 0.0005)."),
        ({"a": EQUAL, "b": EQUAL}, "By m, the tests do not separate a from b (p 1.000)."),
        (
            {"a": HIGH, "b": [v + (-1) ** k for k, v in enumerate(HIGH)], "c": EQUAL},
            "By m, a scores higher than c (p 0.001), and the tests do not separate a from b (p 1.000).",
        ),
        ({"a": [NAN] * 12, "b": HIGH}, "By m, no two systems have scores for enough inputs in common."),
        ({"a": [1], "b": [0]}, "By m, a is not tested against b: a comparison needs at least 2 inputs"),
    ],
)
def test_the_answer_of_a_comparison_holds(scores: dict[str, list[float]], answer: str) -> None:
    examples = [Example(f"{s}-{i}", "t", system=s, group=f"g{i}") for s, own in scores.items() for i in range(len(own))]
    values = np.array([each for own in scores.values() for each in own], dtype=np.float64)
    study = ScoredSet("study", tuple(examples), {"m": mark_missing(values, "m|v1")})
    found = judge.compare(study, incomplete="drop")
    assert found.answer.startswith(answer)
    assert found.tables[0].rows


def make_battles(systems: int, inputs: int, name: str = "m{:02}") -> list[dict[str, str]]:
    """Every pair of systems on each input; the one with the lower number wins four times out of five."""
    return [
        {
            "id": f"q{i}",
            "system_a": name.format(a),
            "system_b": name.format(b),
            "winner": "b" if (i + a + b) % 5 == 0 else "a",
        }
        for i in range(inputs)
        for a, b in combinations(range(systems), 2)
    ]


def test_of_many_systems_the_answer_names_the_first_winners() -> None:
    answer = judge.prefer(make_battles(20, 40, "m{:02}")).answer
    first, *others = answer.split("; ")
    assert first == "m00 is preferred to m01, m02, m03 and 16 others"
    assert others[3].endswith(" more systems are preferred to others")
    assert len(others) <= 5


def test_a_judge_that_gives_probabilities_agrees_by_the_sides_that_it_takes() -> None:
    people = ("aba-ab", "abb-ab")
    sides = [1, 0, 1, 0.5, 0, 0]
    sure = [0.7, 0.1, 0.51, 0.5, 0.4, 0.3]

    def study(verdicts: Sequence[float]) -> Sequence[Any]:
        rows = [
            {"id": str(i), "system_a": "a", "system_b": "b", "winner": said[i].replace("-", "tie"), "rater": said}
            | {"judges": {"j": verdicts[i]}}
            for said in people
            for i in range(6)
        ]
        return judge.prefer(rows).found.single

    by_sides, by_probabilities = study(sides), study(sure)
    assert [row.kappa.value for row in by_probabilities] == [row.kappa.value for row in by_sides]
    assert by_sides[1].kappa.value > 0.4


def by_people(inputs: int, winner: str | None, judges: str, people: int = 3) -> list[dict[str, Any]]:
    """Judgements of each pair by several people, who agree, and winners by a judge; sides are exchanged."""
    rows: list[dict[str, Any]] = []
    for i in range(inputs):
        sides = {"system_a": "xy"[i % 2], "system_b": "yx"[i % 2], "judges": {"gpt": judges[i % len(judges)]}}
        rows += [{"id": f"q{i}", **sides, "winner": winner or "ab"[i % 2], "rater": f"p{k}"} for k in range(people)]
    return rows


def test_people_who_always_say_a_tie_have_no_kappa() -> None:
    study = judge.prefer(by_people(60, "tie", "ab"))
    assert all(math.isnan(row.beside_people.value) for row in study.found.single)
    assert study.answer.endswith("whether that is enough is unknown: all labels are the same: kappa is not defined")


@pytest.mark.parametrize("inputs", [2, 60])
def test_a_judge_in_a_file_that_gives_one_answer_is_told(inputs: int) -> None:
    said = f"gpt gave one answer to all {inputs} pairs, {{}}: it tells nothing apart"
    assert said.format("the system named first") in judge.prefer(by_people(inputs, None, "a")).notes
    assert said.format("the system named second") in judge.prefer(by_people(inputs, None, "b")).notes
    ties = [{**row, "judges": {"gpt": "tie"}} for row in by_people(inputs, None, "a")]
    assert said.format("a tie") in judge.prefer(ties).notes
    assert not any("one answer" in note for note in judge.prefer(by_people(inputs, None, "ab")).notes)


def test_lower_scores_are_better_where_a_comparison_is_told() -> None:
    rows = [
        {"id": f"{s}{i}", "text": "t", "system": s, "group": f"q{i}", "scores": {"ter": i % 5 + (s == "bad")}}
        for i in range(20)
        for s in ("good", "bad")
    ]
    study = judge.compare(rows, lower_is_better=["ter"])
    assert study.answer == "By ter (negated), good scores higher than bad (p 0.001)."
    with pytest.raises(SettingError, match=r"rank is not a setting of lower_is_better.*ter"):
        judge.compare(rows, lower_is_better=["rank"])
