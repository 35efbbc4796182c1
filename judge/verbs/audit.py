"""`judge audit`."""

from collections.abc import Sequence
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    cast,
)

from annotated_types import Gt, Le

from core.errors import SettingError, setting
from core.settings import Count, Seed, Several
from judge.options import (
    Columns,
    File,
    GivenLevels,
    Metrics,
    ScoredSet,
    Source,
    verb,
)

if TYPE_CHECKING:
    from report.study import Study


@verb
def audit(
    source: Source | Sequence[ScoredSet],
    metrics: Metrics,
    *,
    columns: Columns | None = None,
    texts: Count = 200,
    strengths: Several[Annotated[float, Gt(0), Le(1)]] = (0.25, 0.5, 1),
    seed: Seed = 0,
    cues: bool = True,
    levels: GivenLevels | None = None,
    stages: File | None = None,
    **settings: Any,
) -> "Study":
    """Audits metrics on your texts: what their scores depend on, and what fools them.

    Args:
        source: texts, as `judge.read` takes them with `columns` and `levels`; scores among them are ignored. Of several
            sets each metric takes the first that has the fields it needs.
        metrics: to audit, with `settings` as in `judge.load_metric`.
        columns: by field its column of the file.
        texts: the most to draw; each is scored 29 times.
        strengths: shares of a text to damage.
        seed: of the texts and the damage.
        cues: whether the scores are compared with cheap cues.
        levels: the scale of ratings in words, from the worst to the best, or by aspect.
        stages: a folder that keeps the scores of damaged texts: after a kill, the same audit continues.

    Raises SettingError for wrong settings, InputError for texts without the fields that a metric needs.
    """
    from judge.audits import audit_metric, choose_set, present_audits
    from judge.inputs import read
    from judge.scoring import check_fields, load_all, plan_with
    from meta_eval.scored_set import ScoredSet as Texts

    planned, kept = plan_with(metrics, stages, settings)
    if not planned:
        raise SettingError(f"metrics must name the metrics to audit, as {setting('metrics', 'bleu')}")
    sets = [each for each in source if isinstance(each, Texts)] if isinstance(source, list | tuple) else []
    sets = sets or [read(cast(Source, source), columns=columns, levels=levels)]
    if len(sets) == 1:
        for name, metric in planned.items():
            check_fields(sets[0], name, metric.requires)
    loaded = load_all(planned)
    chosen = {name: choose_set(sets, name, metric.requires) for name, metric in loaded.items()}
    how = {"texts": texts, "strengths": [*map(float, strengths)], "seed": seed}
    audits = {
        name: audit_metric(
            chosen[name],
            loaded[name],
            kept,
            has_cues=cues,
            **how,
        )
        for name in loaded
    }
    return present_audits(audits, strengths)
