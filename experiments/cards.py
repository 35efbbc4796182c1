"""Writes a card for each metric: what fools it on built-in text (`+exp=cards`, `make cards`)."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from core.errors import SettingError
from core.scores import Metric
from data.corpus import Corpus
from experiments.contracts import Outcome, Run
from judge.audits import AuditSettings
from judge.cards import write_cards
from judge.verbs.audit import audit


def cards(
    run: Run,
    data: Corpus,
    metrics: Mapping[str, Metric],
    settings: AuditSettings,
    folder: str,
) -> Outcome:
    """Audits each metric on the first rated set that has the fields it needs.

    Writes `NAME.md`, the card of each metric, and `README.md`, the table of all, into an existing folder.

    Raises SettingError for a folder that does not exist.
    """
    card_folder = Path(folder)
    if not card_folder.is_dir():
        raise SettingError(f"folder must be an existing folder, but there is no {folder}")
    with run.timed("audit"):
        audits = audit(
            data.rated,
            metrics,
            cues=run.cues,
            stages=run.stages.root,
            **asdict(settings),
        )
    write_cards(card_folder, audits)
    return Outcome(
        audits.signature,
        tables=audits.tables,
        notes=audits.notes,
        files=[card_folder / "README.md"],
        synthetic=any(of_metric.rated.synthetic for of_metric in audits.metrics.values()),
    )
