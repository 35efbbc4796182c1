"""Pairs with verdicts of judges: the published files and what joins them, and the figures that were published."""

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

from core.errors import InputError
from data.sets.judged_pairs import load_alpaca_eval, load_pandalm
from data.sets.originals import PANDALM_JUDGES
from tests.data.sets.small_files import read_alpaca_eval, read_leaderboard, write

LABELS = [(1, 2, 1), (0, 0, 2), (1, 2, 0)]  # of three people: a, a tie, no majority
ROW: dict[str, object] = {
    "instruction": "Do.",
    "system_a": "x",
    "system_b": "y",
    "text_a": "a",
    "text_b": "b",
    "judges": {"j": "a", "k": None},
}


def write_published(folder: Path) -> None:
    row = {"cmp_key": "x_y-7B", "instruction": "Do.", "input": float("nan"), "response1": "one", "response2": True}
    by_person = [{f"annotator{k}": label for k, label in enumerate(labels, 1)} for labels in LABELS]
    verdicts = {"gpt-3.5-turbo": ["1", "Tie", "garbage"], "pandalm-7b": [2, 0, 1]}
    write(folder / "testset-v1.json", [{"idx": i, **row, **labels} for i, labels in enumerate(by_person)])
    for judge, key in PANDALM_JUDGES.items():
        rows = [{"idx": i, key: verdict} for i, verdict in enumerate(verdicts[judge])]
        write(folder / f"{judge}-testset-v1.json", rows[::-1])


def test_the_published_files_of_pandalm_are_joined(tmp_path: Path) -> None:
    write_published(tmp_path / "pandalm")
    given, texts = load_pandalm(tmp_path)
    assert given.outcomes.tolist() == [1, 0, 1, 0.5, 0.5, 0, 1, 0, 0.5]
    assert given.raters == ("1", "2", "3") * 3
    shown = [(each.system, each.text, each.context) for each in texts.examples]
    assert shown == [("x", "one", "Do."), ("y-7B", "True", "Do.")]
    judged = given.by_majority()  # all three pairs are the same two texts: nine votes are one judgement
    assert judged.outcomes.tolist() == [0.5]


def test_the_majority_of_raters(tmp_path: Path) -> None:
    people = [["a", "b", "a"], ["tie", "tie", "b"], ["a", "b", "tie"]]
    rows = ({**ROW, "id": str(i), "input": str(i), "people": each} for i, each in enumerate(people))
    write(tmp_path / "pairs.jsonl", *rows)
    judged = load_pandalm(tmp_path)[0].by_majority()
    assert judged.outcomes.tolist() == [1, 0.5, 0.5]
    assert judged.judges["j"].tolist() == [1, 1, 1]
    assert np.isnan(judged.judges["k"]).all()


def test_verdicts_of_the_archive_of_alpaca_eval(tmp_path: Path) -> None:
    def annotate(instruction: str, model: str, preference: float | None) -> dict[str, object]:
        base: dict[str, object] = {"output_1": "base", "generator_1": "base", "instruction": instruction}
        return base | {"output_2": "longer", "generator_2": model, "preference": preference}

    rows = {"m": [annotate("A", "m", 1.25), annotate("B", "m", None)], "base": [annotate("B", "base", 1.5)]}
    folder = tmp_path / "alpaca_eval"
    for model, annotations in rows.items():
        write(folder / f"results/{model}/weighted_alpaca_eval_gpt4_turbo/annotations.json", annotations)
    with tarfile.open(folder / "alpaca_eval.tar.gz", "w:gz") as archive:
        archive.add(folder / "results", "repository/results")
    given, texts = load_alpaca_eval(tmp_path)
    assert texts is None
    assert (given.systems, given.outcomes.tolist()) == (("m", "base"), [0.25])
    assert given.lengths is not None
    assert given.lengths.tolist() == [[6, 4]]


@pytest.mark.parametrize(
    ("line", "fault"), [("{", "1: broken JSON"), ('{"id": "4", "instruction": "Do."}', '1: .* "input" is required')]
)
def test_a_faulty_line_of_the_joined_file_of_pandalm_is_named(tmp_path: Path, line: str, fault: str) -> None:
    write(tmp_path / "pairs.jsonl", line)
    with pytest.raises(InputError, match=f"pairs.jsonl:{fault}"):
        load_pandalm(tmp_path)


def test_published_figures(shared_data: Path) -> None:
    """Accuracies on 712 pairs as counted directly; the published win rates of 27 models."""
    verdicts, texts = load_pandalm(shared_data)
    judged = verdicts.by_majority()
    assert (len(judged), len(texts)) == (712, 535)  # of two answers of a system to one instruction the first
    right = {name: int((judged.outcomes == found).sum()) for name, found in judged.judges.items()}
    assert right == {"gpt-3.5-turbo": 505, "pandalm-7b": 488}
    given, published = read_alpaca_eval(shared_data)[0], read_leaderboard(shared_data)
    rates = {name: 100 * float(np.nanmean(given.of(name))) for name in given.systems[:1] + given.systems[2:]}
    assert rates == pytest.approx({name: published[name]["win_rate"] for name in rates}, abs=1e-5)


@pytest.mark.parametrize(
    ("file", "row", "fault"),
    [("testset-v1", {"annotator2": 7}, "'7'"), ("pandalm-7b-testset-v1", {"idx": 0}, "'pandalm_result'")],
)
def test_a_published_file_of_another_form_is_named(tmp_path: Path, file: str, row: dict[str, int], fault: str) -> None:
    write_published(tmp_path / "pandalm")
    path = tmp_path / f"pandalm/{file}.json"
    rows = json.loads(path.read_text()) if "annotator2" in row else []
    write(path, [{**(rows[0] if rows else {}), **row}])
    with pytest.raises(InputError, match=f"pairs.jsonl: cannot be read: KeyError: {fault}"):
        load_pandalm(tmp_path)
