"""Tables: agreement is ranked, numbers are not cut off."""

import math

import numpy as np
import pytest
from rich.console import Console

from meta_eval.agreement import Agreement
from meta_eval.cues import ARE_CUES
from meta_eval.estimates import Estimate
from report import terminal
from report.agreement_tables import tabulate_agreement
from report.tables import Table, tabulate
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
    assert table.arrange() == (["metric", "kappa"], ["no interval of kappa for m: no spread"])
    (flat,), (read,) = table.flatten(), table.to_json()
    assert (flat["kappa"], read["kappa"]) == (1.0, 1.0)
    assert np.isnan([flat["kappa_low"], flat["kappa_high"], *read["kappa_interval"]]).all()


def test_the_lines_below_a_table_name_the_rows_and_columns_that_they_explain() -> None:
    cues, few = Estimate.undefined(ARE_CUES), Estimate.undefined("too few groups", 0.5)
    fine = Estimate(0.5, 0.25, 0.75)
    rows = [
        {"metric": "cheap_cues", "r": few, "tau": few, "beyond_cues": cues},
        {"metric": "bleu", "r": few, "tau": fine, "beyond_cues": fine, "reason": "it is cut"},
        {"metric": "rouge", "r": few, "tau": fine, "beyond_cues": fine},
    ]
    assert Table("", "", rows).arrange()[1] == [
        "no interval of r and tau in any row: too few groups",
        "no beyond_cues for cheap_cues: the row is the cheap cues themselves, so nothing can be left beyond them",
        "bleu: it is cut",
    ]


def test_a_name_with_colons_is_no_emoji(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.console().print(Table("Table", "", [{"metric": "score:m:", "r": 0.5}]).to_terminal(80))
    assert "score:m:" in capsys.readouterr().out


@pytest.mark.parametrize("width", [80, 120])
def test_a_table_and_the_lines_below_it_fit_the_terminal(width: int) -> None:
    estimate = Estimate(-0.123, -0.234, 0.345, None)
    few = Estimate.undefined("fewer than eight groups of outputs that share an input have both a score and a rating")
    measured = dict.fromkeys(("pearson", "spearman", "kendall", "p_value"), estimate)
    rows = [
        {"metric": f"cdm_discriminative_classifier_{i}", "set": "builtin_dialogues", "aspect": "coherence", "n": i}
        | {**measured, "beyond_cues": few if i else estimate, "unscored": i, "truncated": i}
        for i in range(4)
    ]
    console = Console(width=width, file=None)
    with console.capture() as captured:
        console.print(Table("Agreement with ratings", "", rows, finding="word " * 40).to_terminal(width))
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= width
    assert any("cdm_discriminative" in line for line in lines)
    assert "spearman" in captured.get()


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


def test_a_table_fits_its_width_also_on_a_wider_console() -> None:
    rows = [{"prompt": "The food", "text": "word " * 30, "unguided": "other " * 30, "attribute": 0.5}]
    console = Console(width=100_000, file=None)
    with console.capture() as captured:
        console.print(Table("Steered texts", "", rows, finding="A long sentence. " * 10).to_terminal(80))
    title, finding, *lines = captured.get().splitlines()
    assert (title, finding.strip()) == ("Steered texts", ("A long sentence. " * 10).strip())
    assert max(map(len, lines)) <= 80


def test_a_column_outside_the_verdict_leaves_room_for_whole_names_of_rows() -> None:
    wide = Estimate(-0.0001, -0.1, 0.1)
    statistics = ["pearson", "spearman", "kendall", "beyond_cues"]
    names = ["cdm_discriminative_classifier", "word_count"]
    other = {"word_count": Estimate(0.5, 0.4, 0.6), names[0]: wide}
    rows = [{"metric": name, **dict.fromkeys(statistics, other[name])} for name in names]
    console = Console(width=120, file=None)
    with console.capture() as captured:
        console.print(Table("", "", rows).to_terminal(115))
    shown = captured.get()
    assert "cdm_discriminative_classifier" in shown
    assert "on the page: kendall" in shown
