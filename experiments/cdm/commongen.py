"""CDM on sentences about given concepts, against labels of commonsense (CDM, section 4.2, Tables 8 and 10)."""

from data.corpus import Corpus, RatedSet
from experiments.cdm.findings import CdmPlan, find_cdm
from experiments.cdm.presentation import present_cdm
from experiments.contracts import Outcome, Run


def cdm_commongen(run: Run, data: Corpus, plan: CdmPlan) -> Outcome:
    """The whole of CDM on concept sentences, beside the published scores of G-Eval.

    Args:
        run: from the runner.
        data: sentences behind their concepts as two turns, and rated ones.
        plan: the models and what they learn from; the first turn is given.
    """
    return present_cdm(run, data, plan, find_cdm(run, data, plan), RatedSet.published_scores)
