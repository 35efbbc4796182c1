"""Legend: what the metrics and models of the page are, and what the numbers mean."""

from dataclasses import dataclass
from pathlib import Path

from baselines.rouge import Rouge
from baselines.sacrebleu_metrics import Bleu
from baselines.word_count import WordCount
from cdm.discriminative import DiscriminativeCDM
from core.scores import Metric
from ctrl_eval.metric import CTRLEval
from discriminators.metric import DiscriminatorScore, LabelDiscriminatorScore
from mars.metric import MARS

LOG_PROBABILITY = "nats per token, at most 0; 0 = certain of every token, -1 = each token has a probability of .37"
MODELS = {  # by the beginning of the name of its folder
    "amateur": "CDM's smaller model of dialogues",
    "expert": "CDM's larger model of dialogues",
    "pooler": "reads the contrast of amateur and expert in CDM, discriminative",
    "discriminator_": "tells human dialogues from degraded ones in CDM, generative",
    "infiller": "fills gaps in a text for CTRLEval",
    "iwf": "how rare words are, for CTRLEval",
    "language_model": "finds other ways to write a reference for MARS",
    "generator": "writes the texts of Steer",
    "guide_": "tells the generator of Steer how well each next token fits this label",
    "judge_": "judges whether a text has this label; learned other texts than the guide",
}


@dataclass(frozen=True)
class Legend:
    """A metric in words."""

    measures: str = ""  # what
    scale: str = "higher is better"  # the range of its numbers, and what one of them means


def describe_metric(metric: Metric) -> Legend:
    """What a metric of the page measures, and on which scale."""
    match metric:
        case WordCount():
            return Legend("the number of words", "words; says nothing about quality")
        case Rouge():
            scale = "0 to 1; 1 = the words of a reference"
            return Legend("words shared with a reference, in order", scale)
        case Bleu():
            scale = "0 to 1; 1 = the text of a reference"
            return Legend("one to four words in a row shared with references", scale)
        case CTRLEval(aspects=("coherence",)):
            return Legend("how well each sentence follows from the others", LOG_PROBABILITY)
        case CTRLEval(aspects=("consistency",)):
            return Legend("how well the text and its first words (the prefix) follow from each other", LOG_PROBABILITY)
        case CTRLEval():
            return Legend("how well the label fits the text", "0 to 1; 1 = certain of the label, 0.5 = undecided")
        case MARS():
            scale = "cosine of meanings, -1 to 1; 1 = the meaning of the references"
            return Legend("likeness in meaning to references and to other ways to write them", scale)
        case DiscriminativeCDM(pooling="classifier"):
            return Legend("how much more a large model expects the turns than a small one", _logit("human"))
        case DiscriminativeCDM():
            scale = "nats per token; 1 = the large model finds each token 2.7 times as probable"
            return Legend("how much more a large model expects the turns than a small one", scale)
        case DiscriminatorScore(dialogues=True):
            return Legend("human dialogues against degraded ones", _logit("human"))
        case DiscriminatorScore():
            return Legend("texts with the label against the others", _logit("of the label"))
        case LabelDiscriminatorScore():
            return Legend("texts with the label against the others", "0 to 1; 1 = certain of the label")
        case _:
            return Legend()


def _logit(side: str) -> str:
    return f"logit; 0 = undecided, 1 = 73 % {side}, -1 = 27 %"


def describe_models(folder: Path) -> list[tuple[str, str]]:
    """The names of the models in a folder, and what they are."""
    names = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    return [(name, what) for name in names for beginning, what in MODELS.items() if name.startswith(beginning)]
