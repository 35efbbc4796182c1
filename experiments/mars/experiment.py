"""Experiments of MARS (Liu et al. 2021): rated texts against MARS, its ablations, baselines and adversaries.

Figures and tables other than the agreement show the first rated aspect of a set; for Newsroom that is the mean of four
aspects, as in the paper.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import rankdata

from core.example import Example
from core.scores import Metric, Scores
from core.settings import AscendingRatios, check
from data.cleaning import clean_examples
from data.corpus import Corpus
from data.damage import apply_reorder, apply_retrieve
from experiments.contracts import Outcome, Run
from experiments.mars.tables import MarsScores, make_tables, measure_gain, name_ratio_row
from experiments.presentation import present
from experiments.training import LanguageModelPlan, Pretrained, find_or_train
from judge.wording import format_cell
from mars.augmentation import SelfPlanningAugmenter
from mars.metric import MARS, Compared
from mars.references import mean_kl
from meta_eval.bootstrap import Estimate
from meta_eval.scored_set import ScoredSet
from models.causal import CausalLM
from models.encoders import CachedEmbedder

ABLATIONS = {
    "mars_without_planning": {"planning_steps": 0},
    "mars_without_context": {"use_context": False},
    "mars_without_both": {"planning_steps": 0, "use_context": False},
}


def mars_story(
    run: Run,
    data: Corpus,
    language_model: LanguageModelPlan | Pretrained,
    masked: LanguageModelPlan | Pretrained | None,
    metric: partial[MARS],
    baselines: Mapping[str, Callable[[], Metric]],
    perplexity: Callable[[CausalLM, str], Metric],
    largest_ratios: Sequence[float] = (0.0, 0.2, 0.4, 0.6, 0.8),
    clean: bool = False,
) -> Outcome:
    """Rows of Table 3 (ablations, Naive, baselines), Table 4 (adversaries, word vectors) and Table 5 (masking ratios).

    The rated texts of `data` have references and context. `metric` and `perplexity` make these metrics of the name or
    folder of a model; a baseline is built when it is needed. Each of `largest_ratios` is the largest masking ratio of a
    row (`mars_to_20` and so on). Without `masked` there is no row `mars_naive`. `clean` removes hashtags and URLs from
    the rated texts first (section 3).

    Raises InputError for an encoder or a baseline that is not installed, before a model is trained.
    """
    check(AscendingRatios, largest_ratios=largest_ratios)
    embedder, words = (CachedEmbedder(metric(None, augmenter="none", static_vectors=s).embedder) for s in (False, True))
    others = {name: build() for name, build in baselines.items()}
    texts = [e.full_text for e in data.train], [e.full_text for e in data.held_out]
    plans = {"language_model": language_model, "masked": masked}
    models = {name: find_or_train(run, name, plan, *texts) for name, plan in plans.items() if plan is not None}
    usual = replace(metric(models["language_model"].source), embedder=embedder)
    variants = {
        "mars": usual,
        **{row: change_augmentation(usual, **change) for row, change in ABLATIONS.items()},
    }
    if "masked" in models:
        variants["mars_naive"] = replace(metric(models["masked"].source, augmenter="naive"), embedder=embedder)
    variants["mars_static"] = replace(usual, embedder=words)
    others["perplexity"] = perplexity(find_augmenter(usual).lm, models["language_model"].source)
    rated = [replace(each, examples=clean_examples(each.examples)) if clean else each for each in data.rated]
    found = [score_set(run, each, variants, others, largest_ratios) for each in rated]
    return present(
        run,
        [one.originals for one in found],
        models,
        make_tables(found),
        [note for one in found for note in list_notes(one)],
        settings={"data": data.name},
        drawn=[one.originals.choose(("mars", "bertscore")) for one in found],  # Figure 3
        figures={
            f"mean KL of planned from plain (nats, {one.originals.name})": kl
            for one in found
            if (kl := mean_kl(reference.augmented for reference in one.references)) is not None
        },
        adversaries=[texts for one in found for texts in one.adversaries.values()],
        data=data,
    )


def score_set(
    run: Run,
    rated: ScoredSet,
    variants: Mapping[str, MARS],
    baselines: Mapping[str, Metric],
    largest_ratios: Sequence[float],
) -> MarsScores:
    """Scores the rated texts, and adversaries in their place, by every variant of MARS and every baseline."""
    sets = {"": rated, **damage(rated, run.seed)}
    scored: dict[str, ScoredSet] = {}
    compared = []
    for kind, texts in sets.items():
        with run.timed(f"augmentation and similarity {rated.name}"):
            scores, cosines = score_variants(variants, texts.examples, largest_ratios)
        with run.timed(f"baselines {rated.name}"):
            scores |= {name: other.score(texts.examples) for name, other in baselines.items()}
            scores["perplexity_raw"] = to_raw_perplexity(scores["perplexity"])
        scored[kind] = replace(texts, scores=scores)
        compared = compared or cosines
    return MarsScores(scored.pop(""), scored, compared, variants["mars"].ratios, largest_ratios)


def score_variants(
    variants: Mapping[str, MARS], examples: Sequence[Example], largest_ratios: Sequence[float]
) -> tuple[dict[str, Scores], list[Compared]]:
    """The scores of all variants and of `mars` up to each ratio of Table 5, and the cosines of `mars`."""
    usual = variants["mars"].with_corpus(examples)
    compared = replace(usual, ratios=tuple(sorted({*usual.ratios, *largest_ratios}))).compare(examples)
    # Each variant compares anew: at the wider ratios above, some references may be too long.
    scores = {row: variant.score(examples) for row, variant in variants.items()}
    for largest in largest_ratios:
        up_to = replace(usual, ratios=tuple(ratio for ratio in largest_ratios if ratio <= largest))
        scores[name_ratio_row(largest)] = up_to.score_compared(compared)
    return scores, compared


def change_augmentation(metric: MARS, **changes: Any) -> MARS:
    """The metric with other settings of self-planning."""
    augmenter = find_augmenter(metric)
    return replace(metric, augmenter=replace(augmenter, settings=replace(augmenter.settings, **changes)))


def find_augmenter(metric: MARS) -> SelfPlanningAugmenter:
    """The augmenter of a metric that fills blanks by self-planning."""
    assert isinstance(metric.augmenter, SelfPlanningAugmenter)
    return metric.augmenter


def damage(rated: ScoredSet, seed: int) -> dict[str, ScoredSet]:
    """Reorder and, where every text has a context, Retrieve; the ratings are those of the texts they replace."""
    found = {"reorder": apply_reorder(rated.examples, seed)}
    if all((example.context or "").strip() for example in rated.examples):
        found["retrieve"] = apply_retrieve(rated.examples, seed)
    return {kind: replace(rated, name=f"{rated.name}_{kind}", examples=texts) for kind, texts in found.items()}


def to_raw_perplexity(scores: Scores) -> Scores:
    """Perplexity itself from scores that are -log(perplexity); lower is better, as in the paper's tables."""
    values = {aspect: np.exp(-found) for aspect, found in scores.values.items()}
    return Scores(values, f"{scores.signature}|scale=perplexity", scores.reasons, scores.dropped_tokens)


def list_notes(found: MarsScores) -> Iterator[str]:
    """What a reader of the tables has to know of this set."""
    name, gain = found.originals.name, measure_gain(found.originals, "mars_without_planning")
    spearman: Estimate = gain["spearman gain"]
    verdict = "helps" if spearman.low > 0 else "hurts" if spearman.high < 0 else "changes nothing beyond chance"
    if np.isnan(spearman.low):
        yield f"{name}: no verdict on planning: {spearman.reason}"
    else:
        yield f"{name}: planning {verdict} (Spearman {format_cell(spearman)}, n = {gain['n']})"
    if shares := [f"{100 * found.altered[r]:.0f} % at {f'{r:g}'.lstrip('0')}" for r in found.ratios if r > 0]:
        yield f"{name}: references with a blank: {', '.join(shares)}"
    yield "perplexity_raw is the perplexity itself, as in the paper: lower is better, so a negative correlation is good"
    yield from (f"{name}: {first} and {second} rank all texts alike" for first, second in list_equal(found.originals))
    if "retrieve" not in found.adversaries:
        yield f"no Retrieve for {name}: not every text has a context"


def list_equal(texts: ScoredSet) -> Iterator[tuple[str, str]]:
    """Pairs of metrics that rank all texts of a set alike by its first aspect: rows of one figure."""
    ranks = {name: rankdata(texts.values(name, texts.aspects[0])) for name in texts.scores}
    for first, second in combinations(ranks, 2):
        if np.array_equal(ranks[first], ranks[second]):
            yield first, second
