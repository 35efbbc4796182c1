"""What the page shows: coloured tokens, and pieces of HTML in which everything is escaped."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from experiments.demo.judging import Judgement
from experiments.demo.steering import SideBySide
from experiments.steering.tables import name_shade
from oumg.generation import WrittenToken

SHOWN = 16  # candidates in the table of a token
FRAGMENTS = Path(__file__).with_name("fragments.html.jinja")
ABOVE, BELOW = (120, 190, 240), (250, 170, 100)  # blue and orange, which colour-blind people tell apart

_fragments = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
_fragments.filters["mix"] = lambda share: mix(share)
_pieces = _fragments.from_string(FRAGMENTS.read_text(encoding="utf-8")).make_module()


def highlight(prompt: str, tokens: Sequence[WrittenToken]) -> list[tuple[str, str | None]]:
    """The prompt and each token with the name of its shade, for a HighlightedText."""
    return [(prompt, None), *((token.text, name_shade(token.moved)) for token in tokens)]


def show_candidates(found: SideBySide, side: str, place: int, label: str) -> str:
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
        }
        for i, each in enumerate(token.candidates)
    ]
    rows.sort(key=lambda row: -row["after"])
    kept = [row for i, row in enumerate(rows) if i < SHOWN or row["chosen"]]
    return _pieces.candidates(place, token.text, label, kept)  # pyright: ignore[reportAttributeAccessIssue]


def show_judgements(found: Sequence[Judgement], before: Mapping[str, float]) -> str:
    """The scores with their change since the scores in `before`, and the explanations."""
    rows: list[dict[str, Any]] = []
    for each in found:
        moved = 0.0 if each.score is None else each.score - before.get(each.metric, each.score)
        change = f"{moved:+.3f}" if each.metric in before else ""
        rows.append(
            {"metric": each.metric, "score": each.score, "reason": each.reason, "change": change}
            | {"direction": "up" if moved > 0 else "down" if moved < 0 else ""}
            | {"lines": each.lines}
        )
    return _pieces.judgements(rows)  # pyright: ignore[reportAttributeAccessIssue]


def mix(share: float) -> str:
    """White at 0, blue at 1 and orange at -1, as CSS.

    >>> mix(0.0), mix(1.0), mix(-0.5)
    ('rgb(255, 255, 255)', 'rgb(120, 190, 240)', 'rgb(252, 212, 178)')
    """
    end = ABOVE if share > 0 else BELOW
    return f"rgb({', '.join(str(round(255 + (colour - 255) * abs(share))) for colour in end)})"
