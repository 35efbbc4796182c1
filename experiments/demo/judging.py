"""Judge: the scores of one text by the metrics that a folder of models has, and what explains each score."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from baselines.bleu import Bleu
from baselines.rouge import Rouge
from baselines.word_count import WordCount
from cdm.discriminative import DiscriminativeCDM
from core.example import Example
from core.faults import ExampleFaults, SettingFault
from core.scores import Metric
from ctrl_eval.frequency import FILE_NAME
from ctrl_eval.metric import ASPECTS, CTRLEval
from discriminators.metric import DiscriminatorScore, LabelDiscriminatorScore, load_discriminators
from experiments.report.explanations import Line, read_explanation
from mars.metric import MARS


@dataclass(frozen=True)
class Judgement:
    """The score of a text by one metric.

    Attributes:
        metric: its name.
        score: higher is better; None if there is none.
        reason: why there is none.
        lines: what explains it, coloured by what it adds.
    """

    metric: str
    score: float | None
    reason: str | None = None
    lines: tuple[Line, ...] = ()


def load_metrics(models: Path, device: str = "cpu") -> dict[str, Metric]:
    """The metrics by name: those without a model, and those of the models that the folder has."""
    found: dict[str, Metric] = {"word count": WordCount(), "ROUGE-L": Rouge("rougeL"), "BLEU": Bleu()}
    if (models / "infiller").is_dir():
        table = models / "iwf" / FILE_NAME
        ctrleval = CTRLEval.from_pretrained(
            models / "infiller", iwf=table if table.is_file() else None, truncation="window", device=device
        )
        found |= {f"CTRLEval, {aspect.replace('_', ' ')}": replace(ctrleval, aspects=(aspect,)) for aspect in ASPECTS}
    if (models / "language_model").is_dir():
        found["MARS"] = MARS.from_pretrained(str(models / "language_model"), device=device)
    if (models / "amateur").is_dir() and (models / "expert").is_dir():
        pooling = "classifier" if (models / "pooler").is_dir() else "average"
        found["CDM, discriminative"] = DiscriminativeCDM.from_pretrained(models, pooling, device)
    for folder in sorted(models.glob("discriminator_*")):
        (discriminator,) = load_discriminators([folder], device)
        found[f"CDM, generative ({folder.name.removeprefix('discriminator_')})"] = (
            LabelDiscriminatorScore(discriminator)
            if discriminator.labels
            else DiscriminatorScore(discriminator, explain=True)
        )
    for folder in sorted(models.glob("judge_*")):
        found[f"judge of {folder.name.removeprefix('judge_')}"] = DiscriminatorScore.from_pretrained(
            folder, device, explain=True
        )
    return found


def judge(metrics: Mapping[str, Metric], example: Example) -> list[Judgement]:
    """The example under each of the metrics."""
    return [judge_by(name, metric, example) for name, metric in metrics.items()]


def judge_by(name: str, metric: Metric, example: Example) -> Judgement:
    """The example under one metric; a metric that cannot judge it says why."""
    try:
        scores = metric.score([example])
    except ExampleFaults as faults:
        return Judgement(name, None, "; ".join(what for _, what in faults.at))
    ((aspect, (value,)),) = scores.values.items()
    if math.isnan(value):
        return Judgement(name, None, scores.reasons[0])
    known = scores.explanations[0] if scores.explanations else {}
    return Judgement(name, float(value), None, tuple(read_explanation(known, aspect)))


def choose_usual_metrics(names: Iterable[str], kind: str) -> list[str]:
    """The metrics that are chosen at first for a kind of input."""
    beginnings = {"text": ("CTRLEval", "judge"), "dialogue": ("CDM",), "text and references": ("MARS", "ROUGE", "BLEU")}
    return [name for name in names if name.startswith(beginnings[kind]) or name == "word count"]


def make_example(
    kind: str, text: str, prefix: str, label: str, references: str, context: str, characters: int
) -> Example:
    """The example that a person typed. Raises SettingFault for a blank text, and for one that is too long."""
    for name, value in (("text", text), ("prefix", prefix), ("references", references), ("context", context)):
        check_length(value, characters, name)
    if not text.strip():
        raise SettingFault("text must not be blank")
    match kind:
        case "dialogue":
            return Example("page", turns=tuple(line.strip() for line in text.splitlines() if line.strip()))
        case "text":
            return Example("page", text=text.strip(), prefix=prefix.strip() or None, label=label.strip() or None)
        case _:
            lines = tuple(line.strip() for line in references.splitlines() if line.strip())
            return Example("page", text=text.strip(), references=lines, context=context.strip() or None)


def check_length(text: str, characters: int, name: str) -> None:
    """Raises SettingFault for a text of more characters."""
    if len(text) > characters:
        raise SettingFault(f"{name} must have at most {characters} characters, but has {len(text)}")
