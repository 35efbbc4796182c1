"""A user's own labelled texts: what is read, what is held out, and what is refused."""

from pathlib import Path

import pytest

from core.faults import InputFaults
from data.sets.attributes import own_texts
from tests.data.sets.small_files import write


def test_texts_are_read_with_their_labels_and_prefixes(tmp_path: Path) -> None:
    lines = [{"text": f"Text {i}.", "label": [" 好 评", "sci/tech "][i % 2], "prefix": "Text"} for i in range(20)]
    data = own_texts(write(tmp_path / "mine.jsonl", *lines), held_out_fraction=0.2)
    assert (data.name, data.labels, data.rated, data.synthetic) == ("mine", ("sci/tech", "好 评"), (), False)
    assert (len(data.train), len(data.held_out)) == (16, 4)
    assert {e.text for e in (*data.train, *data.held_out)} == {line["text"] for line in lines}
    assert {(e.label, e.prefix) for e in data.train} == {("sci/tech", "Text"), ("好 评", "Text")}


def test_faults_are_listed_by_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *[{"text": "A"}, {"label": "x"}, {"text": "B", "label": "x"}])
    with pytest.raises(InputFaults) as found:
        own_texts(path)
    assert [fault.split(" found")[0] for fault in found.value.faults] == [
        f'{path}:1: "label" is needed here,',
        f'{path}:2: an example needs "text" or "turns" that say something,',
    ]


def test_labels_are_checked(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", *[{"text": "A", "label": "x"}, {"text": "B", "label": "x "}])
    with pytest.raises(InputFaults, match=r'one\.jsonl: the texts need at least two labels, found only "x"'):
        own_texts(one)
    lines = write(tmp_path / "lines.jsonl", *[{"text": "A", "label": "x\ny"}, {"text": "B", "label": "z"}])
    with pytest.raises(InputFaults, match=r'lines\.jsonl:1: "label" must be one line, found "x\\ny"'):
        own_texts(lines)
