"""CTRLEval's experiments and +exp=iwf through the command line, at toy size; agreement by system and on subsets."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from transformers import BertForSequenceClassification

from core.errors import SettingError
from core.example import Example
from core.scores import Scores
from ctrl_eval.frequency import WordFrequencies, load_frequencies
from ctrl_eval.gaps import TextGaps
from ctrl_eval.prompts import load_prompts
from data.corpus import Corpus
from experiments.ctrl_eval.experiment import (
    choose_table,
    draw,
    explain_frequencies,
    find_held_out_aucs,
)
from experiments.ctrl_eval.tables import compare_printed, draw_biased_subsets, list_agreement_by_system
from experiments.presentation import list_agreement_of_parts
from experiments.training import LanguageModelPlan, Pretrained, Trained
from meta_eval.scored_set import ScoredSet
from models.tiny import TinyT5
from models.training import LanguageModelSchedule
from tests.experiments.conftest import list_stages
from tests.meta_eval.sets import make_set

pytestmark = pytest.mark.usefixtures("plain_page")
TOY = """
data.train=120 data.held_out=30 data.rated=24 pattern_functions=true logger=none
model.infiller.model.d_model=16 model.infiller.model.d_ff=32 model.infiller.model.num_heads=2
model.infiller.schedule.epochs=1 model.causal.model.hidden_size=16 model.causal.model.num_attention_heads=2
model.causal.model.intermediate_size=32
model.discriminator.texts=100 +model.discriminator.build.hidden_dim=8
"""
ASPECTS = ("coherence", "consistency", "attribute_relevance")
METRICS = [f"ctrleval{kind}" for kind in ("", "_mean", "_max", "_min", "_bartscore_pf", "_ppl_pf")]
METRICS += ["perplexity", "perplexity_raw", "perplexity_backbone", "perplexity_backbone_raw"]
METRICS += ["bartscore_backbone", "bartscore", "bleurt"]
METRICS += ["discriminator", "union", "word_count"]


TWO_PROMPTS = """\
prompts: ["<text> It was <mask>.", "So <mask>! <text>"]
labels: [negative, positive]
verbalizers: [[bad, good]]
"""


def test_every_row_and_figure_is_there_and_stages_are_found_again(
    finish: Callable[..., Any], saved_bert: Callable[..., Path], tmp_path: Path
) -> None:
    bleurt = saved_bert(["the", "was", "it"], 16, 1, 64)
    BertForSequenceClassification.from_pretrained(bleurt, num_labels=1).save_pretrained(bleurt)
    TinyT5(300, 16, 32, 2, 1, 1).build(["the cat sat on the mat"], (), seed=0).save_pretrained(tmp_path / "bart")
    (tmp_path / "prompts.yaml").write_text(TWO_PROMPTS)
    small = ("data.rated=16", f"prompts={tmp_path}/prompts.yaml")
    models = (f"model.bleurt={bleurt}", f"model.bart={tmp_path}/bart", f"outputs={tmp_path}")
    command = tuple(dict.fromkeys(("+exp=ctrleval_sentiment", *TOY.split(), *small, *models)))
    results = finish(*command)
    agreement = [row for row in results["table"] if row["table"] == "agreement"]
    rows = {(row["metric"], row["aspect"]) for row in agreement}
    assert rows == {(metric, aspect) for metric in (*METRICS, "system_alone") for aspect in ASPECTS}
    counted = re.search(r"\|iwf=(counted_\w{16})\|", results["signature"])
    assert counted is not None
    assert any(f"sentences ({counted[1]})" in note for note in results["notes"])
    assert {(row["set"], row["n"], row["synthetic"]) for row in agreement} == {("builtin_reviews", 16, True)}
    drift = {(row["metric"], row["aspect"], row["system"]) for row in results["table"] if "system" in row}
    systems = ("steady", "fluent", "faithful", "obedient")
    compared = [metric for metric in METRICS if not metric.startswith("ctrleval_")]
    assert drift == {(metric, aspect, system) for metric in compared for aspect in ASPECTS for system in systems}
    curves = {row["metric"] for row in results["table"] if "evaluators" in row}
    assert curves == {"ctrleval", "ctrleval_bartscore_pf", "ctrleval_ppl_pf"}
    stages = list_stages(tmp_path)
    assert finish(*command, folder="second", plots=False)["table"] == results["table"]
    assert list_stages(tmp_path) == stages


RELEASED = Corpus("released", (), (), (), synthetic=False, iwf=lambda: Path("sets/iwf_full.txt"))


def test_the_held_out_auc_is_that_of_the_saved_weights() -> None:
    first = {"step": 1, "val/loss": 0.4, "val/auc": 0.7, "val/order": 0.7}
    curve = (first, {"step": 2, "val/loss": 0.6, "val/auc": 0.8, "val/order": 0.8})
    judges = {"quality": Trained("quality", Path("stage"), curve)}
    for keep, auc in (("loss", 0.7), ("auc", 0.8)):
        plan = cast(Any, SimpleNamespace(training=SimpleNamespace(keep=keep)))
        assert find_held_out_aucs(judges, plan) == {"quality held-out AUC": auc}


def test_the_released_table_goes_with_the_released_data() -> None:
    pegasus, none = Pretrained("google/pegasus-large"), replace(RELEASED, iwf=None)
    assert choose_table(RELEASED, pegasus, None, None) == "sets/iwf_full.txt"
    assert choose_table(RELEASED, pegasus, "mine.json", None) == "mine.json"
    assert choose_table(none, pegasus, None, None) is None
    assert choose_table(replace(RELEASED, train=(Example("a", text="A text."),)), pegasus, "count", None) is None
    with pytest.raises(SettingError, match=r"model\.iwf=count needs training texts, but released has none"):
        choose_table(RELEASED, pegasus, "count", None)
    schedule = LanguageModelSchedule(1, 1e-3, batch_size=16)
    tiny = LanguageModelPlan(TinyT5(300, 16, 32, 2, 1, 1), schedule, TextGaps(load_prompts("sentiment")))
    # its tokens are not those of the table
    assert choose_table(RELEASED, tiny, None, "google/pegasus-large") == "sets/iwf_full.txt"
    with pytest.raises(SettingError, match=r"set model\.iwf_tokenizer to a PEGASUS, or model\.iwf=count"):
        choose_table(RELEASED, tiny, None, None)


def test_missing_word_frequencies_are_named() -> None:
    (note,) = explain_frequencies(RELEASED, None)
    assert note == "released has no texts to count word frequencies in: all targets of a text weigh alike"
    released = SimpleNamespace(sentences=0)
    assert explain_frequencies(RELEASED, cast(WordFrequencies, released)) == []


def test_texts_are_drawn_from_all_of_a_sorted_file() -> None:
    examples = [Example(f"{label}{i:02d}", text=".", label=label) for label in ("bad", "good") for i in range(50)]
    drawn = draw(examples, 50, seed=0)
    assert {example.label for example in drawn} == {"bad", "good"}
    assert drawn == [example for example in examples if example in drawn] != draw(examples, 50, seed=1)
    assert draw(examples, None, seed=0) == draw(examples, 1000, seed=0) == examples


def test_a_missing_splitter_stops_the_run_before_anything_is_trained(run: Callable[..., Any], tmp_path: Path) -> None:
    found = run("+exp=ctrleval_sentiment", *TOY.split(), "model.metric.sentence_split=nltk", f"outputs={tmp_path}")
    assert found.returncode == 2
    assert "run python -m nltk.downloader punkt_tab" in found.stderr
    assert not (tmp_path / "stages").exists()


def test_iwf_counts_a_corpus_for_a_models_tokenizer(finish: Callable[..., Any], tmp_path: Path) -> None:
    lm = TinyT5(300, 16, 32, 2, 1, 1).build(["the cat sat on the mat"], (), seed=0)
    lm.save_pretrained(tmp_path / "model")
    (tmp_path / "corpus.txt").write_text("The cat sat. The dog ran.\n\nA cat slept.\n")
    finish("+exp=iwf", f"corpus={tmp_path}/corpus.txt", f"model_name={tmp_path}/model", f"output={tmp_path}/iwf.json")
    table = load_frequencies(tmp_path / "iwf.json", lm.tokenizer)
    assert table.sentences == 3
    assert len(table.iwf) == len(lm.tokenizer)


def rate(ratings: list[float], systems: list[str] | None = None, groups: int = 8, **scores: list[float]) -> ScoredSet:
    return make_set(ratings, scores, systems, [f"g{i % groups}" for i in range(len(ratings))], "coherence")


def test_the_printed_texts_stand_beside_this_run() -> None:
    examples = tuple(Example(f"ctrleval-sentiment-{i:03d}", text=".") for i in range(360))
    low_is_good = np.linspace(-3.0, -2.0, 360)
    aspects = {"coherence": low_is_good, "consistency": low_is_good, "attribute_relevance": np.full(360, 0.5)}
    scores = {"ctrleval": Scores(aspects, "toy"), "perplexity_backbone": Scores({"quality": low_is_good}, "toy")}
    rows = compare_printed(ScoredSet("ctrleval_sentiment", examples, scores))
    assert len(rows) == 6 + 4
    first, second, *_ = rows
    assert (first["published"], first["rank"]) == (-1.4495, 360 - 16)
    assert (first["here"], second["here"]) == pytest.approx((-3 + 16 / 359, 3 - 16 / 359))
    assert second["perplexity"] == pytest.approx(math.exp(3 - 16 / 359))
    assert rows[-1]["rank"] == 1  # equal scores are all best
    assert compare_printed(ScoredSet("others", (Example("a", text="."),), {})) == []


def test_agreement_by_system_is_within_each_system() -> None:
    ratings = [float(i) for i in range(40)] * 2
    scores = [*ratings[:40], *(-10 * r for r in ratings[40:])]
    found = list_agreement_by_system(rate(ratings, ["a"] * 40 + ["b"] * 40, groups=40, metric=scores))
    assert [(row["aspect"], row["system"], row["n"]) for row in found] == [("coherence", s, 40) for s in "ab"]
    assert [row["pearson"].value for row in found] == pytest.approx([1.0, -1.0])
    assert list_agreement_by_system(rate(ratings, metric=ratings)) == []  # no system is named
    assert list_agreement_by_system(rate(ratings[:6], ["a", "b"] * 3, metric=ratings[:6])) == []  # too few


def test_agreement_by_quality_is_that_of_subsets_with_their_own_quartile() -> None:
    ratings = [float(i % 4) for i in range(200)]
    scored = rate(ratings, same=ratings, reversed=[-r for r in ratings])
    parts = draw_biased_subsets(scored, "coherence", 0)
    assert [(part.ratings("coherence") == j).sum() for j, part in enumerate(parts)] == [50] * 4
    found = list_agreement_of_parts(parts, "coherence", "subset")
    assert [(row["subset"], row["n"]) for row in found] == [(part.name, len(part)) for part in parts] * 2
    assert [row["pearson"].value for row in found] == pytest.approx([1.0] * 4 + [-1.0] * 4)
    assert draw_biased_subsets(scored.take(range(15)), "coherence", 0) == []
