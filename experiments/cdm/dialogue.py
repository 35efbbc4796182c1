"""CDM on dialogues: scores of rated dialogues both ways, against ratings (CDM, section 4.1)."""

from collections.abc import Mapping

from core.scores import Scores
from data.corpus import Corpus, RatedSet
from experiments.cdm.findings import CdmPlan, find_cdm
from experiments.cdm.presentation import present_cdm
from experiments.contracts import Outcome, Run


def cdm_dialogue(run: Run, data: Corpus, plan: CdmPlan) -> Outcome:
    """The whole of CDM on one collection of dialogues.

    Args:
        run: from the runner.
        data: dialogues to train on, held-out ones, and rated sets.
        plan: the models and what they learn from.
    """
    return present_cdm(run, data, plan, find_cdm(run, data, plan), published_rows)


def published_rows(rated: RatedSet) -> Mapping[str, Scores]:
    """The published scores of other people's metrics by the names of their rows."""
    return {f"{metric}_published": found for metric, found in rated.published_scores().items()}
