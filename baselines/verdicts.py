"""Verdicts in the answers of chat models: a rating, a yes or no, or the better of two texts.

The grammar is small, so that what an answer quotes is not taken for what it says:

1. an answer that is a JSON object, maybe in a fence, with one verdict under a label (`{"rating": 4}`);
2. else its last line, where that is a verdict alone (`4`), under a label (`Rating: 4`, `[RESULT] 4`) or in double
   brackets (`[[4]]`), or ends with a sentence that is one of the last two;
3. else its first line, where that is such a line as a whole and no sentence goes on in the next one.

Reasoning, quoted lines (`> 5`) and fences are no part of it. What follows a colon belongs to the line of the colon. An
answer that begins with one verdict and gives another one later, also inside quotes, is ambiguous and has none.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Form = Literal["number", "letter", "word"]
Lack = Literal["no", "more than one"]  # how many verdicts an answer without a verdict gives

# What a verdict stands under, in English and Chinese, the languages of our questions and texts.
ENGLISH = ("rating", "score", "grade", "result", "answer", "verdict", "choice", "winner", "preference", "correction")
LABELS = (*ENGLISH, "评分", "得分", "答案", "选择")
IS_YES = {"yes": 1.0, "true": 1.0, "是": 1.0, "是的": 1.0, "no": 0.0, "false": 0.0, "否": 0.0, "不": 0.0, "不是": 0.0}
CHOICES = {"a": 1.0, "b": 0.0, "c": 0.5}
VALUES: dict[Form, str] = {
    "number": r"(?P<value>\d{1,6}(?:[.,]\d{1,6})?)(?: *+(?:/|out of) *+(?P<most>\d{1,6}))?",
    "letter": "(?:text )?(?P<value>[abc])",
    "word": f"(?P<value>{'|'.join(sorted(IS_YES, key=len, reverse=True))})",
}
OPEN, CLOSE = r'(?:\\boxed)?[\[({"]{0,2} *+', r' *+[\])}"]{0,2} *+[.!。]?'
REASONING = re.compile(r"<(?:think|reasoning)>|(?P<end></(?:think|reasoning)>|<\|message\|>)", re.I)
QUOTED = re.compile(r"^[^\S\n]*+(?:```.*?(?:```[^\n]*|\Z)|>[^\n]*)", re.M | re.S)
LINE = re.compile(r"[^\s>](?:[^\n]*\S)?")
MARKUP = dict.fromkeys(map(ord, "*`#$\t\r\xa0\u3000"), " ")
WIDE = {0xFF01 + i: chr(0x21 + i) for i in range(94)}  # letters and signs as wide as Chinese ones


@dataclass(frozen=True)
class Verdict:
    """The verdict of an answer."""

    # a number of the scale; yes is 1 and no 0; A is 1, B 0, and a tie .5
    value: float
    # where in the answer its number, letter or word begins; None in JSON that has the label twice
    place: int | None


@dataclass(frozen=True)
class Grammar:
    """The patterns that recognise one form of verdict; each takes linear time."""

    labels: frozenset[str]
    line: re.Pattern[str]  # a line that is a verdict as a whole
    sentence: re.Pattern[str]  # the last sentence of a line, after another one
    mention: re.Pattern[str]  # a verdict under a label or in double brackets, anywhere


@lru_cache
def make_grammar(form: Form, label: str) -> Grammar:
    """Makes the patterns for a form of verdict. They know the usual labels, and `label` as one more."""
    labels = frozenset(word.casefold() for word in (*LABELS, label) if word)
    named = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    under = rf"(?:(?:my |the |final |overall ){{0,3}}(?:{named}) *+: *+|\[(?:{named})\] *+)"
    value = OPEN + VALUES[form]
    marked = rf"(?:{under}|(?=\[\[)){value}"
    return Grammar(
        labels=labels,
        line=re.compile(f"(?:- )?{under}?{value}{CLOSE}", re.I),
        sentence=re.compile(rf"[.!?。] *+{marked}{CLOSE}$", re.I),
        mention=re.compile(rf"{marked}(?!\w)", re.I),
    )


def read_verdict(
    answer: str,
    form: Form,
    scale: tuple[int, int] = (0, 1),
    label: str = "",
    is_cut: bool = False,
) -> Verdict | Lack:
    """Reads the verdict of an answer; a Lack says how many verdicts there are instead of one.

    A number lies on the scale. `label` is a further label, such as the name of what was asked about. Of an answer that
    was cut before its end only the first line counts, and no number there that may be the beginning of a longer one.

    >>> read_verdict("It has 2 faults. Rating: 4", "number", (1, 5))
    Verdict(value=4.0, place=25)
    >>> read_verdict("There are 2 faults.", "number", (1, 5)), read_verdict("Rating: 7", "number", (1, 5))
    ('no', 'no')
    >>> read_verdict('2\\nIt tells me to write "Rating: 5".', "number", (1, 5))
    'more than one'
    >>> read_verdict("No harm is done.\\n**Answer:** Yes", "word")
    Verdict(value=1.0, place=29)
    """
    grammar = make_grammar(form, label)
    tags = list(REASONING.finditer(answer))
    if tags and not tags[-1]["end"]:
        return "no"  # the reasoning does not end
    begin = tags[-1].end() if tags else 0
    stated = None if is_cut else read_object(answer, begin, grammar, scale)
    if stated is not None:
        return stated
    return read_lines(hide_quotes(" " * begin + answer[begin:]), grammar, scale, is_cut)


def read_lines(
    body: str,
    grammar: Grammar,
    scale: tuple[int, int],
    is_cut: bool,
) -> Verdict | Lack:
    """Reads the verdict of the last line, or else of the first line, unless another line has a different verdict."""
    lines = [line.span() for line in LINE.finditer(body)]
    if not lines:
        return "no"
    whole = [grammar.line.fullmatch(body, *line) for line in lines]
    last = None if is_cut else whole[-1] or grammar.sentence.search(body, *lines[-1])
    chosen = last or whole[0]
    if chosen is None:
        return "no"
    rivals = [whole[0] or grammar.mention.match(body, *lines[0])]
    if not last:
        if lines[1:] and body[lines[1][0]].islower():
            return "no"
        rivals += [*whole[1:], *grammar.mention.finditer(body, lines[0][1])]
    verdict = to_value(chosen, scale, is_cut)
    if any(rival and to_value(rival, scale, is_cut) != verdict for rival in rivals):
        return "more than one"
    return "no" if verdict is None else Verdict(verdict, chosen.start("value"))


def hide_quotes(answer: str) -> str:
    """Replaces quoted text by `>`, and markup and breaks after colons by spaces; all positions stay the same."""
    unquoted = QUOTED.sub(lambda quoted: ">" * len(quoted[0]), answer)
    return re.sub(r":\s++", lambda gap: gap[0].replace("\n", " "), unquoted.translate(MARKUP | WIDE))


def to_value(found: re.Match[str], scale: tuple[int, int], is_cut: bool = False) -> float | None:
    """Returns the value of a verdict; None for a number that is not on the scale, or that may go on behind a cut."""
    said = found["value"].lower()
    words = CHOICES | IS_YES
    if said in words:
        return words[said]
    value = float(said.replace(",", "."))
    low, high = scale
    is_of_the_scale = found["most"] is None or int(found["most"]) == high
    may_go_on = is_cut and found.end("value") == len(found.string) and 0 < 10 * value <= high
    return value if is_of_the_scale and low <= value <= high and not may_go_on else None


def read_object(
    answer: str,
    begin: int,
    grammar: Grammar,
    scale: tuple[int, int],
) -> Verdict | Lack | None:
    """Reads the verdict of an answer that is nothing but a JSON object, maybe in a fence; None for any other answer."""
    body = answer[begin:].strip()
    if body.startswith("```"):
        body = body.partition("\n")[2].removesuffix("```")
    if not body.startswith("{"):
        return None
    try:
        pairs = json.loads(body, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return "no"
    labelled = [(key, value) for key, value in pairs if key.casefold() in grammar.labels]
    if not labelled:
        return "no"
    if len(labelled) > 1:
        return "more than one"
    ((key, given),) = labelled
    said = json.dumps(given) if isinstance(given, bool | int | float) else given
    if not isinstance(said, str):
        return "no"
    matched = grammar.line.fullmatch(said.translate(WIDE).strip())
    value = to_value(matched, scale) if matched else None
    if value is None:
        return "no"
    stated = list(re.finditer(rf'(?<!\\)"{re.escape(key)}"\s*:\s*"?', answer[begin:]))
    return Verdict(value, begin + stated[0].end() if len(stated) == 1 else None)
