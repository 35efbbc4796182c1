"""judge agree through the command line, and its findings."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judge.agreement import list_ranked
from meta_eval.ranking import RankingSettings, compare_metrics, rank_metrics
from tests.data.sets.small_files import write
from tests.meta_eval.sets import make_set, rho

Finish = Callable[..., dict[str, Any]]
pytestmark = pytest.mark.filterwarnings("default")


def write_study(path: Path) -> dict[str, np.ndarray]:
    """Six systems on 32 inputs; metric good sees quality, bad does not."""
    rng = np.random.default_rng(0)
    quality = (rng.normal(size=6)[:, None] + rng.normal(size=(6, 32))).ravel()
    values = {
        "ratings": np.round(2 * quality),
        "good": quality + 0.3 * rng.normal(size=192),
        "bad": rng.normal(size=192),
    }
    rows = []
    for i in range(192):
        row = {"id": f"t{i}", "text": "word " * (1 + i % 7), "system": f"s{i // 32}", "group": f"i{i % 32}"}
        scores = {"good": values["good"][i], "bad": values["bad"][i]}
        rows.append({**row, "ratings": {"quality": values["ratings"][i]}, "scores": scores})
    write(path, *rows)
    return values


def test_tables_of_a_study(finish: Finish, tmp_path: Path) -> None:
    values = write_study(tmp_path / "in.jsonl")
    table = finish("agree", "in.jsonl", "--metric", "word_count", plots=False)["table"]
    rows = {row["metric"]: row for row in table if row["table"] == "agreement"}
    assert set(rows) == {"good", "bad", "word_count", "cheap_cues", "system_alone"}
    good = rows["good"]
    assert good["spearman"] == pytest.approx(rho(values["good"], values["ratings"]))
    by_system = [values[name].reshape(6, 32) for name in ("good", "ratings")]
    within = np.mean([rho(*both) for both in zip(*by_system, strict=True)])
    assert good["within_systems"] == pytest.approx(within)
    assert good["within_systems_interval"][0] < within < good["within_systems_interval"][1]
    means = [column.mean(axis=1) for column in by_system]
    assert (good["between_systems"], good["systems"]) == (pytest.approx(rho(*means)), 6)
    assert good["between_systems_interval"] == [None, None]
    pairs = {(row["metric_a"], row["metric_b"]): row for row in table if "metric_a" in row}
    assert len(pairs) == 3
    won, even = pairs["good", "bad"], pairs["bad", "word_count"]
    assert (won["p_value"], won["better"], won["reason"], even["better"]) == (0.0005, "good", "", "–")
    assert won["difference_interval"][0] > 0
    assert good["beyond_cues_interval"][0] > 0.5
    assert rows["word_count"]["beyond_cues_interval"] == [None, None]  # a cue itself
    ranks = {row["metric"]: row["cluster"] for row in table if "cluster" in row}
    assert ranks == {"good": "1", "bad": "2", "word_count": "2"}


PLAIN = RankingSettings(level=0.05)


def test_a_metric_that_refuses_the_hard_half_is_ranked_on_what_all_scored() -> None:
    """The first 60 ratings lie far apart and are easy to order; the last 60 are hard, and one metric skips them."""
    rng = np.random.default_rng(0)
    ratings = np.concatenate([10 * rng.normal(size=60), rng.normal(size=60)])
    steady, picky = ratings + rng.normal(size=120), ratings + 2 * rng.normal(size=120)
    picky[60:] = np.nan
    sample = make_set(ratings, {"picky": picky, "steady": steady})
    ranking = rank_metrics(sample, "q", PLAIN)
    (pair,) = compare_metrics(sample, ranking)
    rows = list_ranked(replace(ranking, pairs=(pair,)))
    assert [(row["metric"], row["n"]) for row in rows] == [("steady", 60), ("picky", 60)]
    found = [rho(values[:60], ratings[:60]) for values in (steady, picky)]
    assert [row["agreement"].value for row in rows] == pytest.approx(found)
    assert rho(steady, ratings) < found[1]  # on all 120 it would have come second
    assert pair.difference.value == pytest.approx(found[1] - found[0])
    assert pair.n == 60
