"""Faults: errors in the user's input or settings, which the runner distinguishes from failures."""

import difflib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pydantic import ValidationError

RULES = {
    "missing": "is required",
    "dict_type": "must be an object",
    "mapping_type": "must be an object",
    "model_type": "must be an object",
}
SettingWriter: TypeAlias = Callable[[str, Sequence[str]], str]  # of a name and its values, of which there may be none
SHOWN_CHARACTERS = 60
SHOWN_FAULTS = 100  # in a message
GROUPED_FROM = 3  # equal faults in a file
SHOWN_LINES = 5  # of equal faults
PLACED = re.compile(r"(?P<path>.*?):(?P<line>\d+): (?P<what>.*)", re.DOTALL)
SHOWN_OF_AN_ERROR = 300  # characters
# What a terminal obeys (except tab and newline), what reorders a line, and halves of surrogate pairs
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class InputError(Exception):
    """The input breaks the rules; each of `faults` is one line `file:line: what is wrong, what was found`.

    A fault of a whole file has no line number. `str()` merges equal faults; the command prints this text and exits with
    2.
    """

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults: tuple[str, ...] = tuple(faults)
        super().__init__(self.faults)

    def __str__(self) -> str:
        return "\n".join(group_faults(self.faults))


class SettingError(ValueError):
    """A setting is unknown, missing or breaks its rule. The runner prints the message and exits with 2."""


class QuestionError(SettingError):
    """The input does not say something that settings can say; `answers` are settings that would.

    A program adds them to its own command.
    """

    def __init__(self, question: str, answers: Mapping[str, Sequence[str]]) -> None:
        self.question = question
        self.answers = dict(answers)
        settings = ", ".join(setting(name, *values) for name, values in answers.items())
        super().__init__(f"{question}. Say which, such as: {settings}" if answers else question)


def write_argument(name: str, values: Sequence[str]) -> str:
    """Writes a setting as an argument of Python.

    >>> print(write_argument("columns.text", ["COLUMN"]), write_argument("people", ["ann", "ben"]))
    columns={"text": "COLUMN"} people=["ann", "ben"]
    >>> write_argument("data.download", ["true"]), write_argument("text", [])
    ('download=True', 'text')
    """
    argument, _, key = name.removeprefix("data.").partition(".")
    listed = json.dumps(list(values), ensure_ascii=False)
    value = "True" if [*values] == ["true"] else listed if len(values) > 1 else listed[1:-1] or "..."
    if key:
        return f'{argument}={{"{key}": {value}}}'
    return f"{argument}={value}" if values else argument


WRITERS: list[SettingWriter] = [write_argument]  # of the running program, the last one counts


def setting(name: str, *values: str) -> str:
    """Writes a setting, and values for it, for a message: as the running program takes it, else as Python does."""
    return WRITERS[-1](name, values)


@contextmanager
def write_settings_by(writer: SettingWriter) -> Iterator[None]:
    """Lets a program say how messages write its settings."""
    WRITERS.append(writer)
    try:
        yield
    finally:
        WRITERS.pop()


class OutsideError(Exception):
    """What was asked outside of this program, such as an endpoint, failed. The message is one line, the exit code 1."""


class ExampleError(InputError):
    """A metric cannot judge some examples. `at` holds pairs (index of the example, what is wrong) in order."""

    def __init__(self, at: Iterable[tuple[int, str]]) -> None:
        self.at = tuple(at)
        super().__init__(f"example {index + 1}: {what}" for index, what in self.at)

    def located(self, path: Path | str, lines: Sequence[int]) -> InputError:
        """Returns an InputError with the same faults by file and line; `lines` has the line number of each example."""
        return InputError(fault(path, lines[index], what) for index, what in self.at)


class MissingModelError(InputError):
    """A model to load is not on this machine.

    `fetchable` says that the model hub might have the model, but was not asked. `setting` is the name of the setting
    that names the model, if it is known.
    """

    def __init__(self, name: str, what: str, fetchable: bool = False, setting: str = "") -> None:
        self.name = name
        self.what = what
        self.fetchable = fetchable
        self.setting = setting
        super().__init__([f"{name}: {what}"])


def printable(text: str) -> str:
    """Writes every control character of the text as an escape, so that a terminal shows it and does not obey it.

    >>> print(printable("a\x1b[2J"))
    a\\x1b[2J
    """
    return CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def list_first(names: Sequence[str], most: int) -> str:
    """Joins the first `most` names with commas, and adds an ellipsis if more names follow.

    >>> list_first(["a", "b", "c"], 2), list_first(["a", "b"], 2)
    ('a, b, …', 'a, b')
    """
    shown = list(names[:most])
    if len(names) > most:
        shown.append("…")
    return ", ".join(shown)


def fault(path: Path | str, line: int, what: str) -> str:
    """Writes a fault as `file:line: what`, printable everywhere; line 0 stands for the file as a whole.

    >>> fault("in.jsonl", 3, "text is empty"), fault("none.jsonl", 0, "no such file")
    ('in.jsonl:3: text is empty', 'none.jsonl: no such file')
    """
    return printable(f"{path}:{line}: {what}" if line else f"{path}: {what}")


def suggest_similar(name: str, allowed: Collection[str], place: str = "") -> str:
    """Returns the end of a message, " (did you mean ...?)"; "" if no name is similar.

    It lists the allowed names that begin with the name, or else up to three names with a similar spelling. `place` is
    put in front of each name.

    >>> suggest_similar("cdm", ["bleu", "cdm_generative", "cdm_discriminative"])
    ' (did you mean cdm_generative or cdm_discriminative?)'
    >>> suggest_similar("blue", ["bleu", "cdm_generative"]), suggest_similar("xyz", ["bleu"])
    (' (did you mean bleu?)', '')
    >>> suggest_similar("orde", ["order"], "--metric.")
    ' (did you mean --metric.order?)'
    """
    similar = [candidate for candidate in allowed if name and candidate.startswith(name)]
    if not similar:
        similar = difflib.get_close_matches(
            name,
            list(allowed),
            n=3,
            cutoff=0.5,
        )
    shown = [f"{place}{candidate}" for candidate in similar]
    return f" (did you mean {' or '.join(shown)}?)" if shown else ""


def check_names(
    given: Iterable[str],
    allowed: Collection[str],
    of: str,
    place: str = "",
) -> None:
    """Raises SettingError for the first given name that is not a setting.

    The message calls it a setting of `of`, and puts `place` in front of the name.
    """
    for name in given:
        if name not in allowed:
            similar = suggest_similar(name, allowed, place)
            shown = ", ".join(allowed) or "none"
            raise SettingError(f"{place}{name} is not a setting of {of}{similar}; allowed: {shown}")


@contextmanager
def blame_file(path: Path | str) -> Iterator[None]:
    """Turns any error in the block, which only reads the file, into an InputError that names the file.

    An InputError passes as it is. A SettingError becomes one fault for each of its lines.
    """
    try:
        yield
    except InputError:
        raise
    except SettingError as error:
        raise InputError(fault(path, 0, line) for line in str(error).splitlines()) from error
    except Exception as error:
        message = " ".join(str(error).split())
        shown = message[:SHOWN_OF_AN_ERROR] or "(no message)"
        raise InputError([fault(path, 0, f"cannot be read: {type(error).__name__}: {shown}")]) from error


def group_faults(faults: Sequence[str]) -> list[str]:
    """Returns the lines of a message, by file and line.

    Equal faults of a file are merged, and at most `SHOWN_FAULTS` lines are shown.

    >>> group_faults([fault("in.jsonl", line, "text is empty") for line in range(1, 100_001)])
    ['in.jsonl:1: text is empty (the first of 100,000 lines with this fault: 1, 2, 3, 4, 5, …)']
    """
    groups: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for sentence in faults:
        placed = PLACED.fullmatch(sentence)
        path, _, what = sentence.partition(": ")
        key, line = ((placed["path"], placed["what"]), int(placed["line"])) if placed else ((path, what), 0)
        groups.setdefault(key, []).append((line, sentence))
    files = [*dict.fromkeys(path for path, _ in groups)]
    for group in groups.values():
        group.sort(key=itemgetter(0))
    lines: list[str] = []
    for key in sorted(groups, key=lambda key: (files.index(key[0]), groups[key][0][0])):
        numbers, sentences = zip(*groups[key], strict=True)
        if len(numbers) < GROUPED_FROM:
            lines += sentences
        else:
            shown = list_first([*map(str, numbers)], SHOWN_LINES)
            lines.append(f"{sentences[0]} (the first of {len(numbers):,} lines with this fault: {shown})")
    if len(lines) > SHOWN_FAULTS:
        lines[SHOWN_FAULTS:] = [f"… and {len(lines) - SHOWN_FAULTS:,} more such lines"]
    return lines


def format_value(value: object) -> str:
    """Formats a value for a message: as JSON on one line, shortened. A long object is shown by its keys.

    >>> format_value(None), format_value("a\\nb"), format_value({"id": "x" * 99, "text": "Hi"})
    ('null', '"a\\\\nb"', 'an object with id and text')
    """
    text = printable(json.dumps(value, ensure_ascii=False, default=str))
    if len(text) <= SHOWN_CHARACTERS:
        return text
    if isinstance(value, Mapping):
        names = [printable(str(name)) for name in value]
        listed = " and ".join([", ".join(names[:-1]), names[-1]]) if names[1:] else names[0]
        return f"an object with {listed}" if len(listed) <= SHOWN_CHARACTERS else f"an object of {len(names)} values"
    return f"{text[:SHOWN_CHARACTERS]}…"


def broken_rules(error: "ValidationError") -> Iterator[tuple[tuple[int | str, ...], str, object]]:
    """Yields each error that pydantic raised: the path (field names, keys, indices), the rule in words, the value."""
    for problem in error.errors(include_url=False):
        message = problem["msg"].removeprefix("Value error, ")
        rule = message.replace("Input should be", "must be")
        yield problem["loc"], RULES.get(problem["type"], rule), problem["input"]


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yields the error, its cause, the cause of its cause, and so on.

    OmegaConf can make an error its own cause (OC_CAUSE=1), so each error is yielded once.
    """
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        yield cause
        seen.append(cause)
        cause = cause.__cause__


def read_all(readers: Iterable[Callable[[], Any]]) -> list[Any]:
    """Calls the readers and returns their results in order. Raises one InputError with the faults of all readers."""
    results: list[Any] = []
    faults: list[str] = []
    for read in readers:
        try:
            results.append(read())
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    return results
