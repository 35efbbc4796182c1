"""Prompts and verbalizers of attribute relevance: the paper's by name, or a user's own from files.

Our files are YAML with `prompts`, `labels` and `verbalizers`. The released form is two text files. One has a prompt per
line with <gen_result> and <mask_token>. The other has the labels on its first line, separated by tabs, and then a
verbalizer per line.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from core.faults import InputFaults, fault, format_value
from data.text_files import read_text

TEXT, MASK = "<text>", "<mask>"
RELEASED = {"<gen_result>": TEXT, "<mask_token>": MASK}
NAMED = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.yaml"))}


@dataclass(frozen=True)
class Prompts:
    """The questions that ask for a label."""

    prompts: tuple[str, ...]  # templates, each with one `<text>` and one `<mask>`
    labels: tuple[str, ...]  # the labels an example may have
    verbalizers: tuple[tuple[str, ...], ...]  # each has one word for every label, in the order of the labels

    def __len__(self) -> int:
        """The number of pattern evaluators (Table 2)."""
        return len(self.prompts) * len(self.verbalizers)

    @property
    def words(self) -> tuple[str, ...]:
        """All different label words."""
        return tuple(dict.fromkeys(word for verbalizer in self.verbalizers for word in verbalizer))


def load_prompts(prompts: str | Path, verbalizers: str | Path | None = None) -> Prompts:
    """The paper's `sentiment` or `topic`, a YAML file, or two files in the released form.

    Args:
        prompts: a name, a .yaml file, or a text file of prompts.
        verbalizers: a text file of labels and verbalizers; given with a text file of prompts only.

    Raises InputFaults with every fault of the files: a prompt without its two places, a verbalizer with another number
    of words than there are labels, an empty word, a repeated label.
    """
    path = NAMED.get(str(prompts), Path(prompts))
    if path.suffix in (".yaml", ".yml"):
        if verbalizers is not None:
            raise InputFaults([fault(verbalizers, 0, f"verbalizers stand in {path} itself; leave this file out")])
        return _from_yaml(path)
    if verbalizers is None:
        names = ", ".join(NAMED)
        what = f"prompts in a text file need verbalizers in another; else give {names} or a .yaml file"
        raise InputFaults([fault(path, 0, what)])
    return _from_released(path, Path(verbalizers))


def _from_yaml(path: Path) -> Prompts:
    faults: list[str] = []
    text = read_text(path, faults)
    if faults:
        raise InputFaults(faults)
    try:
        content: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", -1) + 1
        raise InputFaults([fault(path, line, "must be YAML, but cannot be read as such")]) from error
    if not isinstance(content, dict) or set(content) != {"prompts", "labels", "verbalizers"}:
        found = sorted(content) if isinstance(content, dict) else type(content).__name__
        raise InputFaults([fault(path, 0, f"must have prompts, labels and verbalizers, found {format_value(found)}")])
    lists = {key: content[key] if isinstance(content[key], list) else [content[key]] for key in content}
    verbalizers = [row if isinstance(row, list) else [row] for row in lists["verbalizers"]]
    return _check_prompts(
        [(path, 0, str(prompt)) for prompt in lists["prompts"]],
        (path, 0, [str(label) for label in lists["labels"]]),
        [(path, 0, [str(word) for word in row]) for row in verbalizers],
    )


def _from_released(prompts: Path, verbalizers: Path) -> Prompts:
    faults: list[str] = []
    texts = [read_text(path, faults) for path in (prompts, verbalizers)]
    if faults:
        raise InputFaults(faults)
    templates, rows = ([(n, line) for n, line in enumerate(t.splitlines(), 1) if line.strip()] for t in texts)
    found: list[tuple[Path, int, str]] = []
    for n, line in templates:
        template = line.strip()
        for released, ours in RELEASED.items():
            template = template.replace(released, ours)
        found.append((prompts, n, template))
    words = [(verbalizers, n, [word.strip() for word in line.split("\t")]) for n, line in rows]
    if not words:
        raise InputFaults([fault(verbalizers, 0, "needs the labels on its first line, found an empty file")])
    return _check_prompts(found, words[0], words[1:])


Located = tuple[Path, int, list[str]]


def _check_prompts(prompts: list[tuple[Path, int, str]], labels: Located, verbalizers: list[Located]) -> Prompts:
    faults: list[str] = []
    for path, line, prompt in prompts:
        for place in (TEXT, MASK):
            if prompt.count(place) != 1:
                released = next(theirs for theirs, ours in RELEASED.items() if ours == place)
                rule = f"a prompt has one {place} (released form: {released})"
                faults.append(fault(path, line, f"{rule}, found {prompt.count(place)} in {format_value(prompt)}"))
    path, line, names = labels
    if len(set(names)) < 2 or len(set(names)) != len(names) or not all(names):
        faults.append(fault(path, line, f"needs at least two different labels, found {format_value(names)}"))
    for path, line, words in verbalizers:
        if len(words) != len(names) or not all(words):
            rule = f"a verbalizer has one word for each of the {len(names)} labels"
            faults.append(fault(path, line, f"{rule}, found {format_value(words)}"))
    if not prompts:
        faults.append(fault(path, 0, "needs at least one prompt, found none"))
    if not verbalizers:
        faults.append(fault(labels[0], 0, "needs at least one verbalizer, found none"))
    if faults:
        raise InputFaults(faults)
    return Prompts(
        tuple(prompt for _, _, prompt in prompts),
        tuple(names),
        tuple(tuple(words) for _, _, words in verbalizers),
    )
