"""Cards of metrics: what each measures, what it costs and what fools it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name

from data.text_files import open_atomically
from judge.audits import Audits, MetricAudit, summary_table
from judge.metrics import read_config
from judge.tables import Table
from judge.wording import markdown_text

SYNTHETIC = (
    "The texts, the damage and the small models are synthetic: this project generated or trained them. The figures "
    "show how a metric works; they do not show how good it is with real models on real text."
)
NEEDS = {  # metrics that mean nothing with the tiny models that this project trains
    "bartscore": "a model that learned to summarise or to paraphrase, such as facebook/bart-large-cnn",
    "bleurt": "a model that learned human ratings, such as Elron/bleurt-base-128",
    "discriminator_label": "a classifier of your labels; +exp=ctrleval_sentiment trains one",
    "llm_judge": "a chat model that follows instructions, behind an endpoint or in a folder",
    "uni_eval": "a model that learned to answer its questions, such as MingZhong/unieval-dialog",
}


def write_cards(folder: Path, found: Audits) -> None:
    """Writes a card for each audited metric and for each metric in `NEEDS`, and the table of all."""
    for name, each in found.metrics.items():
        write_card(folder / f"{name}.md", each)
    needs = {name: each for name, each in NEEDS.items() if name not in found.metrics}
    for name, each in needs.items():
        kind = resolve_name(read_config(name)["_target_"]).__self__  # a class method makes it
        write_page(folder / f"{name}.md", [f"# {name}", inspect.getdoc(kind) or "", f"Not audited: it needs {each}."])
    rows = [{"metric": name, "needs": each} for name, each in needs.items()]
    described = Table("Not audited", "Metrics that need a model that is not available here.", rows)
    parts = ["# Metric cards", "What each metric of this repository reacts to."]
    parts += [SYNTHETIC] if any(each.rated.synthetic for each in found.metrics.values()) else []
    for table in (summary_table(found.metrics), described):
        parts += [f"## {table.title}", table.caption, table.to_markdown(linked="metric").rstrip()]
    write_page(folder / "README.md", parts)


def write_card(path: Path, found: MetricAudit) -> None:
    """Writes the card of an audited metric."""
    needs = " and ".join(f"`{field}`" for field in found.metric.requires) or "nothing"
    kind = "synthetic texts" if found.rated.synthetic else "texts"
    parts = [
        f"# {found.name}",
        inspect.getdoc(type(found.metric)) or "",
        f"Needs beside the text: {needs}. Cost: {found.cost:.2g} seconds per text where the card was made.",
        "\n".join(f"- {markdown_text(note)}" for note in (*found.said, found.conclusion)),
        f"## Audit on {found.n} {kind} ({found.rated.name}), seed {found.settings.seed}",
        *([SYNTHETIC] if found.rated.synthetic else []),
        f"`{found.signature}`",
    ]
    for table in found.tables:
        parts += [f"### {table.title}", table.caption, table.to_markdown().rstrip()]
    write_page(path, parts)


def write_page(path: Path, parts: Sequence[str]) -> None:
    """Writes the parts of a Markdown page."""
    with open_atomically(path) as file:
        file.write("\n\n".join(parts) + "\n")
