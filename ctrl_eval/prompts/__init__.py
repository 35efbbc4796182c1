"""Prompts and verbalizers (the words for each label) of attribute relevance: the paper's, or from a user's file.

The files are YAML with `prompts`, `labels` and `verbalizers`.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from core.errors import InputError, fault, format_value
from data.text_files import read_text

TEXT = "<text>"
MASK = "<mask>"
NAMED = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.yaml"))}


@dataclass(frozen=True)
class Prompts:
    """The prompts that ask for a label, and the words of each label."""

    prompts: tuple[str, ...]  # templates, each with one `<text>` and one `<mask>`
    labels: tuple[str, ...]  # the labels an example may have
    verbalizers: tuple[tuple[str, ...], ...]  # each has one word for every label, in the order of the labels

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word for verbalizer in self.verbalizers for word in verbalizer))


def load_prompts(prompts: str | Path) -> Prompts:
    """Loads the paper's prompts, `sentiment` or `topic`, or a YAML file.

    Raises InputError with every fault of the file: a prompt without one of its two placeholders, a verbalizer whose
    number of words is not that of the labels, an empty word, a repeated label.
    """
    path = NAMED.get(str(prompts), Path(prompts))
    try:
        content: Any = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", -1) + 1
        raise InputError([fault(path, line, "must be YAML, but cannot be read as such")]) from error
    if not isinstance(content, dict) or set(content) != {"prompts", "labels", "verbalizers"}:
        names = f"{', '.join(NAMED)} or a YAML file with prompts, labels and verbalizers"
        kind = sorted(map(str, content)) if isinstance(content, dict) else type(content).__name__
        raise InputError([fault(path, 0, f"prompts are {names}, found {format_value(kind)}")])
    known_prompts = Prompts(
        prompts=_to_texts(content["prompts"]),
        labels=_to_texts(content["labels"]),
        verbalizers=tuple(map(_to_texts, _to_list(content["verbalizers"]))),
    )
    faults = list(_find_faults(known_prompts))
    if faults:
        raise InputError(fault(path, 0, what) for what in faults)
    return known_prompts


def _to_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _to_texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, _to_list(value)))


def _find_faults(made: Prompts) -> Iterator[str]:
    for prompt, place in itertools.product(made.prompts, (TEXT, MASK)):
        if prompt.count(place) != 1:
            yield f"a prompt has one {place}, found {prompt.count(place)} in {format_value(prompt)}"
    labels = made.labels
    if len(set(labels)) < 2 or len(set(labels)) != len(labels) or not all(labels):
        yield f"needs at least two different labels, found {format_value(labels)}"
    for words in made.verbalizers:
        if len(words) != len(labels) or not all(words):
            yield f"a verbalizer has one word for each of the {len(labels)} labels, found {format_value(words)}"
    if not made.prompts:
        yield "needs at least one prompt, found none"
    if not made.verbalizers:
        yield "needs at least one verbalizer, found none"
