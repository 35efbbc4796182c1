"""Which columns of a table are labels of people and which verdicts of judges, and when a table is refused."""

from typing import Any

import pytest

from core.errors import SettingError
from data.roles import find_roles, gather_judges, split_name

YES_NO = [(i % 2, i // 2 % 2, i // 3 % 2) for i in range(12)]


def make_rows(*names: str) -> list[dict]:
    """Rows with an id and a column of 0 and 1 for each name."""
    return [{"id": f"q{i}", **dict(zip(names, values, strict=False))} for i, values in enumerate(YES_NO)]


@pytest.mark.parametrize(
    ("names", "people", "judges"),
    [
        (("judge", "human"), {"human": ["human"]}, ["judge"]),
        (("judge_passed", "human_passed"), {"human_passed": ["human_passed"]}, ["judge_passed"]),
        (("verdict", "label"), {"label": ["label"]}, ["verdict"]),
        (("prediction", "gold"), {"gold": ["gold"]}, ["prediction"]),
        (("passed", "human"), {"human": ["human"]}, ["passed"]),
        (("score", "rating"), {"rating": ["rating"]}, ["score"]),
        (("rater_1", "rater_2", "gpt-4o"), {"label": ["rater_1", "rater_2"]}, ["gpt-4o"]),
        (("annotatorAnn", "annotatorBen", "llm"), {"label": ["annotatorAnn", "annotatorBen"]}, ["llm"]),
        (("gpt4", "claude", "human"), {"human": ["human"]}, ["gpt4", "claude"]),
        (("human_label", "llm_label"), {"human_label": ["human_label"]}, ["llm_label"]),
    ],
)
def test_names_say_whose_a_column_is(names: tuple[str, ...], people: dict, judges: list[str]) -> None:
    roles = find_roles(make_rows(*names))
    assert {aspect: [*columns] for aspect, columns in roles.people.items()} == people
    assert [*roles.judges] == judges
    assert (roles.key, roles.unread) == ("id", [])


def test_commands_quote_names_with_spaces() -> None:
    with pytest.raises(SettingError, match=r"`judge agree FILE --people 'it passed' --judges 'LLM judge'`"):
        find_roles(make_rows("LLM judge", "it passed"))


@pytest.mark.parametrize(
    ("names", "said", "calls"),
    [
        (
            ("passed", "correct"),
            "no column says",
            ["--people passed --judges correct", "--people correct --judges passed"],
        ),
        (("judge", "passed"), "holds labels of people", ["--people passed --judges judge"]),
        (
            ("human", "gold", "judge"),
            "may be several people",
            ["--people human,gold", "--people human", "--people gold"],
        ),
        (("human", "gold"), "verdicts of a judge", ["--people human --judges gold", "--people gold --judges human"]),
    ],
)
def test_two_readings_are_refused_with_commands_that_work(names: tuple[str, ...], said: str, calls: list[str]) -> None:
    rows = make_rows(*names)
    with pytest.raises(SettingError, match=said) as caught:
        find_roles(rows, command="judge agree f.csv")
    message = str(caught.value)
    assert f"The columns are id, {', '.join(names)}" in message
    shown = message.split("`")[1::2]
    assert shown == [f"judge agree f.csv {call}" for call in calls]
    for call in shown:
        words = call.split()[3:]
        given: dict[str, Any] = {words[i].removeprefix("--"): words[i + 1].split(",") for i in range(0, len(words), 2)}
        assert find_roles(rows, **given).people


def test_people_are_never_guessed() -> None:
    """A judge by name beside one other column of labels: it may be a second judge."""
    with pytest.raises(SettingError, match="no column says by its name that it holds labels of people"):
        find_roles(make_rows("judge_a", "checked"))


def test_a_column_of_other_values_is_not_taken() -> None:
    rows = [
        {**row, "llm_reason": f"because {i}", "seconds": i + 0.5} for i, row in enumerate(make_rows("llm", "human"))
    ]
    roles = find_roles(rows)
    assert [*roles.judges] == ["llm"]
    assert [*roles.unread] == ["llm_reason", "seconds"]
    described = "labels of people: human; verdicts of judges: llm; rows named by id; not read: llm_reason, seconds"
    assert roles.describe().startswith(described)


def test_two_questions_are_two_aspects() -> None:
    names = ("human_fluency", "human_facts", "judge_fluency", "judge_facts")
    rows = [{**row, "judge_facts": i % 2} for i, row in enumerate(make_rows(*names))]
    assert find_roles(rows).people == {"fluency": ["human_fluency"], "facts": ["human_facts"]}


def test_a_row_for_each_verdict_becomes_a_column_for_each_judge() -> None:
    rows = [
        {"id": "q1", "judge": "a", "verdict": "1", "human": ""},
        {"id": "q1", "judge": "b", "verdict": "0", "human": "1"},
        {"id": "q2", "judge": "a", "verdict": "0", "human": "0"},
    ]
    roles = find_roles(rows)
    assert (roles.named_by, [*roles.judges]) == ("judge", ["verdict"])
    first, second = gather_judges(rows, roles)
    assert first == {"id": "q1", "human": "1", "a": "1", "b": "0"}
    assert second == {"id": "q2", "human": "0", "a": "0"}
    with pytest.raises(SettingError, match="but a has two on q1"):
        gather_judges([*rows, rows[0]], roles)


def test_names_that_are_no_columns() -> None:
    with pytest.raises(SettingError, match="but nobody is none of id, judge, human"):
        find_roles(make_rows("judge", "human"), people=["nobody"])
    with pytest.raises(SettingError, match="judge is given twice"):
        find_roles(make_rows("judge", "human"), people=["judge"], judges=["judge"])


def test_words_of_names() -> None:
    assert split_name("GroundTruth_v2") == ["ground", "truth", "v", "2"]


def test_numbers_of_raters_are_no_labels() -> None:
    """Two rows of each id: the column says who rated. With one row of each id it holds the annotator's labels."""
    rows = [{"id": f"q{i // 2}", "annotator": i % 2, "llm": i // 2 % 2, "label": i // 3 % 2} for i in range(24)]
    rows = [{**row, "annotation_id": i} for i, row in enumerate(rows)]
    roles = find_roles(rows)
    assert (roles.rater, roles.people) == ("annotator", {"label": ["label"]})
    alone = find_roles([{"id": f"q{i}", "annotator": i % 2, "llm": i // 2 % 2} for i in range(24)])
    assert (alone.rater, alone.people) == (None, {"annotator": ["annotator"]})
