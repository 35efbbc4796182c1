"""CTRLEval on controlled text: the metric, its ablations and baselines against ratings (Ke et al. 2022, section 4)."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import get_args

from matplotlib.figure import Figure

from baselines.bartscore import BartScore
from baselines.bleurt import Bleurt
from baselines.dis_score import DisScore
from baselines.perplexity import RAW_IS_LOWER, InfillingPerplexity, Perplexity, to_raw_perplexity
from baselines.perturbation import perturb_as_union, perturb_for_discriminator
from baselines.word_count import WordCount
from core.errors import SettingError
from core.example import Example
from core.scores import Metric, Scores
from core.stages import fingerprint
from ctrl_eval.ensemble import Weights
from ctrl_eval.frequency import FILE_NAME, WordFrequencies, count_frequencies
from ctrl_eval.metric import CTRLEval
from data.corpus import Corpus
from data.sentences import make_splitter, split_english
from discriminators.metric import DiscriminatorScore
from discriminators.texts import LabelledText
from discriminators.training import kept_point
from experiments.contracts import Run, Study, Table
from experiments.ctrl_eval.tables import Evaluated, plot_number_of_evaluators, tabulate_analyses
from experiments.presentation import present, score_sets
from experiments.training import (
    DiscriminatorPlan,
    LanguageModelPlan,
    Pretrained,
    Trained,
    find_or_train,
    find_pretrained,
    list_texts,
)
from meta_eval.scored_set import ScoredSet
from models.loading import load_tokenizer

COUNT = "count"  # in place of the file of a table
PERPLEXITIES = ("perplexity", "perplexity_backbone")  # rows that have the perplexity itself beside them
DISCRIMINATOR = "discriminator_"  # begins the names of the discriminators
CURVE = "number_of_evaluators"  # the table that is drawn as Figure 4


def ctrleval(
    run: Run,
    data: Corpus,
    infiller: LanguageModelPlan | Pretrained,
    metric: partial[CTRLEval],
    causal: LanguageModelPlan | Pretrained,
    discriminator: DiscriminatorPlan | None = None,
    bart: str | None = None,
    bleurt: str | None = None,
    iwf: str | None = None,
    iwf_tokenizer: str | None = None,
    pattern_functions: bool = False,
    device: str = "cpu",
    dtype: str = "float32",
) -> Study:
    """Scores rated sets by CTRLEval, its other weights and pattern functions (Table 5), and baselines (Tables 3-4).

    Args:
        data: labelled training texts, and rated texts with prefix and label.
        infiller: the backbone: pretrained, or trained here.
        metric: makes the metric of a model's name or folder.
        causal: the language model of `perplexity`.
        discriminator: how the discriminators of `discriminator` and `union` are trained; None leaves these rows out.
        bart, bleurt: the models of `bartscore` and `bleurt`; None leaves the row out.
        iwf: the file of the IWF table; `count` counts the training texts; None takes the table that was released with
            the data, and counts where none was. Notes and signature name a counted table.
        iwf_tokenizer: the model whose tokens are counted, or were counted in `iwf`; None for the backbone.
        pattern_functions: adds rows for the pattern functions of BARTScore (no mask) and of PPL-GPT (no mask, and the
            target begins with the source) with the same backbone, as in Table 5.
        device, dtype: of the baselines; discriminators stay in float32.

    Raises InputError for a missing table of word frequencies. Raises SettingError for a table that cannot fit the
    backbone, for a sentence splitter that is not installed, and for `iwf=count` without texts.
    """
    make_splitter(metric.keywords.get("sentence_split", "english"))  # raises before anything is trained
    table = choose_table(
        data,
        infiller,
        iwf,
        iwf_tokenizer,
    )
    texts = list_texts(data.train)
    held_out = list_texts(data.held_out)
    backbone = find_or_train(run, "infiller", infiller, texts, held_out)
    if table is None and texts:
        counted = find_pretrained(Pretrained(iwf_tokenizer)) if iwf_tokenizer else backbone
        table = str(find_or_count_frequencies(run, counted, texts) / FILE_NAME)
    plain = find_or_train(run, "causal", causal, texts, held_out)
    judges = train_discriminators(run, discriminator, data) if discriminator and data.train else {}
    usual = metric(backbone.source, iwf=table, iwf_tokenizer=iwf_tokenizer)
    metrics = {"ctrleval": usual, **(change_patterns(usual) if pattern_functions else {})}
    load = {"device": device, "dtype": dtype}
    baselines: dict[str, Callable[[], Metric]] = {
        "perplexity": lambda: Perplexity.from_pretrained(plain.source, **load),
        "perplexity_backbone": lambda: InfillingPerplexity(usual.infiller, backbone.source),
        # the score without reference (Yuan et al. 2021): the log-probability of the text given its prefix
        "bartscore_backbone": lambda: BartScore(usual.infiller.lm, backbone.source, source="prefix"),
    }
    if bart:
        baselines["bartscore"] = lambda: BartScore.from_pretrained(bart, **load, source="prefix")
    if bleurt:
        baselines["bleurt"] = lambda: Bleurt.from_pretrained(bleurt, **load, reference="prefix")
    if judges:
        quality, label, union = (judge.source for judge in judges.values())
        baselines["discriminator"] = lambda: DisScore.from_pretrained(quality, label, device)
        baselines["union"] = lambda: DiscriminatorScore.from_pretrained(union, device)
    baselines["word_count"] = WordCount
    scores, evaluated = evaluate(run, data.rated, metrics)
    for of_set, others in zip(scores, score_sets(run, data.rated, baselines), strict=True):
        raw = {f"{name}_raw": to_raw_perplexity(others[name]) for name in PERPLEXITIES}
        of_set |= {**others, **raw}
    scored = [replace(rated, scores=of_set) for rated, of_set in zip(data.rated, scores, strict=True)]
    tables: list[Table] = []
    plots: dict[str, Figure] = {}
    for rated, patterns in zip(scored, evaluated, strict=True):
        analyses = tabulate_analyses(rated, patterns, run.seed)
        tables += analyses.values()
        if CURVE in analyses:
            plots[f"{CURVE}_{rated.name}"] = plot_number_of_evaluators(analyses[CURVE].rows)
    notes = [
        *explain_frequencies(data, usual.frequencies),
        f"perplexity_raw and perplexity_backbone_raw: {RAW_IS_LOWER}",
    ]
    if not judges:
        notes.append(f"no discriminators: {data.name} has no labelled training texts, or none were asked for")
    return present(
        run,
        scored,
        models={"infiller": backbone, "causal": plain, **judges},
        tables=tables,
        notes=notes,
        settings={"iwf": None if usual.frequencies is None else usual.frequencies.name},
        plots=plots,
        figures={} if discriminator is None else find_held_out_aucs(judges, discriminator),
        data=data,
    )


def change_patterns(metric: CTRLEval) -> dict[str, CTRLEval]:
    """Makes the metric with the pattern functions of BARTScore and of PPL-GPT, by row (Table 5)."""
    family = metric.infiller.family
    families = {"bartscore": family.without_mask(), "ppl": family.with_source_first()}
    return {
        f"ctrleval_{name}_pf": replace(metric, infiller=replace(metric.infiller, family=changed))
        for name, changed in families.items()
    }


def choose_table(
    data: Corpus,
    infiller: LanguageModelPlan | Pretrained,
    iwf: str | None,
    iwf_tokenizer: str | None,
) -> str | None:
    """Chooses the file of the IWF table: the named file, or the file released with the data; None if texts are counted.

    Raises errors as `ctrleval` does.
    """
    if iwf == COUNT:
        if not data.train:
            raise SettingError(f"model.iwf=count needs training texts, but {data.name} has none; set data.attributes")
        return None
    if iwf is not None or data.iwf is None:
        return iwf
    if iwf_tokenizer is None and isinstance(infiller, LanguageModelPlan):
        raise SettingError(
            f"the word frequencies that were released with {data.name} count PEGASUS's tokens, but the backbone "
            "is trained here; set model.iwf_tokenizer to a PEGASUS, or model.iwf=count"
        )
    return str(data.iwf())


def find_or_count_frequencies(run: Run, model: Trained, texts: Sequence[str]) -> Path:
    """Counts the IWF table over the sentences of the training texts, or finds it as a stage; returns its folder."""

    def build(folder: Path) -> None:
        tokenizer = load_tokenizer(model.source)
        sentences = (sentence for text in texts for sentence in split_english(text))
        count_frequencies(sentences, tokenizer).save(folder / FILE_NAME)

    depends = {"tokenizer": model.identity, "train": fingerprint(texts)}
    return run.keep(
        "word frequencies",
        "iwf",
        depends,
        build,
    )


def explain_frequencies(data: Corpus, frequencies: WordFrequencies | None) -> list[str]:
    """Returns a note if the word frequencies are not the released ones, else an empty list."""
    if frequencies is None:
        return [f"{data.name} has no texts to count word frequencies in: all targets of a text weigh alike"]
    if not frequencies.sentences:
        return []
    return [
        "the word frequencies that weigh the targets of ctrleval are not the released ones, but counted over "
        f"{frequencies.sentences} sentences ({frequencies.name})"
    ]


def train_discriminators(run: Run, plan: DiscriminatorPlan, data: Corpus) -> dict[str, Trained]:
    """Trains the discriminators of the baselines on the labelled texts; returns them by name.

    `quality` separates human texts from perturbed ones (coherence and consistency), `label` tells the label of a text
    (attribute relevance), and `union` separates human texts from UNION's negatives. The code that damages the built-in
    rated sets is not used to make negatives.
    """
    texts = list_texts(draw(data.train, plan.per_class, run.seed))
    of_labels = replace(plan, build=partial(plan.build, labels=list(data.labels)))
    learned = {
        "quality": (plan, pair_texts(texts, perturb_for_discriminator(texts, run.seed))),
        "label": (of_labels, draw_labelled(data, plan.texts, run.seed)),
        "union": (plan, pair_texts(texts, perturb_as_union(texts, run.seed))),
    }
    names = {f"{DISCRIMINATOR}{kind}": learns for kind, learns in learned.items()}
    return {name: find_or_train(run, name, *learns) for name, learns in names.items()}


def find_held_out_aucs(judges: Mapping[str, Trained], plan: DiscriminatorPlan) -> dict[str, float]:
    """Finds the held-out AUC of the saved weights of each discriminator."""
    return {
        f"{name} held-out AUC": kept_point(judge.curve, plan.training.keep)["val/auc"] for name, judge in judges.items()
    }


def draw_labelled(data: Corpus, most: int | None, seed: int) -> list[LabelledText]:
    """Draws equally many training texts of each label, at most `most` in all, with the index of their label."""
    per_label = None if most is None else most // len(data.labels)
    labelled: list[LabelledText] = []
    for index, label in enumerate(data.labels):
        of_label = [example for example in data.train if example.label == label]
        for example in draw(of_label, per_label, seed):
            labelled.append(LabelledText((example.full_text,), index, group=example.id))
    return labelled


def draw(examples: Sequence[Example], most: int | None, seed: int) -> list[Example]:
    """Draws at most `most` examples by the seed, and keeps their order; None means all examples.

    The first examples would not do, because files may be sorted by label.
    """
    count = min(most or len(examples), len(examples))
    indices = random.Random(seed).sample(range(len(examples)), count)
    return [examples[i] for i in sorted(indices)]


def pair_texts(texts: Sequence[str], negatives: Sequence[str | None]) -> list[LabelledText]:
    """Makes a group of each text (label 1) and its negative (label 0). Leaves out texts without a negative."""
    paired: list[LabelledText] = []
    for i, (text, negative) in enumerate(zip(texts, negatives, strict=True)):
        if negative is not None:
            paired.append(LabelledText((text,), 1, group=str(i)))
            paired.append(LabelledText((negative,), 0, group=str(i)))
    return paired


def evaluate(
    run: Run, sets: Sequence[ScoredSet], metrics: Mapping[str, CTRLEval]
) -> tuple[list[dict[str, Scores]], list[Evaluated]]:
    """Scores every set by CTRLEval's pattern functions; returns, by set, their scores and those of single patterns.

    CTRLEval also has rows for the mean, the highest and the lowest evaluator in place of its weights (Table 5).
    """
    others = {f"ctrleval_{weights}": replace(metrics["ctrleval"], weights=weights) for weights in get_args(Weights)[1:]}
    scores: list[dict[str, Scores]] = [{} for _ in sets]
    evaluated: list[Evaluated] = [{} for _ in sets]
    for name, metric in metrics.items():
        rows = {name: metric, **(others if name == "ctrleval" else {})}
        with run.timed(name):
            for number, rated in enumerate(sets):
                evaluations = metric.evaluations(rated.examples)
                evaluated[number][name] = evaluations
                scores[number] |= {row: weighted.scores_of(evaluations) for row, weighted in rows.items()}
    return scores, evaluated
