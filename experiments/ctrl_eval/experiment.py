"""CTRLEval on controlled text: the metric, its ablations and baselines against ratings (Ke et al. 2022, section 4)."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import get_args

from baselines.bartscore import BartScore
from baselines.bleurt import Bleurt
from baselines.dis_score import DisScore
from baselines.perplexity import InfillingPerplexity, Perplexity
from baselines.perturbation import perturb_as_union, perturb_for_discriminator
from baselines.word_count import WordCount
from core.errors import SettingError
from core.example import Example
from core.scores import Metric, Scores
from core.settings import Count, Several, check
from core.stages import fingerprint
from ctrl_eval.ensemble import Weights
from ctrl_eval.frequency import FILE_NAME, WordFrequencies, count_frequencies
from ctrl_eval.metric import CTRLEval
from data.corpus import Corpus
from data.sentences import make_splitter, split_english
from discriminators.metric import DiscriminatorScore
from discriminators.texts import LabelledText
from experiments.contracts import Outcome, Run
from experiments.ctrl_eval.tables import Evaluated, plot_number_of_evaluators, tabulate_analyses
from experiments.presentation import present
from experiments.training import DiscriminatorPlan, LanguageModelPlan, Pretrained, Trained, find_or_train
from meta_eval.scored_set import ScoredSet
from models.loading import load_tokenizer

COUNT = "count"  # instead of the file of a table
DISCRIMINATOR = "discriminator_"  # begins the names of the discriminators


@dataclass(frozen=True)
class CtrlEvalPlan:
    """The metric and its baselines."""

    infiller: LanguageModelPlan | Pretrained  # the backbone: pretrained, or trained here
    metric: partial[CTRLEval]  # makes the metric of a model's name or folder
    causal: LanguageModelPlan | Pretrained  # the language model of `perplexity`
    # how the discriminators of `discriminator` and `union` are trained; None leaves these rows out
    discriminator: DiscriminatorPlan | None = None
    bart: str | None = None  # the model of `bartscore`; None leaves the row out
    bleurt: str | None = None  # the model of `bleurt`; None leaves the row out
    # the file of the IWF table; `count` counts the training texts; None takes the table that was released with the
    # data, and counts where none was. Notes and signature name a counted table.
    iwf: str | None = None
    # the model whose tokens are counted, or were counted in `iwf`; None for the backbone
    iwf_tokenizer: str | None = None
    # adds rows for the pattern functions of BARTScore (no mask) and of PPL-GPT (no mask, and the target begins with the
    # source) with the same backbone, as in Table 5
    pattern_functions: bool = False
    device: str = "cpu"  # of the baselines; discriminators stay in float32
    dtype: str = "float32"


def ctrleval(run: Run, data: Corpus, plan: CtrlEvalPlan, evaluators: Sequence[int]) -> Outcome:
    """CTRLEval, other weights and pattern functions (Table 5), and baselines (Tables 3-4), on rated sets.

    `data` has labelled texts, and rated ones with prefix and label; `evaluators` are numbers of them for Figure 4.

    Raises InputError for a missing table, SettingError for a table that cannot fit the backbone, a missing sentence
    splitter, and `iwf=count` without texts.
    """
    check(Several[Count], evaluators=evaluators)
    make_splitter(plan.metric.keywords.get("sentence_split", "english"))  # raises before anything is trained
    models, table = train(run, data, plan)
    metrics = make_metrics(plan, models["infiller"], table)
    scored = score_sets(run, data, metrics, make_baselines(plan, models, metrics["ctrleval"]))
    tables = {each.name: tabulate_analyses(each, evaluated, evaluators, run.seed) for each, evaluated in scored}
    name = "number_of_evaluators"
    curves = {f"{name}_{each}": plot_number_of_evaluators(of[name].rows) for each, of in tables.items() if name in of}
    discriminators = {name: model for name, model in models.items() if name.startswith(DISCRIMINATOR)}
    frequencies = metrics["ctrleval"].frequencies
    notes = explain_frequencies(data, frequencies)
    if not discriminators:
        notes.append(f"no discriminators: {data.name} has no labelled training texts, or none were asked for")
    return present(
        run,
        [each for each, _ in scored],
        models,
        [table for found in tables.values() for table in found.values()],
        notes,
        settings={"data": data.name, "iwf": None if frequencies is None else frequencies.name},
        plots=curves,
        figures={
            f"{name} held-out AUC": max(point["val/auc"] for point in model.curve if "val/auc" in point)
            for name, model in discriminators.items()
        },
        data=data,
    )


def train(run: Run, data: Corpus, plan: CtrlEvalPlan) -> tuple[dict[str, Trained], str | None]:
    """The models of the plan by name, and the IWF table; None without a table and without texts to count.

    Raises as `ctrleval`.
    """
    table = choose_table(data, plan)
    train, held_out = ([example.full_text for example in part] for part in (data.train, data.held_out))
    models = {"infiller": find_or_train(run, "infiller", plan.infiller, train, held_out)}
    if table is None and train:
        named = plan.iwf_tokenizer and find_or_train(run, "tokenizer", Pretrained(plan.iwf_tokenizer), ())
        table = str(find_or_count_frequencies(run, named or models["infiller"], train) / FILE_NAME)
    models["causal"] = find_or_train(run, "causal", plan.causal, train, held_out)
    if plan.discriminator and data.train:
        models |= train_discriminators(run, plan.discriminator, data)
    return models, table


def choose_table(data: Corpus, plan: CtrlEvalPlan) -> str | None:
    """The file of the IWF table: the named one, or the one that was released with the data; None to count texts.

    Raises as `ctrleval`.
    """
    if plan.iwf == COUNT:
        if not data.train:
            raise SettingError(f"model.iwf=count needs training texts, but {data.name} has none; set data.attributes")
        return None
    if plan.iwf is not None or data.iwf is None:
        return plan.iwf
    if plan.iwf_tokenizer is None and isinstance(plan.infiller, LanguageModelPlan):
        raise SettingError(
            f"the word frequencies that were released with {data.name} are those of PEGASUS's tokens, but the backbone "
            "is trained here; set model.iwf_tokenizer to a PEGASUS, or model.iwf=count"
        )
    return str(data.iwf())


def find_or_count_frequencies(run: Run, model: Trained, texts: Sequence[str]) -> Path:
    """The folder of the IWF table over the sentences of the training texts, a stage."""

    def build(folder: Path) -> None:
        sentences = (sentence for text in texts for sentence in split_english(text))
        tokenizer = load_tokenizer(model.source)
        count_frequencies(sentences, tokenizer).save(folder / FILE_NAME)

    with run.timed("word frequencies"):
        depends = {"tokenizer": model.identity, "train": fingerprint(texts)}
        return run.stages.get("iwf", depends, build)


def explain_frequencies(data: Corpus, frequencies: WordFrequencies | None) -> list[str]:
    """A note on word frequencies that are not the released ones."""
    if frequencies is None:
        return [f"{data.name} has no texts to count word frequencies in: all targets of a text weigh alike"]
    if not frequencies.sentences:
        return []
    what = f"counted over {frequencies.sentences} sentences ({frequencies.name})"
    return [f"the word frequencies that weigh the targets of ctrleval are not the released ones, but {what}"]


def train_discriminators(run: Run, plan: DiscriminatorPlan, data: Corpus) -> dict[str, Trained]:
    """The discriminators of the baselines, which learn the labelled texts, by name.

    `quality` tells human texts from perturbed ones (coherence and consistency), `label` tells all labels apart
    (attribute relevance), and `union` tells human texts from UNION's negatives. The negatives are perturbed here; the
    code that damages the built-in rated sets is not used.
    """
    texts = [example.full_text for example in draw(data.train, plan.per_class, run.seed)]
    per_label = None if plan.texts is None else plan.texts // len(data.labels)
    of_labels = [
        LabelledText((example.full_text,), number, group=example.id)
        for number, label in enumerate(data.labels)
        for example in draw([e for e in data.train if e.label == label], per_label, run.seed)
    ]
    learned = {
        "quality": (plan, pair_texts(texts, perturb_for_discriminator(texts, run.seed))),
        "label": (replace(plan, build=partial(plan.build, labels=list(data.labels))), of_labels),
        "union": (plan, pair_texts(texts, perturb_as_union(texts, run.seed))),
    }
    names = {f"{DISCRIMINATOR}{kind}": what for kind, what in learned.items()}
    return {name: find_or_train(run, name, *what, seed=run.seed) for name, what in names.items()}


def draw(examples: Sequence[Example], most: int | None, seed: int) -> list[Example]:
    """At most `most` examples, drawn by the seed and in their order; None for all.

    The first ones would not do: files are sorted by label.
    """
    some = random.Random(seed).sample(range(len(examples)), min(most or len(examples), len(examples)))
    return [examples[i] for i in sorted(some)]


def pair_texts(texts: Sequence[str], negatives: Sequence[str | None]) -> list[LabelledText]:
    """Each text and its negative; texts without a negative are left out."""
    return [
        LabelledText((segment,), label, group=str(i))
        for i, (text, negative) in enumerate(zip(texts, negatives, strict=True))
        if negative is not None
        for label, segment in ((1, text), (0, negative))
    ]


def make_metrics(plan: CtrlEvalPlan, backbone: Trained, table: str | None) -> dict[str, CTRLEval]:
    """The metric, and with other pattern functions if they are asked for."""
    usual = plan.metric(backbone.source, iwf=table, iwf_tokenizer=plan.iwf_tokenizer)
    family = usual.infiller.family
    families = {"ctrleval": family}
    if plan.pattern_functions:
        families["ctrleval_bartscore_pf"] = family.without_mask()
        families["ctrleval_ppl_pf"] = family.with_source_first()
    return {name: replace(usual, infiller=replace(usual.infiller, family=each)) for name, each in families.items()}


def make_baselines(
    plan: CtrlEvalPlan, models: Mapping[str, Trained], metric: CTRLEval
) -> dict[str, Callable[[], Metric]]:
    """How to make each baseline; one that is not asked for is left out.

    BARTScore is the log-probability of the text given its prefix (Yuan et al. 2021: the score without reference). The
    rows of the backbone share the model of `metric`.
    """
    backbone, device, dtype = models["infiller"].source, plan.device, plan.dtype
    found: dict[str, Callable[[], Metric]] = {
        "perplexity": lambda: Perplexity.from_pretrained(models["causal"].source, device, dtype),
        "perplexity_backbone": lambda: InfillingPerplexity(metric.infiller, backbone),
        "bartscore_backbone": lambda: BartScore(metric.infiller.lm, backbone, source="prefix"),
    }
    if bart := plan.bart:
        found["bartscore"] = lambda: BartScore.from_pretrained(bart, device, dtype, source="prefix")
    if bleurt := plan.bleurt:
        found["bleurt"] = lambda: Bleurt.from_pretrained(bleurt, device, dtype, reference="prefix")
    quality, label, union = (models.get(f"{DISCRIMINATOR}{kind}") for kind in ("quality", "label", "union"))
    if quality and label and union:
        found["discriminator"] = lambda: DisScore.from_pretrained(quality.source, label.source, device)
        found["union"] = lambda: DiscriminatorScore.from_pretrained(union.source, device)
    return {**found, "word_count": WordCount}


def score_sets(
    run: Run, data: Corpus, metrics: Mapping[str, CTRLEval], baselines: Mapping[str, Callable[[], Metric]]
) -> list[tuple[ScoredSet, Evaluated]]:
    """Every rated set under every metric, and the evaluators behind the scores of CTRLEval.

    The metric itself also has rows for the mean, the highest and the lowest evaluator instead of its weights (Table 5).
    Each baseline is loaded once, when its turn comes.
    """
    scores: list[dict[str, Scores]] = [{} for _ in data.rated]
    evaluated: list[dict[str, dict]] = [{} for _ in data.rated]
    for name, metric in metrics.items():
        rows: dict[str, CTRLEval] = {name: metric}
        if name == "ctrleval":
            rows |= {f"{name}_{weights}": replace(metric, weights=weights) for weights in get_args(Weights)[1:]}
        with run.timed(name):
            for rated, scored, found in zip(data.rated, scores, evaluated, strict=True):
                found[name] = metric.evaluations(rated.examples)
                scored |= {row: weighted.scores_of(found[name]) for row, weighted in rows.items()}
    for name, make in baselines.items():
        with run.timed(name):
            baseline = make()
            for rated, scored in zip(data.rated, scores, strict=True):
                scored[name] = baseline.score(rated.examples)
    sets = [replace(rated, scores=scored) for rated, scored in zip(data.rated, scores, strict=True)]
    return list(zip(sets, evaluated, strict=True))
