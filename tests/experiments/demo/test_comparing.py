"""Systems in one file or in a file each, and the files that are refused."""

from pathlib import Path

import pytest

from baselines.word_count import WordCount
from core.faults import InputFaults
from experiments.demo.judging import read_outputs
from judge.comparing import compare


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_outputs_of_one_group_belong_together_in_any_order(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", '{"text": "a b c", "group": "x"}', '{"text": "a", "group": "y"}')
    second = write(tmp_path / "two.jsonl", '{"text": "a", "group": "y"}', '{"text": "a", "group": "x"}')
    found = compare(read_outputs([first, second], most=5), {"words": WordCount()})
    assert [(each.system, each.mean.value) for each in found.means["words"]] == [("one", 2.0), ("two", 1.0)]
    pair = found.pairs["words"]["one", "two"]
    assert (pair.n, pair.wins, pair.ties, pair.losses, pair.difference.value) == (2, 1, 1, 0, 1.0)


def test_without_groups_the_place_decides(tmp_path: Path) -> None:
    first = write(tmp_path / "a.csv", "text", "one two", "one")
    second = write(tmp_path / "b.csv", "text", "one", "one two three")
    found = compare(read_outputs([first, second], most=5), {"words": WordCount()})
    assert found.pairs["words"]["a", "b"].difference.value == -0.5


@pytest.mark.parametrize(
    ("lines", "message"),
    [(("text", "a", "b", "c"), "one.csv: the page reads at most 2 outputs"), (("txt", "a"), "one.csv:")],
)
def test_a_faulty_file_is_called_by_its_name(tmp_path: Path, lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputFaults) as found:
        read_outputs([write(tmp_path / "one.csv", *lines)], most=2)
    assert found.value.faults[0].startswith(message)
