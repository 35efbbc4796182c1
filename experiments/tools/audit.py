"""Audit: what fools metrics (`judge audit`), with their cards."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from core.errors import SettingError
from core.scores import Metric
from data.corpus import Corpus
from data.scored import ScoredFile
from experiments.contracts import Outcome, Run
from judge.audits import AuditSettings
from judge.cards import write_cards
from judge.verbs import audit as audit_verb


def audit(
    run: Run,
    data: ScoredFile | Corpus,
    metrics: Mapping[str, Metric],
    settings: AuditSettings,
    cards: str | None = None,
) -> Outcome:
    """Audits metrics, as `judge.audit` does.

    Scores in a file are ignored; of a corpus each metric takes the first rated set with what it needs. `cards` is an
    existing folder for `NAME.md`, the card of each metric, and `README.md`, the table of all.
    """
    if not isinstance(data, ScoredFile | Corpus):
        raise SettingError(
            "data must hold texts: data.path=FILE, or a set with rated texts; preferences have none alone"
        )
    folder = None if cards is None else Path(cards)
    if folder is not None and not folder.is_dir():
        raise SettingError(f"cards must be an existing folder, but there is no {folder}")
    with run.timed("audit"):
        sets = [data] if isinstance(data, ScoredFile) else data.rated
        found = audit_verb.audit(sets, metrics, cues=run.cues, stages=run.stages, **asdict(settings))
    if folder is not None:
        write_cards(folder, found)
    files = [] if folder is None else [folder / "README.md"]
    synthetic = any(each.rated.synthetic for each in found.metrics.values())
    return Outcome(found.signature, tables=found.tables, notes=found.notes, files=files, synthetic=synthetic)
