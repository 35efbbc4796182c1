"""The page `report.html`, which shows the outcome of a run in one self-contained file."""

import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from data.text_files import open_atomically
from meta_eval.agreement import CHEAP_CUES
from meta_eval.estimates import Estimate
from report import model_cards, results
from report.asked import describe_winner, sort_pairs, write_answers
from report.plots import draw_svg
from report.study import Study
from report.tables import list_reasons
from report.texts import list_texts
from report.wording import format_interval, format_number

HERE = Path(__file__).parent
MOST_NAMED = 3  # metrics in the title
MOST_PAIRS = 200  # that a judge was asked about


def write_run(
    outcome: Study,
    about: Mapping[str, Any],
    config: str,
    folder: Path,
    plots: Sequence[str] = ("png",),
) -> None:
    """Writes an outcome into the folder of a run or of a verb's report, results.json last.

    `about` has facts about the run (`report.results.results`), `config` its settings as YAML.
    """
    found = results.results(outcome, about)
    results.write_plots(outcome, folder, plots)
    results.write_models(outcome, folder)
    model_cards.write_cards(outcome, found, folder)
    results.write_scores(outcome, folder)
    results.write_tables(outcome.tables, folder / "tables")
    write_answers(outcome.asked, folder / "answers.jsonl")
    write_report(outcome, found, config, folder)
    results.write_json(found, folder / "results.json")


def write_report(
    outcome: Study,
    run: Mapping[str, Any],
    config: str,
    folder: Path,
) -> None:
    """Writes report.html."""
    with open_atomically(folder / "report.html") as file:
        file.write(render(outcome, run, config))


def render(outcome: Study, run: Mapping[str, Any], config: str) -> str:
    """Makes the page as HTML with inline pictures. `run` is the content of results.json, `config` the configuration."""
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": format_number, "interval": format_interval, "duration": duration}
    environment.filters |= {"breakable": break_names, "code": mark_code, "winner": describe_winner}
    environment.tests["estimate"] = lambda cell: isinstance(cell, Estimate)
    tables = outcome.filled
    columns = {name for table in tables for name in table.known}
    meanings = {name: meaning for name, meaning in define_columns().items() if name in columns}
    return environment.from_string((HERE / "page.html.jinja").read_text(encoding="utf-8")).render(
        run={**run, "config": config},
        heading=name_run(outcome, run["verb"] or run["experiment"]),
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
        script=Markup((HERE / "page.js").read_text(encoding="utf-8")),
        meanings=meanings,
        tables=tables,
        notes=[*outcome.notes, *list_reasons(tables)],
        plots=[
            (figure.get_label() or name.replace("_", " "), Markup(draw_svg(figure)))
            for name, figure in outcome.plots.items()
        ],
        asked=sort_pairs(outcome.asked)[:MOST_PAIRS],
        texts=[list_texts(scored) for scored in (*outcome.scored, *outcome.shown)],
        started=datetime.fromisoformat(run["started"]).isoformat(" ", "minutes"),
        command=shlex.join(run["command"]),
        outcome=outcome,
        synthetic=run["synthetic"],
        versions={**run["versions"], "on": run["machine"]},
        total=max(sum(run["timings"].values()), run["seconds"]),
    )


def break_names(text: str) -> Markup:
    """Writes text as HTML in which names may break after an underscore, so that a narrow screen has room for figures.

    >>> break_names("mars_to_20 <x>")
    Markup('mars_<wbr>to_<wbr>20 &lt;x&gt;')
    """
    return Markup(str(escape(text)).replace("_", "_<wbr>"))


def name_run(outcome: Study, called: str) -> str:
    """Writes the title of the page: verb or experiment, with its metrics (if few) and sets."""
    sets = [scored for scored in (*outcome.scored, *outcome.shown) if scored.scores]
    if not sets:
        return called
    metrics = list(dict.fromkeys(name for scored in sets for name in scored.scores if name != CHEAP_CUES))
    named = ", ".join(metrics) if len(metrics) <= MOST_NAMED else f"{len(metrics)} metrics"
    return f"{called}: {named} on {', '.join(dict.fromkeys(scored.name for scored in sets))}"


def define_columns() -> dict[str, str]:
    """Reads the meaning of each column of tables from the glossary of the docs."""
    lines = (HERE / "glossary.md").read_text(encoding="utf-8").splitlines()
    rows = (re.fullmatch(r"\| (`.+`) \| (.+) \|", line) for line in lines)
    meanings: dict[str, str] = {}
    for row in filter(None, rows):
        names = re.findall("`([^`]+)`", row[1])
        meanings |= dict.fromkeys(names, row[2])
    return meanings


def mark_code(text: str) -> Markup:
    """Writes text as HTML, with what stands between backticks as code.

    >>> mark_code("`a` < b")
    Markup('<code>a</code> &lt; b')
    """
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def duration(seconds: float) -> str:
    """Formats seconds.

    >>> duration(0.42), duration(75), duration(7322)
    ('0.4 s', '1 min 15 s', '2 h 02 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
