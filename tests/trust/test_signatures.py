"""A signature changes with every weight, setting, token and corpus that changes a score, and with nothing else."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, BertForSequenceClassification

from baselines.bartscore import BartScore
from baselines.bertscore import BertScore
from baselines.bleu import Bleu
from baselines.bleurt import Bleurt
from baselines.chat import LocalChat
from baselines.discriminator_score import DiscriminatorScore, LabelDiscriminatorScore
from baselines.llm_judge import LLMJudge
from baselines.meteor import Meteor
from baselines.mover_score import MoverScore
from baselines.perplexity import InfillingPerplexity, Perplexity
from baselines.rouge import Rouge
from baselines.sentence_mover import SentenceMover
from baselines.uni_eval import UniEval
from baselines.word_count import WordCount
from cdm.discriminative import FEATURES, ClassifierPooler, DiscriminativeCDM
from cdm.generative import GenerativeCDM
from cdm.pair import SEPARATOR, Pair
from core.example import Example
from core.scores import Metric
from ctrl_eval.metric import CTRLEval
from discriminators.discriminator import Discriminator, new_bert, new_bilstm
from experiments.runner.listing import CONFIGS
from mars.metric import MARS
from models.causal import CausalLM
from models.embedders import WordVectors
from models.encoders import Encoder
from models.infilling import T5, Convention, Infiller
from models.seq2seq import Seq2SeqLM
from models.tiny import TinyGPT2, TinyT5

TEXTS = ["the cat sat on the mat.", "hello there, how are you?", "it rains and rains."]
EXAMPLE = Example("a", "the cat sat.", ("hello", "the cat"), "where?", "the", "good", ("a cat sat.",))
PIECES = ["the", "cat", "sat", *"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"), "."]


def of(metric: Metric) -> str:
    """The signature of the scores."""
    return metric.score([EXAMPLE]).signature


def gpt(seed: int = 0, texts: Sequence[str] = TEXTS) -> CausalLM:
    return TinyGPT2(290, n_embd=16, n_head=2, n_layer=1, n_inner=32, longest=32).build(texts, (), seed=seed)


def t5(seed: int = 0, texts: Sequence[str] = TEXTS) -> Seq2SeqLM:
    shape: Any = {"d_model": 16, "d_ff": 32, "num_heads": 2, "num_layers": 1, "num_decoder_layers": 1}
    return TinyT5(300, **shape).build(texts, (SEPARATOR,), seed=seed)


def infiller(lm: Seq2SeqLM, convention: Convention = T5, longest: int = 64) -> Infiller:
    return Infiller(lambda: lm, lm.tokenizer, convention, longest)


def bilstm(seed: int = 0, texts: Sequence[str] = TEXTS, **settings: Any) -> Discriminator:
    torch.manual_seed(seed)
    sizes: Any = {"vocabulary_size": 300, "min_count": 1, "embedding_dim": 8, "hidden_dim": 8}
    return new_bilstm([(text,) for text in texts], **{**sizes, **settings})


def bert(encoder: Path, seed: int = 0, **settings: Any) -> Discriminator:
    torch.manual_seed(seed)
    return new_bert(encoder=str(encoder), **settings)


def pooler(weight: float) -> ClassifierPooler:
    ones = np.ones(len(FEATURES))
    return ClassifierPooler(ones, ones, weight * ones, 0.5)


@pytest.fixture(scope="module")
def encoders(saved_bert: Callable[..., Path]) -> tuple[Path, Path, Path]:
    """A random BERT, one with another weight, and one with another order of tokens."""
    first, second = saved_bert(PIECES, 16, 2, 24), saved_bert(PIECES, 16, 2, 24)
    network = BertForSequenceClassification.from_pretrained(second).bert
    with torch.no_grad():
        network.embeddings.word_embeddings.weight[7, 3] += 0.01
    network.save_pretrained(second)
    return first, second, saved_bert([PIECES[1], PIECES[0], *PIECES[2:]], 16, 2, 24)


def bleurt(folder: Path) -> Bleurt:
    torch.manual_seed(1)
    network = BertForSequenceClassification.from_pretrained(folder, num_labels=1)
    return Bleurt(network.eval(), AutoTokenizer.from_pretrained(folder), "toy")


def chat(lm: CausalLM, folder: Path, template: str) -> LLMJudge:
    lm.tokenizer.chat_template = template
    lm.save_pretrained(folder)
    judge = LLMJudge(LocalChat(str(folder)), ("coherence",))
    judge.chat.name = "toy"
    return judge


Family = Callable[[tuple[Path, Path, Path], Path], list[Metric]]
TOLD = "{% for m in messages %}{{ m.content }}{% endfor %}"

FAMILIES: dict[str, Family] = {
    "word_count": lambda e, _: [WordCount()],
    "bleu": lambda e, _: [Bleu(), Bleu(order=2), Bleu(smoothing="floor"), Bleu(lowercase=True), Bleu(tokenizer="char")],
    "rouge": lambda e, _: [Rouge(), Rouge(kind="rouge1"), Rouge(stemmer=False), Rouge(tokens="unicode")],
    "meteor": lambda e, _: [Meteor(False)],
    "bertscore": lambda e, _: [
        *(replace(BertScore.from_pretrained(str(folder)), model="toy") for folder in e),
        replace(BertScore.from_pretrained(str(e[0]), layers=1), model="toy"),
        replace(BertScore.from_pretrained(str(e[0]), part="recall"), model="toy"),
    ],
    "bleurt": lambda e, _: [*map(bleurt, e), replace(bleurt(e[0]), reference="context")],
    "sentence_mover": lambda e, _: [
        *(SentenceMover(replace(Encoder.from_pretrained(str(folder)), name="toy")) for folder in e),
        SentenceMover(replace(Encoder.from_pretrained(str(e[0]), longest=12), name="toy")),
        SentenceMover(replace(Encoder.from_pretrained(str(e[0]), truncation="warn"), name="toy")),
        *(SentenceMover(WordVectors({"cat": 0}, np.full((1, 2), x, np.float32), "toy")) for x in (1.0, 2.0)),
    ],
    "mover_score": lambda e, _: [
        *(MoverScore(replace(Encoder.from_pretrained(str(f)), name="toy"), ["a cat"], layers=1) for f in e),
        *(MoverScore(replace(Encoder.from_pretrained(str(e[0])), name="toy"), [c], layers=2) for c in ("a cat", "sat")),
    ],
    "perplexity": lambda e, _: [
        *(Perplexity(lm, "toy") for lm in (gpt(), gpt(1), gpt(texts=TEXTS[:2]))),
        Perplexity(gpt(), "toy", use_context=True),
        Perplexity(gpt(), "toy", truncation="warn"),
    ],
    "perplexity_seq2seq": lambda e, _: [
        *(InfillingPerplexity(infiller(lm), "toy") for lm in (t5(), t5(1), t5(texts=TEXTS[:2]))),
        InfillingPerplexity(infiller(t5(), longest=32), "toy"),
        InfillingPerplexity(infiller(t5(), replace(T5, after="")), "toy"),
    ],
    "bartscore": lambda e, _: [
        *(BartScore(lm, "toy") for lm in (t5(), t5(1), t5(texts=TEXTS[:2]))),
        BartScore(t5(), "toy", direction="f"),
        BartScore(t5(), "toy", direction="f", references="max"),
    ],
    "uni_eval": lambda e, _: [
        *(UniEval(lm, "toy", {"quality": "{response}"}) for lm in (t5(), t5(1), t5(texts=TEXTS[:2]))),
        UniEval(t5(), "toy", {"quality": "{response} {history}"}),
        UniEval(t5(), "toy", {"quality": "{response}"}, longest=50),
    ],
    "discriminator": lambda e, _: [
        *(DiscriminatorScore(d) for d in (bilstm(), bilstm(1), bilstm(texts=TEXTS[:1]), bilstm(max_tokens=9))),
        *(DiscriminatorScore(d) for d in (bert(e[0]), bert(e[0], 1), bert(e[1]), bert(e[2]), bert(e[0], max_tokens=9))),
        DiscriminatorScore(bert(e[0], truncation="warn")),
        DiscriminatorScore(bert(e[0], pooling="cls")),
    ],
    "discriminator_label": lambda e, _: [
        *(LabelDiscriminatorScore(bilstm(seed, labels=labels)) for seed in (0, 1) for labels in (("good", "bad"),)),
        LabelDiscriminatorScore(bilstm(labels=("bad", "good"))),
    ],
    "cdm_generative": lambda e, _: [GenerativeCDM(d) for d in (bilstm(), bert(e[0]), bert(e[0], 1), bert(e[1]))],
    "cdm_discriminative": lambda e, _: [
        *(DiscriminativeCDM(Pair(t5(a), t5(b), 60)) for a, b in ((0, 1), (0, 2), (2, 1))),
        DiscriminativeCDM(Pair(t5(0, TEXTS[:2]), t5(1, TEXTS[:2]), 60)),
        DiscriminativeCDM(Pair(t5(), t5(1), 50)),
        DiscriminativeCDM(Pair(t5(), t5(1), 60), "min"),
        *(DiscriminativeCDM(Pair(t5(), t5(1), 60), "classifier", pooler(weight)) for weight in (1.0, 2.0)),
    ],
    "ctrleval": lambda e, _: [
        CTRLEval(infiller(lm), aspects=["consistency"], **settings)
        for lm, settings in [
            *((lm, {}) for lm in (t5(), t5(1), t5(texts=TEXTS[:2]))),
            *((t5(), s) for s in ({"length_norm": "sum"}, {"weights": "max"}, {"truncation": "window"})),
        ]
    ],
    "mars": lambda e, folder: [
        *(
            mars(gpt(s, texts), e[0], folder / str(i))
            for i, (s, texts) in enumerate([(0, TEXTS), (1, TEXTS), (0, ["a"])])
        ),
        mars(gpt(), e[1], folder / "m"),
        mars(gpt(), e[0], folder / "q", q=0.5),
        mars(gpt(), e[0], folder / "r", ratios=(0.0, 0.4)),
    ],
    "llm_judge": lambda e, folder: [
        chat(lm, folder / str(i), template)
        for i, (lm, template) in enumerate([(gpt(), TOLD), (gpt(1), TOLD), (gpt(), f"{TOLD}!")])
    ],
}


def mars(lm: CausalLM, encoder: Path, folder: Path, **settings: Any) -> MARS:
    lm.save_pretrained(folder)
    metric = MARS.from_pretrained(str(folder), str(encoder), **{"ratios": (0.0, 0.3), **settings})
    return replace(metric, described={**metric.described, "language_model": "toy", "encoder": "toy"})


SLOW = ("bertscore", "bleurt", "cdm_discriminative", "discriminator", "mars", "mover_score", "sentence_mover")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in FAMILIES]
)
def test_every_difference_is_in_the_signature(name: str, encoders: tuple[Path, Path, Path], tmp_path: Path) -> None:
    lines = [of(metric) for metric in FAMILIES[name](encoders, tmp_path)]
    assert len(set(lines)) == len(lines), lines


def test_every_configured_metric_is_tested() -> None:
    named = {
        "rouge_1": "rouge",
        "rouge_2": "rouge",
        "rouge_l": "rouge",
    }
    configured = {file.stem for file in (CONFIGS / "metric").glob("*.yaml")}
    assert {named.get(name, name) for name in configured} == set(FAMILIES)


def test_batches_folders_and_examples_change_no_signature(encoders: tuple[Path, Path, Path], tmp_path: Path) -> None:
    metric = Perplexity(gpt(), "toy")
    assert of(Perplexity(gpt(), "toy")) == of(metric)  # made again
    assert {of(replace(metric, token_budget=budget)) for budget in (1, 60)} == {of(metric)}
    assert metric.score([Example("b", "it rains")]).signature == of(metric)
    made = bert(encoders[0])
    made.save_pretrained(tmp_path / "moved")
    loaded = Discriminator.from_pretrained(tmp_path / "moved", token_budget=7)
    assert of(DiscriminatorScore(loaded)) == of(DiscriminatorScore(made))
