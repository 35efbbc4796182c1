import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import judge
from core.errors import SettingError
from judge.plans import count_ratings
from meta_eval.planning import kappa_variance, n_for_width, n_to_tell_metrics
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


def test_labels_are_planned_from_assumptions(finish: Finish) -> None:
    """A judge that agrees by r = .5 with labels explains a quarter of their variance."""
    results = finish("plan", "--within", "0.1", "--correlation", "0.5")
    kappa, rate = results["table"]
    assert kappa["labels"] == n_for_width(0.1, kappa_variance(0.5, 0.5))
    assert (rate["labels"], rate["with_judge"]) == (n_for_width(0.1, 0.25), n_for_width(0.1, 0.25, explained=0.0625))
    assert results["notes"][-1] == (
        f"Get {kappa['labels']} labels for the kappa to within 0.1; {rate['labels']} labels for the rate to within 0.1 "
        f"({rate['with_judge']} if judge reads all texts)."
    )
    few, too_few = (judge.plan(within=0.1, correlation=0.5, texts=n).tables[0].rows[1] for n in (200, 90))
    assert rate["with_judge"] < few["with_judge"] < few["labels"] == rate["labels"]
    assert math.isnan(too_few["labels"])
    assert too_few["reason"] == "alone, more labels are needed than 90"


def test_the_last_line_counts_ratings() -> None:
    """50 inputs of two outputs by three people are 300 ratings; 200 by one are 400."""
    rows = [{"difference": 0.1, "raters": k, "n": n} for k, n in ((1, 200), (3, 50))]
    worse = [{"difference": 0.2, "raters": 1, "n": 10}, *rows]
    shown = "300 ratings are needed (50 inputs, 2 outputs each, 3 raters)"
    assert count_ratings("systems", worse, 2) == f"to show a difference of 0.1 between two systems, {shown}"
    assert "900 ratings are needed (30 inputs, 10 outputs" in count_ratings("systems", [{**rows[1], "n": 30}], 10)
    none = [{"difference": 0.1, "raters": 1, "n": math.nan, "reason": "too small"}]
    assert count_ratings("metrics", none) == (
        "no study is known to show a difference of 0.1 between two metrics: too small"
    )


def test_an_interval_as_wide_as_the_scale_has_no_plan() -> None:
    """Kappas lie from -1 to 1, rates from 0 to 1."""
    for within, known in (0.4, [True, True]), (0.5, [True, False]), (1.0, [False, False]):
        kappa, rate, *_ = judge.plan(within=within).tables[0].rows
        assert [math.isfinite(row["labels"]) for row in (kappa, rate)] == known
    assert kappa["reason"] == "within must be below 1 for this quantity"


@pytest.mark.parametrize(
    ("pilot", "settings", "said"),
    [
        (None, {"columns": {"text": "t"}}, "columns would have no effect without the file of a pilot"),
        ({"x": {"q": "A cat."}}, {"within": 0.1}, "pilot would have no effect where labels are planned"),
        (None, {"within": 0.1, "power": 0.9}, "power would have no effect where labels are planned"),
        (None, {"within": 0.1, "power": 0}, "power"),
        (None, {"within": 0.1, "texts": 0}, "texts"),
    ],
)
def test_wrong_settings_of_a_plan_are_refused(pilot: Any, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        judge.plan(pilot, **settings)
