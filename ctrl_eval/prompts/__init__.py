"""Prompts and verbalizers (the words for each label) of attribute relevance: the paper's, or from a user's file.

The files are YAML with `prompts`, `labels` and `verbalizers`.
"""

from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BeforeValidator

from core.errors import SettingError, blame_file, format_value
from core.settings import Several, Text, checked_dataclass, to_tuple
from data.text_files import read_text

TEXT = "<text>"
MASK = "<mask>"
NAMED = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.yaml"))}


def refuse_unmarked(prompt: str) -> str:
    """Returns a prompt; raises ValueError unless it marks the places of the text and of the label word, each once."""
    for place in (TEXT, MASK):
        if prompt.count(place) != 1:
            raise ValueError(f"must have one {place}, found {prompt.count(place)}")
    return prompt


@checked_dataclass
class Prompts:
    """The prompts that ask for a label, and the words of each label."""

    # templates, each with one `<text>` and one `<mask>`
    prompts: Several[Annotated[str, AfterValidator(refuse_unmarked)]]
    # the labels an example may have, two or more
    labels: Several[Text]
    # each has one word for every label, in the order of the labels
    verbalizers: Several[Annotated[tuple[Text, ...], BeforeValidator(to_tuple)]]

    def __post_init__(self) -> None:
        number = len(self.labels)
        if number < 2:
            raise ValueError(f"labels must be two or more, but are {format_value(self.labels)}")
        for words in self.verbalizers:
            if len(words) != number:
                rule = f"verbalizers must have one word for each of the {number} labels"
                raise ValueError(f"{rule}, but one has {format_value(words)}")

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word for verbalizer in self.verbalizers for word in verbalizer))


def load_prompts(prompts: str | Path) -> Prompts:
    """Loads the paper's prompts, `sentiment` or `topic`, or a YAML file.

    Raises InputError for a faulty file: a prompt without one of its two placeholders, a verbalizer whose number of
    words is not that of the labels, an empty word, a repeated label.
    """
    path = NAMED.get(str(prompts), Path(prompts))
    with blame_file(path):
        content: Any = yaml.safe_load(read_text(path))
        if not isinstance(content, dict) or set(content) != {"prompts", "labels", "verbalizers"}:
            names = f"{', '.join(NAMED)} or a YAML file with prompts, labels and verbalizers"
            raise SettingError(f"prompts must be {names}, found {format_value(content)}")
        return Prompts(**content)
