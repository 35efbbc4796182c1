"""Tables of CTRLEval beside the agreement with ratings: Figures 2 to 4 as numbers, and the cases of Figures 6 and 7."""

from experiments.contracts import Table
from experiments.ctrl_eval.findings import Case, CtrlEvalFindings
from meta_eval.agreement import Agreement


def tabulate(found: CtrlEvalFindings) -> list[Table]:
    """Figures 2 to 4 as numbers, and the cases of Figures 6 and 7."""
    name = found.scored.name
    r = "Pearson's r with its 95 % interval; n texts"
    tables: list[Table] = []
    if found.model_drift:
        rows = [_part_row(each, "system") for each in found.model_drift]
        tables.append(Table(f"Model drift on {name}", f"{r} of each system (Figure 2)", rows))
    if found.quality_drift:
        rows = [_part_row(each, "subset") for each in found.quality_drift.agreements]
        what = f"{r} of each biased subset, 0: mostly badly rated, 3: mostly well rated (Figure 3)"
        tables.append(Table(f"Quality drift on {name}", what, rows))
    if found.number_of_evaluators:
        rows = [
            {"metric": metric, "evaluators": number, "pearson": mean, "deviation": deviation}
            for metric, curve in found.number_of_evaluators.items()
            for number, (mean, deviation) in curve.items()
        ]
        what = f"Pearson's r of attribute relevance, n = {len(found.scored)}: mean and deviation of 20 draws"
        tables.append(Table(f"Number of evaluators on {name}", f"{what} (Figure 4)", rows))
    if found.cases:
        what = "the two texts of one input whose ratings differ most; (rank) among all texts (Figures 6 and 7)"
        tables.append(Table(f"Cases of {name}", what, [_case_row(case) for case in found.cases]))
    return tables


def _part_row(found: Agreement, part: str) -> dict[str, object]:
    return {"metric": found.metric, "aspect": found.aspect, part: found.set, "n": found.n, "pearson": found.pearson}


def _case_row(case: Case) -> dict[str, object]:
    shown = {metric: f"{score:.4g} ({rank})" for metric, (score, rank) in case.scores.items()}
    rating = f"{case.example.ratings[case.aspect]:.3g} ({case.rank})"
    known = {"aspect": case.aspect, "id": case.example.id, "label": case.example.label or "", "rating": rating}
    return {**known, **shown, "text": case.example.full_text}
