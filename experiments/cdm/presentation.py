"""The outcome of CDM: its models, systems, figures and warnings beside the scored sets."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from core.scores import Scores
from data.corpus import Corpus, RatedSet
from experiments.cdm.findings import CdmFindings, CdmPlan, word_count_auc
from experiments.cdm.plots import plot_momentum
from experiments.cdm.systems import system_tables
from experiments.contracts import Outcome, Run
from experiments.presentation import present
from experiments.training import Trained

LENGTH_AUC_TOLERANCE = 0.05  # of the AUC of word count from 0.5, beyond which length alone tells negatives

NON_WORD_TOLERANCE = 0.01  # of the words in negatives


def present_cdm(
    run: Run,
    data: Corpus,
    plan: CdmPlan,
    found: CdmFindings,
    further: Callable[[RatedSet], Mapping[str, Scores]],
) -> Outcome:
    """The outcome of an experiment with CDM; `further` gives more scores of a rated set by their rows."""
    pair = found.trained.pair
    return present(
        run,
        [
            replace(each, scores={**each.scores, **further(rated)})
            for each, rated in zip(found.scored, data.rated, strict=True)
        ],
        cdm_models(found),
        tables=[table for each in found.scored for table in system_tables(each, found.steps[each.name])],
        notes=[f"How the default settings were chosen: {plan.chosen}", *warnings(found)],
        settings={
            "data": data.name,
            "spelling": pair.spelling,
            "strategy": plan.negatives.strategy,
            "gamma": plan.negatives.sampling.gamma,
            "mixture": " ".join(map(str, plan.negatives.mixture)) or None,
            "pooler": f"{plan.pooler.negatives}-{plan.pooler.features}",
        },
        plots={f"momentum_{each.name}": plot_momentum(each, found.steps[each.name]) for each in found.scored},
        folders={"pooler": found.pooler},
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


def cdm_models(found: CdmFindings) -> dict[str, Trained]:
    """The trained models by name."""
    return {
        "amateur": found.trained.amateur,
        "expert": found.trained.expert,
        **{f"discriminator_{name}": judge for name, judge in found.discriminators.items()},
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
