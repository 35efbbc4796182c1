"""Gaps at the tokens that AMR graphs of a dialogue relate: AMR-Multi (CDM, section 4.1.1, after DEAM).

AMR graphs (abstract meaning representation) come from a file in PENMAN notation with alignments to tokens, as AMR
parsers write it, and are read by the library penman (the extra `amr`). Blank lines separate the graphs:

    # ::tok The boy wants to sing .
    (w / want-01~e.2 :ARG0 (b / boy~e.1) :ARG1 (s / sing-01~e.4 :ARG0 b))

A sentence and its graph are matched by their letters, so tokenizers may differ. Known to be missing: variables that
stand for an earlier concept (`:ARG0 b`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from cdm.segments import LONGEST_SEGMENT, Gap, Pieces, Span
from core.errors import InputError, fault
from core.extras import suggest_extra
from data.text_files import read_text

if TYPE_CHECKING:
    from penman import Graph


def letters(text: str) -> str:
    """Returns the ASCII letters and digits of a text in lower case, which all tokenizers write alike.

    >>> letters("Ġdon't ▁Worry!")
    'dontworry'
    """
    return "".join(c for c in text.lower() if c.isascii() and c.isalnum())


def related_tokens(graph: Graph) -> Iterator[Span]:
    """Yields for each aligned concept or value of a graph the span of tokens [start, stop) from it to its parent."""
    from penman.layout import Push
    from penman.surface import alignments

    tokens = {triple: alignment.indices[0] for triple, alignment in alignments(graph).items()}
    concepts = {variable: token for (variable, role, _), token in tokens.items() if role == ":instance"}
    parents: dict[str, str] = {}
    for (source, _, target), marks in graph.epidata.items():
        for mark in marks:
            if isinstance(mark, Push):  # here the notation opens the concept below
                parents[mark.variable] = source if mark.variable == target else str(target)
    for (variable, role, _), token in tokens.items():
        parent = parents.get(variable, "") if role == ":instance" else variable
        other = concepts.get(parent, token)
        yield min(token, other), max(token, other) + 1


def _align(graph: Graph) -> tuple[str, list[Span]]:
    """The letters of a graph's sentence, and the spans of related tokens as positions in them."""
    tokens = [letters(token) for token in graph.metadata.get("tok", "").split()]
    related = list(related_tokens(graph))
    needed = max((stop for _, stop in related), default=1)
    if len(tokens) < needed:
        raise ValueError(f"a graph needs a line # ::tok with its {needed} or more tokens, found {len(tokens)}")
    ends = [0, *accumulate(map(len, tokens))]
    return "".join(tokens), [(ends[start], ends[stop]) for start, stop in related]


@dataclass(frozen=True)
class Graphs:
    """The spans of related tokens of each sentence, keyed by the letters of the sentence."""

    # of letters, by the letters of the sentence
    spans: Mapping[str, Sequence[Span]]

    @classmethod
    def read(cls, path: Path) -> Graphs:
        """Reads a file of graphs.

        Raises InputError for graphs that are not in PENMAN notation or lack their tokens, and for alignments to tokens
        that do not exist; SettingError where penman is not installed.
        """
        with suggest_extra():
            from penman import DecodeError, decode
        spans: dict[str, list[Span]] = {}
        faults: list[str] = []
        line = 1
        for block in re.split(r"(\n\s*\n)", read_text(path)):
            if "(" in block:
                try:
                    sentence, related = _align(decode(block))
                    spans[sentence] = related
                except DecodeError as error:
                    faults.append(fault(path, line + (error.lineno or 1) - 1, f"no AMR graph: {error.message}"))
                except ValueError as error:
                    faults.append(fault(path, line, str(error)))
            line += block.count("\n")
        if faults:
            raise InputError(faults)
        return cls(spans)

    @cached_property
    def lengths(self) -> list[int]:
        """The distinct lengths of the sentences, in letters, the longest first."""
        return sorted({len(sentence) for sentence in self.spans if sentence}, reverse=True)

    def places(self, turn: str) -> list[Span]:
        """Returns the spans of related tokens in a turn, as positions in its letters; only known sentences have spans.

        >>> Graphs({"hi": [], "iask": [(1, 4)]}).places("hiiask")
        [(3, 6)]
        """
        places: list[Span] = []
        at = 0
        while at < len(turn):
            length = next((n for n in self.lengths if turn[at : at + n] in self.spans), 0)
            spans = self.spans.get(turn[at : at + length], ())
            places += [(at + start, at + stop) for start, stop in spans]
            at += max(length, 1)
        return places


def draw_amr_gap(
    turns: Pieces,
    rng: random.Random,
    prompt_turns: int = 0,
    *,
    graphs: Graphs,
) -> Gap | None:
    """Draws a span of at most `LONGEST_SEGMENT` tokens that a sentence's graph relates; None if there is no such span.

    The first `prompt_turns` turns have no gap.

    >>> graphs = Graphs({"ilikevermont": [(1, 12)]})
    >>> draw_amr_gap([["hi"], ["I", "Ġlike", "ĠVer", "mont", "."]], random.Random(0), graphs=graphs)
    Gap(turn=1, start=1, stop=4)
    """
    gaps: list[Gap] = []
    for t, turn in list(enumerate(turns))[prompt_turns:]:
        ends = [0, *accumulate(len(letters(token)) for token in turn)]
        for start, stop in graphs.places(letters("".join(turn))):
            inside = [i for i in range(len(turn)) if ends[i] < stop and ends[i + 1] > start]
            if inside and inside[-1] + 1 - inside[0] <= LONGEST_SEGMENT:
                gaps.append(Gap(t, inside[0], inside[-1] + 1))
    return rng.choice(gaps) if gaps else None
