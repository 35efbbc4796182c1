"""One text under several metrics and how it is shown, systems in files, and what the demo refuses."""

import socket
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from baselines.sacrebleu_metrics import Bleu
from baselines.word_count import WordCount
from cdm.infilling import Gaps
from core.errors import SettingError
from core.example import Example
from core.scores import Scores, require
from discriminators.discriminator import new_bilstm
from judge.browser.judging import Judgement, judge_by, list_fitting, load_metrics, make_example
from judge.browser.serving import check_port
from judge.browser.views import show_candidates, show_judgements
from judge.steering import SteeredText
from models.tiny import TinyCausal, TinyT5
from oumg.generation import Candidate, WrittenToken
from report.explanations import Line, Piece
from tests.toy_models import toy_pooler

HOSTILE = "<script>alert('x')</script>"


def always(scores: Scores) -> Any:
    """A metric with these scores for any text."""
    return SimpleNamespace(requires=require(), signature=scores.signature, score=lambda examples: scores)


PARTS = [["good", 0.5], [HOSTILE, -1.0]]
HALVES = Scores({"quality": np.array([0.25])}, "halves", explanations=[{"parts": PARTS}], notes=("a tiny model",))
NOTHING = Scores({"quality": np.array([np.nan])}, "nothing", reasons=["no tokens"])


def test_a_metric_scores_explains_or_says_why_not() -> None:
    metrics = {"words": WordCount(), "halves": always(HALVES), "bleu": Bleu()}
    found = [judge_by(name, metric, Example("a", text="one two")) for name, metric in metrics.items()]
    assert [each.score for each in found] == [2.0, 0.25, None]
    assert [piece.shade for line in found[1].lines for piece in line.pieces] == [0.5, -1.0]
    assert found[2].reason == "bleu needs references, found none"
    assert judge_by("nothing", always(NOTHING), Example("a", text="one")) == Judgement("nothing", None, "no tokens")


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
    html = show_candidates(SteeredText("It is", (WrittenToken("better", 1, 1.1, candidates),)), "guided", step)
    assert ("<td>&#x27;better&#x27;</td><td>0.250</td><td>0.900</td><td>0.750</td><td>←</td>" in html) == shown
    assert ("<h4>Step 1: …It is</h4>" in html) == shown
    assert ("<td>candidate</td><td>before</td>" in html) == shown
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
    for name in [name for name in found if name.startswith("CDM")]:  # a text is no dialogue to either of them
        assert "needs two or more turns" in (judge_by(name, found[name], Example("a", text="i sing.")).reason or "")
    judged = judge_by("judge", found["judge of positive"], Example("a", turns=dialogues[0]))
    assert [piece.text.strip() for line in judged.lines for piece in line.pieces] == list(dialogues[0])


def test_a_port_that_another_program_uses_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SettingError, match=rf"cannot listen on 127.0.0.1:{port} .*: set port$"):
            check_port(port)
    check_port(port)


def test_an_example_has_what_was_typed() -> None:
    talk = make_example("Hi!\n\n Hello. \n", True, "", "", "", "")
    assert (talk.turns, talk.references) == (("Hi!", "Hello."), ())
    text = make_example(" A text. ", False, "A", "", "one\n\ntwo\n", " ")
    assert (text.text, text.turns, text.prefix, text.label) == ("A text.", (), "A", None)
    assert (text.references, text.context) == (("one", "two"), None)


@pytest.mark.parametrize(
    ("text", "message"),
    [(" ", "text must not be blank"), ("x" * 2001, "text must have at most 2000 characters, but has 2001")],
)
def test_texts_that_are_blank_or_too_long_are_refused(text: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        make_example(text, False, "", "", "", "")


def test_metrics_fit_an_example_that_has_what_they_read() -> None:
    judge = SimpleNamespace(requires=require())
    metrics: dict[str, Any] = {
        "word count": WordCount(),
        "BLEU": Bleu(),
        "CTRLEval, coherence": judge,
        "CDM": SimpleNamespace(requires=require("turns")),
        "judge of positive": judge,
        "judge of hotel": judge,
    }
    text = Example("a", text="The soup was hot.", label="positive")
    assert list_fitting(metrics, text) == ["word count", "CTRLEval, coherence", "judge of positive"]
    assert list_fitting(metrics, Example("b", turns=("hello", "hi tom"))) == ["word count", "CDM"]
    assert list_fitting(metrics, Example("c", text="One.", references=("One.",))) == [
        "word count",
        "BLEU",
        "CTRLEval, coherence",
    ]
