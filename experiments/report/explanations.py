"""Explanations: what stands behind a score as lines of text, whose pieces are coloured by what they add."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge.tables import shorten

LONGEST = 800  # characters of one piece
PIECES = 300  # of one example
MASKS = re.compile(r"<extra_id_\d+>|<mask(_\d+)?>|\[MASK\]")  # how models mark a gap
GAP = "____"  # how readers do


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
        case {"turns": turns}:
            found = _turns(turns)
        case {"reference": _, "ratios": ratios}:
            found = _references(ratios)
        case {"parts": parts}:
            found = _parts(parts)
        case _:  # by aspect
            chosen = {aspect: explanation[aspect]} if aspect in explanation else explanation
            found = [line for name, each in chosen.items() for line in _lines_of_aspect(name, each)]
    return _shorten(found)


def _lines_of_aspect(aspect: str, explained: Any) -> list[Line]:
    """CTRLEval: every pattern. An LLM as judge: its answer. UniEval: every turn with its probability of a yes."""
    match explained:
        case {"evaluators": evaluators}:
            return _patterns(evaluators)
        case {"answer": answer, "tokens": tokens}:
            return [Line(f"{aspect}, answer of {tokens} tokens with its question", (Piece(str(answer)),))]
        case [[str(), float()], *_]:
            turns = _shade(explained)
            return [Line(f"{aspect} {turn.value:.3f}", (turn,)) for turn in turns]
        case _:
            return [Line(aspect, (Piece(json.dumps(explained, ensure_ascii=False, default=str)),))]


def _parts(parts: Sequence[Sequence[Any]]) -> list[Line]:
    """Discriminators and Generative CDM: every sentence or turn adds to the score."""
    return [Line(f"adds {part.value:.3f}", (part,)) for part in _shade(parts, center=0.0)]


def _turns(turns: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Discriminative CDM: every token has its momentum."""
    tokens = _shade([(text or "⏎", value) for turn in turns for text, value in turn["tokens"]])
    left = iter(tokens)
    return [
        Line(f"turn {turn['turn'] + 1}: {turn['momentum']:.3f}", tuple(next(left) for _ in turn["tokens"]))
        for turn in turns
    ]


def _patterns(evaluators: Sequence[Mapping[str, Any]]) -> list[Line]:
    """CTRLEval: every pattern has a score for the text in its gap."""
    targets = _shade([(each.get("target") or ", ".join(each["words"]), each["score"]) for each in evaluators])
    around = [each["source"] if "source" in each else each["prompt"] for each in evaluators]
    return [
        Line(
            f"score {each['score']:.3f}, weight {each['weight']:.3f}",
            (target, Piece(f" in {MASKS.sub(GAP, text)}")) if text else (target,),
        )
        for each, target, text in zip(evaluators, targets, around, strict=True)
    ]


def _references(ratios: Sequence[Mapping[str, Any]]) -> list[Line]:
    """MARS: every augmented reference has a cosine with the text."""
    texts = _shade([(each["text"], each["cosine"]) for each in ratios])
    return [
        Line(f"ratio {each['ratio']:g}, cosine {each['cosine']:.3f}, weight {each['weight']:.3f}", (text,))
        for each, text in zip(ratios, texts, strict=True)
    ]


def _shade(parts: Iterable[Sequence[Any]], center: float | None = None) -> tuple[Piece, ...]:
    """Pieces from pairs of text and number, shaded by the distance from `center`, or from the mean of the numbers."""
    pairs = [(str(text), float(value)) for text, value in parts]
    middle = center if center is not None else sum(value for _, value in pairs) / max(len(pairs), 1)
    farthest = max((abs(value - middle) for _, value in pairs), default=0.0) or 1.0
    return tuple(Piece(text, value, (value - middle) / farthest) for text, value in pairs)


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
