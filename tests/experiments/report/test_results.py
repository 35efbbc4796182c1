"""What a run folder holds, and what happens to an old one."""

import json
import math
import os
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.table import Table as TerminalTable

from core.example import Example
from core.faults import SettingFault
from core.notes import TINY, read_note
from core.scores import Scores
from experiments.contracts import Outcome, Table
from experiments.report import results
from experiments.report.page import duration, render
from experiments.report.tables import group_rows, terminal_tables
from experiments.report.texts import list_disagreements
from experiments.runner.sweep import show
from judge.tables import AGREEMENT_CELLS, flat_cells, shown_columns
from meta_eval.agreement import Agreement
from meta_eval.bootstrap import Estimate
from meta_eval.scored_set import ScoredSet

NAN = math.nan


def row(metric: str, spearman: float, set: str = "toys", aspect: str = "quality") -> Agreement:
    estimates = Estimate(0.5, NAN, NAN), Estimate(spearman, -0.25, 0.75), Estimate(NAN, NAN, NAN)
    return Agreement(metric, set, aspect, 3, *estimates, estimates[0], 1, 0, True)


def circumstances() -> results.Circumstances:
    return results.Circumstances(
        "toy", "A toy", 3, ("python", "run.py", "a=[1, 2]"), "2026-01-02T03:04:05+00:00", 5.0, {"fit": 4.0}, "seed: 3\n"
    )


def test_rows_are_ranked_within_set_and_aspect_and_undefined_ones_come_last() -> None:
    rows = [row("a", NAN), row("b", 0.1), row("z", 0.9, aspect="other"), row("c", 0.7), row("d", -0.2)]
    ranked = [[r.metric for r in group] for group in group_rows([row("e", NAN), *rows]).values()]
    assert ranked == [["c", "b", "d", "a", "e"], ["z"]]


def test_results_are_strict_json_with_null_for_nan() -> None:
    figures = {"loss": math.inf, "half": 0.5}
    found = results.results(Outcome("sig", [row("a", 0.5)], notes=["beware"], figures=figures), circumstances())
    read = json.loads(json.dumps(found, allow_nan=False))
    assert (read["experiment"], read["signature"], read["notes"], read["seed"]) == ("toy", "sig", ["beware"], 3)
    assert read["table"][0]["spearman"] == 0.5
    assert read["table"][0]["spearman_interval"] == [-0.25, 0.75]
    assert read["table"][0]["kendall"] is None
    assert read["table"][0]["pearson_interval"] == [None, None]
    assert read["figures"] == {"loss": None, "half": 0.5}
    assert read["versions"]["torch"]
    assert f"({os.cpu_count()} cores)" in read["machine"]
    intervals = {f"{name}_interval" for name in ("pearson", "spearman", "kendall", "beyond_cues")}
    assert set(read["table"][0]) == {*AGREEMENT_CELLS, *intervals, "reason", "table"}
    assert read["table"][0]["table"] == "agreement"


def test_numbers_of_numpy_are_written_as_python_s() -> None:
    found = results.to_json({"half": np.float32(0.5), "n": np.int64(3), "none": np.float32(NAN), "pair": (1, 2)})
    assert json.dumps(found) == '{"half": 0.5, "n": 3, "none": null, "pair": [1, 2]}'


def test_score_lines_have_every_score_and_its_reason(tmp_path: Path) -> None:
    examples = (Example("a", "x", ratings={"q": 1.0}), Example("b", "y"))
    scores = {
        "m": Scores({"q": np.array([NAN, 2.0])}, "m", ["too long", None], [0, 3], [{}, {"low": 1}]),
        "k": Scores({"q": np.array([1.0, 2.0]), "r": np.array([0.5, 0.25])}, "k"),
    }
    outcome = Outcome("sig", scored=[ScoredSet("toys", examples, scores, synthetic=True)])
    results.write_scores(outcome, tmp_path)
    first, second = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert first == {
        "set": "toys",
        "id": "a",
        "ratings": {"q": 1.0},
        "scores": {"m": {"q": None}, "k": {"q": 1.0, "r": 0.5}},
        "dropped_tokens": {},
        "reasons": {"m": "too long"},
        "explanations": {"m": {}},
    }
    assert second["dropped_tokens"] == {"m": 3}
    assert results.is_synthetic(outcome)


def test_a_folder_of_other_things_is_not_written_into(tmp_path: Path) -> None:
    results.check_folder(tmp_path / "new")
    results.check_folder(tmp_path)
    for name in ("thesis.tex", "run.log"):
        (tmp_path / name).touch()
        for path in (tmp_path, tmp_path / name):
            with pytest.raises(SettingFault, match="run_dir must be a new or empty folder"):
                results.check_folder(path)
    (tmp_path / "link").symlink_to(tmp_path / "thesis.tex")
    (tmp_path / results.MARK).symlink_to(tmp_path / "thesis.tex")
    for path in (tmp_path, tmp_path / "link"):
        with pytest.raises(SettingFault):
            results.check_folder(path)
    (tmp_path / results.MARK).unlink()
    (tmp_path / results.MARK).touch()
    results.check_folder(tmp_path)


def test_a_claimed_folder_belongs_to_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "run"
    for _ in range(2):
        with results.claim_folder(folder):
            assert [path.name for path in folder.iterdir()] == [results.MARK]
            with pytest.raises(SettingFault, match="another run writes into run_dir="), results.claim_folder(folder):
                raise AssertionError("must not be claimed twice")


def test_a_new_run_in_an_old_folder_removes_only_what_runs_write(tmp_path: Path) -> None:
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots" / "old.png").touch()
    for name in ("results.json", "run.log", "mine.txt"):
        (tmp_path / name).touch()
    (tmp_path / "models").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    results.clear_folder(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"mine.txt", "elsewhere"}


def test_models_replace_those_of_an_earlier_run_and_share_their_bytes(tmp_path: Path) -> None:
    source, folder = tmp_path / "stage", tmp_path / "run"
    source.mkdir()
    (source / "model.safetensors").write_bytes(b"weights")
    (folder / "models" / "old").mkdir(parents=True)
    results.write_models(Outcome("sig", models={"expert": source}), folder)
    assert read_note(folder / "models" / "expert") == ()
    assert [path.name for path in (folder / "models").iterdir()] == ["expert"]
    assert (folder / "models" / "expert" / "model.safetensors").samefile(source / "model.safetensors")
    assert [path.name for path in folder.iterdir()] == ["models"]
    results.write_models(Outcome("sig", models={"expert": source}, synthetic=True), folder)
    assert read_note(folder / "models" / "expert") == (TINY,)
    assert read_note(source) == ()


def test_the_page_escapes_text_and_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    outcome = Outcome(
        "sig|<b>", [row("best", 0.5), row("none", NAN)], plots={"a": Figure()}, notes=["<script>x</script>"]
    )
    page = render(outcome, circumstances(), tmp_path)
    assert page.count("<script") == 1  # the page's own
    assert "&lt;script&gt;x" in page
    assert "http" not in page
    assert "data:image/png;base64,iVBORw==" in page
    assert "0.500<small>[-0.25, 0.75]</small>" in page
    assert "kendall is undefined: no row has a value" in page
    assert "Kendall" not in page
    assert "python run.py &#39;a=[1, 2]&#39;" in page
    assert page.index("<td>best") < page.index("<td>none")


def test_reasons_stand_below_their_table_once(tmp_path: Path) -> None:
    given = Table("A", "", [{"n": 1, "reason": "too few"}, {"n": 2, "reason": "too few"}, {"n": 3, "reason": ""}])
    page = render(Outcome("sig", tables=[given, Table("B", "", [{"n": 1}])]), circumstances(), tmp_path)
    assert ">reason</button>" not in page
    assert page.count(">n</button>") == 2
    assert page.count('<p class="soft">–: too few</p>') == 1


@pytest.mark.parametrize(("seconds", "text"), [(59.94, "59.9 s"), (60, "1 min 00 s"), (3599.6, "1 h 00 min")])
def test_durations_are_rounded_once(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def other_table() -> Table:
    first = {"judge": "<bilstm>", "n": 3, "ur": Estimate(0.75, 0.5, 0.875), "seeds": (0, 1)}
    return Table(
        "Two systems", "Higher is better.", [first, {**first, "judge": "bert", "ur": Estimate(0.75, NAN, NAN)}]
    )


def test_another_table_is_whole_in_the_results_and_without_lists_elsewhere(tmp_path: Path) -> None:
    outcome = Outcome("sig", tables=[other_table()])
    found = results.results(outcome, circumstances())["table"]
    assert found[0] == {"judge": "<bilstm>", "n": 3, "ur": 0.75, "ur_interval": [0.5, 0.875], "seeds": [0, 1]} | {
        "table": "Two systems"
    }
    assert found[1]["ur_interval"] == [None, None]
    assert shown_columns(other_table().rows) == ["judge", "n", "ur"]
    assert flat_cells(other_table().rows[0]) == {
        "judge": "<bilstm>",
        "n": 3,
        "ur": 0.75,
        "ur_low": 0.5,
        "ur_high": 0.875,
    }
    page = render(outcome, circumstances(), tmp_path)
    assert "<h2>Two systems</h2>" in page
    assert '<td class="text" data-key="&lt;bilstm&gt;">&lt;bilstm&gt;</td>' in page
    assert '<td data-key="0.75">0.750<small>[0.50, 0.88]</small></td>' in page
    assert '<td data-key="0.75">0.750<small></small></td>' in page
    (shown,) = terminal_tables(outcome.tables, 100)
    table = cast(TerminalTable, shown.renderables[0])
    assert [list(column.cells) for column in table.columns] == [
        ["<bilstm>", "bert"],
        ["3", "3"],
        ["0.750 [0.50, 0.88]", "0.750"],
    ]


def test_tables_are_exported(tmp_path: Path) -> None:
    results.write_tables(Outcome("sig", [row("a_b", 0.5)], tables=[other_table(), Table("Empty", "", [])]), tmp_path)
    names = {"agreement", "two_systems"}
    assert {file.name for file in (tmp_path / "tables").iterdir()} == {
        f"{n}.{s}" for n in names for s in ("csv", "md", "tex")
    }
    lines = (tmp_path / "tables" / "two_systems.csv").read_text().splitlines()
    assert lines[:2] == ["judge,n,ur,ur_low,ur_high", "<bilstm>,3,0.75,0.5,0.875"]
    assert (tmp_path / "tables" / "two_systems.md").read_text().splitlines()[
        2
    ] == "| &lt;bilstm&gt; | 3 | 0.750 [0.50, 0.88] |"
    assert r"a\_b & toys" in (tmp_path / "tables" / "agreement.tex").read_text()


def test_the_worst_disagreements_of_each_metric_come_first() -> None:
    ratings = [1.0, 2.0, 3.0, 4.0]
    examples = tuple(Example(f"e{i}", "x", ratings={"q": r}) for i, r in enumerate(ratings))
    scores = {
        "good": Scores({"q": np.array([1.0, 2.0, 4.0, 3.0])}, "good"),
        "bad": Scores(
            {"p": np.array([9.0, 2.0, NAN, 1.0])}, "bad", [None, None, "why", None], explanations=[{"k": 1}] * 4
        ),
        "constant": Scores({"q": np.zeros(4)}, "constant"),
    }
    found = list_disagreements(ScoredSet("toys", examples, scores, synthetic=True))
    assert {metric: [each.example.id for each in rows] for metric, rows in found.items()} == {
        "good": ["e2", "e3", "e0"],
        "bad": ["e0", "e3", "e1"],
    }
    first = found["bad"][0]
    assert (first.rating, first.score, first.rating_rank, first.score_rank) == (1.0, 9.0, 0.0, 1.0)
    assert [piece.text for line in first.explanation for piece in line.pieces] == ["1"]


def test_a_sweep_shows_rows_of_other_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = results.results(Outcome("sig", tables=[other_table()]), circumstances())["table"]
    job = {"settings": {"alpha": "1"}, "exit_code": 0, "table": table, "figures": {}, "number": 0}
    failed = {"settings": {"alpha": "2"}, "exit_code": 1, "number": 1}
    show([job, failed], tmp_path)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["job", "alpha", "judge", "n", "ur"] in lines
    assert ["0", "1", "<bilstm>", "3", "0.750"] in lines
    assert ["1", "2", "failed", "(1)"] in lines


EVIL = "<script>alert(1)</script>../../x|y"


def test_names_from_data_stay_in_their_folder_and_are_text_on_the_page(tmp_path: Path) -> None:
    example = Example(EVIL, EVIL, system=EVIL, ratings={EVIL: 1.0})
    scored = ScoredSet(EVIL, (example,), {EVIL: Scores({EVIL: np.array([0.5])}, EVIL, explanations=[{EVIL: EVIL}])})
    figure = Figure()
    outcome = Outcome(
        EVIL,
        rows=[row(EVIL, 0.5, set=EVIL, aspect=EVIL)],
        tables=[Table(EVIL * 20, EVIL, [{EVIL: EVIL}])],
        scored=[scored],
        plots={f"scores_{EVIL}": figure, "x" * 300: Figure()},
        notes=[EVIL],
        figures={EVIL: 1.0},
    )
    folder = tmp_path / "inner" / "run"
    folder.mkdir(parents=True)
    results.write_plots(outcome, folder)
    results.write_tables(outcome, folder)
    results.write_scores(outcome, folder)
    page = render(outcome, circumstances(), folder / "plots")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert [path.name for path in tmp_path.iterdir()] == ["inner"]
    assert [path.name for path in folder.parent.iterdir()] == ["run"]
    assert len(list((folder / "plots").iterdir())) == 2
    assert len(list((folder / "tables").iterdir())) == 6
