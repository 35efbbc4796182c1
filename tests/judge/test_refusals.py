"""What verbs refuse: exit code 2 and a message, before a model is loaded and anything is written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data.builtin.dialogues import rated_dialogues
from data.files import write_examples
from report.results import MARK

CASES = [
    ("agree rated.jsonl --metrics m=bleu", "a metric must have one score, but m is also in the file"),
    ("score in.jsonl --metric word_count --output .", "found the folder"),
    ("score in.jsonl --metric word_count --output in.jsonl", "different files"),
    ("score in.jsonl --metric word_count --output no/out.jsonl", "but there is no no"),
    ("score in.jsonl --metric word_count --output out.txt", "output must end in one of .jsonl"),
    (
        "score 3.jsonl --metric cdm_discriminative --metric.models nowhere --output out.jsonl",
        "--metric.models nowhere: there is no such folder",
    ),
    (
        "audit in.jsonl --metrics word_count --report agree.html",
        "report must name a folder, in which report.html is the page, but is agree.html",
    ),
    (
        "prefer --data builtin_stories --data.train 9 --data.held_out 9 --data.rated 9",
        "judge prefer takes pandalm or alpaca_eval by --data, or a FILE",
    ),
    (
        "audit judged.jsonl --metrics word_count",
        "texts are needed, found preferences: judge prefer reads them",
    ),
    ("plan pilot.jsonl --systems a c", "systems must be two of those in the pilot (a, b), but is ['a', 'c']"),
    ("plan pilot.jsonl --systems a b --spread_raters 2", "spread_raters would have no effect beside a pilot"),
    ("plan --rate 0.2", "rate would have no effect without the file of a pilot, and without within"),
    ("agree rated.jsonl --people nobody", "name columns, scorers or raters, but nobody is none of m"),
    ("agree in.jsonl --metrics bleu --people nobody", "but nobody is none, and there is no other"),
    ("prefer judged.jsonl --scores.x no.jsonl", "metrics and scores need the texts of the systems"),
    ("agree rated.jsonl --report old --labels old/answers.jsonl", "old, which is cleared: choose another report"),
    ("compare --systems a=old/answers.jsonl b=in.jsonl --report old", "which is cleared: choose another report"),
    ("score in.jsonl --metric bleu --output new/out.jsonl --report new", "out.jsonl is in the folder of the report"),
    ("score in.jsonl --metric bleu --output out.jsonl --ray.workrs 2", "(did you mean ray.workers?)"),
    ("plan pilot.jsonl --systems a b", "but they differ by 1 on all 5 inputs of pilot.jsonl"),
]


@pytest.fixture
def files(tmp_path: Path) -> set[str]:
    """Files of a user in the working folder; their names."""
    (tmp_path / "in.jsonl").write_text('{"id": "a", "text": "A cat."}\n')
    rated = {"text": "x", "references": ["x"], "ratings": {"q": 1}, "scores": {"m": 1}}
    (tmp_path / "rated.jsonl").write_text(json.dumps(rated) + "\n")
    answers = [(system, group, 3 + (system == "a")) for system in "ab" for group in "vwxyz"]
    pilot = [{"text": "t", "system": s, "group": g, "ratings": {"overall": rating}} for s, g, rating in answers]
    (tmp_path / "pilot.jsonl").write_text("".join(json.dumps(each) + "\n" for each in pilot))
    (tmp_path / "judged.jsonl").write_text('{"id": "q", "system_a": "x", "system_b": "y", "winner": "x"}\n')
    write_examples(tmp_path / "3.jsonl", rated_dialogues(3, seed=0))
    (tmp_path / "old").mkdir()  # an earlier report
    (tmp_path / "old" / MARK).touch()
    (tmp_path / "old/answers.jsonl").write_text("{}\n")
    return {path.name for path in tmp_path.iterdir()}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("command", "message"), CASES)
def test_a_command_is_refused(
    run: Callable[..., Any], files: set[str], tmp_path: Path, command: str, message: str
) -> None:
    ended = run(*command.split())
    assert ended.returncode == 2, ended.stderr
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert {path.name for path in tmp_path.iterdir()} <= files | {"cache"}
