"""The report of a verb: a folder with its page, plots, tables, scores and results."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from core.errors import SettingError
from core.settings import Several, check, one_of
from judge.options import FILE, PLOTS
from report import page, results
from report.study import Study


def check_report(given: Mapping[str, Any]) -> None:
    """Raises SettingError for a folder that cannot hold a report, and for unknown kinds of plots.

    Nor may the folder have the inputs or the output of the verb in the places that a report clears.
    """
    report = given["report"]
    folder = Path(os.path.realpath(report))
    check(Several[one_of(results.ENDINGS)], plots=[*given.get("plots", PLOTS)])
    if Path(report).suffix in (".html", ".htm"):
        raise SettingError(f"report must name a folder, in which report.html is the page, but is {report}")
    results.check_run_folder(folder, "report")
    results.refuse_cleared(given, folder, "report")
    output = given.get("output")
    if output is not None and Path(os.path.realpath(output)).is_relative_to(folder):
        raise SettingError(f"output={output} is in the folder of the report: choose another output")


def write_verb(study: Study, words: Sequence[str], given: Mapping[str, Any], seconds: float) -> Path:
    """Writes the report of a command into the folder that its flags name; returns the path of its page."""
    place = Path(os.path.realpath(given["report"]))
    settings = {name: value for name, value in given.items() if name not in (FILE, "report", "config")}
    about = {
        "experiment": words[0],
        "verb": words[0],
        "description": "",
        "seed": given.get("seed", 0),
        "command": ["judge", *words],
        "started": datetime.now().astimezone().isoformat(timespec="seconds"),
        "seconds": seconds,
        "timings": {},
    }
    with results.claim_folder(place, "report"):
        try:
            results.clear_folder(place)
        except OSError as error:
            raise SettingError(f"cannot write to the report: {error}") from error
        config = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
        page.write_run(study, about, config, place, given.get("plots", PLOTS))
    return place / "report.html"
