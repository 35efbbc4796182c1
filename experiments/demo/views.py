"""What the page shows: coloured tokens, and pieces of HTML in which everything is escaped."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from core.example import Example
from experiments.demo.judging import NOTHING, Judged, Judgement
from experiments.demo.legend import Legend, describe_metric, describe_models
from experiments.demo.settings import DemoModels
from experiments.report.page import axis
from judge.comparing import SystemsCompared
from judge.comparing_tables import describe_order, find_pair
from judge.steering import SteeredText, name_shade
from judge.tables import format_cell, shorten, to_html
from oumg.generation import WrittenToken

SHOWN = 10  # candidates in the table of a token
BEGINNING = 60  # characters of a text, by which it is named
VISIBLE = 0.0005  # smaller changes are shown as 0
UNKNOWN = Legend(scale="")  # of scores that a file has
FRAGMENTS = Path(__file__).with_name("fragments.html.jinja")
ABOVE, BELOW = (120, 190, 240), (250, 170, 100)  # blue and orange, which colour-blind people tell apart

_fragments = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
_fragments.filters |= {"mix": lambda share: mix(share), "cell": format_cell}
_pieces: Any = _fragments.from_string(FRAGMENTS.read_text(encoding="utf-8")).make_module()


def highlight(prompt: str, tokens: Sequence[WrittenToken]) -> list[tuple[str, str | None]]:
    """The prompt and each token with the name of its shade, for a HighlightedText."""
    return [(prompt, None), *((token.text, name_shade(token.moved)) for token in tokens)]


def introduce(models: DemoModels, docs: str | None) -> str:
    """What the page is for, what its models are, and where the documentation is."""
    legends = [(name, describe_metric(metric)) for name, metric in models.metrics.items()]
    return _pieces.introduction("; ".join(models.notes), docs, describe_models(Path(models.folder)), legends)


def show_candidates(found: SteeredText, side: str, place: int, label: str) -> str:
    """The candidates of a token by their probability after guidance; nothing for the prompt, which has the place 0."""
    tokens = getattr(found, side)
    if not 1 <= place <= len(tokens):
        return ""
    token = tokens[place - 1]
    rows = [
        {
            "text": each.text,
            "before": each.before,
            "after": each.after,
            "attribute": each.attribute,
            "chosen": i == token.chosen,
            "change": f"×{each.after / each.before:.2f}" if each.before > 0 else "–",
            "direction": name_direction(each.after - each.before),
        }
        for i, each in enumerate(token.candidates)
    ]
    rows.sort(key=lambda row: -row["after"])
    kept = [row for i, row in enumerate(rows) if i < SHOWN or row["chosen"]]
    return _pieces.candidates(place, token.text.strip(), label, explain_change(token, label), kept)


def explain_change(token: WrittenToken, label: str) -> str:
    """Why guidance made the written candidate likelier or less likely, as a sentence."""
    written = token.candidates[token.chosen]
    if written.attribute is None:
        return "No guidance: each candidate keeps its probability."
    place = 1 + sum((each.attribute or 0) > written.attribute for each in token.candidates)
    moved = "likelier" if written.after > written.before else "less likely"
    return (
        f"Guidance made “{written.text.strip()}” {moved}, {written.before:.3f} → {written.after:.3f}. With it the guide"
        f" finds the text {written.attribute:.0%} {label}: place {place} of {len(token.candidates)} candidates. The"
        " first place is raised most and the last not at all; then all are scaled to the sum 1, so that one in between"
        " may fall."
    )


def show_judgements(found: Sequence[Judgement], example: Example, before: Judged = NOTHING) -> str:
    """The scores of an example with their explanations, and with their changes where it is an edit of `before`."""
    changes = before.changes(example, found)
    rows: list[dict[str, Any]] = []
    for each in found:
        moved = changes.get(each.metric, 0.0)
        change = f"{round(moved, 3) + 0.0:+.3f}" if each.metric in changes else ""
        rows.append({**vars(each), "change": change, "direction": name_direction(moved)})
    edited = shorten(" ".join(before.example.full_text.split()), BEGINNING) if before.example and changes else ""
    notes = dict.fromkeys(note for each in found for note in each.notes)
    return _pieces.judgements(rows, edited, list(notes))


def show_comparison(found: SystemsCompared, legends: Mapping[str, Legend]) -> str:
    """Means with intervals, inputs won and lost with their texts, notes, and all tables; each metric has its legend."""
    sections = [{**compare_best(found, metric), "scale": legends.get(metric, UNKNOWN).scale} for metric in found.means]
    return _pieces.comparison(sections, Markup(to_html(found.tables)), found.notes)


def compare_best(found: SystemsCompared, metric: str) -> dict[str, Any]:
    """What a metric says of all systems, and of the best one against the next."""
    ranked, pairs = found.means[metric], found.pairs[metric]
    best, following, pair, sign = find_pair(ranked, pairs)
    wins, losses = (pair.wins, pair.losses)[::sign]
    inputs: dict[str, list[dict[str, Any]]] = {best: [], following: []}
    for each in found.largest:
        if each.metric == metric:
            texts = list(zip(each.systems, each.texts, strict=True))
            inputs[each.better].append({"input": each.input, "difference": each.difference, "texts": texts})
    return {
        "metric": metric,
        "said": describe_order(ranked, pairs, found.level),
        "means": [(each.system, each.mean) for each in ranked],
        "place": axis(each.mean for each in ranked),
        "best": best,
        "next": following,
        "counts": [("won", wins), ("tied", pair.ties), ("lost", losses)],
        "inputs": [(f"Inputs that {name} wins most clearly", inputs[name]) for name in (best, following)],
    }


def name_direction(moved: float) -> str:
    """The class of a number that rose or fell, as far as it is shown.

    >>> name_direction(0.5), name_direction(-0.5), name_direction(-0.0001)
    ('up', 'down', '')
    """
    return "up" if moved >= VISIBLE else "down" if moved <= -VISIBLE else ""


def mix(share: float) -> str:
    """White at 0, blue at 1 and orange at -1, as CSS.

    >>> mix(0.0), mix(1.0), mix(-0.5)
    ('rgb(255, 255, 255)', 'rgb(120, 190, 240)', 'rgb(252, 212, 178)')
    """
    end = ABOVE if share > 0 else BELOW
    return f"rgb({', '.join(str(round(255 + (colour - 255) * abs(share))) for colour in end)})"
