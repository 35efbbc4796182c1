"""What the answer says of systems, in the worst cases: ties, few systems, no interval, no value."""

import math
from typing import Any, Literal

import pytest

import judge
from meta_eval.agreement import NO_QUESTION, Agreement
from meta_eval.estimates import Estimate
from report.agreement_sentences import describe_systems

NAN = math.nan
SHOWN = Estimate(0.6, 0.5, 0.7)
BETTER = "which system wrote a text agrees better"


def describe(within: Estimate, alone: Estimate | None, best: Estimate = SHOWN, others: int = 1) -> str:
    """The clauses of a metric `m` beside other metrics without agreement."""

    def row(metric: str, spearman: Estimate, within: Estimate = NO_QUESTION) -> Agreement:
        none: Any = dict.fromkeys(("pearson", "kendall", "beyond_cues"), NO_QUESTION)
        about: Any = {"set": "fed", "aspect": "q", "n": 9, "unscored": 0, "truncated": 0, "synthetic": False}
        return Agreement(metric, spearman=spearman, within_systems=within, **none, **about)

    rows = [row("m", best, within), row("cheap_cues", Estimate(0.9, 0.8, 1.0))]
    rows += [row(f"other {i}", NO_QUESTION, NO_QUESTION) for i in range(others)]
    if alone is not None:
        rows.append(row("system_alone", alone))
    return "; ".join(describe_systems(rows, "m"))


def test_nothing_is_said_of_systems_that_are_not_named() -> None:
    assert describe(Estimate.undefined("the scored and rated texts name fewer than 2 systems"), None) == ""


@pytest.mark.parametrize(
    ("alone", "is_said"),
    [
        (Estimate(0.71, 0.6, 0.8), True),
        (Estimate(0.6, 0.5, 0.7), False),  # a tie
        (Estimate(0.6 + 1e-12, 0.5, 0.7), False),  # but for rounding
        (Estimate(0.71, 0.0, 0.8), False),  # nothing above chance is shown
        (Estimate.undefined("few inputs", 0.71), True),
        (Estimate.undefined("they do not vary"), False),
    ],
)
def test_the_system_is_named_where_it_agrees_better_than_every_metric(alone: Estimate, is_said: bool) -> None:
    said = describe(SHOWN, alone)
    assert (BETTER in said) == is_said
    assert not is_said or "than any metric (0.600)" in said
    assert ("spearman 0.710, no interval" in said) == (is_said and math.isnan(alone.low))
    assert BETTER not in describe(SHOWN, alone, best=NO_QUESTION)


def test_a_system_that_says_nothing_is_not_better_than_a_metric_in_reverse() -> None:
    assert BETTER not in describe(SHOWN, Estimate.undefined("few inputs", 0.0), best=Estimate(-0.3, math.nan, math.nan))


@pytest.mark.parametrize(
    ("within", "said"),
    [
        (Estimate(0.3, 0.2, 0.4), "within systems m agrees (spearman 0.300 [0.20, 0.40])"),
        (
            Estimate(0.3, 0.01, 0.6),
            "within systems no agreement of m is shown (spearman 0.300 [0.01, 0.60])",
        ),  # one of two
        (Estimate(-0.1, -0.3, 0.1), "within systems no agreement of m is shown (spearman -0.100 [-0.30, 0.10])"),
        (Estimate(-0.4, -0.6, -0.2), "within systems m agrees in reverse (spearman -0.400 [-0.60, -0.20])"),
        (Estimate.undefined("few", -0.4), "within systems m agrees in reverse (spearman -0.400, no interval)"),
        (Estimate.undefined("few", 0.4), "within systems no agreement of m is shown (spearman 0.400, no interval)"),
        (Estimate.undefined("no texts"), "the agreement of m within systems is unknown (no texts)"),
    ],
)
def test_within_systems(within: Estimate, said: str) -> None:
    assert describe(within, Estimate(0.1, 0.0, 0.2)) == said


@pytest.mark.parametrize("statistic", ["kendall", "pearson"])
def test_each_clause_names_its_own_statistic(statistic: Literal["kendall", "pearson"]) -> None:
    answer = judge.agree("docs/examples/summaries.jsonl", ["rouge_l", "bleu"], statistic=statistic).answer
    assert f"over all texts rouge_l agrees best ({statistic} " in answer
    assert f"{BETTER} (spearman 0.892 [0.86, 0.92]) than any metric (0.639)" in answer
    assert "within systems no agreement of rouge_l is shown (spearman -0.395 [-0.82, 0.32])" in answer


def test_a_note_on_reverse_agreement_names_its_statistic() -> None:
    rows = [{"text": f"{i} words", "ratings": {"q": i}, "scores": {"loss": -(i**3)}} for i in range(40)]
    notes = judge.agree(rows, statistic="pearson").notes
    assert [note for note in notes if note.startswith("loss agrees with q in reverse over all texts (spearman -1.000")]


def test_each_clause_names_its_texts_where_metrics_scored_different_ones() -> None:
    texts = [{"system": "ab"[i % 2], "text": f"{i % 7} " * (1 + i % 5), "ratings": {"q": i % 4}} for i in range(60)]
    scores = [{"full": 10 + i % 4, "part": 10 + i % 3 if i < 40 else None} for i in range(60)]
    rows = [{**text, "group": f"{i // 2}", "scores": scores[i]} for i, text in enumerate(texts)]
    said = judge.agree(rows).answer
    assert "on the 40 texts that all ranked metrics scored full agrees best (spearman " in said
    assert "; within systems full agrees (spearman 1.000 on 60 texts);" in said
    assert "full agrees on 60 texts beyond additive effects" in said
    assert " texts" not in judge.agree(rows[:40]).answer.replace("over all texts", "")
