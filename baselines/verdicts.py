"""Verdicts: what a chat model's answer says, a rating, a yes or no, or the better of two texts.

The last well-formed verdict outside the model's reasoning counts: `[[B]]`, `Rating: 4`, `{"score": 4}`, `4/5`, or a
line that is a number, a letter or a yes alone. A sentence that merely contains A or 2 is no verdict. A verdict with an
alternative (`4 or 5`) is none, and an answer that was cut has one only where it begins with it and says nothing else.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

ToValue = Callable[[re.Match[str]], float | None]

THOUGHTS = "(?:think|thinking|thought|reasoning|analysis)"
THOUGHT = re.compile(rf"<{THOUGHTS}>|(?P<end></{THOUGHTS}>|<\|message\|>)", re.I)
MARKDOWN = re.compile(
    r"[*`#$~]|(?<!\w)_+|_+(?!\w)|\\(?:boxed|text|mathrm|mathbf)(?=\{)|^[ \t]*(?:>|-[ \t]|•)[ \t]*", re.M
)
LINE = re.compile(r"[^\n]+")
SENTENCE = re.compile(r"(?:[^\n.!?。;]|\.(?=\d))+")  # a dot before a digit is part of a number

WORD = "A-Za-zÀ-ÿА-яЁё"
SAID = tomllib.loads(Path(__file__).with_name("verdict_words.toml").read_text("utf-8"))
RATED, CHOSEN, TIE, YES, NO, OR = ("|".join(SAID[name]) for name in ("rated", "chosen", "tie", "yes", "no", "or"))
ASIDE = r"(?:[ \t]*\([^()\n]{0,60}\)|[ \t]+on a scale (?:of|from) \d+ ?(?:to|-) ?\d+)?"
SEPARATOR = r"[\"']?[ \t]*(?::|=|->|→|–|—|-|\||>|\])[ \t]*"
COPULA = r"(?:[ \t]+(?:is|was|would be|ist|est|es|è|é|jest)[ \t]+|[ \t]*(?:は|为|為|是|은|는)[ \t]*)"
OPEN, CLOSE = r"[\[({<\"'“「【]{0,2}[ \t]*", r"[ \t]*[\])}>\"'”」】]{0,2}"
UNIT = r"(?:[ \t]?(?:points?|stars?|punkten?|sterne|puntos|pontos|punti|étoiles|estrellas|баллов|балла|балл|分|点|점))?"
NUMBER = (
    r"(?<![\d.,+-])(?P<value>\d{1,6}(?:[.,]\d{1,6})?)(?![\d%]|[.,]\d)"
    r"(?:[ \t]*(?:/|out of|of|von|sur|de|su|em|из|van|av|z)[ \t]*(?P<most>\d{1,6})(?:\.0)?(?![\d%]|[.,/]\d))?" + UNIT
)
TEXT = f"(?i:(?:the )?(?:{'|'.join(SAID['text'])}))"
LETTER = rf"(?:{TEXT}[ \t]*)?(?P<value>(?i:{TIE})|[ABC])(?![{WORD}0-9]|['’]s)"
CHOICES = {"A": 1.0, "B": 0.0}  # anything else is a tie
IS_YES: dict[str, float] = {**dict.fromkeys(SAID["yes"], 1.0), **dict.fromkeys(SAID["no"], 0.0)}
WORDS = rf"(?i:{YES}|{NO})(?![{WORD}0-9])"
Form = Literal["number", "letter", "word"]
FORMS: dict[Form, str] = {"number": NUMBER, "letter": LETTER, "word": rf"(?P<value>{WORDS})"}
LABELS: dict[Form, str] = {"number": RATED, "letter": CHOSEN, "word": f"{CHOSEN}|{RATED}"}


def _schema(name: str, **kind: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: kind}, "required": [name], "additionalProperties": False}


SCHEMAS: dict[Form, dict[str, Any]] = {  # of answers that are a verdict alone, where an endpoint takes them
    "number": _schema("rating", type="integer"),  # not every endpoint takes its limits; beyond them it is unread
    "letter": _schema("choice", type="string", enum=["A", "B", "C"]),
    "word": _schema("answer", type="string", enum=["yes", "no"]),
}
BETTER = (
    r"(?:is|seems|reads)(?: the)?(?: slightly| clearly| much| significantly| a bit)?"
    rf" (?:better|superior|stronger|best)(?: one| text| overall)*(?: than (?:{TEXT} )?[ABC])?"
)
SO = r"(?i:(?:so|thus|overall|therefore|hence|in conclusion|in summary|finally),? )?"
PREFERRED = re.compile(
    rf"{SO}(?:(?:I|i) (?:prefer|choose|pick|select|vote for) {LETTER}|{LETTER.replace('value', 'better')} {BETTER}|"
    rf"(?i:it is|it's|it’s|this is) (?i:{TIE})|"
    r"(?i:neither is better|(?:both|they|both texts|the texts|the two texts) are (?:equally \w+|equal)))"
)
GIVEN = re.compile(
    rf"(?:on a scale (?:of|from) \d+ (?:to|-) \d+,? )?(?:[^\d]{{0,40}}(?<![{WORD}]))?"
    rf"(?:rate|give|score|assign)(?:s|d)?(?![{WORD}])[^\d]{{0,60}}{NUMBER}",
    re.I,
)
DOUBTED = re.compile(r"\b(?:if|unless|not|cannot|never|almost|could|might|would have)\b|n't\b", re.I)
BECAUSE = re.compile(rf"(?:because|since|as|weil|da|porque|parce|perché|потому|is better|for)(?![{WORD}])", re.I)
BETWEEN = re.compile(rf"[\d.A-Z]{{1,7}}[\])\"' \t]*(?:[,/|]|(?:,[ \t]*)?(?:{OR}))[ \t]*[\[(\"']*", re.I)
UNSURE = re.compile(rf"\W*(?:\b(?:{OR}|and|und|et|y|but)\b|/)\W*{WORDS}|[^\n]*[.!?。…—–-]\s*{WORDS}", re.I)
OTHERWISE = re.compile(rf"[\s,(]*(?:{OR}|to|bis|and|/|-|–|—|~|,)\s*(?:maybe |perhaps |text )?(?:\d|[ABC](?!\w))", re.I)


def read_verdict(
    answer: str, form: Form, scale: tuple[int, int] = (0, 1), is_cut: bool = False
) -> tuple[float, int] | None:
    """The verdict, and how often a number or word stands again in the rest of the answer; None without a verdict.

    A number lies on the scale. Yes is 1 and no 0; A is 1, B 0, and C or a tie in words .5.

    >>> read_verdict("I see 2 faults. Rating: 4/5", "number", (1, 5)), read_verdict("7", "number", (1, 5))
    ((4.0, 0), None)
    >>> read_verdict("There are 2 faults.", "number", (1, 5)), read_verdict("Rating: 4 or 5", "number", (1, 5))
    (None, None)
    >>> read_verdict("No harm is done.\\n**Answer:** Yes", "word"), read_verdict("Yes and no.", "word")
    ((1.0, 0), None)
    >>> read_verdict("Text A is shorter, whereas text B flows. [[B]]", "letter"), read_verdict("A is nice.", "letter")
    ((0.0, 0), None)
    """

    def to_value(found: re.Match[str]) -> float | None:
        said = found["value"]
        if form != "number":
            return CHOICES.get(said.upper(), 0.5) if form == "letter" else IS_YES.get(said.lower())
        value, most = float(said.replace(",", ".")), found["most"]
        return value if scale[0] <= value <= scale[1] and (most is None or int(most) == scale[1]) else None

    text = clean(answer)
    if (last := _last(list(_find(text, form, to_value)), text, is_cut)) is None:
        return None
    place, value = last
    if form == "letter":
        return value, 0
    like = re.compile(rf"(?<!\d){value:g}(?!\d)" if form == "number" else rf"(?<![{WORD}]){WORDS}")
    same = [form == "number" or IS_YES.get(each[0].lower()) == value for each in like.finditer(text, place)]
    return value, max(0, sum(same) - 1)


def clean(answer: str) -> str:
    """The answer without reasoning and markdown, wide characters as usual ones.

    >>> clean("<think>2 faults</think>**Rating:** ４")
    'Rating: 4'
    """
    kept, start, is_thought = list[str](), 0, False
    for tag in THOUGHT.finditer(answer):
        if tag["end"] is None:
            kept += [] if is_thought else [answer[start : tag.start()]]
        elif not is_thought:
            kept = []  # the beginning of the reasoning is not in the answer
        start, is_thought = tag.end(), tag["end"] is None
    kept += [] if is_thought else [answer[start:]]
    return MARKDOWN.sub("", unicodedata.normalize("NFKC", "".join(kept)).replace("\r", "\n"))


def _last(found: list[tuple[int, float | None]], text: str, is_cut: bool) -> tuple[int, float] | None:
    """The last verdict with its place; None where it is ambiguous, or the answer was cut before it was certain."""
    place = max((at for at, _ in found), default=0)
    values = {value for at, value in found if at == place}
    value = values.pop() if len(values) == 1 else None
    others = [at for at, other in found if other != value]
    if value is None or (others and BETWEEN.fullmatch(text[max(others) : place])):
        return None
    if is_cut and (others or re.search(r"[.!?。\n]", text[: min(at for at, _ in found)].strip())):
        return None
    return place, value


def _find(text: str, form: Form, to_value: ToValue) -> Iterator[tuple[int, float | None]]:
    """Every verdict with its place; None for one that is ambiguous or out of range."""
    value, labels = FORMS[form], LABELS[form]
    for found in re.finditer(rf"\[\[[ \t]*{value}[ \t]*\]\]", text):
        yield found.start("value"), to_value(found)
    key = rf"[\"'](?:[\w ]{{0,30}}[_ ])?(?:{labels})[\"'][ \t]*:[ \t]*[\"']?{value}[\"']?(?=\s*[,}}])"
    for found in re.finditer(key, text, re.I):
        yield found.start("value"), to_value(found)
    marked = re.compile(rf"{ASIDE}(?:(?P<separator>{SEPARATOR})|(?P<copula>{COPULA})|[ \t]+){OPEN}{value}{CLOSE}", re.I)
    label = re.compile(rf"(?<![{WORD}])(?:{labels})(?![{WORD}])", re.I)
    for sentence in SENTENCE.finditer(text):
        whole = sentence[0]
        for named in label.finditer(whole):
            if (found := marked.match(whole, named.end())) is not None:
                rest = whole[found.end() :].strip()
                if _is_ambiguous(form, rest):
                    yield sentence.start() + found.start("value"), None
                elif not rest or (found["separator"] and (rest[0] in ",:()|–—-\"'}]<" or BECAUSE.match(rest))):
                    yield sentence.start() + found.start("value"), to_value(found)
        if form == "number":
            stated = GIVEN.fullmatch(whole.strip(" \t,:"))
            shared = re.search(rf"(?<![\d/]){value}{CLOSE}[ \t]*$", whole) if "/" in whole else None
            if stated and not DOUBTED.search(whole):
                yield sentence.start() + whole.rindex(stated["value"]), to_value(stated)
            elif shared and shared["most"]:
                yield sentence.start() + shared.start("value"), to_value(shared)
        elif form == "letter" and (stated := PREFERRED.fullmatch(whole.strip(" \t,:\"'"))):
            yield sentence.start(), CHOICES.get(stated["value"] or stated["better"], 0.5)
    yield from _find_alone(text, form, to_value)


def _is_ambiguous(form: Form, rest: str) -> bool:
    """Whether what follows a verdict names another one."""
    return (UNSURE if form == "word" else OTHERWISE).match(rest) is not None


def _find_alone(text: str, form: Form, to_value: ToValue) -> Iterator[tuple[int, float | None]]:
    """Lines that are a verdict alone; a first line that begins with a verdict, then a reason, if no other line does."""
    value, stop = FORMS[form], ".!。" if form == "word" else ""
    alone = re.compile(rf"[ \t]*\\?{OPEN}{value}{CLOSE}[ \t]*\\?[\])}}]?[.!。]?[ \t]*")
    begun = re.compile(rf"[ \t]*{OPEN}{value}{CLOSE}[ \t]*(?:[{stop},:(–—-]|(?={BECAUSE.pattern}))")
    begins = list[tuple[int, float | None]]()
    for line in LINE.finditer(text):
        if found := alone.fullmatch(line[0]):
            yield line.start() + found.start("value"), to_value(found)
        elif found := begun.match(line[0]):
            rest = line[0][found.end("value") :]
            begins.append((line.start() + found.start("value"), None if _is_ambiguous(form, rest) else to_value(found)))
    if len(begins) == 1 and not text[: begins[0][0]].strip(" \t\n([{\"'"):
        yield begins[0]
