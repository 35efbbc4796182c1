"""Cards of metrics: what each metric measures, what it costs and what fools it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name

from data.text_files import open_atomically
from judge.audits import Audits, MetricAudit, summary_table
from judge.registry import find_config, read_config
from report.tables import Table
from report.wording import markdown_text

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


def write_cards(folder: Path, audits: Audits) -> None:
    """Writes a card for each audited metric and for each metric in `NEEDS`, and the table of all metrics."""
    for name, audit in audits.metrics.items():
        write_card(folder / f"{name}.md", audit)
    needs = {name: model for name, model in NEEDS.items() if name not in audits.metrics}
    for name, model in needs.items():
        metric_class = resolve_name(read_config(find_config(name))["_target_"]).__self__  # a class method makes it
        said = f"Not audited: it needs {model}."
        write_page(folder / f"{name}.md", [f"# {name}", inspect.getdoc(metric_class) or "", said])
    rows = [{"metric": name, "needs": model} for name, model in needs.items()]
    described = Table("Not audited", "Metrics that need a model that is not available here.", rows)
    parts = ["# Metric cards", "What each metric of this repository reacts to."]
    if any(audit.rated.synthetic for audit in audits.metrics.values()):
        parts.append(SYNTHETIC)
    for table in (summary_table(audits.metrics), described):
        parts += [f"## {table.title}", table.caption, table.to_markdown(linked="metric").rstrip()]
    write_page(folder / "README.md", parts)


def write_card(path: Path, audit: MetricAudit) -> None:
    """Writes the card of an audited metric."""
    needs = " and ".join(f"`{field}`" for field in audit.metric.requires) or "nothing"
    texts = "synthetic texts" if audit.rated.synthetic else "texts"
    parts = [
        f"# {audit.name}",
        inspect.getdoc(type(audit.metric)) or "",
        f"Needs beside the text: {needs}. Cost: {audit.cost:.2g} seconds per text where the card was made.",
        "\n".join(f"- {markdown_text(note)}" for note in (*audit.said, audit.conclusion)),
        f"## Audit on {audit.n} {texts} ({audit.rated.name}), seed {audit.settings.seed}",
    ]
    if audit.rated.synthetic:
        parts.append(SYNTHETIC)
    parts.append(f"`{audit.signature}`")
    for table in audit.tables:
        parts += [f"### {table.title}", table.caption, table.to_markdown().rstrip()]
    write_page(path, parts)


def write_page(path: Path, parts: Sequence[str]) -> None:
    """Writes the parts of a Markdown page."""
    with open_atomically(path) as file:
        file.write("\n\n".join(parts) + "\n")
