"""Columns are known by their names in any case, and with spaces or hyphens for underscores."""

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import judge
from core.errors import InputError, SettingError
from data.columns import name_fields
from data.files import read_examples
from data.preferences import read_preferences
from judge.verdict_files import read_verdicts
from tests.data.sets.small_files import write as write_lines
from tests.judge.tables import write_csv

FORMS = (".csv", ".jsonl", ".xlsx")
Cells = dict[str, Any]
SPELLINGS = {
    "title": lambda name: name.title(),
    "upper": lambda name: name.upper(),
    "spaces": lambda name: name.title().replace("_", " "),
    "hyphens": lambda name: name.capitalize().replace("_", "-"),
}


def write(path: Path, rows: Sequence[Cells]) -> Path:
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".jsonl":
        return write_lines(path, *rows)
    if path.suffix == ".csv":
        return write_csv(path, rows)
    openpyxl = pytest.importorskip("openpyxl", reason="the extra excel is not installed")
    workbook = openpyxl.Workbook()
    for row in ([*rows[0]], *([*row.values()] for row in rows)):
        workbook.active.append(row)
    workbook.save(path)
    return path


def spell(rows: Sequence[Cells], spelling: Callable[[str], str]) -> list[Cells]:
    return [{spelling(name): cell for name, cell in row.items()} for row in rows]


def make_verdicts() -> list[Cells]:
    """Texts of two systems with a label and a verdict."""
    draw = random.Random(3)
    rows: list[Cells] = []
    for number in range(40):
        label = draw.random() < 0.6
        is_right = draw.random() < 0.8
        row = {
            "question_id": f"q{number // 2}",
            "question": f"What is {number // 2}?",
            "response": f"It is {'very ' * (number % 5)}{number}.",
            "model": "ab"[number % 2],
            "judge": "yes" if label == is_right else "no",
            "human": "yes" if label else "no",
        }
        rows.append(row)
    return rows


def make_battles() -> list[Cells]:
    draw = random.Random(5)
    return [
        {
            "question_id": f"q{number}",
            "model_a": "x",
            "model_b": "y",
            "winner": draw.choice(["model_a", "model_b", "tie"]),
            "annotator_id": "ann",
        }
        for number in range(40)
    ]


def make_judgements() -> list[Cells]:
    battles = make_battles()
    names = {"question_id": "group", "model_a": "system_a", "model_b": "system_b"}
    words = {"model_a": "a", "model_b": "b", "tie": "tie"}
    return [{names.get(key, key): words.get(cell, cell) for key, cell in row.items()} for row in battles]


def fold(shown: str) -> str:
    """What a verb shows, without the spelling of names."""
    return re.sub(r"[\s_-]+", "", shown.lower())


def compare_spellings(
    folder: Path,
    form: str,
    rows: Sequence[Cells],
    spelling: Callable[[str], str],
    run: Callable[[Path], str],
) -> None:
    plain = write(folder / "plain" / f"table{form}", rows)
    other = write(folder / "other" / f"table{form}", spell(rows, spelling))
    assert fold(run(other)) == fold(run(plain))


def show(study: Any) -> str:
    return str([[table.rows for table in study.tables], study.notes])


VERBS: dict[str, tuple[Callable[[], list[Cells]], Callable[[Path], str]]] = {
    "agree": (make_verdicts, lambda path: show(judge.agree(path, cues=False))),
    "prefer battles": (make_battles, lambda path: show(judge.prefer(path))),
    "prefer judgements": (make_judgements, lambda path: show(judge.prefer(path))),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_reads_names_in_any_spelling(tmp_path: Path, form: str, verb: str) -> None:
    make, run = VERBS[verb]
    compare_spellings(tmp_path, form, make(), SPELLINGS["spaces"], run)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_texts_are_read_in_any_spelling(tmp_path: Path, form: str, spelling: str) -> None:
    rows = [{**row, "ground_truth": row["question"]} for row in make_verdicts()]
    rows = [{key: cell for key, cell in row.items() if key != "judge"} for row in rows]
    plain = read_examples(write(tmp_path / f"plain{form}", rows))
    other = read_examples(write(tmp_path / f"other{form}", spell(rows, SPELLINGS[spelling])))
    for name in ("text", "context", "system", "group", "references"):
        assert [getattr(example, name) for example in other] == [getattr(example, name) for example in plain]
    assert plain[0].system
    assert plain[0].references
    assert {*other[0].extra} == {SPELLINGS[spelling]("human")}  # as the file has it


@pytest.mark.parametrize("form", FORMS)
def test_labels_are_read_in_any_spelling(tmp_path: Path, form: str) -> None:
    rows = make_verdicts()
    labels = [{"question_id": row["question_id"], "model": row["model"], "human": row["human"]} for row in rows]
    verdicts = [{key: cell for key, cell in row.items() if key != "human"} for row in rows]

    def run(path: Path) -> str:
        spelling = SPELLINGS["hyphens"] if path.parent.name == "other" else str
        given = write(path.parent / f"labels{form}", spell(labels, spelling))
        return show(judge.agree(path, labels=given, cues=False))

    compare_spellings(tmp_path, form, verdicts, SPELLINGS["hyphens"], run)


def test_messages_have_the_spelling_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "table.csv", spell(make_verdicts(), SPELLINGS["spaces"]))
    study = judge.agree(path, cues=False)
    assert "labels of people: Human; verdicts of judges: Judge; rows named by Question Id" in study.notes[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("names", [("response", "Response"), ("text", "Text"), ("ID", "id"), ("Judge", "judge")])
def test_two_spellings_of_one_name_are_refused(tmp_path: Path, form: str, names: tuple[str, str]) -> None:
    rows = [
        {"id": str(i), "text": "So.", "human": i % 2, "judge": 1} | {name: str(i % 3) for name in names}
        for i in range(9)
    ]
    path = write(tmp_path / f"table{form}", rows)

    def draw(source: Path) -> object:
        return judge.label(source, output=tmp_path / "sheet")

    for run in (judge.agree, draw, judge.compare, read_examples):
        with pytest.raises((InputError, SettingError)) as raised:
            run(path)
        assert f'"{names[0]}"' in str(raised.value)
        assert f'"{names[1]}"' in str(raised.value)


@pytest.mark.parametrize("form", FORMS)
def test_two_spellings_of_a_winner_are_refused(tmp_path: Path, form: str) -> None:
    for make in (make_battles, make_judgements):
        path = write(tmp_path / f"{make.__name__}{form}", [{**row, "Winner": "tie"} for row in make()])
        for run in (judge.prefer, read_preferences):
            with pytest.raises((InputError, SettingError), match='"winner" and "Winner"'):
                run(path)


def test_columns_choose_between_two_spellings() -> None:
    naming = name_fields(("Text", "text"), (("text", ("Text",)),))
    assert (naming.fields, naming.extra, naming.problems) == ((("Text", "text"),), (("text", "unread_text"),), ())


def test_lines_that_spell_a_label_differently_are_refused() -> None:
    rows = [{"id": 1, "judge": 1, "human": 0}, {"id": 2, "judge": 0, "Human": 1}]
    with pytest.raises(InputError, match='"human" and "Human"'):
        read_verdicts(rows)
