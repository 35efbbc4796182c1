"""The findings of CDM as rows, plots, figures and notes."""

from collections.abc import Callable, Mapping
from pathlib import Path

from core.scores import Scores
from core.signature import MODEL_LIBRARIES, signature
from data.rated import RatedSet
from data.sets.dialogues import DialogueData
from experiments.cdm.findings import CdmFindings, CdmPlan, word_count_auc
from experiments.cdm.plots import plot_momentum
from experiments.cdm.systems import system_tables
from experiments.contracts import Outcome, Run, ScoredSet
from experiments.report import plots
from experiments.report.evaluation import evaluate
from experiments.training.trained import folders_of

LENGTH_AUC_TOLERANCE = 0.05  # of the AUC of word count from 0.5, beyond which length alone tells negatives

NON_WORD_TOLERANCE = 0.01  # of the words in negatives


def present(
    run: Run,
    data: DialogueData,
    plan: CdmPlan,
    found: CdmFindings,
    further: Callable[[RatedSet], Mapping[str, Scores]],
) -> Outcome:
    """The outcome of an experiment with CDM; `further` gives more scores of a rated set by their rows."""
    amateur, expert, pair = found.trained.amateur, found.trained.expert, found.trained.pair
    scored = [ScoredSet(each.rated, {**each.scores, **further(each.rated)}) for each in found.rated]
    return Outcome(
        signature=signature(
            run.name,
            libraries=MODEL_LIBRARIES,
            data=data.name,
            amateur=amateur.identity,
            expert=expert.identity,
            spelling=pair.spelling,
            strategy=plan.negatives.strategy,
            gamma=plan.negatives.sampling.gamma,
            mixture=" ".join(map(str, plan.negatives.mixture)) or None,
            pooler=f"{plan.pooler.negatives}-{plan.pooler.features}",
            seed=run.seed,
        ),
        rows=[row for each in scored for row in evaluate(each.scores, each.rated)],
        scored=scored,
        tables=[table for each in found.rated for table in system_tables(each.rated, each.steps)],
        plots={
            "training_curves": plots.training_curves({"amateur": amateur.curve, "expert": expert.curve}),
            **{f"scores_{each.rated.name}": plots.scores_against_ratings(each) for each in scored},
            **{f"momentum_{each.rated.name}": plot_momentum(each.rated, each.steps) for each in found.rated},
        },
        models=cdm_models(found),
        notes=[f"How the default settings were chosen: {plan.chosen}", *warnings(found)],
        figures={
            "amateur held-out NLL (nats per token)": found.order.amateur_nll,
            "expert held-out NLL (nats per token)": found.order.expert_nll,
            "amateur parameters": pair.amateur.parameters,
            "expert parameters": pair.expert.parameters,
            "negatives": len(found.negatives.negatives),
            "redrawn segments that are cut": found.negatives.unclosed,
            "source tokens left out while sampling negatives": found.negatives.dropped,
            "share of training gaps read in a window of their dialogue": found.windowed,
            **{f"passes of the {name} over the training text": passes for name, passes in found.passes.items()},
            "AUC of word count, positives against negatives (0.5 is chance)": word_count_auc(found.negatives),
            "share of words in negatives that no training dialogue has": found.non_words,
        },
        synthetic=data.synthetic,
    )


def cdm_models(found: CdmFindings) -> dict[str, Path]:
    """The folders of the trained models, by their names in a run's `models/`."""
    return {
        **folders_of({"amateur": found.trained.amateur, "expert": found.trained.expert}),
        "pooler": found.pooler,
        **folders_of({f"discriminator_{name}": judge for name, judge in found.discriminators.items()}),
    }


def warnings(found: CdmFindings) -> list[str]:
    """What a reader of the table has to know."""
    length_auc = word_count_auc(found.negatives)
    said = {
        str(found.order): not found.order.holds,
        f"{found.negatives.failures} dialogues could not be manipulated and have no negative.": (
            found.negatives.failures > 0
        ),
        f"{found.negatives.unclosed} redrawn segments did not end by themselves and are cut.": (
            found.negatives.unclosed > 0
        ),
        f"Word count alone tells negatives from positives (AUC {length_auc:.2f}; 0.5 is chance).": (
            abs(length_auc - 0.5) > LENGTH_AUC_TOLERANCE
        ),
        f"{found.non_words:.1%} of the words in negatives are in no training dialogue, so they give negatives away.": (
            found.non_words > NON_WORD_TOLERANCE
        ),
    }
    return [what for what, is_so in said.items() if is_so]
