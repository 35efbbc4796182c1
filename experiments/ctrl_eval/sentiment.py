"""CTRLEval on controlled text: the metric, its ablations and baselines against ratings (Ke et al. 2022, section 4)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure
from transformers import AutoTokenizer

from core.example import Example
from core.faults import SettingFault
from core.scores import Metric, Scores
from core.stages import fingerprint
from ctrl_eval.frequency import VERSION, WordFrequencies, count_frequencies
from ctrl_eval.metric import CTRLEval
from data.corpus import Corpus
from data.sentences import split_english
from experiments.contracts import Outcome, Run
from experiments.ctrl_eval.baselines import Judges, make_baselines, train_judges
from experiments.ctrl_eval.findings import Analyses, CtrlEvalFindings, analyse, score_weightings
from experiments.ctrl_eval.plots import (
    plot_evaluators,
    plot_model_drift,
    plot_number_of_evaluators,
    plot_quality_drift,
)
from experiments.ctrl_eval.tables import tabulate
from experiments.presentation import present
from experiments.training import (
    DiscriminatorPlan,
    LanguageModelPlan,
    Pretrained,
    Trained,
    find_or_train,
    use_pretrained,
)
from meta_eval.scored_set import ScoredSet
from models.loading import load_pretrained

FREQUENCIES = "iwf.json"
COUNT = "count"  # instead of the file of a table


def ctrleval(
    run: Run,
    data: Corpus,
    infiller: LanguageModelPlan | Pretrained,
    metric: partial[CTRLEval],
    causal: LanguageModelPlan | Pretrained,
    analyses: Analyses,
    discriminator: DiscriminatorPlan | None = None,
    bart: str | None = None,
    bleurt: str | None = None,
    iwf: str | None = None,
    iwf_tokenizer: str | None = None,
    pattern_functions: bool = False,
    device: str = "cpu",
    dtype: str = "float32",
) -> Outcome:
    """CTRLEval, other weights and pattern functions (Table 5), and baselines (Tables 3-4), on rated sets.

    Args:
        run: from the runner.
        data: labelled texts, and rated ones with prefix and label.
        infiller: the backbone: pretrained, or trained here.
        metric: makes the metric of a model's name or folder.
        causal: the language model of `perplexity`.
        analyses: the settings of the analyses beside the table.
        discriminator: how the discriminators of `discriminator` and `union` are trained; None leaves these rows out.
        bart: the model of `bartscore`; None leaves the row out.
        bleurt: the model of `bleurt`; None leaves the row out.
        iwf: the file of the IWF table; `count` counts the training texts; None takes the table that was released with
            the data, and counts where none was. Notes and signature name a counted table.
        iwf_tokenizer: the model whose tokens are counted, or were counted in `iwf`; None for the backbone.
        pattern_functions: adds rows for the pattern functions of BARTScore (no mask) and of PPL-GPT (no mask, and the
            target begins with the source) with the same backbone, as in Table 5.
        device, dtype: of the baselines; discriminators stay in float32.

    Raises InputFaults for a rated set without the example to show and for a missing table, SettingFault for a table
    that cannot fit the backbone and for `iwf=count` without texts.
    """
    analyses.check(data.rated)
    table = choose_table(data, iwf, iwf_tokenizer, infiller)
    texts = _texts(data.train), _texts(data.held_out)
    backbone = find_or_train(run, "infiller", infiller, *texts)
    if table is None and texts[0]:
        counted = find_or_count_frequencies(run, use_pretrained(iwf_tokenizer) if iwf_tokenizer else backbone, texts[0])
        table = str(counted / FREQUENCIES)
    language_model = find_or_train(run, "causal", causal, *texts)
    judges = train_judges(run, discriminator, data) if discriminator and data.train else None
    usual = metric(backbone.source, iwf=table, iwf_tokenizer=iwf_tokenizer)
    exchanged: dict[str, CTRLEval] = {}
    if pattern_functions:
        fills = usual.infiller.convention
        others = {"bartscore": fills.without_mask(), "ppl": fills.with_source_first()}
        exchanged = {
            f"ctrleval_{name}_pf": replace(usual, infiller=replace(usual.infiller, convention=convention))
            for name, convention in others.items()
        }
    baselines = make_baselines(usual, backbone, language_model, judges, bart, bleurt, device, dtype)
    findings = _find(run, data, usual, exchanged, baselines, analyses)
    models = {"infiller": backbone, "causal": language_model}
    return _outcome(run, data, findings, models, judges, usual.frequencies)


def choose_table(
    data: Corpus, iwf: str | None, iwf_tokenizer: str | None, infiller: LanguageModelPlan | Pretrained
) -> str | None:
    """The file of the IWF table: the named one, or the one that was released with the data; None to count texts.

    Raises as `ctrleval`.
    """
    if iwf == COUNT:
        if not data.train:
            raise SettingFault(
                f"model.iwf=count needs texts to train on, but {data.name} has none; set data.attributes"
            )
        return None
    released = next((rated.iwf for rated in data.rated if rated.iwf is not None), None)
    if iwf is not None or released is None:
        return iwf
    if iwf_tokenizer is None and isinstance(infiller, LanguageModelPlan):
        raise SettingFault(
            f"the word frequencies that were released with {data.name} are those of PEGASUS's tokens, but the backbone "
            "is trained here; set model.iwf_tokenizer to a PEGASUS, or model.iwf=count"
        )
    return str(released())


def _find(
    run: Run,
    data: Corpus,
    metric: CTRLEval,
    exchanged: Mapping[str, CTRLEval],
    baselines: Mapping[str, Callable[[], Metric]],
    analyses: Analyses,
) -> list[CtrlEvalFindings]:
    """Every rated set under every metric. Each baseline is loaded once, when its turn comes."""
    with run.timed("ctrleval"):
        evaluations = [{"ctrleval": metric.evaluations(rated.examples)} for rated in data.rated]
        scores: list[dict[str, Scores]] = [score_weightings(metric, found["ctrleval"]) for found in evaluations]
    with run.timed("pattern functions"):
        for name, other in exchanged.items():
            for rated, known, scored in zip(data.rated, evaluations, scores, strict=True):
                known[name] = other.evaluations(rated.examples)
                scored[name] = other.scores_of(known[name])
    for name, make in baselines.items():
        with run.timed(name):
            baseline = make()
            for rated, scored in zip(data.rated, scores, strict=True):
                scored[name] = baseline.score(rated.examples)
    return [
        analyse(ScoredSet.of(rated, scored), known, analyses, run.seed)
        for rated, scored, known in zip(data.rated, scores, evaluations, strict=True)
    ]


def _outcome(
    run: Run,
    data: Corpus,
    findings: Sequence[CtrlEvalFindings],
    models: Mapping[str, Trained],
    judges: Judges | None,
    frequencies: WordFrequencies | None,
) -> Outcome:
    """The findings as rows, tables, plots and notes."""
    discriminators = {} if judges is None else {f"discriminator_{name}": model for name, model in vars(judges).items()}
    notes: list[str] = []
    if frequencies is None:
        notes.append(f"{data.name} has no texts to count word frequencies in: all targets of a text weigh alike")
    elif frequencies.sentences:
        what = f"counted over {frequencies.sentences} sentences ({frequencies.name})"
        notes.append(f"the word frequencies that weigh the targets of ctrleval are not the released ones, but {what}")
    if not discriminators:
        notes.append(f"no discriminators: {data.name} has no labelled texts to train on, or none were asked for")
    return present(
        run,
        [found.scored for found in findings],
        {**models, **discriminators},
        [table for found in findings for table in tabulate(found)],
        notes,
        settings={"data": data.name, "iwf": None if frequencies is None else frequencies.name},
        plots={f"{name}_{found.scored.name}": figure for found in findings for name, figure in _plots(found).items()},
        figures={f"{name} held-out AUC": _best_auc(model) for name, model in discriminators.items()},
        synthetic=data.synthetic,
    )


def _best_auc(model: Trained) -> float:
    """The highest held-out AUC of a discriminator's training."""
    return max(point["val/auc"] for point in model.curve if "val/auc" in point)


def _plots(found: CtrlEvalFindings) -> dict[str, Figure]:
    """Figures 2 to 5, as far as the set has what they need."""
    example = found.scored.examples[found.analyses.example]
    figures: dict[str, Figure] = {}
    if found.quality_drift:
        figures["quality_drift"] = plot_quality_drift(found.quality_drift)
    if found.model_drift:
        figures["model_drift"] = plot_model_drift(found.model_drift)
    if found.number_of_evaluators:
        figures["number_of_evaluators"] = plot_number_of_evaluators(found.number_of_evaluators)
    if found.evaluators is not None:
        figures["evaluators"] = plot_evaluators(found.evaluators, example)
    return figures


def find_or_count_frequencies(run: Run, model: Trained, texts: Sequence[str]) -> Path:
    """The folder of the IWF table over the sentences of the training texts, a stage."""

    def build(folder: Path) -> None:
        sentences = (sentence for text in texts for sentence in split_english(text))
        count_frequencies(sentences, load_pretrained(AutoTokenizer.from_pretrained, model.source)).save(
            folder / FREQUENCIES
        )

    with run.timed("word frequencies"):
        depends = {"tokenizer": model.identity, "train": fingerprint(texts)}
        return run.stages.get("iwf", depends, build, version=VERSION)


def _texts(examples: Sequence[Example]) -> list[str]:
    return [example.full_text for example in examples]
