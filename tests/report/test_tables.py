"""Tables: agreement is ranked, numbers are not cut off."""

import math
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from meta_eval.agreement import Agreement
from meta_eval.cues import ARE_CUES
from meta_eval.estimates import Estimate
from report import terminal
from report.agreement_tables import tabulate_agreement
from report.tables import Table, list_reasons
from report.wording import format_cell

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
    assert found.fit(60) == ["metric", "spearman", "n"]
    console = Console(width=80, file=None)
    with console.capture() as captured:
        console.print(found.to_terminal(80))
    assert max(map(len, captured.get().splitlines())) <= 80
    lines = [" ".join(line.split()) for line in captured.get().splitlines() if line.strip()]
    assert lines[:2] == ["Agreement with ratings", "metric spearman n"]
    assert lines[3] == "cdm_discriminative_classifier 0.550 [0.40, 0.70] 127"


def test_an_estimate_without_spread_is_shown_without_an_interval() -> None:
    table = Table("", "", [{"metric": "m", "kappa": Estimate(1.0, 1.0, 1.0, "no spread")}])
    assert format_cell(table.rows[0]["kappa"]) == "1.000"
    assert [*list_reasons([table])] == ["no interval of kappa: no spread"]
    (flat,), (read,) = table.flatten(), table.to_json()
    assert (flat["kappa"], read["kappa"]) == (1.0, 1.0)
    assert np.isnan([flat["kappa_low"], flat["kappa_high"], *read["kappa_interval"]]).all()


def test_each_reason_stands_once_with_all_that_it_explains() -> None:
    cues, few = Estimate.undefined(ARE_CUES), Estimate.undefined("too few groups", 0.5)
    fine = Estimate(0.5, 0.25, 0.75)
    rows = [
        {"metric": "cheap_cues", "r": few, "tau": few, "beyond_cues": cues},
        {"metric": "bleu", "r": few, "tau": fine, "beyond_cues": fine, "reason": "it is cut"},
    ]
    other = Table("", "", [{"metric": "rouge", "rho": few}])
    assert [*list_reasons([Table("", "", rows), other])] == [
        "no interval of r, no interval of tau and no interval of rho: too few groups",
        "no beyond_cues: the row is the cheap cues themselves, so nothing can be left beyond them",
        "bleu: it is cut",
    ]


def test_at_most_eight_columns_are_shown_and_files_have_all() -> None:
    table = Table("", "", [{f"c{i}": i for i in range(12)}], shown=[f"c{i}" for i in range(11, 1, -1)])
    assert table.fit(1000) == [f"c{i}" for i in range(11, 3, -1)]
    assert (len(table.known), len(table.flatten()[0])) == (12, 12)


def test_a_name_with_colons_is_no_emoji(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.console().print(Table("Table", "", [{"metric": "score:m:", "r": 0.5}]).to_terminal(80))
    assert "score:m:" in capsys.readouterr().out


def test_a_latex_table_has_equal_rows_of_escaped_text_and_no_sentences() -> None:
    rows = [
        {"metric": "[a_b", "set": "50 % & more", "r": Estimate(-0.5, -0.75, 0.25), "note": "long " * 20},
        {"metric": "<c>", "set": "#1 {x} ~^\\", "r": Estimate(NAN, NAN, NAN), "note": ""},
    ]
    assert Table("Mean", "95 % intervals.", rows).to_latex().splitlines() == [
        r"\begin{table}",
        r"\caption{Mean. 95 \% intervals.}",
        r"\begin{tabular}{llr}",
        r"\toprule",
        r"metric & set & r \\",
        r"\midrule",
        r"{}[a\_b & 50 \% \& more & $-$0.500 [$-$0.75, 0.25] \\",
        r"\textless{}c\textgreater{} & \#1 \{x\} \textasciitilde{}\textasciicircum{}\textbackslash{} & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def test_a_latex_table_has_the_columns_that_fit_across_a_paper() -> None:
    rows = [{"metric": r, **{f"c{i}": Estimate(float(r), 0.0, 9.0) for i in range(12)}} for r in ("1", "2")]
    _, _, _, _, head, *_ = Table("", "", rows).to_latex().splitlines()
    assert head == r"metric & c0 & c1 & c2 & c3 \\"


def test_a_table_fits_its_width_also_on_a_wider_console() -> None:
    rows = [{"prompt": "The food", "text": "word " * 30, "unguided": "other " * 30, "attribute": 0.5}]
    console = Console(width=100_000, file=None)
    with console.capture() as captured:
        console.print(Table("Steered texts", "", rows).to_terminal(80))
    title, *lines = captured.get().splitlines()
    assert title == "Steered texts"
    assert max(map(len, lines)) <= 80


def test_files_say_why_an_interval_is_missing() -> None:
    table = Table("R", "", [{"metric": "bleu", "r": Estimate.undefined("8 inputs", 0.5)}, {"metric": "ter", "r": 0.25}])
    file = StringIO()
    table.write_csv(file)
    assert file.getvalue().splitlines() == ["metric,r,r_low,r_high,reason", "bleu,0.5,nan,nan,8 inputs", "ter,0.25,,,"]
    assert table.to_markdown().endswith("| ter | 0.250 |\n\nno interval of r: 8 inputs\n")
    assert "\\end{tabular}\n\\par no interval of r: 8 inputs\n\\end{table}" in table.to_latex()
