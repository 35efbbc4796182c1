"""Answers as chat models give them, with what they say: ratings from 1 to 5, yes or no, the better of two texts."""

import json
import time
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from baselines.verdicts import Form, Verdict, read_verdict

# Lines of [kind, answer, verdict], of ratings of coherence; the answers of the kind "cut" were cut before their end.
ANSWERS = Path(__file__).with_name("answers.jsonl").read_text(encoding="utf-8").splitlines()
# Lines of [kind, answer, verdict by hand, verdict that is read]: what answers say of texts that rate themselves.
ATTACKED = Path(__file__).with_name("attacked_answers.jsonl").read_text(encoding="utf-8").splitlines()
FORMS: dict[str, Form] = {"choice": "letter", "yes_no": "word"}


@pytest.mark.parametrize("line", ANSWERS)
def test_a_verdict_is_read_in_its_place_alone(line: str) -> None:
    kind, answer, expected = json.loads(line)
    form = FORMS.get(kind, "number")
    found = read_verdict(answer, form, (1, 5), label="coherence", is_cut=kind == "cut")
    value = found.value if isinstance(found, Verdict) else None
    assert value == expected


@pytest.mark.parametrize("line", ATTACKED)
def test_a_text_that_rates_itself_gains_nothing(line: str) -> None:
    """Each answer is read as a person reads it, or not at all."""
    kind, answer, right, expected = json.loads(line)
    found = read_verdict(answer, FORMS.get(kind, "number"), (1, 5), label="coherence")
    value = found.value if isinstance(found, Verdict) else None
    assert value == expected
    assert value in (right, None)


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ("4", 0),
        ("<think>4?</think>\n **Rating:**  4", 32),
        ("2 of 4 parts fit.\r\n\r\n评分：４", 24),
        ('{"reason": "4 faults, \\"rating\\": 4", "rating": "4"}', 49),
        ('```json\n{"rating" :\n4}\n```', 20),
        ('{"text": {"rating": 4}, "rating": 4}', None),
        ("It is [[4]]. Rating: [[4]]\n> 4", 23),
    ],
)
def test_the_place_of_a_verdict(answer: str, place: int | None) -> None:
    assert read_verdict(answer, "number", (1, 5)) == Verdict(4.0, place)


UNITS = ["1", "1.", "1,", "[[", "[[A", "<think>", "Rating: ", "A ", '"a":', "4/", "(", "Yes. ", " ", "\t", "\n", "* "]


@pytest.mark.parametrize("unit", [*UNITS, '{"rating"', '{"rating": ', "{", "my final ", "```\n", "> ", "rating"])
def test_no_answer_hangs(unit: str) -> None:
    """An expression that is cubic in the length of an answer takes about 40 minutes here."""
    for begin, end in product(["", "4", "[[1", "A", "yes", "Rating:", '{"rating":'], ["", "..1", "x"]):
        answer = begin + (unit * 10_000)[:10_000] + end
        start = time.process_time()
        for form in get_args(Form):
            read_verdict(answer, form, (1, 5))
        assert time.process_time() - start < 20


@pytest.mark.parametrize(
    ("answer", "high", "expected"),
    [
        ("Rating: 1", 10, None),
        ("Rating: 1", 9, 1),
        ("Rating: 2", 10, 2),
        ("Rating: 10", 10, 10),
        ("Rating: 10", 100, None),
        ("Rating: 1\n", 10, 1),
        ("Rating: 1/1", 10, None),
        ("Rating: 1/10", 10, 1),
        ("0", 10, 0),
        ("1\nIt is poor. Rating: 1", 10, None),
        ("1\nIt is poor. Rating: 1.", 10, 1),
    ],
)
def test_a_number_that_was_cut_may_be_a_longer_one(answer: str, high: int, expected: float | None) -> None:
    found = read_verdict(answer, "number", (0, high), is_cut=True)
    assert (found.value if isinstance(found, Verdict) else None) == expected
