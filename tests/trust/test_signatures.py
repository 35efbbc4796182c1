"""A signature changes with every weight, setting, token and corpus that changes a score, and with nothing else."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertForSequenceClassification

from baselines.bartscore import BartScore
from baselines.bertscore import BertScore
from baselines.bleu import Bleu
from baselines.chat import LocalChat
from baselines.chrf import ChrF
from baselines.comet import Comet
from baselines.llm_judge import LLMJudge
from baselines.meteor import Meteor
from baselines.mover_score import MoverScore
from baselines.perplexity import InfillingPerplexity, Perplexity
from baselines.rouge import Rouge
from baselines.sentence_mover import SentenceMover
from baselines.ter import Ter
from baselines.uni_eval import UniEval
from baselines.word_count import WordCount
from cdm.discriminative import DiscriminativeCDM
from cdm.infilling import Pair
from core.configs import CONFIGS
from core.example import Example
from core.scores import Metric
from ctrl_eval.metric import CTRLEval
from discriminators.discriminator import Discriminator
from discriminators.metric import DiscriminatorScore, LabelDiscriminatorScore
from mars.metric import MARS
from models.causal import CausalLM
from models.encoders import Encoder, WordVectors
from models.infilling import T5, Convention, Infiller
from models.seq2seq import Seq2SeqLM
from tests.toy_models import PIECES, TEXTS, ToyComet, toy_bert, toy_bilstm, toy_bleurt, toy_gpt, toy_pooler, toy_t5

EXAMPLE = Example("a", "the cat sat.", ("hello", "the cat"), "where?", "the", "good", ("a cat sat.",))


def infiller(lm: Seq2SeqLM, convention: Convention = T5, max_length: int = 64) -> Infiller:
    return Infiller(lambda: lm, lm.tokenizer, convention, max_length)


@pytest.fixture(scope="module")
def encoders(saved_bert: Callable[..., Path]) -> tuple[Path, Path, Path]:
    """A random BERT, one with another weight, and one with another order of tokens."""
    first, second = saved_bert(PIECES, 16, 2, 24), saved_bert(PIECES, 16, 2, 24)
    network = BertForSequenceClassification.from_pretrained(second).bert
    with torch.no_grad():
        network.embeddings.word_embeddings.weight[7, 3] += 0.01
    network.save_pretrained(second)
    return first, second, saved_bert([PIECES[1], PIECES[0], *PIECES[2:]], 16, 2, 24)


def chat(lm: CausalLM, folder: Path, template: str) -> LLMJudge:
    lm.tokenizer.chat_template = template
    lm.save_pretrained(folder)
    judge = LLMJudge(LocalChat(str(folder)), ("coherence",))
    judge.chat.name = "toy"
    return judge


Family = Callable[[tuple[Path, Path, Path], Path], list[Metric]]
TOLD = "{% for m in messages %}{{ m.content }}{% endfor %}"

FAMILIES: dict[str, Family] = {
    "word_count": lambda e, _: [WordCount(), WordCount("jieba")],
    "bleu": lambda e, _: [Bleu(), Bleu(order=2), Bleu(smoothing="floor"), Bleu(lowercase=True), Bleu(tokenizer="char")],
    "rouge": lambda e, _: [Rouge(), Rouge(kind="rouge1"), Rouge(stemmer=False), Rouge(tokens="jieba")],
    "meteor": lambda e, _: [Meteor(False), Meteor(False, tokens="jieba")],
    "chrf": lambda e, _: [ChrF(), ChrF(5), ChrF(word_order=2), ChrF(beta=1), ChrF(lowercase=True)],
    "ter": lambda e, _: [Ter(), *(Ter(**{name: True}) for name in ("normalized", "no_punct", "case_sensitive"))],
    "comet": lambda e, _: [Comet(ToyComet(True), "toy", "1", has_references) for has_references in (True, False)],
    "bertscore": lambda e, _: [
        *(replace(BertScore.from_pretrained(str(folder)), model="toy") for folder in e),
        replace(BertScore.from_pretrained(str(e[0]), layers=1), model="toy"),
        replace(BertScore.from_pretrained(str(e[0]), part="recall"), model="toy"),
    ],
    "bleurt": lambda e, _: [*map(toy_bleurt, e), replace(toy_bleurt(e[0]), reference="context")],
    "sentence_mover": lambda e, _: [
        *(SentenceMover(replace(Encoder.from_pretrained(str(folder)), name="toy")) for folder in e),
        SentenceMover(replace(Encoder.from_pretrained(str(e[0]), max_length=12), name="toy")),
        SentenceMover(replace(Encoder.from_pretrained(str(e[0]), truncation="warn"), name="toy")),
        *(SentenceMover(WordVectors({"cat": 0}, np.full((1, 2), x, np.float32), "toy")) for x in (1.0, 2.0)),
    ],
    "mover_score": lambda e, _: [
        *(MoverScore(replace(Encoder.from_pretrained(str(f)), name="toy"), ["a cat"], layers=1) for f in e),
        *(MoverScore(replace(Encoder.from_pretrained(str(e[0])), name="toy"), [c], layers=2) for c in ("a cat", "sat")),
    ],
    "perplexity": lambda e, _: [
        *(Perplexity(lm, "toy") for lm in (toy_gpt(), toy_gpt(1), toy_gpt(texts=TEXTS[:2]))),
        Perplexity(toy_gpt(), "toy", use_context=True),
        Perplexity(toy_gpt(), "toy", truncation="warn"),
    ],
    "perplexity_seq2seq": lambda e, _: [
        *(InfillingPerplexity(infiller(lm), "toy") for lm in (toy_t5(), toy_t5(1), toy_t5(texts=TEXTS[:2]))),
        InfillingPerplexity(infiller(toy_t5(), max_length=32), "toy"),
        InfillingPerplexity(infiller(toy_t5(), replace(T5, after="")), "toy"),
    ],
    "bartscore": lambda e, _: [
        *(BartScore(lm, "toy") for lm in (toy_t5(), toy_t5(1), toy_t5(texts=TEXTS[:2]))),
        BartScore(toy_t5(), "toy", direction="f"),
        BartScore(toy_t5(), "toy", direction="f", references="max"),
    ],
    "uni_eval": lambda e, _: [
        *(UniEval(lm, "toy", {"quality": "{response}"}) for lm in (toy_t5(), toy_t5(1), toy_t5(texts=TEXTS[:2]))),
        UniEval(toy_t5(), "toy", {"quality": "{response} {history}"}),
        UniEval(toy_t5(), "toy", {"quality": "{response}"}, max_length=50),
    ],
    "discriminator": lambda e, _: [
        *(
            DiscriminatorScore(d)
            for d in (toy_bilstm(), toy_bilstm(1), toy_bilstm(texts=TEXTS[:1]), toy_bilstm(max_length=9))
        ),
        *(
            DiscriminatorScore(d)
            for d in (
                toy_bert(e[0]),
                toy_bert(e[0], 1),
                toy_bert(e[1]),
                toy_bert(e[2]),
                toy_bert(e[0], max_length=9),
            )
        ),
        DiscriminatorScore(toy_bert(e[0], truncation="warn")),
        DiscriminatorScore(toy_bert(e[0], pooling="cls")),
    ],
    "discriminator_label": lambda e, _: [
        *(LabelDiscriminatorScore(toy_bilstm(seed, labels=labels)) for seed in (0, 1) for labels in (("good", "bad"),)),
        LabelDiscriminatorScore(toy_bilstm(labels=("bad", "good"))),
    ],
    "cdm_generative": lambda e, _: [
        DiscriminatorScore(d, dialogues=True) for d in (toy_bilstm(), toy_bert(e[0]), toy_bert(e[0], 1), toy_bert(e[1]))
    ],
    "cdm_discriminative": lambda e, _: [
        *(DiscriminativeCDM(Pair(toy_t5(a), toy_t5(b), 60)) for a, b in ((0, 1), (0, 2), (2, 1))),
        DiscriminativeCDM(Pair(toy_t5(0, TEXTS[:2]), toy_t5(1, TEXTS[:2]), 60)),
        DiscriminativeCDM(Pair(toy_t5(), toy_t5(1), 50)),
        DiscriminativeCDM(Pair(toy_t5(), toy_t5(1), 60), "min"),
        *(DiscriminativeCDM(Pair(toy_t5(), toy_t5(1), 60), "classifier", toy_pooler(weight)) for weight in (1.0, 2.0)),
    ],
    "ctrleval": lambda e, _: [
        CTRLEval(infiller(lm), aspects=["consistency"], **settings)
        for lm, settings in [
            *((lm, {}) for lm in (toy_t5(), toy_t5(1), toy_t5(texts=TEXTS[:2]))),
            *((toy_t5(), s) for s in ({"length_norm": "sum"}, {"weights": "max"}, {"truncation": "window"})),
        ]
    ],
    "mars": lambda e, folder: [
        *(
            mars(toy_gpt(s, texts), e[0], folder / str(i))
            for i, (s, texts) in enumerate([(0, TEXTS), (1, TEXTS), (0, ["a"])])
        ),
        mars(toy_gpt(), e[1], folder / "m"),
        mars(toy_gpt(), e[0], folder / "q", q=0.5),
        mars(toy_gpt(), e[0], folder / "r", ratios=(0.0, 0.4)),
    ],
    "llm_judge": lambda e, folder: [
        chat(lm, folder / str(i), template)
        for i, (lm, template) in enumerate([(toy_gpt(), TOLD), (toy_gpt(1), TOLD), (toy_gpt(), f"{TOLD}!")])
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
    lines = [metric.signature for metric in FAMILIES[name](encoders, tmp_path)]
    assert len(set(lines)) == len(lines), lines


def test_every_configured_metric_is_tested() -> None:
    named = {
        "rouge_1": "rouge",
        "rouge_2": "rouge",
        "rouge_l": "rouge",
    }
    configured = {file.stem for file in (CONFIGS / "metric").glob("*.yaml")} - {"function"}  # see tests/judge
    assert {named.get(name, name) for name in configured} == set(FAMILIES)


def test_batches_folders_and_examples_change_no_signature(encoders: tuple[Path, Path, Path], tmp_path: Path) -> None:
    metric = Perplexity(toy_gpt(), "toy")
    assert Perplexity(toy_gpt(), "toy").signature == metric.signature  # made again
    assert {replace(metric, token_budget=budget).signature for budget in (1, 60)} == {metric.signature}
    assert metric.score([Example("b", "it rains")]).signature == metric.signature
    made = toy_bert(encoders[0])
    made.save_pretrained(tmp_path / "moved")
    loaded = Discriminator.from_pretrained(tmp_path / "moved", token_budget=7)
    assert DiscriminatorScore(loaded).signature == DiscriminatorScore(made).signature
