"""Experiments of MARS (Liu et al. 2021): compares MARS, its ablations and baselines with ratings and on adversaries.

Figures and tables other than the agreement use the first rated aspect of a set; for Newsroom that is the mean of four
aspects, as in the paper.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from baselines.perplexity import RAW_IS_LOWER, to_raw_perplexity
from core.scores import Metric
from core.settings import AscendingRatios
from data.cleaning import clean_examples
from data.corpus import Corpus
from data.damage import apply_reorder, apply_retrieve
from experiments.contracts import Run, Study
from experiments.mars.tables import MarsScores, make_tables, name_ratio_row
from experiments.presentation import present
from experiments.training import LanguageModelPlan, Pretrained, find_or_train, list_texts
from mars.augmentation import SelfPlanningAugmenter
from mars.metric import MARS, Compared
from mars.references import mean_kl
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
    largest_ratios: AscendingRatios = (0.0, 0.2, 0.4, 0.6, 0.8),
    clean: bool = False,
) -> Study:
    """Computes the rows of Table 3 (ablations, Naive, baselines), Table 4 (adversaries, word vectors) and Table 5.

    The rated texts of `data` have references and context. `metric` and `perplexity` make these metrics from the name or
    folder of a model; a baseline is built when it is needed. Each of `largest_ratios` is the largest masking ratio of a
    row of Table 5 (`mars_to_20` and so on). Without `masked` there is no row `mars_naive`. `clean` removes hashtags and
    URLs from the rated texts first (section 3).

    Raises SettingError for an encoder or a baseline that is not installed, before a model is trained.
    """
    # built first, so that a missing package is named before a model is trained
    contextual = make_embedder(metric, static_vectors=False)
    static = make_embedder(metric, static_vectors=True)
    others = {name: build() for name, build in baselines.items()}
    plans = {"language_model": language_model, "masked": masked}
    texts = list_texts(data.train)
    held_out = list_texts(data.held_out)
    models = {
        name: find_or_train(
            run,
            name,
            plan,
            texts,
            held_out,
        )
        for name, plan in plans.items()
        if plan is not None
    }
    causal = models["language_model"].source
    usual = replace(metric(causal), embedder=contextual)
    augmenter = usual.augmenter
    assert isinstance(augmenter, SelfPlanningAugmenter)
    variants = {"mars": usual}
    for row, changes in ABLATIONS.items():
        ablated = replace(augmenter, settings=replace(augmenter.settings, **changes))
        variants[row] = replace(usual, augmenter=ablated)
    if "masked" in models:
        naive = metric(models["masked"].source, augmenter="naive")
        variants["mars_naive"] = replace(naive, embedder=contextual)
    variants["mars_static"] = replace(usual, embedder=static)
    others["perplexity"] = perplexity(augmenter.lm, causal)
    score = partial(
        score_texts,
        run,
        variants,
        others,
        largest_ratios,
    )
    scored: list[MarsScores] = []
    for rated in data.rated:
        texts_of_set = replace(rated, examples=clean_examples(rated.examples)) if clean else rated
        originals, compared = score(texts_of_set)
        damaged = damage(texts_of_set, run.seed)
        adversaries = {kind: score(of_kind)[0] for kind, of_kind in damaged.items()}
        scored.append(
            MarsScores(
                originals,
                adversaries,
                compared,
                usual.ratios,
                largest_ratios,
            )
        )
    figures: dict[str, float] = {}
    for of_set in scored:
        kl = mean_kl(reference.augmented for reference in of_set.references)
        if kl is not None:
            figures[f"mean KL of planned from plain (nats, {of_set.originals.name})"] = kl
    study = present(
        run,
        [of_set.originals for of_set in scored],
        models=models,
        tables=make_tables(scored),
        notes=[f"perplexity_raw: {RAW_IS_LOWER}"],
        plotted_sets=[of_set.originals.choose(("mars", "bertscore")) for of_set in scored],  # Figure 3
        figures=figures,
        data=data,
    )
    # Agreement with the ratings of the originals ought to fall, so no table of agreement has the adversaries.
    others_scored = chain.from_iterable(of_set.adversaries.values() for of_set in scored)
    return replace(study, scored=[*study.scored, *others_scored])


def make_embedder(metric: partial[MARS], static_vectors: bool) -> CachedEmbedder:
    """Makes the encoder of MARS, or word vectors in its place; each text is embedded once."""
    built = metric(None, augmenter="none", static_vectors=static_vectors)
    return CachedEmbedder(built.embedder)


def score_texts(
    run: Run,
    variants: Mapping[str, MARS],
    baselines: Mapping[str, Metric],
    largest_ratios: Sequence[float],
    texts: ScoredSet,
) -> tuple[ScoredSet, list[Compared]]:
    """Scores texts by every variant of MARS, by `mars` up to each masking ratio of Table 5, and by every baseline.

    Returns the scored set, and the cosines behind `mars`.
    """
    with run.timed(f"augmentation and similarity {texts.name}"):
        usual = variants["mars"].with_corpus(texts.examples)
        all_ratios = sorted({*usual.ratios, *largest_ratios})
        compared = replace(usual, ratios=tuple(all_ratios)).compare(texts.examples)
        # Each variant compares anew: at the wider ratios above, some references may be too long.
        scores = {row: variant.score(texts.examples) for row, variant in variants.items()}
        for largest in largest_ratios:
            up_to = replace(usual, ratios=tuple(ratio for ratio in largest_ratios if ratio <= largest))
            scores[name_ratio_row(largest)] = up_to.score_compared(compared)
    with run.timed(f"baselines {texts.name}"):
        scores |= {name: baseline.score(texts.examples) for name, baseline in baselines.items()}
        scores["perplexity_raw"] = to_raw_perplexity(scores["perplexity"])
    return replace(texts, scores=scores), compared


def damage(rated: ScoredSet, seed: int) -> dict[str, ScoredSet]:
    """Makes adversaries of the rated texts, by kind: Reorder, and Retrieve if every text has a context.

    Each adversary keeps the ratings of the text that it replaces.
    """
    adversaries = {"reorder": apply_reorder(rated.examples, seed)}
    if all((example.context or "").strip() for example in rated.examples):
        adversaries["retrieve"] = apply_retrieve(rated.examples, seed)
    return {kind: replace(rated, name=f"{rated.name}_{kind}", examples=texts) for kind, texts in adversaries.items()}
