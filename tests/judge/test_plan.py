import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge
from core.errors import SettingError
from judge.pair_inputs import read_given
from judge.plans import count_ratings
from meta_eval.planning import n_for_width, n_to_tell_metrics
from tests.data.sets.small_files import write

Finish = Callable[..., dict[str, Any]]
pytestmark = pytest.mark.filterwarnings("default")


def test_more_raters_and_larger_differences_need_fewer_inputs(finish: Finish) -> None:
    table = finish("plan", "--differences", "0.1", "0.2", "--raters", "1,4")["table"]
    metrics = {(row["difference"], row["raters"]): row for row in table if "metric_a" in row}
    systems = {(row["difference"], row["raters"]): row for row in table if "spread" in row}
    for rows in (metrics, systems):
        assert rows[0.1, 1]["n"] > rows[0.1, 4]["n"] > rows[0.2, 4]["n"]
    alone, four = metrics[0.1, 1], metrics[0.1, 4]
    assert (alone["metric_a"], alone["metric_b"]) == pytest.approx((0.4, 0.3))
    assert four["metric_a"] == pytest.approx(0.4 * math.sqrt(4 * 0.5 / 2.5 / 0.5))
    assert alone["n"] == n_to_tell_metrics(0.4, 0.3, 0.6).n
    assert alone["power"] >= 0.8
    assert systems[0.1, 4]["spread"] == pytest.approx(math.sqrt(0.25 + 1 / 4))


def test_the_reason_names_the_impossible_correlation() -> None:
    (row,) = judge.plan(correlation=0.9, differences=[0.1], raters=[9]).tables[1].rows
    said = "a correlation of 0.9 with one rater is impossible if raters correlate 0.5"
    assert (math.isnan(row["n"]), row["reason"]) == (True, said)


def test_a_pilot_gives_the_spread(finish: Finish, tmp_path: Path) -> None:
    """Two raters' differences of a and b on five inputs: they differ by 2 on each input: variance 2 within. Means 2, 3,
    7, 3, 5: variance 4, of which 2/2 is theirs."""
    rated = zip("vwxyz", ([1, 3], [2, 4], [6, 8], [2, 4], [4, 6]), strict=True)
    rows = [(group, system, each) for group, by in rated for system, each in (("a", by), ("b", [0, 0]))]
    lines = [{"text": "t", "group": group, "system": s, "ratings": {"overall": each}} for group, s, each in rows]
    write(tmp_path / "in.jsonl", *lines)
    table = finish("plan", "in.jsonl", "--systems", "a", "b", "--raters", "1", "2", "--differences", "0.5")["table"]
    spreads = {row["raters"]: row["spread"] for row in table if "spread" in row}
    assert spreads == pytest.approx({1: math.sqrt(3 + 2), 2: math.sqrt(3 + 1)})


def test_columns_name_those_of_a_pilot(finish: Finish, tmp_path: Path) -> None:
    """`--columns` is for texts and for preferences, in a file and in rows."""
    texts = [
        {"t": "x", "bot": s, "q": g, "Ann": a * (s == "new")} for s in ("old", "new") for a, g in enumerate("vwxyz")
    ]
    pairs = [{"q": f"q{i}", "left": "x", "right": "y", "winner": "ab"[i % 2]} for i in range(40)]
    of_texts = {"text": "t", "system": "bot", "group": "q", "ratings.fit": "Ann"}
    of_pairs = {"group": "q", "system_a": "left", "system_b": "right"}
    for rows, columns, more in (texts, of_texts, ()), (pairs, of_pairs, ("--within", "0.1")):
        write(tmp_path / "in.jsonl", *rows)
        named = [word for field, column in columns.items() for word in (f"--columns.{field}", column)]
        asked = more or ("--aspect", "fit", "--systems", "old", "new", "--differences", "0.5")
        run = ("plan", "in.jsonl", *named, *asked)
        if more:
            found = judge.plan(rows, columns=columns, within=0.1)
        else:
            found = judge.plan(rows, "fit", ["old", "new"], columns=columns, differences=[0.5])
        assert finish(*run, folder=str(len(rows)))["notes"] == found.said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("in.jsonl", "systems must be two of those in the pilot (a), but is []"),
        ("--data builtin_stories", "judge plan takes pandalm or alpaca_eval by --data, or a FILE"),
    ],
)
def test_a_pilot_is_a_file(words: str, said: str, run: Callable[..., Any], tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", {"text": "t", "system": "a", "group": "x", "ratings": {"overall": 1}})
    ended = run("plan", *words.split())
    assert (ended.returncode, said in ended.stderr) == (2, True)


def test_the_last_line_counts_ratings() -> None:
    """50 inputs of two outputs by three people are 300 ratings; 200 by one are 400."""
    rows = [{"difference": 0.1, "raters": k, "n": n} for k, n in ((1, 200), (3, 50))]
    worse = [{"difference": 0.2, "raters": 1, "n": 10}, *rows]
    shown = "300 ratings are needed (50 inputs, 2 outputs each, 3 raters)"
    assert count_ratings("systems", worse) == f"to show a difference of 0.1 between two systems, {shown}"
    none = [{"difference": 0.1, "raters": 1, "n": math.nan, "reason": "too small"}]
    assert count_ratings("metrics", none) == (
        "no study is known to show a difference of 0.1 between two metrics: too small"
    )


def test_labels_are_planned_from_pairs(finish: Finish, run_here: Callable[..., int], tmp_path: Path) -> None:
    """A judge that is right about 3 of 4 pairs: r = .5 of wins and losses, which vary by 1/4."""
    verdicts = [("ab"[i % 2], "ab"[(i + i // 2 % 4 // 3) % 2]) for i in range(80)]
    rows = [
        {"id": f"q{i}", "system_a": "x", "system_b": "y", "winner": winner, "judges": {"j": judged}}
        for i, (winner, judged) in enumerate(verdicts)
    ]
    write(tmp_path / "in.jsonl", *rows)
    settings = ("plan", "in.jsonl", "--within", "0.1")
    results = finish(*settings)
    kappa, rate = results["table"]
    assert (kappa["quantity"], kappa["value"]) == ("kappa", pytest.approx(0.5))
    assert (rate["quantity"], rate["value"], rate["correlation"]) == ("win rate", 0.5, pytest.approx(0.5))
    assert rate["labels"] == n_for_width(0.1, 0.25 * 80 / 79)
    assert rate["with_judge"] == pytest.approx(0.75 * rate["labels"], abs=2)
    assert results["notes"][-1] == (
        f"Get {kappa['labels']} labels for the kappa to within 0.1; {rate['labels']} labels for the win rate to within "
        f"0.1 ({rate['with_judge']} if j reads all texts)."
    )
    limited, too_few = (finish(*settings, "--texts", n, folder=n)["table"][1] for n in ("200", "90"))
    assert rate["with_judge"] < limited["with_judge"] < limited["labels"] == rate["labels"]
    assert (too_few["labels"], too_few["with_judge"]) == (None, None)
    for wrong in ("--texts 0", "--power 0", "--systems x y"):
        assert run_here(*settings, *wrong.split()) == 2
    assert run_here("plan", "in.jsonl", "within=0.1") == 2


@pytest.mark.parametrize("has_judge", [True, False])
def test_labels_are_planned_from_texts(has_judge: bool) -> None:
    """Two systems, whose yes and no differ on every second input; the judge is wrong of every eighth text."""
    rows: list[dict[str, Any]] = [
        {"id": f"{s}{i}", "text": "t", "system": s, "group": f"q{i}"}
        | {"ratings": {"ok": [y, y] if has_judge else [y, i % 3 // 2]}}
        for i in range(60)
        for s, y in (("a", i % 2), ("b", 1))
    ]
    scores = {"j": [row["ratings"]["ok"][0] if i % 8 else 0 for i, row in enumerate(rows)]} if has_judge else None
    found = judge.plan(judge.read(rows, scores), "ok", within=0.1)
    kappa, rate = found.tables[0].rows
    assert [row["quantity"] for row in (kappa, rate)] == ["kappa", "rate"]
    assert rate["value"] == pytest.approx(np.mean([np.mean(row["ratings"]["ok"]) for row in rows]))
    assert math.isfinite(rate["with_judge"]) == has_judge
    with pytest.raises(SettingError, match=r"aspect must be one with ratings in the pilot \(ok\), but is other"):
        judge.plan(rows, "other", within=0.1)


def test_labels_are_planned_from_verdicts_without_texts(tmp_path: Path) -> None:
    """The only aspect of a table with id, judge and human needs no name."""
    rng = np.random.default_rng(0)
    human = rng.integers(0, 2, 100)
    is_right = rng.random(100) < 0.9
    said = np.where(is_right, human, 1 - human)
    path = tmp_path / "v.csv"
    rows: list[dict[str, Any]] = []
    for i in range(100):
        rows.append({"id": f"q{i}", "judge": int(said[i]), "human": int(human[i])})
    lines = [",".join(map(str, row.values())) for row in rows]
    path.write_text("\n".join(["id,judge,human", *lines]))
    of_file = judge.plan(path, within=0.05).tables[0].rows
    of_rows = judge.plan(rows, within=0.05).tables[0].rows
    assert [row["quantity"] for row in of_file] == ["kappa", "rate"]
    assert of_file[1]["value"] == pytest.approx(human.mean())
    assert [row["labels"] for row in of_rows] == [row["labels"] for row in of_file]
    with pytest.raises(SettingError, match='people="y"'):
        judge.plan([{"id": f"q{i}", "x": 1, "y": i % 2} for i in range(9)], within=0.05)


def test_an_interval_as_wide_as_the_scale_has_no_plan() -> None:
    """Kappas lie from -1 to 1, rates from 0 to 1."""
    for within, known in (0.4, [True, True]), (0.5, [True, False]), (1.0, [False, False]):
        kappa, rate, *_ = judge.plan(within=within).tables[0].rows
        assert [math.isfinite(row["labels"]) for row in (kappa, rate)] == known
    assert kappa["reason"] == "within must be below 1 for this quantity"


def test_a_pilot_that_does_not_vary_plans_nothing() -> None:
    rows = [{"id": f"q{i}", "system_a": "x", "system_b": "y", "winner": "tie"} for i in range(40)]
    texts = [{"text": "t", "ratings": {"ok": float(k > 0)}} for k in range(3)]
    no_common = [rows[0], {**rows[1], "winner": None, "judges": {"j": "x"}}]
    for pilot in (rows, rows[:1], no_common, texts[:2], judge.read(texts, {"j": [1, None, None], "k": [None] * 3})):
        found = judge.plan(pilot, "ok", within=0.1)
        assert all(math.isnan(row["labels"]) for row in found.tables[0].rows)
        assert "No number of labels is known for the" in found.answer
        assert "rate to within 0.1 (the pilot's labels are too few, or do not vary)" in found.answer


PAIRS = [{"id": f"q{i}", "system_a": "x", "system_b": "y", "winner": "ab"[i % 2]} for i in range(20)]
OUTPUTS = {"x": {"q": "A cat."}, "y": {"q": "A dog."}}


@pytest.mark.parametrize(
    ("pilot", "settings", "said"),
    [
        (None, {"people": "ann"}, "people say what is in a pilot: pass its file too"),
        (PAIRS, {"people": "ann"}, "people must be left out, because the pilot is preferences"),
        ("pairs.jsonl", {"judges": "j", "levels": ["bad", "good"]}, "judges and levels must be left out"),
        (OUTPUTS, {"people": "ann"}, "people must be left out, because the pilot is outputs by system"),
        (judge.read(OUTPUTS), {"judges": "j"}, "judges must be left out, because the pilot is read already"),
        (read_given(PAIRS, {}), {"columns": {"rater": "r"}}, "columns must be left out, because the pilot is read"),
    ],
)
def test_settings_that_say_nothing_of_a_pilot_are_refused(
    pilot: Any, settings: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "pairs.jsonl", *PAIRS)
    with pytest.raises(SettingError, match=said):
        judge.plan(pilot, within=0.1, **settings)
