"""CTRLEval on controlled text: the metric, its ablations and baselines against ratings (Ke et al. 2022, section 4)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from ctrl_eval.metric import CTRLEval, Evaluations
from ctrl_eval.sentences import english
from data.rated import RatedSet
from data.sets.attributes import LabelledData
from discriminators.data_module import LabelledText
from experiments.report import plots
from experiments.report.evaluation import evaluate
from experiments.runner.contracts import Outcome, Row, Run, ScoredSet
from experiments.training.discriminators import DiscriminatorPlan, trained_discriminator
from experiments.training.language_models import LanguageModelPlan, Pretrained, trained_language_model
from experiments.training.trained import Trained, folders_of
from language_models.loading import loaded


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
    infiller: LanguageModelPlan | Pretrained,
    metric: partial[CTRLEval],
    perplexity: Callable[[str], Metric],
    perplexity_backbone: Callable[[str], Metric],
    bartscore: Callable[[str], Metric],
    causal: LanguageModelPlan | Pretrained,
    discriminator: DiscriminatorPlan | None = None,
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
    texts = _texts(data.train), _texts(data.held_out)
    backbone = trained_language_model(run, "infiller", infiller, *texts)
    table = iwf or _frequencies(run, backbone, data)
    judge = metric(backbone.source, iwf=table)
    language_model = trained_language_model(run, "causal", causal, *texts)
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
                scores["ctrleval_bartscore_pf"] = metric(backbone.source, iwf=table, mask=False).score(rated.examples)
                causal_table = _frequencies(run, language_model, data)
                scores["ctrleval_ppl_pf"] = metric(language_model.source, iwf=causal_table).score(rated.examples)
        with run.timed(f"baselines {rated.name}"):
            scores["perplexity"] = perplexity(language_model.source).score(rated.examples)
            scores["perplexity_backbone"] = perplexity_backbone(backbone.source).score(rated.examples)
            scores["bartscore"] = bartscore(backbone.source).score(rated.examples)
            if discriminators:
                folders = {label: discriminator.source for label, discriminator in discriminators.items()}
                judged = LabelDiscriminatorScore.from_pretrained(folders, device)
                scores["discriminator"] = judged.score(rated.examples)
            scores["word_count"] = WordCount().score(rated.examples)
        scored.append(ScoredSet(rated, scores))
        rows += evaluate(scores, rated)
        figures |= _drawn(judge, evaluations, scores, rated, analyses, run.seed)
    models = {"infiller": backbone, "causal": language_model}
    kept = {name: model for name, model in models.items() if model.is_trained_here}
    if kept:
        figures["training_curves"] = plots.training_curves({name: model.curve for name, model in kept.items()})
    return Outcome(
        signature=signature(run.name, libraries=MODEL_LIBRARIES, data=data.name, backbone=backbone.identity),
        rows=rows,
        scored=scored,
        plots=figures,
        models=folders_of({**kept, **{f"discriminator_{name}": each for name, each in discriminators.items()}}),
        notes=_notes(data, table, discriminators),
        figures={f"{name} held-out NLL (nats per token)": model.held_out_nll for name, model in kept.items()},
        synthetic=data.synthetic,
    )


def _notes(data: LabelledData, table: str | None, discriminators: Mapping[str, Trained]) -> list[str]:
    notes: list[str] = []
    if table is None:
        notes.append(f"{data.name} has no texts to count word frequencies in: all targets of a text weigh alike")
    if not discriminators:
        notes.append(f"no discriminator baseline: {data.name} has no labelled texts to train on, or none was asked for")
    return notes


def _frequencies(run: Run, backbone: Trained, data: LabelledData) -> str | None:
    """The IWF table over the sentences of the training texts, a stage; None without such texts."""
    if not data.train:
        return None

    def build(folder: Path) -> None:
        sentences = (sentence for text in _texts(data.train) for sentence in english(text))
        count_frequencies(sentences, loaded(AutoTokenizer.from_pretrained, backbone.source)).save(folder / "iwf.json")

    with run.timed("word frequencies"):
        folder = run.stages.get(
            "iwf", {"tokenizer": backbone.identity, "train": fingerprint(_texts(data.train))}, build, version=1
        )
    return str(folder / "iwf.json")


def _label_discriminators(run: Run, plan: DiscriminatorPlan, data: LabelledData) -> dict[str, Trained]:
    """A discriminator for each label against the others."""
    return {
        label: trained_discriminator(
            run, f"discriminator_{label}", plan, _label_texts(data.train, label, plan.per_class), run.seed
        )
        for label in data.labels
    }


def _label_texts(examples: Sequence[Example], label: str, most: int | None) -> list[LabelledText]:
    """As many texts of the label as of all others together, `most` of each where there are so many."""
    of = [e for e in examples if e.label == label][:most]
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


def _texts(examples: Sequence[Example]) -> list[str]:
    return [example.full_text for example in examples]
