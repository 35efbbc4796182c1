"""`judge audit`."""

from typing import TYPE_CHECKING, Any

from core.errors import SettingError, setting
from core.settings import Count, Seed
from judge.options import Columns, File, GivenLevels, Metrics, Source, verb

if TYPE_CHECKING:
    from report.study import Study


@verb
def audit(
    source: Source,
    metrics: Metrics,
    *,
    columns: Columns | None = None,
    texts: Count = 200,
    seed: Seed = 0,
    levels: GivenLevels | None = None,
    stages: File | None = None,
    **settings: Any,
) -> "Study":
    """Audits metrics on your texts: what their scores depend on, and what fools them.

    Args:
        source: texts, as `judge.read` takes them with `columns` and `levels`; scores among them are ignored.
        metrics: to audit, with `settings` as in `judge.load_metric`.
        columns: by field its column of the file.
        texts: the most to draw; each is scored 29 times.
        seed: of the texts and the damage.
        levels: the scale of ratings in words, from the worst to the best, or by aspect.
        stages: a folder that keeps the scores of damaged texts: after a kill, the same audit continues.

    Raises SettingError for wrong settings, InputError for texts without the fields that a metric needs.
    """
    from judge.audits import MetricAudit, audit_metric, present_audits
    from judge.inputs import read
    from judge.scoring import check_fields, load_all, plan_with

    planned, kept = plan_with(metrics, stages, settings)
    if not planned:
        raise SettingError(f"metrics must name the metrics to audit, as {setting('metrics', 'bleu')}")
    rated = read(source, columns=columns, levels=levels)
    for name, metric in planned.items():
        check_fields(rated, name, metric.requires)
    audits: dict[str, MetricAudit] = {}
    for name, metric in load_all(planned).items():
        audits[name] = audit_metric(
            rated,
            metric,
            kept,
            texts,
            seed,
        )
    return present_audits(audits)
