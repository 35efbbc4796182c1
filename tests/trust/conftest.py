"""Every metric of the repository with small random models, for the properties that all metrics share."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from transformers import BertForSequenceClassification

from baselines.bartscore import BartScore
from baselines.bertscore import BertScore
from baselines.llm_judge import LLMJudge
from baselines.local_chat import LocalChat
from baselines.meteor import Meteor
from baselines.mover_score import MoverScore
from baselines.perplexity import InfillingPerplexity, Perplexity
from baselines.rouge import Rouge
from baselines.sacrebleu_metrics import Bleu, ChrF, Ter
from baselines.sentence_mover import SentenceMover
from baselines.uni_eval import UniEval
from baselines.word_count import WordCount
from cdm.discriminative import DiscriminativeCDM
from cdm.infilling import Pair, PairReading
from core.example import Example
from core.scores import Metric
from ctrl_eval.metric import CTRLEval
from ctrl_eval.prompts import Prompts
from data.words import RUNS
from discriminators.discriminator import Discriminator
from discriminators.metric import DiscriminatorScore, LabelDiscriminatorScore
from discriminators.vocabulary import EncoderTokens
from judge.function_metric import FunctionMetric
from mars.metric import MARS
from models.causal import CausalLM
from models.encoders import Encoder, WordVectors
from models.families import T5, Family
from models.infilling import Infiller
from tests.toy_models import PIECES, TEXTS, toy_bert, toy_bilstm, toy_bleurt, toy_gpt, toy_pooler, toy_t5

Side = Literal["left", "right"]
MakeMetric = Callable[..., Metric]

LABELS = ("good", "bad")
PROMPTS = Prompts(("<text> It was <mask>.", "So <mask>! <text>"), LABELS, (("fine", "poor"),))
QUESTION = "question: coherent? </s> response: {response} </s> dialogue history: {history}"
CHAT = "{% for m in messages %}{{ m.content }}{% endfor %}"


def count_letters(examples: Sequence[Example]) -> list[int]:
    """A metric that is a plain function."""
    return [len(example.full_text) for example in examples]


def rater(seed: int, side: Side, template: str) -> CausalLM:
    """A chat model whose likeliest next token is always 2 or 4; with large weights, so that the question matters."""
    lm = toy_gpt(seed, side=side)
    with torch.no_grad():
        for parameter in lm.model.parameters():
            parameter.mul_(6 if parameter.ndim == 2 else 1)
        lm.model.transformer.ln_f.bias[0] += 20
    lm.tokenizer.chat_template = template
    vocabulary, head = lm.tokenizer.get_vocab(), torch.zeros_like(lm.model.lm_head.weight)
    head[vocabulary["2"]] = torch.linspace(1, -1, head.shape[1])
    head[vocabulary["4"]] = torch.linspace(1, 0, head.shape[1])
    lm.model.config.tie_word_embeddings = False
    lm.model.lm_head.weight = torch.nn.Parameter(head)
    return lm


PLAIN: dict[str, Callable[..., Metric]] = {  # metrics without a model
    "word_count": WordCount,
    "bleu": Bleu,
    "chrf": ChrF,
    "ter": Ter,
    "rouge_l": Rouge,
    "rouge_1": lambda: Rouge("rouge1"),
    "rouge_2": lambda: Rouge("rouge2"),
    "meteor": Meteor,
    "function": lambda: FunctionMetric(count_letters),
}


class Toys:
    """Makes each other metric of `configs/metric`, by its name, with a token budget, a padding side and settings.

    `encoder` is the place of a BERT among `encoders`; `seed` and `texts` make a language model.
    """

    def __init__(self, encoders: Sequence[Path], folder: Path, budget: int, side: Side) -> None:
        self.encoders, self.folder, self.budget = encoders, folder, budget
        self.side: Side = side

    def bertscore(self, encoder: int = 0, **settings: Any) -> Metric:
        made = BertScore.from_pretrained(str(self.encoders[encoder]), batch_size=1 + self.budget // 64, **settings)
        return replace(made, model="toy")

    def bleurt(self, encoder: int = 0, **settings: Any) -> Metric:
        return toy_bleurt(self.encoders[encoder], self.side, token_budget=self.budget, **settings)

    def sentences(self, encoder: int = 0, **settings: Any) -> Encoder:
        made = Encoder.from_pretrained(str(self.encoders[encoder]))
        made.tokenizer.padding_side = self.side
        return replace(made, name="toy", token_budget=self.budget, **settings)

    def sentence_mover(self, vector: float | None = None, **settings: Any) -> Metric:
        vectors = WordVectors({"cat": 0}, np.full((1, 2), vector, np.float32), "toy", RUNS.findall)
        return SentenceMover(self.sentences(**settings) if vector is None else vectors)

    def mover_score(self, encoder: int = 0, corpus: str = "a cat", layers: int = 2) -> Metric:
        made = self.sentences(encoder)
        return MoverScore(made, [corpus, "it rains"], layers=layers, token_budget=self.budget)

    def perplexity(self, seed: int = 0, texts: Any = TEXTS, **settings: Any) -> Metric:
        return Perplexity(toy_gpt(seed, texts, self.side), "toy", token_budget=self.budget, **settings)

    def infiller(self, seed: int = 0, texts: Any = TEXTS, family: Family = T5, max_length: int = 64) -> Infiller:
        lm = toy_t5(seed, texts, self.side)
        return Infiller(lambda: lm, lm.tokenizer, family, max_length)

    def perplexity_seq2seq(self, **settings: Any) -> Metric:
        return InfillingPerplexity(self.infiller(**settings), "toy", token_budget=self.budget)

    def bartscore(self, seed: int = 0, texts: Any = TEXTS, **settings: Any) -> Metric:
        return BartScore(toy_t5(seed, texts, self.side), "toy", token_budget=self.budget, **settings)

    def uni_eval(self, seed: int = 0, texts: Any = TEXTS, question: str = QUESTION, **settings: Any) -> Metric:
        lm = toy_t5(seed, texts, self.side)
        return UniEval(lm, "toy", {"quality": question}, token_budget=self.budget, **settings)

    def bert(self, encoder: int = 0, seed: int = 0, **settings: Any) -> Discriminator:
        made = toy_bert(self.encoders[encoder], seed, **settings)
        assert isinstance(made.tokens, EncoderTokens)
        made.tokens.tokenizer.padding_side = self.side
        return replace(made, token_budget=self.budget)

    def bilstm(self, **settings: Any) -> Discriminator:
        return replace(toy_bilstm(**settings), token_budget=self.budget)

    def discriminator(self, kind: str = "bert", **settings: Any) -> Metric:
        return DiscriminatorScore(getattr(self, kind)(**settings))

    def discriminator_label(self, **settings: Any) -> Metric:
        return LabelDiscriminatorScore(self.bilstm(**{"labels": LABELS, **settings}))

    def cdm_generative(self, kind: str = "bilstm", **settings: Any) -> Metric:
        return DiscriminatorScore(getattr(self, kind)(**settings), dialogues=True, explain=True)

    def cdm_discriminative(
        self, seeds: Any = (0, 1), texts: Any = TEXTS, length: int = 60,
        pooling: Any = "classifier", weight: float = 1.0,
    ) -> Metric:  # fmt: skip
        amateur, expert = (toy_t5(seed, texts, self.side) for seed in seeds)
        pooler = toy_pooler(weight) if pooling == "classifier" else None
        return DiscriminativeCDM(Pair(amateur, expert, PairReading(length)), pooling, pooler, token_budget=self.budget)

    def ctrleval(self, seed: int = 0, texts: Any = TEXTS, **settings: Any) -> Metric:
        usual = {"prompts": PROMPTS, "truncation": "warn", "token_budget": self.budget}
        return CTRLEval(self.infiller(seed, texts), **{**usual, **settings})

    def save(self, lm: CausalLM) -> str:
        """A new folder with the model."""
        folder = self.folder / str(len([*self.folder.iterdir()]))
        lm.save_pretrained(folder)
        return str(folder)

    def mars(self, encoder: int = 0, seed: int = 0, texts: Any = TEXTS, **settings: Any) -> Metric:
        documents = self.folder / "documents.txt"
        documents.write_text("\n".join(TEXTS), encoding="utf-8")
        given = {"ratios": (0.0, 0.3), "documents": documents, "token_budget": self.budget, **settings}
        made = MARS.from_pretrained(self.save(toy_gpt(seed, texts, self.side)), str(self.encoders[encoder]), **given)
        return replace(made, described={**made.described, "language_model": "toy", "encoder": "toy"})

    def llm_judge(self, seed: int = 0, template: str = CHAT) -> Metric:
        chat = LocalChat(self.save(rater(seed, self.side, template)))
        chat.name = chat.depends["model"] = "toy"
        return LLMJudge(chat, ("coherence",))


@pytest.fixture
def here(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with `in.jsonl`, and a cache elsewhere, for the command line in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setattr(sys, "argv", ["experiments/run.py"])
    (tmp_path / "in.jsonl").write_text('{"text": "a b"}\n', encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def encoders(saved_bert: Callable[..., Path]) -> tuple[Path, Path, Path]:
    """A random BERT, one with another weight, and one with another order of tokens."""
    first, second = saved_bert(PIECES, 16, 2, 48), saved_bert(PIECES, 16, 2, 48)
    network = BertForSequenceClassification.from_pretrained(second).bert
    with torch.no_grad():
        network.embeddings.word_embeddings.weight[7, 3] += 0.01
    network.save_pretrained(second)
    return first, second, saved_bert([PIECES[1], PIECES[0], *PIECES[2:]], 16, 2, 48)


@pytest.fixture(scope="module")
def make_toy(encoders: tuple[Path, Path, Path], tmp_path_factory: pytest.TempPathFactory) -> MakeMetric:
    """Makes a metric by the name of its configuration."""
    folder = tmp_path_factory.mktemp("toys")

    def make(name: str, budget: int = 4096, side: Side = "right", **settings: Any) -> Metric:
        made = PLAIN.get(name) or getattr(Toys(encoders, folder, budget, side), name)
        return made(**settings)

    return make
