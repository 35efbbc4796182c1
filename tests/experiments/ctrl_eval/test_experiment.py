"""CTRLEval's experiments through the command line, at toy size."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from transformers import BertForSequenceClassification

from core.errors import SettingError
from core.example import Example
from ctrl_eval.frequency import WordFrequencies
from ctrl_eval.gaps import TextGaps
from ctrl_eval.prompts import load_prompts
from data.corpus import Corpus
from experiments.ctrl_eval.experiment import (
    choose_table,
    draw,
    explain_frequencies,
)
from experiments.training import LanguageModelPlan, Pretrained
from models.tiny import TinyT5
from models.training import LanguageModelSchedule
from tests.experiments.conftest import list_stages

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
    curves = {row["metric"] for row in results["table"] if "evaluators" in row}
    assert curves == {"ctrleval", "ctrleval_bartscore_pf", "ctrleval_ppl_pf"}
    stages = list_stages(tmp_path)
    assert finish(*command, folder="second", plots=False)["table"] == results["table"]
    assert list_stages(tmp_path) == stages


RELEASED = Corpus("released", (), (), (), synthetic=False, iwf=lambda: Path("sets/iwf_full.txt"))


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
