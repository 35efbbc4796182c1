"""What a judge was asked and answered about pairs: the lines that are read back, and the page for a person."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import judge
from baselines.chat import Question, Replies
from baselines.llm_judge import LLMJudge
from baselines.replies import ChosenToken, Reply
from report import results
from report.asked import write_answers
from report.page import render
from tests.data.sets.small_files import write
from tests.judge.tables import read_lines

INPUTS = 8
RUN = {"experiment": "prefer", "verb": "prefer", "description": "", "seed": 0, "command": ["judge", "prefer"]}
RUN |= {"started": "2026-01-02T03:04:05+00:00", "seconds": 5.0, "timings": {}}


@dataclass
class Toy:
    """Prefers the text with more `x`, with a probability of .8."""

    name: str = "folder/toy-1b"
    depends: dict[str, Any] = field(default_factory=dict)

    def ask_all(self, questions: Sequence[Question], parallel: int) -> Replies:
        del parallel
        for place, question in enumerate(questions):
            yield place, self.answer(question.text)

    def answer(self, question: str) -> Reply:
        _, first, _, second, _ = question.split("```")
        letter = "A" if first.count("x") >= second.count("x") else "B"
        shares = ((letter, math.log(0.8)), ("AB".replace(letter, ""), math.log(0.2)))
        return Reply(text=letter, chosen=(ChosenToken(place=0, token=letter, likeliest=shares),))


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """The outputs of two systems; that of `new` has more x on every input but the first."""
    rows = []
    for i in range(INPUTS):
        rows.append({"id": f"{i}n", "group": f"q{i}", "system": "new", "text": "x " * (1 if i == 0 else i + 1)})
        rows.append({"id": f"{i}o", "group": f"q{i}", "system": "old", "text": "x x" if i == 0 else "y"})
    return write(tmp_path / "outputs.jsonl", *rows)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """People prefer `new` on every input."""
    rows = [{"group": f"q{i}", "system_a": "new", "system_b": "old", "winner": "new"} for i in range(INPUTS)]
    return write(tmp_path / "people.jsonl", *rows)


def ask(answers: Path, outputs: Path, people: Path | None = None) -> Any:
    study = judge.prefer(outputs, judge=LLMJudge(Toy(), ("coherence",)), human_labels=people)
    write_answers(study.asked, answers)
    return study


def test_answers_about_pairs_are_read_back(outputs: Path, people: Path, tmp_path: Path) -> None:
    """The lines are preferences of the judge: with the same labels they give the same figures, by the judge's name."""
    first = ask(tmp_path / "answers.jsonl", outputs, people)
    again = judge.prefer(tmp_path / "answers.jsonl", human_labels=people)
    assert [*first.found.agreement] == [*again.found.agreement] == ["folder/toy-1b"]
    for one, other in zip(first.found.agreement.values(), again.found.agreement.values(), strict=True):
        assert (one.n, one.accuracy, one.kappa.value) == (other.n, other.accuracy, other.kappa.value)
    assert first.tables[0].rows == again.tables[0].rows
    alone = judge.prefer(tmp_path / "answers.jsonl")
    assert alone.found.ranking == ask(tmp_path / "others.jsonl", outputs).found.ranking
    assert alone.notes[0] == "the winners in answers.jsonl are verdicts of a model, not of people"


def test_a_line_has_every_question_with_its_answer(outputs: Path, people: Path, tmp_path: Path) -> None:
    ask(tmp_path / "answers.jsonl", outputs, people)
    line = read_lines(tmp_path / "answers.jsonl")[0]
    names = {"group": "q0", "system_a": "new", "system_b": "old", "people": "new", "rater": "folder/toy-1b"}
    assert {name: line[name] for name in names} == names
    assert line["winner"] == pytest.approx(0.2)  # B by .8, then A by .8
    one, other = line["answers"]
    assert (one["about"], other["about"]) == ("new first", "old first")
    assert (one["answer"], one["reason"], one["verdict"]) == ("B", None, pytest.approx(0.2))
    assert one["question"].index("x \n") < one["question"].index("x x")


def test_the_page_has_disagreements_first(outputs: Path, people: Path, tmp_path: Path) -> None:
    study = ask(tmp_path / "answers.jsonl", outputs, people)
    html = render(study, results.results(study, RUN), "")
    first, second = (html.index(f"{name}: new and old · people: new") for name in ("q0", "q1"))
    assert first < second
    assert "q0: new and old · people: new · judge: old (0.800)" in html


def test_the_page_holds_as_much_as_it_may(
    outputs: Path, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = ask(tmp_path / "answers.jsonl", outputs, people)
    monkeypatch.setattr("report.page.MOST_PAIRS", 3)
    assert f"The page holds 3 of {INPUTS}" in render(study, results.results(study, RUN), "")
