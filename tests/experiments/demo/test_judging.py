"""One text under several metrics, and how it is shown."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from baselines.sacrebleu_metrics import Bleu
from baselines.word_count import WordCount
from cdm.infilling import Gaps
from core.example import Example
from core.scores import Scores, require
from discriminators.discriminator import new_bilstm
from experiments.demo.judging import Judgement, judge_by, load_metrics
from experiments.demo.views import show_candidates, show_judgements
from experiments.report.explanations import Line, Piece
from judge.steering import SteeredText
from models.tiny import TinyCausal, TinyT5
from oumg.generation import Candidate, WrittenToken
from tests.toy_models import toy_pooler

HOSTILE = "<script>alert('x')</script>"


class Halves:
    """Scores and explains with numbers that are easy to check."""

    requires = require()
    signature = "halves"

    def score(self, examples: Sequence[Example]) -> Scores:
        parts = [["good", 0.5], [HOSTILE, -1.0]]
        explained = [{"parts": parts}]
        return Scores({"quality": np.array([0.25])}, "halves", explanations=explained, notes=("a tiny model",))


class Nothing:
    """Has no score for any text."""

    requires = require()
    signature = "nothing"

    def score(self, examples: Sequence[Example]) -> Scores:
        return Scores({"quality": np.array([np.nan])}, self.signature, reasons=["no tokens"])


def test_a_metric_scores_explains_or_says_why_not() -> None:
    metrics = {"words": WordCount(), "halves": Halves(), "bleu": Bleu()}
    found = [judge_by(name, metric, Example("a", text="one two")) for name, metric in metrics.items()]
    assert [each.score for each in found] == [2.0, 0.25, None]
    assert [piece.shade for line in found[1].lines for piece in line.pieces] == [0.5, -1.0]
    assert found[2].reason == "bleu needs references, found none"
    assert judge_by("nothing", Nothing(), Example("a", text="one")) == Judgement("nothing", None, "no tokens")


def test_judgements_show_their_scales_and_counts_without_decimals_and_escape_everything() -> None:
    lines = (Line(HOSTILE, (Piece(HOSTILE, 1.0, 1.0), Piece("plain"))),)
    found = [Judgement("MARS", 0.5, None, lines), Judgement(HOSTILE, None, HOSTILE), Judgement("word count", 3)]
    html = show_judgements(found)
    assert "<td>0.500</td><td>cosine of meanings" in html
    assert "<td>word count</td><td>3</td>" in html
    assert "rgb(120, 190, 240)" in html
    assert "<script>" not in html


@pytest.mark.parametrize(("step", "shown"), [(0, False), (1, True), (2, False)])
def test_a_token_shows_its_candidates(step: int, shown: bool) -> None:
    candidates = (Candidate(HOSTILE, 0.75, 0.25, 0.1), Candidate("better", 0.25, 0.75, 0.9))
    html = show_candidates(SteeredText("", (WrittenToken("better", 1, 1.1, candidates),)), "guided", step)
    assert ("<td>&#x27;better&#x27;</td><td>0.250</td><td>0.900</td><td>0.750</td><td>←</td>" in html) == shown
    assert "<script>" not in html


def test_a_folder_of_models_gives_their_metrics_and_a_discriminator_explains_each_segment(tmp_path: Path) -> None:
    dialogues = [("do you sing?", "i sing."), ("is it late?", "it is late.")]
    texts = [turn for turns in dialogues for turn in turns]
    TinyT5(300, 16, 32, 2, 1, 1).build(texts, (), 0).save_pretrained(tmp_path / "infiller")
    TinyCausal(300, 16, 2, 1, 32).build(texts, (), 0).save_pretrained(tmp_path / "language_model")
    for name, seed in (("amateur", 1), ("expert", 2)):
        Gaps(60).build(TinyT5(300, 16, 32, 2, 1, 1), dialogues, seed).save_pretrained(tmp_path / name)
    for name in ("discriminator_bilstm", "judge_positive"):
        bilstm = new_bilstm([(text,) for text in texts], min_count=1, embedding_dim=4, hidden_dim=4)
        bilstm.save_pretrained(tmp_path / name)
    (tmp_path / "pooler").mkdir()
    pooler = toy_pooler(1.0)
    replace(pooler, auc=0.6).save(tmp_path / "pooler" / "pooler.json")
    assert "CDM, discriminative (classifier)" in load_metrics(tmp_path)
    replace(pooler, auc=0.4).save(tmp_path / "pooler" / "pooler.json")
    found = load_metrics(tmp_path)
    assert list(found)[3:] == [
        *(f"CTRLEval, {aspect}" for aspect in ("coherence", "consistency", "attribute relevance")),
        *("MARS", "CDM, discriminative (average)", "CDM, generative (bilstm)", "judge of positive"),
    ]
    assert all(Judgement(name, 0.0).scale for name in found)
    for name in (
        "CDM, discriminative (average)",
        "CDM, generative (bilstm)",
    ):  # a text is no dialogue to either of them
        assert "needs two or more turns" in (judge_by(name, found[name], Example("a", text="i sing.")).reason or "")
    judged = judge_by("judge", found["judge of positive"], Example("a", turns=dialogues[0]))
    assert [piece.text.strip() for line in judged.lines for piece in line.pieces] == list(dialogues[0])
