"""Tables: agreement is ranked, numbers are not cut off; the joint table of a sweep by hand."""

import math
from typing import Any

import numpy as np
from rich.console import Console

from experiments.report.joint import joint_rows, seed_rows
from judge.agreement_tables import tabulate_agreement
from judge.tables import Table, format_cell, tabulate
from meta_eval.agreement import Agreement
from meta_eval.bootstrap import Estimate

NAN = math.nan


def test_agreement_is_ranked_and_keeps_whole_numbers_on_a_narrow_terminal() -> None:
    spearman, low, none = Estimate(0.55, 0.4, 0.7), Estimate(0.1, 0.0, 0.2), Estimate(NAN, NAN, NAN)
    rows = [
        Agreement("amateur", "fed", "overall", 125, low, none, low, low, 2, 0, False),
        Agreement("expert", "fed", "overall", 125, low, low, low, low, 0, 0, False),
        Agreement("cdm_discriminative_classifier", "fed", "overall", 127, low, spearman, low, low, 0, 0, False),
        Agreement("amateur", "dstc", "overall", 125, low, low, low, low, 2, 0, False),
    ]
    found = tabulate_agreement(rows)
    assert [row["metric"] for row in found.rows] == [rows[i].metric for i in (2, 1, 0, 3)]
    console = Console(width=80, file=None)
    with console.capture() as captured:
        console.print(found.to_terminal(80))
    lines = [" ".join(line.split()) for line in captured.get().splitlines() if line.strip()]
    assert lines[:2] == ["Agreement with ratings", "metric set n spearman beyond_cues"]
    assert lines[3:5] == ["cdm_discriminative_cl fed 127 0.550 [0.40, 0.70] 0.100 [0.00, 0.20]", "assifier"]
    assert lines[-1] == "on the page: unscored"


def test_an_estimate_without_spread_is_shown_without_an_interval() -> None:
    table = tabulate("", "", [{"metric": "m", "kappa": Estimate(1.0, 1.0, 1.0, "no spread")}])
    assert format_cell(table.rows[0]["kappa"]) == "1.000"
    assert table.arrange() == (["metric", "kappa"], ["no interval: no spread"])
    (flat,), (read,) = table.flatten(), table.to_json()
    assert (flat["kappa"], read["kappa"]) == (1.0, 1.0)
    assert np.isnan([flat["kappa_low"], flat["kappa_high"], *read["kappa_interval"]]).all()


def test_a_latex_table_has_equal_rows_of_escaped_text_and_no_sentences() -> None:
    rows = [
        {"metric": "[a_b", "set": "50 % & more", "r": Estimate(-0.5, -0.75, 0.25), "note": "long " * 20},
        {"metric": "<c>", "set": "#1 {x} ~^\\", "r": Estimate(NAN, NAN, NAN), "note": ""},
    ]
    assert Table("", "", rows).to_latex().splitlines() == [
        "% in the other files: note",
        r"\begin{tabular}{llr}",
        r"\toprule",
        r"metric & set & r \\",
        r"\midrule",
        r"{}[a\_b & 50 \% \& more & $-$0.500 [$-$0.75, 0.25] \\",
        r"\textless{}c\textgreater{} & \#1 \{x\} \textasciitilde{}\textasciicircum{}\textbackslash{} & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_a_latex_table_has_the_columns_that_fit_across_a_paper() -> None:
    rows = [{"metric": r, **{f"c{i}": Estimate(float(r), 0.0, 9.0) for i in range(12)}} for r in ("1", "2")]
    said, _, _, head, *_ = Table("", "", rows).to_latex().splitlines()
    assert said == f"% in the other files: {', '.join(f'c{i}' for i in range(4, 12))}"
    assert head == r"metric & c0 & c1 & c2 & c3 \\"
    pair = {"statistic": "r", "metric_a": "x" * 29, "metric_b": "y" * 35, "n": "z" * 9, "u": 1, "better": "x", "r": 1.0}
    assert r"statistic & metric\_a & n & better & " in Table("", "", [pair]).to_latex()


def job(gamma: str, table: dict[str, float | None], **settings: str) -> dict[str, Any]:
    place = {"set": "s", "aspect": "a"}
    rows = [
        {"metric": m, **place, "spearman": v, "spearman_interval": [v, v], "table": "agreement"}
        for m, v in table.items()
    ]
    other = {"metric": "cdm", **place, "spearman": 9.0, "table": "Correlation of systems"}
    return {"settings": {"x.gamma": gamma, **settings}, "table": [other, *rows], "figures": {"loss": 2.0}}


JOBS = [job("0.5", {"cdm": 0.25, "count": 0.0}), job("-1", {"other": 0.5, "count": None}), {"settings": {}}]


def test_every_metric_is_a_column_and_a_missing_cell_is_empty() -> None:
    rows = joint_rows(JOBS, ["x.gamma"])
    place = {"set": "s", "aspect": "a"}
    assert rows[0] == {**place, "x.gamma": "0.5", "cdm": Estimate(0.25, 0.25, 0.25), "count": Estimate(0.0, 0.0, 0.0)}
    assert list(rows[1]) == ["set", "aspect", "x.gamma", "other", "count"]
    assert math.isnan(rows[1]["count"].value)
    assert Table("", "", rows).to_markdown().splitlines() == [
        "| set | aspect | x.gamma | cdm | count | other |",
        "| --- | --- | --- | --- | --- | --- |",
        "| s | a | 0.5 | 0.250 [0.25, 0.25] | 0.000 [0.00, 0.00] |  |",
        "| s | a | -1 |  | – | 0.500 [0.50, 0.50] |",
    ]


def test_a_job_shows_its_statistic() -> None:
    row = {"table": "agreement", "set": "s", "aspect": "a", "metric": "cdm"}
    row |= {"spearman": 0.1, "kendall": 0.2}
    names = ("spearman", "kendall", "accuracy")
    jobs = [{"settings": {"statistic": name}, "table": [row]} for name in names]
    found = [row["cdm"].value for row in joint_rows(jobs, ["statistic"])]
    assert found == [0.1, 0.2, 0.1]


def test_seeds_have_a_mean_and_a_spread_by_agreement() -> None:
    jobs = [
        job("1", {"low": 0.0, "high": value, "none": None}, seed=seed)
        for seed, value in (("0", 0.25), ("1", 0.5), ("2", 0.75))
    ]
    place = {"set": "s", "aspect": "a"}
    assert seed_rows(joint_rows(jobs, ["seed"]), ["seed"]) == [
        {**place, "metric": "high", "seeds": 3, "mean": 0.5, "spread": 0.25},
        {**place, "metric": "low", "seeds": 3, "mean": 0.0, "spread": 0.0},
    ]
    assert seed_rows(joint_rows(jobs, ["seed", "x.gamma"]), ["seed", "x.gamma"])[0]["x.gamma"] == "1"
    figures = [{"settings": {"seed": seed}, "figures": {"loss": float(seed), "auc": 1.0}} for seed in ("0", "2")]
    found = seed_rows(joint_rows(figures, ["seed"]), ["seed"])
    assert [(row["metric"], row["mean"]) for row in found] == [("loss", 1.0), ("auc", 1.0)]


def test_without_ratings_a_job_has_its_first_row_with_estimates_or_else_its_figures() -> None:
    first = {"table": "t", "ur": 0.6, "ur_interval": [0.5, 0.7], "perplexity": 9.0, "perplexity_interval": [8.0, 10.0]}
    jobs = [
        {"settings": {"alpha": "1"}, "table": [{"table": "t", "texts": "human"}, first, {**first, "ur": 0.1}]},
        {"settings": {"alpha": "2"}, "table": [{**first, "ur": 0.8, "ur_interval": [None, None]}], "figures": {"n": 1}},
        {"settings": {"alpha": "4"}, "exit_code": 1},
        {"settings": {"alpha": "8"}, "table": [], "figures": {"loss": 2.0}},
    ]
    rows = joint_rows(jobs, ["alpha"])
    found = [(row["alpha"], row["perplexity"].value, row["ur"].value) for row in rows[:2]]
    assert found == [("1", 9, 0.6), ("2", 9, 0.8)]
    assert [list(row) for row in rows] == [["alpha", "ur", "perplexity"]] * 2 + [["alpha", "loss"]]
