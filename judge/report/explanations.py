"""Explanations: what stands behind a score as lines of text, whose pieces are coloured by what they add."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from judge.wording import shorten

LONGEST = 800  # characters of one piece
PIECES = 300  # of one example
MASKS = re.compile(r"<extra_id_\d+>|<mask(_\d+)?>|\[MASK\]")  # how models mark a gap
GAP = "____"  # how readers do
Part: TypeAlias = tuple[str, float]  # a text and its number


@dataclass(frozen=True)
class Piece:
    """A piece of a text."""

    text: str
    # its number, shown on hovering; None for plain text
    value: float | None = None
    # its colour, from -1 (speaks against the text) to 1 (speaks for it); None for plain text
    shade: float | None = None


@dataclass(frozen=True)
class Line:
    """A turn, a pattern or a reference: what it is, and its pieces."""

    label: str
    pieces: tuple[Piece, ...]


def read_explanation(explanation: Mapping[str, Any], aspect: str) -> list[Line]:
    """The explanation of one example as lines; of a metric with several aspects those of `aspect`, if it has it."""
    match explanation:
        case {"turns": turns}:  # Discriminative CDM: every token has its momentum
            lines = _shade(
                (f"turn {each['turn'] + 1}: {each['momentum']:.3f}", [(text or "⏎", v) for text, v in each["tokens"]])
                for each in turns
            )
        case {"reference": _, "ratios": rows}:  # MARS: every augmented reference has a cosine with the text
            label = "ratio {ratio:g}, cosine {cosine:.3f}, weight {weight:.3f}"
            lines = _shade((label.format(**each), [(each["text"], each["cosine"])]) for each in rows)
        case {"parts": parts}:  # discriminators and Generative CDM: every sentence or turn adds to the score
            lines = _shade(((f"adds {value:.3f}", [(text, value)]) for text, value in parts), center=0.0)
        case {"guided": tokens}:  # a steered text: guidance moved the log-probability of every token
            lines = _shade([("likelier (blue) or less likely (orange) by guidance", tokens)], center=0.0)
        case _:
            chosen = {aspect: explanation[aspect]} if aspect in explanation else explanation
            lines = [line for name, each in chosen.items() for line in _read_aspect(name, each)]
    return _shorten(lines)


def _read_aspect(aspect: str, explained: Any) -> list[Line]:
    match explained:
        case {"evaluators": evaluators}:  # CTRLEval: every pattern has a score for the text in its gap
            lines = _shade(
                (
                    f"score {each['score']:.3f}, weight {each['weight']:.3f}",
                    [(each.get("target") or ", ".join(each["words"]), each["score"])],
                )
                for each in evaluators
            )
            around = [each["source"] if "source" in each else each["prompt"] for each in evaluators]
            return [
                Line(line.label, (*line.pieces, *([Piece(f" in {MASKS.sub(GAP, text)}")] if text else [])))
                for line, text in zip(lines, around, strict=True)
            ]
        case {"answer": answer, "tokens": tokens}:  # an LLM as judge
            return [Line(f"{aspect}, answer of {tokens} tokens with its question", (Piece(str(answer)),))]
        case [[str(), float()], *_]:  # UniEval: every turn has a probability of a yes
            return _shade((f"{aspect} {value:.3f}", [(text, value)]) for text, value in explained)
        case _:
            return [Line(aspect, (Piece(json.dumps(explained, ensure_ascii=False, default=str)),))]


def _shade(lines: Iterable[tuple[str, Sequence[Part]]], center: float | None = None) -> list[Line]:
    """Lines whose pieces are shaded by the distance from `center`, or from the mean of all numbers."""
    found = [(label, [(str(text), float(value)) for text, value in parts]) for label, parts in lines]
    values = [value for _, parts in found for _, value in parts]
    middle = center if center is not None else sum(values) / max(len(values), 1)
    farthest = max((abs(value - middle) for value in values), default=0.0) or 1.0
    return [Line(label, tuple(Piece(t, v, (v - middle) / farthest) for t, v in parts)) for label, parts in found]


def _shorten(lines: Sequence[Line]) -> list[Line]:
    """The first pieces, each with the beginning of its text."""
    found, left = [], PIECES
    for line in lines:
        pieces = [Piece(shorten(each.text, LONGEST), each.value, each.shade) for each in line.pieces[:left]]
        cut = [Piece("…")] if left < len(line.pieces) else []
        found.append(Line(line.label, (*pieces, *cut)))
        left -= len(pieces)
        if left <= 0:
            break
    return found
