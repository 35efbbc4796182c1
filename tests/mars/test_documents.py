"""Document frequencies: counted by hand, corpora of each kind, saved and read again, what is refused."""

import json
import math
from pathlib import Path

import pytest

from core.faults import InputFaults
from data.documents import smoothed_idf
from mars.masking import count_corpus, load_documents, save_documents


def test_idf_as_used() -> None:
    assert smoothed_idf(4, 4) == 0.1  # log 1, below the floor
    assert smoothed_idf(4, 2) == pytest.approx(math.log(5 / 3))
    assert smoothed_idf(4, 0) == pytest.approx(math.log(5))


def test_documents_are_counted_once_per_word_without_case() -> None:
    found = count_corpus(["The cat. The CAT!", "the dog", "", "A cat"])
    assert found.documents == 4
    assert (found.containing["the"], found.containing["cat"], found.containing["dog"]) == (2, 2, 1)
    assert found.idf("cat") == pytest.approx(math.log(5 / 3))
    assert found.idf("horse") == pytest.approx(math.log(5))


def test_the_order_of_documents_does_not_matter_and_another_one_does() -> None:
    one, other = count_corpus(["a cat", "a dog"]), count_corpus(["a dog", "a cat"])
    assert one == other
    assert one.corpus != count_corpus(["a cat", "a dog", "a cow"]).corpus


def test_corpora_of_each_kind(tmp_path: Path) -> None:
    lines, examples, saved = tmp_path / "a.txt", tmp_path / "a.jsonl", tmp_path / "a.json"
    lines.write_text("a cat\n\n  a dog \n", encoding="utf-8")
    rows = [
        {"id": "1", "text": "x", "references": ["a dog", "a cat"]},
        {"id": "2", "text": "y", "references": ["a dog"]},
    ]
    examples.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    expected = count_corpus(["a cat", "a dog"])
    assert load_documents(lines) == load_documents(examples) == expected
    save_documents(expected, saved)
    assert load_documents(saved) == expected
    examples.write_text(json.dumps({"id": "1", "text": "a cow"}) + "\n", encoding="utf-8")
    assert load_documents(examples) == count_corpus(["a cow"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", " \n", "a.txt:0: the file is empty"),
        ("a.json", "{}", r"a.json:0: must be a table that \+exp=idf wrote"),
        ("a.jsonl", "{", "a.jsonl:1: "),
    ],
)
def test_what_is_no_corpus_is_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputFaults, match=message):
        load_documents(tmp_path / name)
