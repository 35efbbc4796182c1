"""Every metric of the repository with small random models, for the properties that all metrics share."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

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
from core.scores import Metric
from ctrl_eval.metric import CTRLEval
from ctrl_eval.prompts import Prompts
from discriminators.discriminator import Discriminator
from discriminators.metric import DiscriminatorScore, LabelDiscriminatorScore
from discriminators.vocabulary import EncoderTokens
from mars.metric import MARS
from models.causal import CausalLM
from models.encoders import Encoder
from models.infilling import T5, Infiller
from models.seq2seq import Seq2SeqLM
from tests.toy_models import PIECES, TEXTS, ToyComet, toy_bert, toy_bilstm, toy_bleurt, toy_gpt, toy_pooler, toy_t5

Side = Literal["left", "right"]
MakeMetric = Callable[[int, Side], Metric]

LABELS = ("good", "bad")
PROMPTS = Prompts(("<text> It was <mask>.", "So <mask>! <text>"), LABELS, (("fine", "poor"),))
QUESTION = "question: coherent? </s> response: {response} </s> dialogue history: {history}"
CHAT = "{% for m in messages %}{{ m.content }}{% endfor %}"


def rater(side: Side) -> CausalLM:
    """A chat model whose likeliest next token is always 2 or 4; with large weights, so that the question matters."""
    lm = toy_gpt(side=side)
    with torch.no_grad():
        for parameter in lm.model.parameters():
            parameter.mul_(6 if parameter.ndim == 2 else 1)
        lm.model.transformer.ln_f.bias[0] += 20
    lm.tokenizer.chat_template = CHAT
    vocabulary, head = lm.tokenizer.get_vocab(), torch.zeros_like(lm.model.lm_head.weight)
    head[vocabulary["2"]] = torch.linspace(1, -1, head.shape[1])
    head[vocabulary["4"]] = torch.linspace(1, 0, head.shape[1])
    lm.model.config.tie_word_embeddings = False
    lm.model.lm_head.weight = torch.nn.Parameter(head)
    return lm


class Toys:
    """Makes each metric of `configs/metric` with a token budget and a padding side of its tokenizer."""

    def __init__(self, encoder: Path, folder: Path) -> None:
        self.folder, self.encoder = folder, encoder
        for side in ("left", "right"):
            toy_gpt(side=side).save_pretrained(folder / side)
            rater(side).save_pretrained(folder / f"rater_{side}")
        self.makers: dict[str, MakeMetric] = {
            "word_count": lambda budget, side: WordCount(),
            "bleu": lambda budget, side: Bleu(),
            "rouge_1": lambda budget, side: Rouge("rouge1"),
            "rouge_2": lambda budget, side: Rouge("rouge2", tokens="characters"),
            "rouge_l": lambda budget, side: Rouge("rougeL"),
            "chrf": lambda budget, side: ChrF(),
            "ter": lambda budget, side: Ter(),
            "comet": lambda budget, side: Comet(ToyComet(True), "toy", "1", batch_size=1 + budget // 64),
            "meteor": lambda budget, side: Meteor(False),
            "bertscore": self.bertscore,
            "bleurt": lambda budget, side: toy_bleurt(encoder, side, token_budget=budget),
            "sentence_mover": lambda budget, side: SentenceMover(self.sentences(budget, side)),
            "mover_score": lambda budget, side: MoverScore(
                self.sentences(budget, side), ["a cat", "it rains"], layers=2, token_budget=budget
            ),
            "perplexity": lambda budget, side: Perplexity(toy_gpt(side=side), "toy", True, token_budget=budget),
            "perplexity_seq2seq": lambda budget, side: InfillingPerplexity(
                infiller(toy_t5(side=side)), "toy", token_budget=budget
            ),
            "bartscore": lambda budget, side: BartScore(toy_t5(side=side), "toy", direction="f", token_budget=budget),
            "uni_eval": lambda budget, side: UniEval(
                toy_t5(side=side), "toy", {"quality": QUESTION}, token_budget=budget
            ),
            "discriminator": lambda budget, side: DiscriminatorScore(self.bert(budget, side)),
            "discriminator_label": lambda budget, side: LabelDiscriminatorScore(
                replace(toy_bilstm(labels=LABELS), token_budget=budget)
            ),
            "cdm_generative": lambda budget, side: DiscriminatorScore(
                replace(toy_bilstm(), token_budget=budget), dialogues=True, explain=True
            ),
            "cdm_discriminative": lambda budget, side: DiscriminativeCDM(
                Pair(toy_t5(side=side), toy_t5(1, side=side), 60), "classifier", toy_pooler(1.0), token_budget=budget
            ),
            "ctrleval": lambda budget, side: ctrleval(toy_t5(side=side), budget),
            "mars": self.mars,
            "llm_judge": lambda budget, side: self.judge(side),
        }

    def sentences(self, budget: int, side: Side) -> Encoder:
        encoder = Encoder.from_pretrained(str(self.encoder), token_budget=budget)
        encoder.tokenizer.padding_side = side
        return encoder

    def bertscore(self, budget: int, side: Side) -> BertScore:
        return BertScore.from_pretrained(str(self.encoder), batch_size=1 + budget // 64)

    def bert(self, budget: int, side: Side) -> Discriminator:
        made = toy_bert(self.encoder)
        assert isinstance(made.tokens, EncoderTokens)
        made.tokens.tokenizer.padding_side = side
        return replace(made, token_budget=budget)

    def judge(self, side: Side) -> LLMJudge:
        chat = LocalChat(str(self.folder / f"rater_{side}"))
        chat.name = chat.depends["model"] = "toy"
        return LLMJudge(chat, ("coherence",))

    def mars(self, budget: int, side: Side) -> MARS:
        documents = self.folder / "documents.txt"
        documents.write_text("\n".join(TEXTS), encoding="utf-8")
        settings: Any = {"ratios": (0.0, 0.3), "documents": documents, "token_budget": budget}
        made = MARS.from_pretrained(str(self.folder / side), str(self.encoder), **settings)
        return replace(made, described={**made.described, "language_model": "toy"})


def ctrleval(lm: Seq2SeqLM, budget: int) -> CTRLEval:
    return CTRLEval(infiller(lm), prompts=PROMPTS, truncation="warn", token_budget=budget)


def infiller(lm: Seq2SeqLM) -> Infiller:
    return Infiller(lambda: lm, lm.tokenizer, T5, 64)


@pytest.fixture(scope="module")
def toys(saved_bert: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, MakeMetric]:
    """How to make each metric, by the name of its configuration, from a token budget and a padding side."""
    return Toys(saved_bert(PIECES, 16, 2, 48), tmp_path_factory.mktemp("toys")).makers
