"""MARS on rated texts: the metric, its ablations, baselines and adversaries against ratings (Liu et al. 2021).

Figures and tables other than the agreement show the first rated aspect of a set; for Newsroom that is the mean of four
aspects, as in the paper.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from core.scores import Metric
from data.cleaning import clean_examples
from data.corpus import Corpus, RatedSet
from data.damage import apply_reorder, apply_retrieve
from experiments.contracts import Outcome, Run
from experiments.mars.findings import (
    MarsFindings,
    count_shared_texts,
    find_errors,
    list_references,
    mean_deviations,
    measure_altered,
    measure_fall,
    measure_gain,
    measure_lengths,
    measure_within_systems,
    name_ratio_row,
    to_raw_perplexity,
)
from experiments.mars.plots import plot_adversaries
from experiments.mars.tables import mars_tables
from experiments.mars.variants import Analyses, MetricPlan, make_variants, score_variants
from experiments.presentation import present
from experiments.training import LanguageModelPlan, Pretrained, find_or_train
from mars.cloze import mean_kl
from mars.metric import MARS
from meta_eval.bootstrap import Estimate
from meta_eval.scored_set import ScoredSet
from models.causal import CausalLM


def mars(
    run: Run,
    data: Corpus,
    language_model: LanguageModelPlan | Pretrained,
    masked: LanguageModelPlan | Pretrained | None,
    metric: MetricPlan,
    baselines: Mapping[str, Callable[[], Metric]],
    perplexity: Callable[[CausalLM, str], Metric],
    analyses: Analyses,
) -> Outcome:
    """Rows of Table 3 (ablations, Naive, baselines), Table 4 (adversaries, word vectors) and Table 5 (masking ratios).

    Args:
        run: from the runner.
        data: texts to train on, and rated ones with references and context.
        language_model: fills the blanks: pretrained, or trained here.
        masked: the model of Naive; None leaves its row out.
        metric: settings of the metric.
        baselines: by the name of their row; built when they are needed.
        perplexity: makes this baseline of the language model and its name.
        analyses: further rows and sets.

    Raises InputFaults for a tagger, an encoder or a baseline that is not installed, before a model is trained.
    """
    make = metric.load(run.stages.root)
    others = {name: build() for name, build in baselines.items()}
    texts = [e.full_text for e in data.train], [e.full_text for e in data.held_out]
    fluent = find_or_train(run, "language_model", language_model, *texts)
    filler = None if masked is None else find_or_train(run, "masked", masked, *texts)
    lm = CausalLM.from_pretrained(fluent.source, metric.device, metric.dtype)
    others["perplexity"] = perplexity(lm, fluent.source)
    variants = make_variants(metric, make, lm, fluent.source, None if filler is None else filler.source)
    findings = [_findings(run, rated, variants, others, analyses, metric) for rated in data.rated]
    return present(
        run,
        [texts for found in findings for texts in found.sets],
        {"language_model": fluent, **({} if filler is None else {"masked": filler})},
        mars_tables(findings),
        [note for found in findings for note in _notes(found, analyses)],
        settings={"data": data.name},
        drawn=[found.originals.choose(("mars", "bertscore")) for found in findings],  # Figure 3
        plots={
            f"adversaries_{found.originals.name}": plot_adversaries(found) for found in findings if found.adversaries
        },
        figures={
            f"mean KL of planned from plain (nats, {found.originals.name})": found.kl
            for found in findings
            if found.kl is not None
        },
        synthetic=data.synthetic,
    )


def _findings(
    run: Run,
    rated: RatedSet,
    variants: Mapping[str, MARS],
    baselines: Mapping[str, Metric],
    analyses: Analyses,
    metric: MetricPlan,
) -> MarsFindings:
    """Scores the rated texts, and adversaries in their place, by every metric, and measures what the tables show."""
    if analyses.clean:
        rated = replace(rated, examples=clean_examples(rated.examples))
    found: dict[str, ScoredSet] = {}
    compared_originals = []
    for kind, texts in {"": rated, **(_adversaries(rated, run.seed) if analyses.adversaries else {})}.items():
        with run.timed(f"augmentation and similarity {rated.name}"):
            scores, compared = score_variants(variants, texts, analyses, metric)
        with run.timed(f"baselines {rated.name}"):
            scores |= {name: other.score(texts.examples) for name, other in baselines.items()}
            scores["perplexity_raw"] = to_raw_perplexity(scores["perplexity"])
        found[kind] = ScoredSet.of(texts, scores)
        compared_originals = compared_originals or compared
    originals = found.pop("")
    others = [row for row in originals.scores if row == name_ratio_row(0) or not row.startswith("mars_to_")]
    return MarsFindings(
        measure_lengths(rated),
        find_errors(originals),
        originals,
        adversaries=found,
        within_systems=measure_within_systems(originals),
        gains={row: measure_gain(originals, row) for row in others if row != "mars"},
        falls={
            kind: {metric: measure_fall(originals, texts, metric) for metric in originals.scores}
            for kind, texts in found.items()
        },
        deviations=mean_deviations(compared_originals, analyses.largest_ratios),
        ratios=variants["mars"].ratios,
        altered=measure_altered(compared_originals, sorted({*variants["mars"].ratios, *analyses.largest_ratios})),
        kl=mean_kl(one.augmented for one in list_references(compared_originals)),
    )


def _notes(found: MarsFindings, analyses: Analyses) -> Iterator[str]:
    """What a reader of the tables has to know of this set."""
    name, gain = found.originals.name, found.gains["mars_without_planning"]
    verdict = (
        "helps" if gain.spearman.low > 0 else "hurts" if gain.spearman.high < 0 else "changes nothing beyond chance"
    )
    yield f"{name}: planning {verdict} (Spearman {format_signed(gain.spearman)}, n = {gain.n})"
    shares = (f"{100 * found.altered[ratio]:.0f} % at {format_ratio(ratio)}" for ratio in found.ratios if ratio > 0)
    yield f"{name}: references with a blank: {', '.join(shares)}"
    yield "perplexity_raw is the perplexity itself, as in the paper: lower is better, so a negative correlation is good"
    if not analyses.adversaries:
        return
    if "retrieve" not in found.adversaries:
        yield f"no Retrieve for {name}: not every text has a context"
    elif (shared := count_shared_texts(found.adversaries["retrieve"].examples))[0]:
        yield f"Retrieve for {name}: {shared[0]} of {shared[1]} inputs have one retrieved sentence for all systems"


def format_ratio(ratio: float) -> str:
    """A masking ratio without the zero in front.

    >>> format_ratio(0.2)
    '.2'
    """
    return f"{ratio:g}".removeprefix("0")


def format_signed(estimate: Estimate) -> str:
    """A difference with its sign and interval.

    >>> format_signed(Estimate(0.0312, -0.0104, 0.071))
    '+.031 [-.010, +.071]'
    """
    value, low, high = (f"{number:+.3f}".replace("0.", ".") for number in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{low}, {high}]"


def _adversaries(rated: RatedSet, seed: int) -> dict[str, RatedSet]:
    """Reorder and, where every text has a context, Retrieve; the ratings are those of the texts they replace."""
    found = {"reorder": apply_reorder(rated.examples, seed)}
    if all((example.context or "").strip() for example in rated.examples):
        found["retrieve"] = apply_retrieve(rated.examples, seed)
    return {kind: replace(rated, name=f"{rated.name}_{kind}", examples=texts) for kind, texts in found.items()}
