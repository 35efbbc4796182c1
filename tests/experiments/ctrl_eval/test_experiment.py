"""CTRLEval's experiments and +exp=iwf through the command line, at toy size."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BartConfig,
    BertForSequenceClassification,
    PegasusConfig,
    PretrainedConfig,
    T5Config,
)

from core.example import Example
from core.faults import SettingFault
from ctrl_eval.frequency import load_frequencies
from ctrl_eval.gaps import TextGaps
from ctrl_eval.metric import CTRLEval
from ctrl_eval.prompts import load_prompts
from data.corpus import Corpus
from experiments.ctrl_eval.experiment import CtrlEvalPlan, choose_table
from experiments.runner.configuration import compose_run
from experiments.training import LanguageModelPlan, Pretrained
from models.tiny import TinyGPT2, TinyT5
from models.training import LanguageModelSchedule

ROOT = Path(__file__).parents[3]
TOY = """
data.train=120 data.held_out=30 data.rated=24 analyses.numbers=[1,8] pattern_functions=true logger=none
model.infiller.model.d_model=16 model.infiller.model.d_ff=32 model.infiller.model.num_heads=2
model.infiller.schedule.epochs=1 model.causal.model.n_embd=16 model.causal.model.n_head=2 model.causal.model.n_inner=32
model.discriminator.texts=100 +model.discriminator.build.hidden_dim=8
"""
ASPECTS = ("coherence", "consistency", "attribute_relevance")
METRICS = [f"ctrleval{kind}" for kind in ("", "_mean", "_max", "_min", "_bartscore_pf", "_ppl_pf")]
METRICS += ["perplexity", "perplexity_backbone", "bartscore_backbone", "bartscore", "bleurt"]
METRICS += ["discriminator", "union", "word_count"]


TWO_PROMPTS = """\
prompts: ["<text> It was <mask>.", "So <mask>! <text>"]
labels: [negative, positive]
verbalizers: [[bad, good]]
"""
BART_SHAPE: Any = {
    "d_model": 32,
    **{f"{side}_{name}": n for side in ("encoder", "decoder") for name, n in (("layers", 1), ("ffn_dim", 32))},
    **{f"{side}_attention_heads": 2 for side in ("encoder", "decoder")},
}
T5_SHAPE: Any = {"d_kv": 8, "d_ff": 32, "num_heads": 2, "num_layers": 1, "decoder_start_token_id": 0}


def test_every_row_and_figure_is_there_and_stages_are_found_again(
    run: Callable[..., Any], saved_bert: Callable[..., Path], tmp_path: Path, leave_out_plots: Callable[[], None]
) -> None:
    bleurt = saved_bert(["the", "was", "it"], 16, 1, 64)
    BertForSequenceClassification.from_pretrained(bleurt, num_labels=1).save_pretrained(bleurt)
    TinyT5(300, 16, 32, 2, 1, 1).build(["the cat sat on the mat"], (), seed=0).save_pretrained(tmp_path / "bart")
    (tmp_path / "prompts.yaml").write_text(TWO_PROMPTS)
    small = ("data.rated=16", f"prompts={tmp_path}/prompts.yaml", "analyses.numbers=[1]")
    models = (f"model.bleurt={bleurt}", f"model.bart={tmp_path}/bart", f"outputs={tmp_path}")
    command = tuple(dict.fromkeys(("+exp=ctrleval_sentiment", *TOY.split(), *small, *models)))
    first = run(*command, f"run_dir={tmp_path}/first")
    assert first.returncode == 0, first.stderr
    results = json.loads((tmp_path / "first/results.json").read_text("utf-8"))
    agreement = [row for row in results["table"] if row["table"] == "agreement"]
    rows = {(row["metric"], row["aspect"]) for row in agreement}
    assert rows == {(metric, aspect) for metric in METRICS for aspect in ASPECTS}
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
    cases = [row for row in results["table"] if "rating" in row]
    assert [row["aspect"] for row in cases] == [aspect for aspect in ASPECTS for _ in range(2)]
    figures = ("scores", "quality_drift", "model_drift", "number_of_evaluators", "evaluators")
    expected = {f"{figure}_builtin_reviews" for figure in figures} | {"training_curves"}
    assert {path.stem for path in (tmp_path / "first/plots").iterdir()} == expected
    stages = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "stages").iterdir() if path.is_dir()}
    leave_out_plots()
    second = run(*command, f"run_dir={tmp_path}/second")
    assert second.returncode == 0, second.stderr
    assert json.loads((tmp_path / "second/results.json").read_text("utf-8"))["table"] == results["table"]
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "stages").iterdir() if path.is_dir()} == stages


def test_the_discriminators_of_the_paper_are_berts() -> None:
    """Section 4.3: DisScore and UNION; GPT's tokenizer has no token that begins a text, so GPT-2 stands in for it."""
    model = compose_run(["+exp=ctrleval_sentiment", "scale=paper", "data=ctrleval", "data.root=r"]).model
    assert model.discriminator.build.encoder == "google-bert/bert-base-uncased"
    assert model.causal.name == "openai-community/gpt2"


RELEASED = Corpus("released", (), (), (), synthetic=False, iwf=lambda: Path("sets/iwf_full.txt"))


def test_the_released_table_goes_with_the_released_data() -> None:
    causal, none = Pretrained("gpt2"), replace(RELEASED, iwf=None)
    plan = CtrlEvalPlan(Pretrained("google/pegasus-large"), partial(CTRLEval), causal)
    count = replace(plan, iwf="count")
    assert choose_table(RELEASED, plan) == "sets/iwf_full.txt"
    assert choose_table(RELEASED, replace(plan, iwf="mine.json")) == "mine.json"
    assert choose_table(none, plan) is None
    assert choose_table(replace(RELEASED, train=(Example("a", text="A text."),)), count) is None
    with pytest.raises(SettingFault, match=r"model\.iwf=count needs texts to train on, but released has none"):
        choose_table(RELEASED, count)
    schedule = LanguageModelSchedule(1, 1e-3, batch_size=16)
    tiny = LanguageModelPlan(TinyT5(300, 16, 32, 2, 1, 1), schedule, TextGaps(load_prompts("sentiment")))
    trained_here = replace(plan, infiller=tiny)  # its tokens are not those of the table
    assert choose_table(RELEASED, replace(trained_here, iwf_tokenizer="google/pegasus-large")) == "sets/iwf_full.txt"
    with pytest.raises(SettingFault, match=r"set model\.iwf_tokenizer to a PEGASUS, or model\.iwf=count"):
        choose_table(RELEASED, trained_here)


@pytest.mark.slow
def test_the_released_sentiment_set_by_the_settings_of_the_paper(
    run: Callable[..., Any], shared_data: Path, released_ctrleval: Path, tmp_path: Path
) -> None:
    TinyGPT2(300, 16, 2, 1, 32).build(["the cat sat on the mat"], (), seed=0).save_pretrained(tmp_path / "causal")
    found = run(
        *("+exp=ctrleval_sentiment", "scale=paper", "logger=none", f"outputs={tmp_path}", f"run_dir={tmp_path}/run"),
        *("data=ctrleval", f"data.root={shared_data}", f"data.attributes={shared_data}", "analyses.numbers=[1,8]"),
        *(f"model.infiller.name={released_ctrleval}/model", f"model.causal.name={tmp_path}/causal"),
        *("model.discriminator=null", "model.bart=null"),
    )
    assert found.returncode == 0, found.stderr
    results = json.loads((tmp_path / "run/results.json").read_text("utf-8"))
    assert "|iwf=released_afffe2376a0e517b|" in results["signature"]
    assert not any("word frequencies" in note for note in results["notes"])
    table = results["table"]
    assert {row["n"] for row in table if row["table"] == "agreement"} == {360}
    assert {row.get("metric") for row in table} >= {"ctrleval", "perplexity", "bartscore_backbone", "word_count"}


REAL: dict[str, tuple[str, PretrainedConfig]] = {  # a real vocabulary, and the shape of the rest
    "pegasus": ("pegasus", PegasusConfig(vocab_size=96103, **BART_SHAPE, max_position_embeddings=1024, pad_token_id=0)),
    "t5-large": ("t5", T5Config(vocab_size=32128, **T5_SHAPE, d_model=48)),
    "bart-large": ("roberta", BartConfig(vocab_size=50265, **BART_SHAPE, max_position_embeddings=1024)),
    "t5-small": ("t5", T5Config(vocab_size=32128, **T5_SHAPE, d_model=16)),
    "t5-base": ("t5", T5Config(vocab_size=32128, **T5_SHAPE, d_model=32)),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sweep", "names"),
    [
        ("ctrleval_backbones", ("pegasus", "t5-large", "bart-large")),
        ("ctrleval_t5_sizes", ("t5-small", "t5-base", "t5-large")),
    ],
)
def test_backbones_and_sizes_of_the_paper_run_with_the_released_word_frequencies(
    run: Callable[..., Any], shared_data: Path, vocabularies: Path, tmp_path: Path, sweep: str, names: tuple[str, ...]
) -> None:
    """Tables 6 and 7 with random models of real vocabularies, on 24 of the released texts and two prompts."""
    for name in names:
        vocabulary, config = REAL[name]
        AutoTokenizer.from_pretrained(str(vocabularies / vocabulary)).save_pretrained(tmp_path / name)
        AutoModelForSeq2SeqLM.from_config(config).save_pretrained(tmp_path / name)
    TinyGPT2(300, 16, 2, 1, 32).build(["the cat sat on the mat"], (), seed=0).save_pretrained(tmp_path / "causal")
    (tmp_path / "ctrleval").mkdir()
    lines = (shared_data / "ctrleval/data_senti.txt").read_text("utf-8").splitlines()
    (tmp_path / "ctrleval/data_senti.txt").write_text("\n".join([*lines[:12], *lines[-12:]]) + "\n", "utf-8")
    (tmp_path / "prompts.yaml").write_text(TWO_PROMPTS)
    infillers = ",".join(str(tmp_path / name) for name in names)
    found = run(
        *("-m", "+exp=ctrleval_sentiment", f"+sweep={sweep}", "scale=paper", "logger=none", "model.bart=null"),
        *("data=ctrleval", f"data.root={tmp_path}", "data.part=sentiment", f"prompts={tmp_path}/prompts.yaml"),
        *(f"model.iwf={shared_data}/ctrleval/iwf_full.txt", f"model.iwf_tokenizer={vocabularies}/pegasus"),
        *(f"model.infiller.name={infillers}", f"model.causal.name={tmp_path}/causal", "pattern_functions=true"),
        *("analyses.numbers=[1,2]", f"outputs={tmp_path}", f"run_dir={tmp_path}/sweep"),
    )
    assert found.returncode == 0, found.stderr
    tables = [json.loads((tmp_path / f"sweep/{i}/results.json").read_text("utf-8"))["table"] for i in range(3)]
    rows = [
        {row["metric"]: row for row in table if row.get("aspect") == "coherence" and row["table"] == "agreement"}
        for table in tables
    ]
    assert all(each["ctrleval"]["n"] == 24 for each in rows)
    assert len({each["ctrleval"]["kendall"] for each in rows}) == 3
    assert {"ctrleval_bartscore_pf", "ctrleval_ppl_pf", "perplexity_backbone"} <= set(rows[0])


def test_iwf_counts_a_corpus_for_a_models_tokenizer(run: Callable[..., Any], tmp_path: Path) -> None:
    lm = TinyT5(300, 16, 32, 2, 1, 1).build(["the cat sat on the mat"], (), seed=0)
    lm.save_pretrained(tmp_path / "model")
    (tmp_path / "corpus.txt").write_text("The cat sat. The dog ran.\n\nA cat slept.\n")
    arguments = (f"corpus={tmp_path}/corpus.txt", f"model_name={tmp_path}/model", f"output={tmp_path}/iwf.json")
    found = run("+exp=iwf", *arguments, f"run_dir={tmp_path}/run")
    assert found.returncode == 0, found.stderr
    table = load_frequencies(tmp_path / "iwf.json", lm.tokenizer)
    assert table.sentences == 3
    assert len(table.iwf) == len(lm.tokenizer)
    (tmp_path / "corpus.txt").write_text("\n")
    empty = run("+exp=iwf", *arguments, f"run_dir={tmp_path}/other")
    assert empty.returncode == 2
    assert "corpus.txt: the file is empty" in empty.stderr
