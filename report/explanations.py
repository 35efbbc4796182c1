"""Explanations of scores as lines of text, whose pieces are coloured by their contributions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from report.wording import shorten

LONGEST = 800  # characters of one piece
PIECES = 300  # of one example
Part: TypeAlias = tuple[str, float]  # a text and its number
UnshadedLine: TypeAlias = tuple[str, Sequence[Part]]  # its label, and its parts


@dataclass(frozen=True)
class Piece:
    """A piece of a text, and what it contributes to the score."""

    text: str
    # its number, shown on hovering; None for plain text
    value: float | None = None
    # its colour, from -1 (speaks against the text) to 1 (speaks for it); None for plain text
    shade: float | None = None


@dataclass(frozen=True)
class Line:
    """One line of an explanation, for a turn, a pattern or a reference: its label and its pieces."""

    label: str
    pieces: tuple[Piece, ...]


def read_explanation(explanation: Mapping[str, Any], aspect: str) -> list[Line]:
    """Converts the explanation of one example to lines.

    Of a metric with several aspects, only `aspect` is explained.
    """
    match explanation:
        case {"turns": turns}:  # Discriminative CDM: every token has its momentum
            lines = _shade([_read_turn(turn) for turn in turns])
        case {"reference": _, "ratios": rows}:  # MARS: every augmented reference has a cosine with the text
            lines = _shade([_read_reference(row) for row in rows])
        case {"parts": parts}:  # discriminators and Generative CDM: every sentence or turn adds to the score
            lines = _shade([(f"adds {value:.3f}", [(text, value)]) for text, value in parts], center=0.0)
        case {"guided": tokens}:  # a steered text: guidance moved the log-probability of every token
            label = "likelier (blue) or less likely (orange) by guidance"
            lines = _shade([(label, tokens)], center=0.0)
        case _ if aspect in explanation:
            lines = _read_aspect(aspect, explanation[aspect])
        case _:
            lines = []
            for name, explained in explanation.items():
                lines += _read_aspect(name, explained)
    return _shorten(lines)


def _read_turn(turn: Mapping[str, Any]) -> UnshadedLine:
    """A turn with its momentum, and its tokens with theirs; a token without text is a line break."""
    number = turn["turn"] + 1
    label = f"turn {number}: {turn['momentum']:.3f}"
    tokens = [(text or "⏎", momentum) for text, momentum in turn["tokens"]]
    return label, tokens


def _read_reference(row: Mapping[str, Any]) -> UnshadedLine:
    """An augmented reference with its ratio of masks, its cosine and its weight."""
    label = "ratio {ratio:g}, cosine {cosine:.3f}, weight {weight:.3f}"
    part = (row["text"], row["cosine"])
    return label.format(**row), [part]


def _read_aspect(aspect: str, explained: Any) -> list[Line]:
    match explained:
        case {"evaluators": evaluators}:  # CTRLEval: every pattern has a score for the text in its gap
            scored = [_read_evaluator(evaluator) for evaluator in evaluators]
            lines = _shade(scored)
            return [_show_gap(line, evaluator) for line, evaluator in zip(lines, evaluators, strict=True)]
        case {"answer": answer, "tokens": tokens}:  # an LLM as judge
            label = f"{aspect}, answer of {tokens} tokens with its question"
            return [_plain_line(label, str(answer))]
        case [[str(), float()], *_]:  # UniEval: every turn has a probability of a yes
            turns = [(f"{aspect} {value:.3f}", [(text, value)]) for text, value in explained]
            return _shade(turns)
        case _:
            written = json.dumps(explained, ensure_ascii=False, default=str)
            return [_plain_line(aspect, written)]


def _plain_line(label: str, text: str) -> Line:
    piece = Piece(text)
    return Line(label, (piece,))


def _read_evaluator(evaluator: Mapping[str, Any]) -> UnshadedLine:
    """A pattern evaluator with its score and weight, and what stands in its gap."""
    target = evaluator.get("target") or ", ".join(evaluator["words"])
    score = evaluator["score"]
    weight = evaluator["weight"]
    return f"score {score:.3f}, weight {weight:.3f}", [(target, score)]


def _show_gap(line: Line, evaluator: Mapping[str, Any]) -> Line:
    """The line of an evaluator with the text around its gap, where there is one."""
    around = evaluator["source"] if "source" in evaluator else evaluator["prompt"]
    if not around:
        return line
    return Line(line.label, (*line.pieces, Piece(f" in {around}")))


def _shade(lines: Sequence[UnshadedLine], center: float | None = None) -> list[Line]:
    """Lines whose pieces are shaded by the distance from `center`, or from the mean of all numbers."""
    values = [float(value) for _, parts in lines for _, value in parts]
    middle = center
    if middle is None:
        middle = sum(values) / max(len(values), 1)
    distances = [abs(value - middle) for value in values]
    farthest = max(distances, default=0.0) or 1.0

    def shade(part: Part) -> Piece:
        text, value = part
        number = float(value)
        return Piece(str(text), value=number, shade=(number - middle) / farthest)

    return [Line(label, tuple(map(shade, parts))) for label, parts in lines]


def _shorten(lines: Sequence[Line]) -> list[Line]:
    """The first pieces, each with the beginning of its text."""
    shortened: list[Line] = []
    left = PIECES
    for line in lines:
        pieces: list[Piece] = []
        for piece in line.pieces[:left]:
            text = shorten(piece.text, LONGEST)
            pieces.append(replace(piece, text=text))
        left -= len(pieces)
        if len(pieces) < len(line.pieces):
            pieces.append(Piece("…"))
        shortened.append(Line(line.label, tuple(pieces)))
        if left <= 0:
            break
    return shortened
