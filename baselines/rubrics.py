"""Rubrics: the questions of a judge about a text, one per aspect, in a YAML file written by hand.

    coherence:
      instruction: Judge how coherent the text is.
      levels:
        1: its parts have nothing to do with one another
        5: it reads as one whole
    faithful:
      instruction: "Does every statement of the text follow from its source? The source: {context}"
      levels: {no: , yes: }

An instruction may name fields in braces. Its levels are two or more whole numbers from 0 on, each with a description
that may be empty, or `no` and `yes`, whose ratings are 0 and 1. The same aspect serves for comparing two texts. Texts
and fields, but for a label, stand between fences that they cannot contain.

A prompt is a file with the question about one text in other words. `{text}` marks the place of the text; it may name
`{instruction}`, `{aspect}`, `{levels}`, `{low}`, `{high}` and the fields of an instruction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import yaml
from pydantic import AfterValidator, Field, StrictBool, StrictInt, TypeAdapter, ValidationError

from baselines.verdicts import Form
from core.errors import InputError, SettingError, blame_file, broken_rules, fault
from core.example import Example
from core.scores import Field as ExampleField
from core.selection import references_of
from core.settings import Several, Text, check
from core.templates import NAME, fill_template, names_in, read_template
from data.records import Record

OWN = Path(__file__).parent / "rubric.yaml"
Level = Annotated[StrictInt, Field(ge=0, lt=10**6)]
Levels = dict[bool | int, str | None]
BACKTICKS = re.compile("`+")
EXPLAIN = "First give your reasons in a few sentences. Then end with a line of its own:"
VERDICTS: dict[Form, tuple[str, str]] = {  # what is asked for alone, and after reasons
    "word": ("Answer with one word only: yes or no.", f'{EXPLAIN} "Answer:" and yes or no.'),
    "number": ("Answer with one number only.", f'{EXPLAIN} "Rating:" and one number.'),
    "letter": (
        "Answer with one letter only: A, B, or C if neither.",
        f'{EXPLAIN} "Choice:" and A, B, or C if neither.',
    ),
}
RATING = "{instruction}\n\nText:\n{text}\n\n"
CHOICE = "{instruction}\nApply this to two texts, and compare them.\n\nText A:\n{text_a}\n\nText B:\n{text_b}\n\n"


@dataclass(frozen=True)
class Aspect:
    """One question of a rubric."""

    name: str
    instruction: str
    # descriptions of levels, by number from the least; of a yes/no question 0 is no and 1 is yes
    levels: Mapping[int, str]
    is_yes_no: bool = False
    # the user's question about one text, a template; None for the built-in one
    prompt: str | None = None
    # whether the built-in questions ask for reasons before the verdict
    explains: bool = False

    @property
    def scale(self) -> tuple[int, int]:
        """The lowest and the highest number of the scale."""
        return min(self.levels), max(self.levels)

    @property
    def form(self) -> Form:
        """How a rating is written: `word` (yes or no) or `number`."""
        return "word" if self.is_yes_no else "number"

    def ask_rating(self, example: Example) -> str:
        """Returns the question that asks for a rating of the text."""
        low, high = self.scale
        asked = "Answer with yes or no" if self.is_yes_no else f"Rate the text from {low} to {high}"
        levels = self._list_levels()
        asked += f", where\n{levels}\n" if levels else ". "
        asked += VERDICTS[self.form][self.explains]
        return self._fill(self.prompt or f"{RATING}{asked}", example, text=show(example))

    def ask_choice(
        self,
        example: Example,
        first: str,
        second: str,
    ) -> str:
        """Returns the question which of two texts, A or B, is better for the input of the example; C is a tie."""
        low, high = (self.levels[end] for end in self.scale)
        asked = "Which text deserves a yes more?" if self.is_yes_no else "Which text is better in this respect?"
        if high:
            asked += f" The better one is closer to: {high}."
        if low:
            asked += f" The worse one is closer to: {low}."
        asked += f" {VERDICTS['letter'][self.explains]}"
        return self._fill(
            f"{CHOICE}{asked}",
            example,
            text_a=first,
            text_b=second,
        )

    def _list_levels(self) -> str:
        """A line for each level that has a description."""
        names = {0: "no", 1: "yes"} if self.is_yes_no else {}
        return "\n".join(f"{names.get(level, level)}: {what}" for level, what in self.levels.items() if what)

    def _fill(
        self,
        prompt: str,
        example: Example,
        **texts: str,
    ) -> str:
        """The prompt with texts between fences, and what it says of aspect and example."""
        values = list_fields(example)
        fence = find_fence(
            prompt,
            self.instruction,
            *values.values(),
            *texts.values(),
        )
        fields = {name: put_in_fence(value, fence) for name, value in values.items()}
        if "\n" not in values["label"]:
            fields["label"] = values["label"]
        low, high = self.scale
        said = {
            "aspect": self.name,
            "instruction": fill_template(self.instruction, fields),
            "levels": self._list_levels(),
            "low": low,
            "high": high,
        }
        fenced = {name: put_in_fence(text, fence) for name, text in texts.items()}
        return fill_template(prompt, {**fields, **said, **fenced})


def list_fields(example: Example) -> dict[str, str]:
    """Lists the fields of an example that an instruction may name."""
    return {
        "context": example.context or "",
        "prefix": example.prefix or "",
        "label": example.label or "",
        "turns": show_turns(example),
        "references": "\n".join(references_of(example)),
    }


def read_prompt(file: str | None) -> str | None:
    """The text of a prompt; None without a file. Raises InputError unless it marks the place of one text."""
    if file is None:
        return None
    path = Path(str(file))  # it may be called 5
    prompt = read_template(path).strip()
    marked = NAME.findall(prompt).count("text")
    if marked != 1:
        raise InputError([fault(path, 0, f"a prompt must mark the place of the text by {{text}} once, found {marked}")])
    return prompt


def refuse_place_of_text(instruction: str) -> str:
    """Returns an instruction; raises ValueError for one that marks the place of the text, which follows it."""
    if "{text}" in instruction:
        raise ValueError("must not contain {text}: the text follows it")
    return instruction


def check_levels(levels: Levels) -> Levels:
    """Returns levels; raises ValueError unless they are two or more numbers, or no and yes."""
    words = [level for level in levels if isinstance(level, bool)]
    if len(levels) < 2 or len(words) not in (0, 2) or len(words) not in (0, len(levels)):
        raise ValueError('must be two or more, such as "1: poor" and "5: good", or "no:" and "yes:"')
    return levels


class Written(Record):
    """An aspect as a rubric holds it."""

    instruction: Annotated[Text, AfterValidator(refuse_place_of_text)]
    # whole numbers, or no and yes, each with what it means
    levels: Annotated[dict[StrictBool | Level, str | None], AfterValidator(check_levels)]

    def to_aspect(self, name: str) -> Aspect:
        """Makes the aspect, with the levels in order."""
        numbered: dict[int, str] = {}
        for level in sorted(self.levels):
            described = self.levels[level] or ""
            numbered[int(level)] = described.strip()
        return Aspect(
            name,
            self.instruction.strip(),
            numbered,
            is_yes_no=all(isinstance(level, bool) for level in self.levels),
        )


RUBRIC = TypeAdapter(Annotated[dict[str, Written], Field(min_length=1)])


def read_rubric(file: str | None, aspects: Sequence[str] = ()) -> dict[str, Aspect]:
    """Reads all aspects of a rubric, or only those named in `aspects`; without a file, reads the built-in rubric.

    Raises InputError with all faults of the file, SettingError for a named aspect that the rubric lacks.
    """
    check(Several[Text] | None, aspects=list(aspects) or None)
    path = OWN if file is None else Path(str(file))  # it may be called 5
    content = read_template(path)
    with blame_file(path):
        written = yaml.safe_load(content)
    try:
        known = {name: part.to_aspect(name) for name, part in RUBRIC.validate_python(written).items()}
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, place))} {rule}".strip() for place, rule, _ in broken_rules(error)]
        raise InputError(fault(path, 0, what) for what in faults) from None
    lacking = [name for name in aspects if name not in known]
    if lacking:
        raise SettingError(f"aspects: {path.name} has no {lacking[0]}; aspects there: {', '.join(known)}")
    return {name: known[name] for name in aspects or known}


def fields_of(aspects: Iterable[Aspect], prompt: str | None = None) -> tuple[ExampleField, ...]:
    """Lists the fields of an Example that instructions or the prompt name, except the text."""
    known = get_args(ExampleField)
    templates = [*(aspect.instruction for aspect in aspects), prompt or ""]
    named = {name for template in templates for name in names_in(template, known)}
    return tuple(name for name in known if name in named)


def find_fence(*texts: str) -> str:
    """Returns a line of backticks that occurs in none of the texts, so that no text can forge the end of its block.

    >>> find_fence("plain"), find_fence("a ```` b", "c")
    ('```', '`````')
    """
    longest = max(len(run) for text in texts for run in ["``", *BACKTICKS.findall(text)])
    return "`" * (longest + 1)


def put_in_fence(text: str, fence: str) -> str:
    """Puts the text between two fence lines."""
    return f"{fence}\n{text}\n{fence}"


def show(example: Example) -> str:
    """Returns the text as a judge sees it: a dialogue as turns of A and B."""
    return example.text or show_turns(example)


def show_turns(example: Example) -> str:
    """Writes the turns of a dialogue, each after the name of its speaker, A or B."""
    return "\n".join(f"{'AB'[i % 2]}: {turn}" for i, turn in enumerate(example.turns))
