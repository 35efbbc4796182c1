"""Tables that do not say whose labels they hold: one question, whose proposed command works as it is printed."""

import random
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from judge.cli import main
from tests.judge.tables import write_csv

Rows = Sequence[Mapping[str, Any]]


def draw_labels(n: int = 40) -> list[tuple[int, int, int]]:
    """Of each text the label of a person, that of a judge and that of a second person."""
    draw = random.Random(1)
    labels: list[tuple[int, int, int]] = []
    for _ in range(n):
        human = draw.random() < 0.6
        judge = human if draw.random() < 0.85 else not human
        second = human if draw.random() < 0.8 else not human
        labels.append((int(human), int(judge), int(second)))
    return labels


LABELS = draw_labels()
PERSON, JUDGE, SECOND = range(3)


def make_table(**kinds: int) -> Rows:
    """A row for each text, with columns of these labels; two underscores stand for a hyphen."""
    rows: list[dict[str, Any]] = []
    for i, labels in enumerate(LABELS):
        cells = {name.replace("__", "-"): labels[kind] for name, kind in kinds.items()}
        rows.append({"id": f"q{i}", **cells})
    return rows


def make_rows(key: str, who: str, column: str, kinds: Mapping[str, int], **others: int) -> Rows:
    """A row for each text and each name in `who`."""
    return [
        {key: f"q{i}", who: name, column: labels[kind], **{other: labels[place] for other, place in others.items()}}
        for i, labels in enumerate(LABELS)
        for name, kind in kinds.items()
    ]


SEVERAL = {"human_fluency": PERSON, "human_facts": SECOND, "judge_fluency": JUDGE, "judge_facts": SECOND}
# by name the rows, and the settings that the question proposes; none where the first command answers
TABLES: dict[str, tuple[Rows, str]] = {
    "said": (make_table(judge=JUDGE, human=PERSON), ""),
    "passed by each": (
        make_table(judge_passed=JUDGE, human_passed=PERSON),
        "--people human_passed --judges judge_passed",
    ),
    "verdict and label": (make_table(verdict=JUDGE, label=PERSON), "--people label --judges verdict"),
    "named as a text": (make_table(prediction=JUDGE, gold=PERSON), "--people gold --judges prediction"),
    "people alone": (make_table(passed=JUDGE, human=PERSON), "--judges passed"),
    "two raters": (
        make_table(rater_1=PERSON, rater_2=SECOND, gpt__4o=JUDGE),
        "--people rater_1 rater_2 --judges gpt-4o",
    ),
    "two annotators": (
        make_table(annotatorAnn=PERSON, annotatorBen=SECOND, llm=JUDGE),
        "--people annotatorAnn annotatorBen --judges llm",
    ),
    "two judges": (make_table(gpt4=JUDGE, claude=SECOND, human=PERSON), "--judges gpt4 claude"),
    "no word": (make_table(passed=JUDGE, correct=PERSON), "--people passed --judges correct"),
    "judge alone": (make_table(judge=JUDGE, passed=PERSON), "--people passed"),
    "human beside gold": (make_table(human=PERSON, gold=SECOND, judge=JUDGE), ""),
    "two questions": (
        make_table(**SEVERAL),
        "--people human_fluency human_facts --judges judge_fluency judge_facts",
    ),
    "rows by annotator": (
        make_rows("id", "annotator", "label", {"ann": PERSON, "ben": SECOND}, llm=JUDGE),
        "--people label --judges llm",
    ),
    "names with spaces": (
        [{"Trace ID": row["id"], "Human Label": row["a"], "LLM Label": row["b"]} for row in make_table(a=0, b=1)],
        "--people 'Human Label' --judges 'LLM Label'",
    ),
    "a model among raters": (
        make_rows("example_id", "rater", "score", {"ann": PERSON, "ben": SECOND, "gpt-4o": JUDGE}),
        "--people score --judges gpt-4o",
    ),
    "words of both": (
        make_table(human_likeness=PERSON, expert_2_vote=SECOND, reviewer_agent_pass=JUDGE),
        "--people human_likeness --judges expert_2_vote",
    ),
}


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The command that a refused command proposes."""
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.count("no column says") == 1
    command = said.partition("Say which, such as: ")[2].splitlines()[0]
    assert command.startswith(shlex.join(["judge", *words]))
    return command


@pytest.mark.parametrize("name", TABLES)
def test_the_proposed_command_works(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, proposed = TABLES[name]
    words = ["agree", str(write_csv(tmp_path / "table.csv", rows))]
    if proposed:
        command = ask(capsys, *words)
        assert command == f"{shlex.join(['judge', *words])} {proposed}"
        words = shlex.split(command)[1:]
    assert main(words) == 0
    assert "the kappa of" in capsys.readouterr().out.replace("\n", " ")


def test_rows_that_name_their_judge_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = make_rows("id", "judge", "verdict", {"a": JUDGE, "b": SECOND}, human=PERSON)
    assert main(["agree", str(write_csv(tmp_path / "table.csv", rows))]) == 2
    shown = capsys.readouterr().err
    assert "rows with one id must be of several raters, but no column says who rated" in shown
    assert "such as: judge" not in shown


def test_label_asks_with_its_own_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(write_csv(tmp_path / "table.csv", make_table(first=PERSON, second=JUDGE)))
    sheet = ["label", path, "--n", "4", "--output", str(tmp_path / "sheet")]
    command = ask(capsys, *sheet)
    assert main(shlex.split(command)[1:]) == 0


def test_texts_that_are_not_read_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A metric needs the texts too; they are never scored as empty."""
    rows = [
        {"case": i, "assistant_response": "word " * (i % 7 + 1), "note": "So.", "human_1": i % 3, "human_2": i % 2}
        for i in range(30)
    ]
    words = ["agree", str(write_csv(tmp_path / "table.csv", rows)), "--metrics", "word_count"]
    command = ask(capsys, *words)
    assert command.endswith("--columns.text assistant_response --people human_1 human_2")
    assert main(shlex.split(command)[1:]) == 0


def test_a_column_called_judge_may_be_a_persons(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = cases / "64-judge-means-a-person" / "long.csv"
    command = ask(capsys, "agree", str(path), "--metrics", "rouge_1")
    assert command.endswith("--people judge")
    assert main(shlex.split(command)[1:]) == 0


def test_labels_of_a_second_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = write_csv(tmp_path / "verdicts.csv", make_table(judge=JUDGE))
    labels = write_csv(tmp_path / "labels.csv", make_table(passed=PERSON, checked=SECOND))
    command = ask(capsys, "agree", str(verdicts), "--labels", str(labels))
    assert command.endswith("--people passed checked")
    assert main(shlex.split(command)[1:]) == 0
