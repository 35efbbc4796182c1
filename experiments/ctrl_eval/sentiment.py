"""CTRLEval on controlled text: the metric, its ablations and baselines against ratings (Ke et al. 2022, section 4)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure
from transformers import AutoTokenizer

from baselines.discriminator_score import LabelDiscriminatorScore
from baselines.word_count import WordCount
from core.example import Example
from core.scores import Metric
from core.signature import MODEL_LIBRARIES, signature
from core.stages import fingerprint
from ctrl_eval.frequency import VERSION, count_frequencies
from ctrl_eval.metric import CTRLEval
from data.rated import RatedSet
from data.sentences import split_english
from data.sets.attributes import LabelledData
from discriminators.data_module import LabelledText
from experiments.ctrl_eval.findings import (
    Analyses,
    Case,
    CtrlEvalFindings,
    PartAgreement,
    analyse,
    score_weightings,
)
from experiments.ctrl_eval.plots import (
    plot_evaluators,
    plot_model_drift,
    plot_number_of_evaluators,
    plot_quality_drift,
)
from experiments.report import plots
from experiments.report.evaluation import evaluate
from experiments.runner.contracts import Outcome, Run, ScoredSet, Table
from experiments.training.discriminators import DiscriminatorPlan, find_or_train_discriminator
from experiments.training.language_models import LanguageModelPlan, Pretrained, find_or_train_language_model
from experiments.training.trained import Trained, folders_of, use_pretrained
from language_models.loading import loaded


def ctrleval(
    run: Run,
    data: LabelledData,
    infiller: LanguageModelPlan | Pretrained,
    metric: partial[CTRLEval],
    perplexity: Callable[[str], Metric],
    perplexity_backbone: Callable[[str], Metric],
    bartscore: Callable[[str], Metric],
    causal: LanguageModelPlan | Pretrained,
    analyses: Analyses,
    discriminator: DiscriminatorPlan | None = None,
    iwf: str | None = None,
    iwf_tokenizer: str | None = None,
    pattern_functions: bool = False,
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
        analyses: what is drawn beside the table.
        discriminator: the discriminator baseline; None leaves it out.
        iwf: the IWF table; None counts the training texts.
        iwf_tokenizer: the model whose tokens are counted, or were counted in `iwf`; None for the backbone.
        pattern_functions: adds rows for the pattern functions of BARTScore (no mask) and of PPL-GPT (no mask, and the
            target begins with the source) with the same backbone, as in Table 5.
        device: where the discriminators score.

    Raises InputFaults where a rated set lacks the example to show.
    """
    analyses.check(data.rated)
    texts = _texts(data.train), _texts(data.held_out)
    backbone = find_or_train_language_model(run, "infiller", infiller, *texts)
    table = iwf or _frequencies(run, use_pretrained(iwf_tokenizer) if iwf_tokenizer else backbone, texts[0])
    language_model = find_or_train_language_model(run, "causal", causal, *texts)
    judges = _label_discriminators(run, discriminator, data) if discriminator and data.train else {}
    baselines: dict[str, Callable[[], Metric]] = {
        "perplexity": lambda: perplexity(language_model.source),
        "perplexity_backbone": lambda: perplexity_backbone(backbone.source),
        "bartscore": lambda: bartscore(backbone.source),
    }
    if judges:
        folders = {label: judge.source for label, judge in judges.items()}
        baselines["discriminator"] = lambda: LabelDiscriminatorScore.from_pretrained(folders, device)
    baselines["word_count"] = WordCount
    usual = metric(backbone.source, iwf=table, iwf_tokenizer=iwf_tokenizer)
    exchanged: dict[str, CTRLEval] = {}
    if pattern_functions:
        exchanged = {
            "ctrleval_bartscore_pf": replace(usual, convention=usual.convention.without_mask()),
            "ctrleval_ppl_pf": replace(usual, convention=usual.convention.with_source_first()),
        }
    findings = [_findings(run, rated, usual, exchanged, baselines, analyses) for rated in data.rated]
    models = {"infiller": backbone, "causal": language_model}
    return _outcome(run, data, findings, models, judges, weighted=table is not None)


def _findings(
    run: Run,
    rated: RatedSet,
    metric: CTRLEval,
    exchanged: Mapping[str, CTRLEval],
    baselines: Mapping[str, Callable[[], Metric]],
    analyses: Analyses,
) -> CtrlEvalFindings:
    """One rated set under every metric, which is loaded when its turn comes."""
    with run.timed(f"ctrleval {rated.name}"):
        evaluations = {"ctrleval": metric.evaluations(rated.examples)}
        scores = score_weightings(metric, evaluations["ctrleval"])
    with run.timed(f"pattern functions {rated.name}"):
        for name, other in exchanged.items():
            evaluations[name] = other.evaluations(rated.examples)
            scores[name] = other.scores_of(evaluations[name])
    with run.timed(f"baselines {rated.name}"):
        scores |= {name: make().score(rated.examples) for name, make in baselines.items()}
    return analyse(rated, scores, evaluations, analyses, run.seed)


def _outcome(
    run: Run,
    data: LabelledData,
    findings: Sequence[CtrlEvalFindings],
    models: Mapping[str, Trained],
    judges: Mapping[str, Trained],
    weighted: bool,
) -> Outcome:
    """The findings as rows, plots and notes; `weighted` says whether there is an IWF table."""
    own = {name: model for name, model in models.items() if model.is_trained_here}
    curves = {name: model.curve for name, model in own.items()}
    notes: list[str] = []
    if not weighted:
        notes.append(f"{data.name} has no texts to count word frequencies in: all targets of a text weigh alike")
    if not judges:
        notes.append(f"no discriminator baseline: {data.name} has no labelled texts to train on, or none was asked for")
    return Outcome(
        signature=signature(run.name, libraries=MODEL_LIBRARIES, data=data.name, backbone=models["infiller"].identity),
        rows=[row for found in findings for row in evaluate(found.scores, found.rated)],
        tables=[table for found in findings for table in _tables(found)],
        scored=[ScoredSet(found.rated, found.scores) for found in findings],
        plots={f"{name}_{found.rated.name}": figure for found in findings for name, figure in _plots(found).items()}
        | ({"training_curves": plots.training_curves(curves)} if curves else {}),
        models=folders_of({**own, **{f"discriminator_{label}": judge for label, judge in judges.items()}}),
        notes=notes,
        figures={f"{name} held-out NLL (nats per token)": model.held_out_nll for name, model in own.items()},
        synthetic=data.synthetic,
    )


def _tables(found: CtrlEvalFindings) -> list[Table]:
    """Figures 2 to 4 as numbers, and the cases of Figures 6 and 7."""
    name = found.rated.name
    r = "Pearson's r with its 95 % interval; n texts"
    tables: list[Table] = []
    if found.model_drift:
        rows = [_part_row(each, "system") for each in found.model_drift]
        tables.append(Table(f"Model drift on {name}", f"{r} of each system (Figure 2)", rows))
    if found.quality_drift:
        rows = [_part_row(each, "subset") for each in found.quality_drift.agreements]
        what = f"{r} of each biased subset, 0: mostly badly rated, 3: mostly well rated (Figure 3)"
        tables.append(Table(f"Quality drift on {name}", what, rows))
    if found.number_of_evaluators:
        rows = [
            {"metric": metric, "evaluators": number, "pearson": mean, "deviation": deviation}
            for metric, curve in found.number_of_evaluators.items()
            for number, (mean, deviation) in curve.items()
        ]
        what = f"Pearson's r of attribute relevance, n = {len(found.rated.examples)}: mean and deviation of 20 draws"
        tables.append(Table(f"Number of evaluators on {name}", f"{what} (Figure 4)", rows))
    if found.cases:
        what = "the two texts of one input whose ratings differ most; (rank) among all texts (Figures 6 and 7)"
        tables.append(Table(f"Cases of {name}", what, [_case_row(case) for case in found.cases]))
    return tables


def _part_row(found: PartAgreement, part: str) -> dict[str, object]:
    return {"metric": found.metric, "aspect": found.aspect, part: found.part, "n": found.n, "pearson": found.pearson}


def _case_row(case: Case) -> dict[str, object]:
    shown = {metric: f"{score:.4g} ({rank})" for metric, (score, rank) in case.scores.items()}
    rating = f"{case.example.ratings[case.aspect]:.3g} ({case.rank})"
    known = {"aspect": case.aspect, "id": case.example.id, "label": case.example.label or "", "rating": rating}
    return {**known, **shown, "text": case.example.full_text}


def _plots(found: CtrlEvalFindings) -> dict[str, Figure]:
    """Figures 2 to 5, as far as the set has what they need."""
    example = found.rated.examples[found.analyses.example]
    figures = {"scores": plots.scores_against_ratings(ScoredSet(found.rated, found.scores))}
    if found.quality_drift:
        figures["quality_drift"] = plot_quality_drift(found.quality_drift)
    if found.model_drift:
        figures["model_drift"] = plot_model_drift(found.model_drift)
    if found.number_of_evaluators:
        figures["number_of_evaluators"] = plot_number_of_evaluators(found.number_of_evaluators)
    if found.evaluators is not None:
        figures["evaluators"] = plot_evaluators(found.evaluators, example)
    return figures


def _frequencies(run: Run, model: Trained, texts: Sequence[str]) -> str | None:
    """The IWF table over the sentences of the training texts, a stage; None without such texts."""
    if not texts:
        return None

    def build(folder: Path) -> None:
        sentences = (sentence for text in texts for sentence in split_english(text))
        count_frequencies(sentences, loaded(AutoTokenizer.from_pretrained, model.source)).save(folder / "iwf.json")

    with run.timed("word frequencies"):
        depends = {"tokenizer": model.identity, "train": fingerprint(texts)}
        return str(run.stages.get("iwf", depends, build, version=VERSION) / "iwf.json")


def _label_discriminators(run: Run, plan: DiscriminatorPlan, data: LabelledData) -> dict[str, Trained]:
    """A discriminator for each label against the others."""
    return {
        label: find_or_train_discriminator(
            run, f"discriminator_{label}", plan, _label_texts(data.train, label, plan.per_class), run.seed
        )
        for label in data.labels
    }


def _label_texts(examples: Sequence[Example], label: str, most: int | None) -> list[LabelledText]:
    """As many texts of the label as of all others together, at most `most` of each."""
    of = [e for e in examples if e.label == label][:most]
    others = [e for e in examples if e.label != label][: len(of)]
    return [LabelledText((e.full_text,), int(e.label == label), group=e.id) for e in (*of, *others)]


def _texts(examples: Sequence[Example]) -> list[str]:
    return [example.full_text for example in examples]
