"""`judge plan`."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt, Lt

from core.errors import SettingError
from core.settings import Count, Fraction, NonNegative, Positive, Several
from judge.options import Columns, GivenLevels, Names, Pilot, verb

if TYPE_CHECKING:
    from report.study import Study

Correlation = Annotated[float, Gt(-1), Lt(1)]


@verb
def plan(
    pilot: Pilot | None = None,
    aspect: str | None = None,
    systems: Names = (),
    *,
    columns: Columns | None = None,
    people: Names = (),
    judges: Names = (),
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
    statistic: Literal["pearson", "spearman", "kendall"] = "spearman",
    power: Fraction = 0.8,
    level: Fraction = 0.05,
) -> "Study":
    """Finds how many inputs, systems and raters a study needs, or with `within` how many labels.

    The numbers follow from assumptions, or from a pilot study.

    Args:
        pilot: texts with ratings of the aspect, as `judge.read` takes them with `columns` and `levels`: outputs of the
            two systems, or with `within` any, with scores of judges. With `within` it may also be preferences, as
            `judge.prefer` takes them, with the verdicts of judges or of several people.
        aspect: of the ratings in the pilot; by default `overall`, or the only one.
        systems: two of the pilot, to estimate how their difference varies.
        columns: by field its column of the pilot. Labels and verdicts need no texts.
        people: the columns of the pilot that are people's labels; by default they are recognised by name and values.
        judges: the columns of the pilot that hold verdicts of judges.
        levels: the scale of ratings in words, from the worst to the best, or by aspect.
        within: plan labels: half of the width of the interval of a kappa, and of a rate, mean rating or win rate.
        texts: how many texts (or pairs) there are to label, all of which a judge reads; without it they are very many.
        rate: without a pilot: the share of texts with the label.
        correlation: of the judge, or the better metric, with one rater's labels or ratings; of labels this is kappa.
        between_metrics: the correlation of the two metrics with each other.
        between_raters: the correlation of two raters; between_raters of judge agree estimates it.
        spread_inputs: without a pilot: the standard deviation between inputs of the difference of two systems, in
            points of the scale.
        spread_raters: without a pilot: the standard deviation of one rater's difference around this.
        differences: of correlations, and of mean ratings, to detect.
        raters: numbers of raters per output.
        compared: how many metrics, or systems, are compared at once: p-values are adjusted for all pairs of them.
        statistic: of the two metrics with the ratings.
        power: probability to detect the difference.
        level: of significance, of the two-sided tests.

    Raises SettingError for wrong settings, for an aspect without ratings, and for a pilot that shows no spread;
    InputError for a wrong pilot.

    >>> plan(differences=[0.5], raters=[1]).tables[0].rows[0]["n"]
    42
    >>> plan(within=0.05, correlation=0.8).answer.split("; ")[1]
    '387 labels for the rate to within 0.05 (141 if judge reads all texts).'
    """
    from core.signature import join_values
    from judge import plans
    from meta_eval.planning import Spread
    from meta_eval.preferences import Preferences
    from meta_eval.scored_set import ScoredSet

    of_pilot = {"columns": columns, "people": people, "judges": judges, "levels": levels}
    if pilot is None and (given := [name for name, value in {**of_pilot, "systems": systems}.items() if value]):
        raise SettingError(f"{', '.join(given)} say what is in a pilot: pass its file too")
    read = None if pilot is None else plans.read_pilot(pilot, of_pilot)
    if isinstance(read, ScoredSet):
        aspect = plans.find_aspect(read, aspect)
    if within is None and isinstance(read, Preferences):
        raise SettingError("a pilot of preferences plans labels: set within, half of the width of an interval")
    if within is not None:
        if systems:
            raise SettingError("systems are two whose difference is planned: leave them out to plan labels by within")
        settings = {"within": within, "texts": texts, "rate": rate, "correlation": correlation}
        if read is None:
            quantities = plans.assume_quantities(rate, correlation)
        elif isinstance(read, Preferences):
            quantities = plans.measure_pairs(read)
        else:
            quantities = plans.measure_texts(read, str(aspect))
        found = plans.plan_labels(quantities, within, texts, [] if read else [plans.ASSUMED])
    else:
        spread = Spread(spread_inputs, spread_raters)
        if isinstance(read, ScoredSet):
            spread = plans.find_spread(read, str(aspect), systems)
        elif spread_inputs + spread_raters == 0:
            raise SettingError("spread_inputs and spread_raters must not both be 0")
        settings = {
            "compared": compared,
            "correlation": correlation,
            "between_metrics": between_metrics,
            "between_raters": between_raters,
            "statistic": statistic,
            "power": power,
            "level": level,
        }
        found = plans.plan_inputs(spread, differences, raters, **settings)
        settings |= {"spread": (spread.inputs, spread.raters), "differences": differences, "raters": raters}
    line = join_values("plan", pilot=read and read.name, aspect=aspect, **settings)
    return replace(found, notes=[*(read.notes if read else ()), *found.notes], signature=line)
