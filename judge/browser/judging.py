"""The models of the page; scores one text by their metrics, and explains the scores."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from baselines.rouge import Rouge
from baselines.sacrebleu_metrics import Bleu
from baselines.word_count import WordCount
from cdm.discriminative import ClassifierPooler, DiscriminativeCDM
from core.errors import ExampleError, SettingError
from core.example import Example
from core.notes import read_note
from core.scores import Metric
from core.selection import has_field
from ctrl_eval.aspects import ASPECTS
from ctrl_eval.frequency import FILE_NAME
from ctrl_eval.metric import CTRLEval
from discriminators.discriminator import Discriminator
from discriminators.guides import load_guide
from discriminators.metric import DiscriminatorScore, LabelDiscriminatorScore
from judge.inputs import read
from mars.metric import MARS
from models.causal import CausalLM
from report.explanations import Line, read_explanation

CHARACTERS = 2000  # of a text, at most
GENERATOR, GUIDE = "generator", "guide_"  # folders of models
JUDGE = "judge of "  # how the name of a judge of a label begins
SCALES = {  # what the number of a metric says, by the beginning of its name
    "word count": "words; says nothing about quality",
    "ROUGE-L": "0 to 1; 1 = the words of a reference, in order",
    "BLEU": "0 to 1; 1 = the text of a reference",
    "CTRLEval, attribute relevance": "0 to 1; 1 = certain of the label, 0.5 = undecided",
    "CTRLEval": "nats per token, at most 0; -1 = each token has a probability of .37",
    "MARS": "cosine of meanings, -1 to 1; 1 = the meaning of the references",
    "CDM, discriminative (classifier)": "logit; 0 = undecided, 1 = 73 % human, -1 = 27 %",
    "CDM, discriminative": "nats per token; 1 = the large model finds each token 2.7 times as probable",
    "CDM, generative": "logit; 0 = undecided, 1 = 73 % human, -1 = 27 %",
    "probability of the label": "0 to 1; 1 = certain of the label",
    "judge": "logit; 0 = undecided, 1 = 73 % of the label, -1 = 27 %",
}


@dataclass(frozen=True)
class Judgement:
    """The score of a text by one metric."""

    metric: str  # its name
    score: float | None  # higher is better; None if there is none
    reason: str | None = None  # why there is none
    lines: tuple[Line, ...] = ()  # what explains it, coloured by what it adds
    notes: tuple[str, ...] = ()  # what a reader of the score must know

    @property
    def scale(self) -> str:
        return next((scale for beginning, scale in SCALES.items() if self.metric.startswith(beginning)), "")


def load_metrics(models: Path, device: str = "cpu") -> dict[str, Metric]:
    """Loads metrics by name: those without a model, and those whose model is in the folder."""
    metrics: dict[str, Metric] = {"word count": WordCount(), "ROUGE-L": Rouge("rougeL"), "BLEU": Bleu()}
    if (models / "infiller").is_dir():
        ctrleval = load_ctrleval(models, device)
        for aspect in ASPECTS:
            metrics[f"CTRLEval, {aspect.replace('_', ' ')}"] = replace(ctrleval, aspects=(aspect,))
    if (models / "language_model").is_dir():
        metrics["MARS"] = MARS.from_pretrained(str(models / "language_model"), device=device)
    if (models / "amateur").is_dir() and (models / "expert").is_dir():
        pooling = choose_pooling(models)
        metrics[f"CDM, discriminative ({pooling})"] = DiscriminativeCDM.from_pretrained(models, pooling, device)
    for folder in sorted(models.glob("discriminator_*")):
        discriminator = Discriminator.from_pretrained(folder, device)
        name = folder.name.removeprefix("discriminator_")
        if discriminator.labels:
            metrics[f"probability of the label ({name})"] = LabelDiscriminatorScore(discriminator)
        else:
            metrics[f"CDM, generative ({name})"] = DiscriminatorScore(discriminator, dialogues=True, explain=True)
    for folder in sorted(models.glob("judge_*")):
        judge = DiscriminatorScore.from_pretrained(folder, device, explain=True)
        metrics[f"{JUDGE}{folder.name.removeprefix('judge_')}"] = judge
    return metrics


def load_ctrleval(models: Path, device: str) -> CTRLEval:
    """Loads CTRLEval with the infilling model of the folder, and with its word frequencies if there are some."""
    frequencies = models / "iwf" / FILE_NAME
    return CTRLEval.from_pretrained(
        models / "infiller",
        iwf=frequencies if frequencies.is_file() else None,
        truncation="window",
        device=device,
    )


def choose_pooling(models: Path) -> Literal["classifier", "average"]:
    """Chooses the pooling: the classifier if the folder has one that may be used, else the average."""
    file = models / "pooler" / "pooler.json"
    has_learned = file.is_file() and not ClassifierPooler.load(file).refusal
    return "classifier" if has_learned else "average"


@dataclass(frozen=True)
class DemoModels:
    """The models of the page."""

    folder: str  # as the user gave it
    generator: CausalLM | None  # None without a generator and a guide
    guides: Mapping[str, Discriminator]  # by label
    metrics: Mapping[str, Metric]  # by name
    notes: tuple[str, ...] = ()  # what a reader of their scores must know (`core.notes`)

    @classmethod
    def load(
        cls,
        folder: str,
        generator: str | None = None,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> "DemoModels":
        """Loads the models of a folder, and a generator of another place (a folder or a name of the hub)."""
        path = Path(folder)
        source = generator or str(path / GENERATOR)
        guides = sorted(path.glob(f"{GUIDE}*"))
        has_generator = bool(guides) and (generator is not None or Path(source).is_dir())
        return cls(
            folder,
            generator=CausalLM.from_pretrained(source, device, dtype) if has_generator else None,
            guides={each.name.removeprefix(GUIDE): load_guide(each, device) for each in guides if has_generator},
            metrics=load_metrics(path, device),
            notes=tuple(dict.fromkeys(note for each in sorted(path.glob("*")) for note in read_note(each))),
        )


def list_fitting(metrics: Mapping[str, Metric], example: Example) -> list[str]:
    """Lists the metrics that apply to an example: it has the fields that they read, and the label that they detect.

    A metric of texts does not apply to a dialogue.
    """
    fitting = [name for name, metric in metrics.items() if all(has_field(example, field) for field in metric.requires)]
    if example.turns:
        fitting = [name for name in fitting if not name.startswith("CTRLEval")]
    return [name for name in fitting if not name.startswith(JUDGE) or name == f"{JUDGE}{example.label}"]


def judge_by(name: str, metric: Metric, example: Example) -> Judgement:
    """Scores the example by one metric; if the metric cannot score it, the Judgement says why."""
    try:
        scores = metric.score([example])
    except ExampleError as faults:
        return Judgement(name, None, "; ".join(what for _, what in faults.at))
    ((aspect, (value,)),) = scores.values.items()
    if math.isnan(value):
        return Judgement(name, None, scores.reasons[0])
    explanation = scores.explanations[0] if scores.explanations else {}
    return Judgement(
        name,
        score=int(value) if isinstance(metric, WordCount) else float(value),
        lines=tuple(read_explanation(explanation, aspect)),
        notes=tuple(scores.notes),
    )


def make_example(
    text: str,
    is_dialogue: bool,
    prefix: str,
    label: str,
    references: str,
    context: str,
) -> Example:
    """Makes an Example of typed text; lines are the turns of a dialogue, and each line of `references` is a reference.

    Raises SettingError for a text that is blank or too long.
    """
    for name, value in (("text", text), ("prefix", prefix), ("references", references), ("context", context)):
        check_length(value, name)
    if not text.strip():
        raise SettingError("text must not be blank")
    body = {"turns": split_lines(text)} if is_dialogue else {"text": text.strip()}
    row = {**body, "prefix": prefix.strip(), "label": label.strip(), "context": context.strip()}
    row["references"] = split_lines(references)
    return read([{name: value for name, value in row.items() if value}]).examples[0]


def split_lines(text: str) -> list[str]:
    """Splits a text into lines, without blank ones."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def check_length(text: str, name: str) -> None:
    """Raises SettingError if the text is longer than `CHARACTERS`."""
    if len(text) > CHARACTERS:
        raise SettingError(f"{name} must have at most {CHARACTERS} characters, but has {len(text)}")
