"""Sheets for people to label: blind, drawn at random, and read back by their design."""

import shlex
from pathlib import Path

import numpy as np
import pytest

import judge
from core.errors import InputError, SettingError
from judge.cli import main
from judge.verdict_files import read_verdicts
from tests.judge.tables import read_csv, write_csv

RNG = np.random.default_rng(0)
TRUTH = (RNG.random(400) < 0.8).astype(int)
JUDGE = np.where(RNG.random(400) < 0.9, TRUTH, 1 - TRUTH)
TEXTS = [
    {"id": f"gpt-{i}", "text": f"Answer </script> {i}", "context": f"Question {i}?", "system": "gpt", "group": f"g{i}"}
    | {"scores": {"grader": int(verdict)}}
    for i, verdict in enumerate(JUDGE)
]


def fill_labels(folder: Path) -> Path:
    """The labels of a sheet as a person saves them."""
    ids = {row["item"]: row["id"] for row in read_csv(folder / "sheet.design.csv")}
    labels = {item: TRUTH[int(name.removeprefix("gpt-"))] for item, name in ids.items()}
    rows = [{"item": item, "label": ("no", "yes")[label]} for item, label in labels.items()]
    return write_csv(folder / "sheet_labels.csv", rows)


def test_the_sheet_is_blind(tmp_path: Path) -> None:
    sheet = judge.label(TEXTS, n=50, output=tmp_path / "sheet")
    assert [path.name for path in sheet.files] == ["sheet.csv", "sheet.design.csv"]
    rows = read_csv(tmp_path / "sheet.csv")
    assert [*rows[0]] == ["item", "context", "text", "label"]
    assert len(rows) == 50
    content = (tmp_path / "sheet.csv").read_text(encoding="utf-8")
    assert "gpt" not in content
    assert "grader" not in content


def test_the_same_seed_draws_the_same_texts(tmp_path: Path) -> None:
    for name, seed in [("sheet", 0), ("again", 0), ("other", 1)]:
        judge.label(TEXTS, n=50, seed=seed, output=tmp_path / name)
    drawn = {name: read_csv(tmp_path / f"{name}.design.csv") for name in ("sheet", "again", "other")}
    assert drawn["again"] == drawn["sheet"] != drawn["other"]
    assert len({row["id"] for row in drawn["sheet"]}) == 50


def test_a_sheet_without_its_design_is_refused(tmp_path: Path) -> None:
    judge.label(TEXTS, n=40, output=tmp_path / "sheet")
    labels = fill_labels(tmp_path)
    (tmp_path / "sheet.design.csv").unlink()
    with pytest.raises(SettingError, match=r"need its design, the file NAME.design.csv beside it, but there is none"):
        judge.agree(TEXTS, labels=labels)


def test_an_empty_sheet_is_refused(tmp_path: Path) -> None:
    judge.label(TEXTS, n=40, output=tmp_path / "sheet")
    with pytest.raises(InputError, match="at least one row needs a label, but all are empty"):
        judge.agree(TEXTS, labels=tmp_path / "sheet.csv")


def test_the_design_counts_where_the_sheet_shows_ids(tmp_path: Path) -> None:
    """The sheet of verdicts without texts has ids, by which labels could be joined without it."""
    rows = [{"id": f"gpt-{i}", "judge": int(verdict)} for i, verdict in enumerate(JUDGE)]
    drawn = judge.label(rows, n=100, output=tmp_path / "sheet")
    assert any("has no texts: the sheet shows ids" in note for note in drawn.notes)
    sheet = read_csv(tmp_path / "sheet.csv")
    assert [*sheet[0]] == ["item", "id", "label"]
    for row in sheet:
        row["label"] = str(TRUTH[int(row["id"].removeprefix("gpt-"))])
    path = write_csv(tmp_path / "filled.csv", sheet)
    assert sum(bool(example.ratings) for example in read_verdicts(rows, labels=path).examples) == 100
    (tmp_path / "sheet.design.csv").unlink()
    with pytest.raises(SettingError, match="labels of a sheet need its design"):
        read_verdicts(rows, labels=path)


def test_a_column_called_item_is_no_sheet() -> None:
    rows = [{"item": f"q{i}", "judge": int(verdict)} for i, verdict in enumerate(JUDGE)]
    labels = [{"item": f"q{i}", "label": int(label)} for i, label in enumerate(TRUTH)]
    found = read_verdicts(rows, labels=labels)
    np.testing.assert_array_equal(found.ratings("label"), TRUTH)


@pytest.mark.parametrize(("name", "stem"), [("sheet", "sheet"), ("sheet.csv", "sheet"), ("v1.2", "v1.2")])
def test_a_sheet_is_named_by_the_user_and_never_overwritten(name: str, stem: str, tmp_path: Path) -> None:
    sheet = judge.label(TEXTS, n=4, output=tmp_path / name)
    assert [path.name for path in sheet.files] == [f"{stem}.csv", f"{stem}.design.csv"]
    with pytest.raises(SettingError, match=rf"because labels may be lost, but .*{stem}\.csv and .*design\.csv exist"):
        judge.label(TEXTS, n=4, output=tmp_path / name)


def test_the_next_command_has_the_settings_that_read_the_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["key,gpt", *(f"t{i},{('bad', 'good')[i % 2]}" for i in range(12))]
    Path("my file.csv").write_text("\n".join(rows) + "\n")
    how = ["--columns.id", "key", "--levels", "bad", "good", "--judges", "gpt"]
    assert main(["label", "my file.csv", *how]) == 0
    command = "judge agree 'my file.csv' --columns.id key --levels bad good --judges gpt --labels sheet.csv"
    assert f"then {command}" in " ".join(capsys.readouterr().out.split())
    sheet = read_csv(Path("sheet.csv"))
    labels = [f"{row['item']},{('bad', 'good')[i % 3 % 2]}" for i, row in enumerate(sheet)]
    Path("sheet.csv").write_text("\n".join(["item,label", *labels]) + "\n")
    assert main(shlex.split(command)[1:]) == 0
    drawn = judge.label([{"id": "a", "judge": 1}], output="other")
    assert drawn.answer.endswith('then judge agree on the same texts with labels="other.csv"')
