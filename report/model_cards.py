"""Model cards: README.md in a model's folder, in the form of the Hugging Face hub, so that the folder can be shared.

A card says what the model is, what it learned under which licence, its settings, and how well it agrees with people
if that was measured. The card is not part of what identifies the model (`models.loading.DESCRIBING`).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from report.agreement_tables import AGREEMENT, AGREEMENT_CELLS
from report.study import SavedModel, Study
from report.tables import Table

CARD = "README.md"
PACKAGE = "judging-generated-text"
IDENTIFIERS = {
    "MIT": "mit",
    "Apache-2.0": "apache-2.0",
    "GPL-3.0": "gpl-3.0",
    "CC BY-SA 4.0": "cc-by-sa-4.0",
}
AGREEMENT_COLUMNS = AGREEMENT_CELLS[:10]  # without counts
# what a model of this project is, by a file of its folder
KINDS = {
    "discriminator.json": "A classifier of texts: a higher logit means human or good, or the label that it names.",
    "guide.json": "A guide: it classifies prefixes to steer a generator; a higher logit means more of its attribute.",
    "pooler.json": "A pooler: logistic regression on CDM's momentum over a dialogue; a higher logit is better.",
}
# the hub's words for what a language model does, by the end of its class
TASKS = {"ForConditionalGeneration": "text2text-generation", "ForMaskedLM": "fill-mask"}


def write_cards(outcome: Study, run: Mapping[str, Any], folder: Path) -> None:
    """Writes a card into the folder of each model in `models/`. `run` is the content of results.json."""
    for name in outcome.models:
        place = folder / "models" / name
        kind = find_kind(place)
        if kind is not None:
            (place / CARD).unlink(missing_ok=True)  # it may be a link to a file of the kept stage
            (place / CARD).write_text(write_card(name, place, kind, outcome, run), encoding="utf-8")


class Kind(NamedTuple):
    """A kind of model, in the hub's terms and in a sentence."""

    library: str
    task: str
    sentence: str


def find_kind(place: Path) -> Kind | None:
    """Finds the kind of model in a folder; None for a folder without a model (word frequencies)."""
    for file, sentence in KINDS.items():
        if (place / file).is_file():
            return Kind(PACKAGE, "text-classification", sentence)
    config = read_json(place / "config.json")
    if config is None:
        return None
    (architecture,) = config.get("architectures") or ["AutoModel"]
    task = next((task for end, task in TASKS.items() if architecture.endswith(end)), "text-generation")
    return Kind("transformers", task, f"A language model ({architecture}).")


def write_card(
    name: str,
    place: Path,
    kind: Kind,
    outcome: Study,
    run: Mapping[str, Any],
) -> str:
    """Writes the text of the card of the model in the folder `place`."""
    depends = read_json(place / "depends.json")
    model = outcome.models[name]
    parts = [
        format_head(kind, model.licence, is_synthetic=run["synthetic"]),
        f"# {name}",
        kind.sentence,
        f"Trained by the experiment `{run['experiment']}` of {PACKAGE}, seed {run['seed']}.",
        "## Training texts",
        describe_data(model, is_synthetic=run["synthetic"]),
        *list_settings(depends),
        *list_agreement(outcome.tables, model.metrics),
    ]
    return "\n\n".join(parts) + "\n"


def format_head(kind: Kind, licence: str, is_synthetic: bool) -> str:
    """Writes the head of a card in YAML. On the hub, a licence without an identifier is `other` with a name."""
    lines = [f"library_name: {kind.library}", f"pipeline_tag: {kind.task}"]
    if not licence:
        lines.append("license: unknown")
    elif licence in IDENTIFIERS:
        lines.append(f"license: {IDENTIFIERS[licence]}")
    else:
        lines += ["license: other", f"license_name: {json.dumps(licence)}"]
    lines += ["tags:", f"- {PACKAGE}"]
    if is_synthetic:
        lines.append("- synthetic")
    return "\n".join(["---", *lines, "---"])


def describe_data(model: SavedModel, is_synthetic: bool) -> str:
    """Describes the texts that the model learned, and their licence."""
    named = f"`{model.corpus}`" if model.corpus else "The texts of the run"
    if is_synthetic:
        return f"{named}: synthetic text by generators of this project. The scores are no judgement of real text."
    if model.licence:
        return f"{named}. Licence of the texts: {model.licence}."
    return f"{named}. Their licence is not known here: state it before you share the model."


def list_settings(depends: Any) -> Iterator[str]:
    """Yields lines with the settings of the training, from the kept stage."""
    plan = depends.get("plan") if isinstance(depends, dict) else None
    if plan is None:
        return
    kept = ("plan", "trainer", "seed")
    settings = {key: depends[key] for key in kept if key in depends}
    yield "## Settings"
    yield f"```json\n{json.dumps(settings, indent=2, ensure_ascii=False)}\n```"


def list_agreement(tables: Sequence[Table], metrics: Sequence[str]) -> Iterator[str]:
    """Yields lines with the agreement with ratings of the metrics that score with this model."""
    agreements = [row for table in tables if table.key == AGREEMENT for row in table.rows]
    rows: list[dict[str, Any]] = []
    for row in agreements:
        if row["metric"] in metrics:
            rows.append({name: row[name] for name in AGREEMENT_COLUMNS if name in row})
    if rows:
        yield "## Agreement with ratings"
        yield Table("", "", rows).to_markdown().rstrip()
        yield "Correlations with the ratings of each set, with their intervals; higher is better."


def read_json(file: Path) -> Any:
    """Reads a JSON file; None if the file is missing."""
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
