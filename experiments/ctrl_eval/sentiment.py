"""CTRLEval on controlled text: the metric, its ablations and baselines against ratings (Ke et al. 2022, section 4)."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from transformers import AutoTokenizer

from baselines.discriminator_score import LabelDiscriminatorScore
from baselines.word_count import WordCount
from core.example import Example
from core.faults import InputFaults
from core.scores import Metric, Scores
from core.settings import check_count, counts
from core.signature import MODEL_LIBRARIES, signature
from core.stages import fingerprint
from ctrl_eval.analysis import model_drift, number_of_evaluators, quality_drift
from ctrl_eval.frequency import count_frequencies
from ctrl_eval.gaps import KINDS, LABEL_SHARE, gap_tasks
from ctrl_eval.metric import CTRLEval, Evaluations
from ctrl_eval.prompts import load_prompts
from ctrl_eval.sentences import english
from data.rated import RatedSet
from data.sets.attributes import LabelledData
from discriminators.data_module import LabelledText
from discriminators.discriminator import Discriminator
from discriminators.training import TrainingSettings, train_discriminator
from experiments.report import plots
from experiments.report.evaluation import evaluate
from experiments.runner.contracts import Outcome, Row, Run, ScoredSet
from experiments.training.language_models import CausalPlan, Corpus, Pretrained, causal_model, trained
from language_models.infilling import sentinel_infilling
from language_models.loading import loaded
from language_models.tiny import TinyT5
from language_models.training import Schedule, Task, train_language_model

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class InfillerPlan:
    """A small infilling model from scratch: what to build and how long to train it.

    Attributes:
        gaps_per_text: in every epoch.
        label_share: of the gaps of a text that says its label, how many are that word.
        kinds: what the other gaps are, by weight.
    """

    model: TinyT5
    schedule: Schedule
    gaps_per_text: int = 1
    label_share: float = LABEL_SHARE
    kinds: Mapping[str, float] = field(default_factory=lambda: dict(KINDS))


@dataclass(frozen=True)
class LabelDiscriminatorPlan:
    """Discriminators of labels, one against the rest: what to build, how long to train, on how many texts."""

    build: partial[Discriminator]
    training: TrainingSettings
    texts: int


@dataclass(frozen=True)
class Analyses:
    """Which of the paper's analyses are drawn.

    Attributes:
        aspect: of model drift and quality drift (the paper: coherence).
        numbers: how many evaluators are drawn at random for Figure 4.
        example: the index of the text whose evaluators are shown (Figure 5).

    Raises ValueError for numbers that are below 1 or equal, and an index below 0.
    """

    aspect: str = "coherence"
    numbers: Sequence[int] = (1, 2, 4, 8, 16, 24, 32)
    example: int = 0

    def __post_init__(self) -> None:
        counts(self.numbers, "analyses.numbers")
        check_count("analyses.example", self.example, least=0)


def ctrleval(
    run: Run,
    data: LabelledData,
    infiller: InfillerPlan | Pretrained,
    metric: partial[CTRLEval],
    perplexity: Callable[[str], Metric],
    perplexity_backbone: Callable[[str], Metric],
    bartscore: Callable[[str], Metric],
    causal: CausalPlan | Pretrained,
    discriminator: LabelDiscriminatorPlan | None = None,
    iwf: str | None = None,
    pattern_functions: bool = False,
    analyses: Analyses = Analyses(),
    device: str = "cpu",
) -> Outcome:
    """The metric, its weights and pattern functions exchanged (Table 5), and baselines (Tables 3-4), on rated sets.

    Args:
        run: from the runner.
        data: labelled texts, and rated ones with prefix and label.
        infiller: the backbone: pretrained, or trained here.
        metric: makes the metric of a model's name or folder.
        perplexity, perplexity_backbone, bartscore: make these baselines of a model's name or folder.
        causal: the language model of `perplexity`.
        discriminator: the discriminator baseline; None leaves it out.
        iwf: the IWF table; None counts the training texts.
        pattern_functions: adds rows for the pattern functions of BARTScore (no mask) and of PPL-GPT (a causal model
            goes on from the source), as in Table 5.
        analyses: what is drawn beside the table.
        device: where the discriminators score.

    Raises InputFaults where a rated set has no such example as is to be shown.
    """
    if short := [rated for rated in data.rated if len(rated.examples) <= analyses.example]:
        raise InputFaults(
            f"analyses.example must be below the {len(each.examples)} texts of {each.name}, but is {analyses.example}"
            for each in short
        )
    backbone = _infiller(run, infiller, data, load_prompts(metric.keywords["prompts"]).words)
    table = iwf or _frequencies(run, backbone, data)
    judge = metric(backbone, iwf=table)
    language_model = causal_model(run, causal, _corpus(data))
    discriminators = _label_discriminators(run, discriminator, data) if discriminator and data.train else {}

    scored: list[ScoredSet] = []
    rows: list[Row] = []
    figures: dict[str, Figure] = {}
    for rated in data.rated:
        with run.timed(f"ctrleval {rated.name}"):
            evaluations = judge.evaluations(rated.examples)
            scores = _ctrleval_rows(judge, evaluations, rated)
        if pattern_functions:
            with run.timed(f"pattern functions {rated.name}"):
                scores["ctrleval_bartscore_pf"] = metric(backbone, iwf=table, mask=False).score(rated.examples)
                causal_table = _frequencies(run, language_model, data)
                scores["ctrleval_ppl_pf"] = metric(language_model, iwf=causal_table).score(rated.examples)
        with run.timed(f"baselines {rated.name}"):
            scores["perplexity"] = perplexity(language_model).score(rated.examples)
            scores["perplexity_backbone"] = perplexity_backbone(backbone).score(rated.examples)
            scores["bartscore"] = bartscore(backbone).score(rated.examples)
            if discriminators:
                judged = LabelDiscriminatorScore.from_pretrained(discriminators, device)
                scores["discriminator"] = judged.score(rated.examples)
            scores["word_count"] = WordCount().score(rated.examples)
        scored.append(ScoredSet(rated, scores))
        rows += evaluate(scores, rated)
        figures |= _drawn(judge, evaluations, scores, rated, analyses, run.seed)
    models = {name: Path(folder) for name, folder in (("infiller", backbone), ("causal", language_model))}
    kept = {name: folder for name, folder in models.items() if (folder / "curve.json").is_file()}
    curves = {name: json.loads((folder / "curve.json").read_text("utf-8")) for name, folder in kept.items()}
    if curves:
        figures["training_curves"] = plots.training_curves(curves)
    return Outcome(
        signature=signature(run.name, libraries=MODEL_LIBRARIES, data=data.name, backbone=Path(backbone).name),
        rows=rows,
        scored=scored,
        plots=figures,
        models={**kept, **{f"discriminator_{name}": folder for name, folder in discriminators.items()}},
        notes=_notes(data, table, discriminators),
        figures={f"{n} held-out NLL (nats per token)": _best(curve) for n, curve in curves.items()},
        synthetic=data.synthetic,
    )


def _notes(data: LabelledData, table: str | None, discriminators: Mapping[str, Path]) -> list[str]:
    notes: list[str] = []
    if table is None:
        notes.append(f"{data.name} has no texts to count word frequencies in: all targets of a text weigh alike")
    if not discriminators:
        notes.append(f"no discriminator baseline: {data.name} has no labelled texts to train on, or none was asked for")
    return notes


def _infiller(run: Run, plan: InfillerPlan | Pretrained, data: LabelledData, label_words: Sequence[str]) -> str:
    """The backbone's name or the folder of its stage."""
    if isinstance(plan, Pretrained):
        return plan.name
    texts, held_out = _texts(data.train), _texts(data.held_out)

    def build(folder: Path) -> None:
        lm = plan.model.build(texts, (), run.seed)
        infilling = sentinel_infilling(lm.tokenizer)
        log.info("infiller: %.2f M parameters, %d tokens", lm.parameters / 1e6, len(lm.tokenizer))

        def tasks(of: Sequence[str], seed: int, per_text: int) -> list[Task]:
            return gap_tasks(lm, infilling, of, seed, english, per_text, label_words, plan.label_share, plan.kinds)

        train_language_model(
            lm,
            lambda seed: tasks(texts, seed, plan.gaps_per_text),
            tasks(held_out, run.seed, 1),
            plan.schedule,
            folder,
            run.trainer,
            run.loggers("infiller"),
            run.seed,
        )

    depends = {**asdict(plan), "label_words": list(label_words)}
    return str(trained(run, "infiller", depends, _corpus(data), build))


def _frequencies(run: Run, backbone: str, data: LabelledData) -> str | None:
    """The IWF table over the sentences of the training texts, a stage; None without such texts."""
    if not data.train:
        return None

    def build(folder: Path) -> None:
        sentences = (sentence for text in _texts(data.train) for sentence in english(text))
        count_frequencies(sentences, loaded(AutoTokenizer.from_pretrained, backbone)).save(folder / "iwf.json")

    with run.timed("word frequencies"):
        folder = run.stages.get(
            "iwf", {"tokenizer": backbone, "train": fingerprint(_texts(data.train))}, build, version=1
        )
    return str(folder / "iwf.json")


def _label_discriminators(run: Run, plan: LabelDiscriminatorPlan, data: LabelledData) -> dict[str, Path]:
    """The folder of a discriminator for each label against the others."""
    found: dict[str, Path] = {}
    for label in data.labels:
        texts = _label_texts(data.train, label, plan.texts)

        def build(folder: Path, texts: Sequence[LabelledText] = texts, label: str = label) -> None:
            train_discriminator(
                plan.build, texts, folder, run.trainer, plan.training, run.loggers(f"discriminator_{label}"), run.seed
            )

        with run.timed("training discriminators"):
            found[label] = run.stages.get(
                f"discriminator_{label}",
                {
                    "build": plan.build.func.__name__,
                    "arguments": dict(plan.build.keywords),
                    "training": asdict(plan.training),
                    "texts": fingerprint([[list(t.segments), t.label, t.group] for t in texts]),
                    "seed": run.seed,
                },
                build,
                together=True,
                version=1,
            )
    return found


def _label_texts(examples: Sequence[Example], label: str, texts: int) -> list[LabelledText]:
    """As many texts of the label as of all others together, `texts` in all where there are so many."""
    of = [e for e in examples if e.label == label][: texts // 2]
    others = [e for e in examples if e.label != label][: len(of)]
    return [LabelledText((e.full_text,), int(e.label == label), group=e.id) for e in (*of, *others)]


def _ctrleval_rows(
    judge: CTRLEval, evaluations: Mapping[Any, Sequence[Evaluations]], rated: RatedSet
) -> dict[str, Scores]:
    """The metric, and with the mean, the highest and the lowest evaluator in the place of its weights (Table 5)."""
    dropped = [max(evaluations[a][i].dropped for a in evaluations) for i in range(len(rated.examples))]
    found: dict[str, Scores] = {}
    for weights in ("paper", "mean", "max", "min"):
        changed = replace(judge, weights=weights)
        values = {aspect: changed.aggregated(rows) for aspect, rows in evaluations.items()}
        name = "ctrleval" if weights == "paper" else f"ctrleval_{weights}"
        found[name] = Scores(values, changed.signature, dropped_tokens=dropped)
    return found


def _drawn(
    judge: CTRLEval,
    evaluations: Mapping[Any, Sequence[Evaluations]],
    scores: Mapping[str, Scores],
    rated: RatedSet,
    analyses: Analyses,
    seed: int,
) -> dict[str, Figure]:
    """Figures 2 to 5 for one rated set, where it has what they need."""
    found: dict[str, Figure] = {f"scores_{rated.name}": plots.scores_against_ratings(ScoredSet(rated, scores))}
    at = [i for i, e in enumerate(rated.examples) if analyses.aspect in e.ratings]
    ratings = np.array([rated.examples[i].ratings[analyses.aspect] for i in at])
    values = {
        metric: (s.values[analyses.aspect] if analyses.aspect in s.values else next(iter(s.values.values())))[at]
        for metric, s in scores.items()
        if metric in ("ctrleval", "perplexity", "bartscore", "word_count")
    }
    if len(at) >= 16:
        drift = quality_drift(values, ratings, _pearson, seed)
        found[f"quality_drift_{rated.name}"] = plots.quality_drift(drift, analyses.aspect)
        systems = [rated.examples[i].system for i in at]
        named = [system for system in systems if system is not None]
        if len(named) == len(systems) and len(set(named)) > 1:
            by_system = model_drift(values, ratings, named, _pearson)
            found[f"model_drift_{rated.name}"] = plots.model_drift(by_system, analyses.aspect)
    relevance = evaluations.get("attribute_relevance")
    rated_for_it = [i for i, e in enumerate(rated.examples) if "attribute_relevance" in e.ratings]
    if relevance and rated_for_it:
        matrix, weights = (
            np.stack([getattr(relevance[i], name) for i in rated_for_it]) for name in ("scores", "weights")
        )
        asked = np.array([rated.examples[i].ratings["attribute_relevance"] for i in rated_for_it])
        numbers = [n for n in analyses.numbers if n <= matrix.shape[1]]
        numbers = [*numbers, *([matrix.shape[1]] if matrix.shape[1] not in numbers else [])]
        curve = number_of_evaluators(matrix, weights, asked, numbers, _pearson, seed)
        found[f"number_of_evaluators_{rated.name}"] = plots.number_of_evaluators(curve)
        shown = relevance[analyses.example]
        found[f"evaluators_{rated.name}"] = plots.evaluators(shown, rated.examples[analyses.example])
    return found


def _pearson(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Pearson's correlation; NaN where one side does not vary."""
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def _corpus(data: LabelledData) -> Corpus:
    return Corpus(_texts(data.train), _texts(data.held_out))


def _texts(examples: Sequence[Example]) -> list[str]:
    return [example.full_text for example in examples]


def _best(curve: Sequence[Mapping[str, float]]) -> float:
    return min(point["held_out_nll"] for point in curve if "held_out_nll" in point)
