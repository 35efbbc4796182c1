"""`judge plan`."""

from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt, Lt

from core.errors import SettingError
from core.settings import Count, Fraction, NonNegative, Positive, Several
from judge.options import Columns, GivenLevels, Names, Source, list_names, verb

if TYPE_CHECKING:
    from report.study import Study

Correlation = Annotated[float, Gt(-1), Lt(1)]


@verb
def plan(
    pilot: Source | None = None,
    aspect: str | None = None,
    systems: Names = (),
    *,
    columns: Columns | None = None,
    levels: GivenLevels | None = None,
    within: Positive | None = None,
    texts: Count | None = None,
    rate: Fraction = 0.5,
    correlation: Correlation = 0.4,
    between_metrics: Correlation = 0.6,
    between_raters: Fraction = 0.5,
    spread_inputs: NonNegative = 0.5,
    spread_raters: NonNegative = 1.0,
    differences: Several[Positive] = (0.05, 0.1, 0.2),
    raters: Several[Count] = (1, 3, 5),
    compared: Annotated[int, Ge(2)] = 2,
    power: Fraction = 0.8,
    level: Fraction = 0.05,
) -> "Study":
    """Finds how many inputs, systems and raters a study needs, or with `within` how many labels.

    The numbers follow from assumptions; a pilot measures the spread of two systems.

    Args:
        pilot: rated outputs of two systems, as `judge.read` takes them with `columns` and `levels`.
        aspect: of the ratings in the pilot; by default `overall`, or the only one.
        systems: two of the pilot, to estimate how their difference varies.
        columns: by field its column of the pilot.
        levels: the scale of ratings in words, from the worst to the best, or by aspect.
        within: plan labels: half of the width of the interval of a kappa, and of a rate.
        texts: how many texts there are to label, all of which a judge reads; without it they are very many.
        rate: the share of texts with the label.
        correlation: of the judge, or the better metric, with one rater's labels or ratings; of labels this is kappa.
        between_metrics: the correlation of the two metrics with each other.
        between_raters: the correlation of two raters; between_raters of judge agree estimates it.
        spread_inputs: without a pilot: the standard deviation between inputs of the difference of two systems, in
            points of the scale.
        spread_raters: without a pilot: the standard deviation of one rater's difference around this.
        differences: of correlations, and of mean ratings, to detect.
        raters: numbers of raters per output.
        compared: how many metrics, or systems, are compared at once: p-values are adjusted for all pairs of them.
        power: probability to detect the difference.
        level: of significance, of the two-sided tests.

    Raises SettingError for wrong settings and those without effect, for an aspect without ratings, and for a pilot that
    shows no spread; InputError for a wrong pilot.

    >>> plan(differences=[0.5], raters=[1]).tables[0].rows[0]["n"]
    42
    >>> plan(within=0.05, correlation=0.8).answer.split("; ")[1]
    '387 labels for the rate to within 0.05 (141 if judge reads all texts).'
    """
    defaults = signature(plan).parameters
    given = {name for name, value in locals().items() if name in defaults and value is not defaults[name].default}
    from core.signature import join_values
    from judge import plans
    from judge.inputs import read
    from meta_eval.planning import Spread

    if within is not None:
        unused = given - {"within", "rate", "correlation", "texts"}
        where = "where labels are planned (within)"
    elif pilot is None:
        unused = given & {"rate", "texts", "aspect", "systems", "columns", "levels"}
        where = "without the file of a pilot, and without within"
    else:
        unused = given & {"rate", "texts", "spread_inputs", "spread_raters"}
        where = "beside a pilot, which shows the spread of systems"
    if unused:
        raise SettingError(f"{', '.join(sorted(unused))} would have no effect {where}")
    if within is not None:
        settings = {"rate": rate, "correlation": correlation, "texts": texts}
        line = join_values("plan", within=within, **settings)
        return replace(plans.plan_labels(within, **settings), signature=line)
    spread = Spread(spread_inputs, spread_raters)
    name = None
    notes = ()
    if pilot is not None:
        rated = read(pilot, columns=columns, levels=levels)
        aspect = plans.find_aspect(rated, aspect)
        spread = plans.find_spread(rated, aspect, list_names(systems))
        name, notes = rated.name, rated.notes
    elif spread_inputs + spread_raters == 0:
        raise SettingError("spread_inputs and spread_raters must not both be 0")
    settings = {
        "compared": compared,
        "correlation": correlation,
        "between_metrics": between_metrics,
        "between_raters": between_raters,
        "power": power,
        "level": level,
    }
    found = plans.plan_inputs(spread, differences, raters, **settings)
    settings |= {"spread": (spread.inputs, spread.raters), "differences": differences, "raters": raters}
    line = join_values("plan", pilot=name, aspect=aspect, **settings)
    return replace(found, notes=[*notes, *found.notes], signature=line)
