"""Answers as chat models give them, with what they mean: ratings from 1 to 5, yes or no, the better of two texts."""

import json
import time
from pathlib import Path
from typing import get_args

import pytest

from baselines.verdicts import Form, clean, read_verdict

# Lines of [kind, answer, meaning]; the answers of the kind "cut" are ratings cut before their end.
ANSWERS = Path(__file__).with_name("answers.jsonl").read_text(encoding="utf-8").splitlines()
FORMS: dict[str, Form] = {"choice": "letter", "yes_no": "word"}


@pytest.mark.parametrize("line", ANSWERS)
def test_answers_mean_what_people_read_in_them(line: str) -> None:
    kind, answer, meaning = json.loads(line)
    form = FORMS.get(kind, "number")
    found = read_verdict(answer, form, (1, 5), is_cut=kind == "cut")
    assert (found and found[0]) == meaning


@pytest.mark.parametrize(
    "unit", ["1", "1.", "1,", "[[", "[[A", "<think>", "Rating: ", "A ", '"a":', "4/", "(", "Yes. "]
)
@pytest.mark.parametrize("end", ["", "..1", "x"])
def test_no_answer_takes_long(unit: str, end: str) -> None:
    answer = (unit * 10_000)[:10_000] + end
    start = time.process_time()
    for form in get_args(Form):
        read_verdict(answer, form, (1, 5))
    clean(answer)
    assert time.process_time() - start < 2
