"""The report of a verb: a folder with its page, plots, tables, scores and results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import yaml

from core.errors import SettingError
from core.settings import Several, check, one_of
from judge.flags import Given
from report import page, results
from report.asked import write_answers
from report.study import Study


def check_report(given: Given) -> None:
    """Raises SettingError for a folder that cannot hold a report, and for unknown kinds of plots."""
    check(Several[one_of(results.ENDINGS)], plots=list(given.get("plots")))
    if Path(given.get("report")).suffix in (".html", ".htm"):
        rule = "report must name a folder, in which report.html is the page"
        raise SettingError(f"{rule}, but is {given.get('report')}")
    results.check_run_folder(Path(os.path.realpath(given.get("report"))), "report")


def write_verb(outcome: Study, name: str, command: Sequence[str], given: Given, seconds: float) -> Path:
    """Writes the report of a result; returns the path of its page."""
    folder = Path(os.path.realpath(given.get("report")))
    settings = {flag: value for flag, value in given.values.items() if flag not in ("report", "config")}
    config = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    about = {
        "experiment": name,
        "verb": name,
        "description": "",
        "seed": given.values.get("seed", 0),
        "command": [*command],
        "started": datetime.now().astimezone().isoformat(timespec="seconds"),
        "seconds": seconds,
        "timings": {},
    }
    with results.claim_folder(folder, "report"):
        try:
            results.clear_folder(folder)
        except OSError as error:
            raise SettingError(f"cannot write to the report: {error}") from error
        found = results.results(outcome, about)
        results.write_plots(outcome, folder, given.get("plots"))
        results.write_scores(outcome, folder)
        results.write_tables(outcome, folder)
        write_answers(outcome.asked, folder / "answers.jsonl")
        page.write_report(outcome, found, config, folder)
        results.write_json(found, folder / "results.json")
    return folder / "report.html"
