"""Verdicts: what a chat model's answer says, a rating, a yes or no, or the better of two texts.

The grammar is small, so that what an answer quotes is not taken for what it says:

1. an answer that is a JSON object, maybe in a fence, with one verdict under a label (`{"rating": 4}`);
2. else its last line, where that is a verdict alone (`4`), under a label (`Rating: 4`, `[RESULT] 4`) or in double
   brackets (`[[4]]`), or ends with a sentence that is one of the last two;
3. else its first line, where that is such a line as a whole.

Reasoning, quoted lines (`> 5`) and fences are no part of it. An answer that begins with one verdict and gives another
one later, also inside quotes, is ambiguous and has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

Form = Literal["number", "letter", "word"]
Lack = Literal["no", "more than one"]  # how many verdicts an answer without a verdict gives

# What a verdict stands under, in English and Chinese, the languages of our questions and texts.
LABELS = (
    *("rating", "score", "grade", "result", "answer", "verdict", "choice", "winner", "preference"),
    *("评分", "得分", "答案", "选择"),
)
IS_YES = {
    **dict.fromkeys(("yes", "true", "是", "是的"), 1.0),
    **dict.fromkeys(("no", "false", "否", "不", "不是"), 0.0),
}
CHOICES = {"a": 1.0, "b": 0.0, "c": 0.5, "tie": 0.5, "a tie": 0.5}
S = " {0,9}"  # bounded, so that no answer takes long
VALUES: dict[Form, str] = {
    "number": rf"(?P<value>\d{{1,6}}(?:[.,]\d{{1,6}})?)(?:{S}(?:/|out of){S}(?P<most>\d{{1,6}}))?",
    "letter": r"(?:text )?(?P<value>(?:a )?tie|[abc])",
    "word": f"(?P<value>{'|'.join(sorted(IS_YES, key=len, reverse=True))})",
}
OPEN = rf'(?:\\boxed)?[\[({{"]{{0,2}}{S}'
CLOSE = rf'{S}[\])}}"]{{0,2}}{S}[.!。]?'
THOUGHT = re.compile(r"<(?P<end>/?)(?:think|thinking|thought|reasoning|analysis)>|<\|message\|>", re.I)
MARKUP = dict.fromkeys(map(ord, "*`#$\t\xa0\u3000"), " ")
WIDE = {0xFF01 + i: chr(0x21 + i) for i in range(94)}  # letters and signs as wide as Chinese ones
PLAIN = {**MARKUP, **WIDE, ord("\r"): " "}  # a character for a character, so that places stay
FENCE, QUOTE = "```", ">"


def _schema(name: str, **kind: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: kind}, "required": [name], "additionalProperties": False}


SCHEMAS: dict[Form, dict[str, Any]] = {  # of answers that are a verdict alone, where an endpoint takes them
    "number": _schema("rating", type="integer"),  # not every endpoint takes its limits; beyond them it is unread
    "letter": _schema("choice", type="string", enum=["A", "B", "C"]),
    "word": _schema("answer", type="string", enum=["yes", "no"]),
}


@dataclass(frozen=True)
class Verdict:
    """What an answer says."""

    # a number of the scale; yes is 1 and no 0; A is 1, B 0, and a tie .5
    value: float
    # where in the answer its number, letter or word begins; None in JSON that has the label twice
    place: int | None


@dataclass(frozen=True)
class _Line:
    text: str
    start: int  # its place in the answer


@dataclass(frozen=True)
class _Grammar:
    """The patterns of a form of verdicts; none needs more than linear time."""

    labels: frozenset[str]
    value: re.Pattern[str]
    line: re.Pattern[str]  # a line that is a verdict as a whole
    ending: re.Pattern[str]  # the last sentence of a line, after another one
    mention: re.Pattern[str]  # a verdict under a label or in double brackets, anywhere


@lru_cache
def _grammar(form: Form, label: str) -> _Grammar:
    labels = {each.casefold() for each in (*LABELS, label) if each}
    value = VALUES[form]
    named = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    under = rf"(?:(?:my |the |final |overall ){{0,3}}(?:{named}){S}:{S}|\[(?:{named})\]{S})"
    marked = rf"(?:{under}|(?=\[\[)){OPEN}{value}"
    return _Grammar(
        labels=frozenset(labels),
        value=re.compile(rf"{OPEN}{value}{CLOSE}", re.I),
        line=re.compile(rf"(?:[-•]{S} )?{under}?{OPEN}{value}{CLOSE}", re.I),
        ending=re.compile(rf"[.!?。]{S}{marked}{CLOSE}$", re.I),
        mention=re.compile(rf"{marked}(?!\w)", re.I),
    )


def read_verdict(
    answer: str, form: Form, scale: tuple[int, int] = (0, 1), label: str = "", is_cut: bool = False
) -> Verdict | Lack:
    """The verdict of an answer, or how many it gives where it has none.

    A number lies on the scale. `label` is a further label, such as the name of what was asked about. Of an answer that
    was cut before its end only the first line counts.

    >>> read_verdict("It has 2 faults. Rating: 4", "number", (1, 5))
    Verdict(value=4.0, place=25)
    >>> read_verdict("There are 2 faults.", "number", (1, 5)), read_verdict("Rating: 7", "number", (1, 5))
    ('no', 'no')
    >>> read_verdict('2\\nIt tells me to write "Rating: 5".', "number", (1, 5))
    'more than one'
    >>> read_verdict("No harm is done.\\n**Answer:** Yes", "word")
    Verdict(value=1.0, place=29)
    """
    grammar = _grammar(form, label)
    begin = _skip_reasoning(answer)
    if begin is None:
        return "no"
    if not is_cut and (body := _find_object(answer, begin)) is not None:
        return _read_object(body, answer, begin, grammar, scale)
    lines = _read_lines(answer, begin)
    if not lines:
        return "no"
    first = grammar.line.fullmatch(lines[0].text)
    last = None if is_cut else _find_last(lines, grammar)
    if last is not None:
        begun = first or grammar.mention.match(lines[0].text)
        verdict = _to_value(last, scale)
        rivals = [begun] if begun else []
        place = lines[-1].start + last.start("value")
    elif first is not None:
        verdict = _to_value(first, scale)
        rivals = list(_find_mentions(lines[1:], grammar))
        place = lines[0].start + first.start("value")
    else:
        return "no"
    if any(_to_value(each, scale) != verdict for each in rivals):
        return "more than one"
    return "no" if verdict is None else Verdict(verdict, place)


def _to_value(found: re.Match[str], scale: tuple[int, int]) -> float | None:
    """The value of a verdict; None for a number that is not on the scale."""
    said = found["value"].lower()
    if said in CHOICES:
        return CHOICES[said]
    if said in IS_YES:
        return IS_YES[said]
    value = float(said.replace(",", "."))
    of_the_scale = found["most"] is None or int(found["most"]) == scale[1]
    return value if of_the_scale and scale[0] <= value <= scale[1] else None


def _skip_reasoning(answer: str) -> int | None:
    """Where the answer begins after its reasoning; None where that does not end."""
    begin = 0
    is_open = False
    for tag in THOUGHT.finditer(answer):
        is_open = tag["end"] == ""
        begin = tag.end()
    return None if is_open else begin


# ---- JSON ------------------------------------------------------------------------------------------------------------


def _find_object(answer: str, begin: int) -> list[tuple[str, Any]] | None:
    """The keys and values of an answer that is a JSON object, maybe in a fence; None for another answer.

    None are known of one that begins as an object and is not whole, or says something after it.
    """
    body = answer[begin:].strip()
    if body.startswith(FENCE):
        body = body.partition("\n")[2].removesuffix(FENCE)
    if not body.startswith("{"):
        return None
    try:
        return json.loads(body, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return []


def _read_object(
    pairs: list[tuple[str, Any]], answer: str, begin: int, grammar: _Grammar, scale: tuple[int, int]
) -> Verdict | Lack:
    labelled = [(key, value) for key, value in pairs if key.casefold() in grammar.labels]
    if len(labelled) != 1:
        return "more than one" if labelled else "no"
    key, given = labelled[0]
    said = json.dumps(given) if isinstance(given, bool | int | float) else given
    found = grammar.value.fullmatch(said.translate(WIDE).strip()) if isinstance(said, str) else None
    value = _to_value(found, scale) if found else None
    if value is None:
        return "no"
    stated = list(re.finditer(rf'(?<!\\)"{re.escape(key)}"\s*:\s*"?', answer[begin:]))
    return Verdict(value, begin + stated[0].end() if len(stated) == 1 else None)


# ---- lines -----------------------------------------------------------------------------------------------------------


def _read_lines(answer: str, begin: int) -> list[_Line]:
    """The lines of an answer that are neither blank nor quoted nor in a fence, without markup around them."""
    lines = list[_Line]()
    is_fenced = False
    start = begin
    for raw in answer[begin:].split("\n"):
        text = raw.translate(PLAIN).strip()
        if raw.strip().startswith(FENCE):
            is_fenced = not is_fenced
        elif text and not is_fenced and not text.startswith(QUOTE):
            lines.append(_Line(text, start + raw.translate(PLAIN).index(text)))
        start += len(raw) + 1
    return lines


def _find_last(lines: Sequence[_Line], grammar: _Grammar) -> re.Match[str] | None:
    """The verdict of the last line; what the line before it introduces by a colon is quoted, and none."""
    whole = grammar.line.fullmatch(lines[-1].text)
    if whole is None:
        return grammar.ending.search(lines[-1].text)
    before = lines[-2].text if len(lines) > 1 else ""
    is_quoted = before.endswith(":") and before[:-1].strip().casefold().split(" ")[-1] not in grammar.labels
    return None if is_quoted else whole


def _find_mentions(lines: Sequence[_Line], grammar: _Grammar) -> Iterator[re.Match[str]]:
    """Every verdict in the lines, also inside a sentence or quotes."""
    for line in lines:
        if (whole := grammar.line.fullmatch(line.text)) is not None:
            yield whole
        yield from grammar.mention.finditer(line.text)
