"""Templates: texts with names in braces, such as the prompts of a judge. Only known names are replaced."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from core.errors import InputError, fault

LARGEST_TEMPLATE = 1_000_000  # bytes of a file
NAME = re.compile(r"\{([a-z_]+)\}")


def read_template(file: Path, longest: int = LARGEST_TEMPLATE) -> str:
    """Reads the text of a file. Raises InputError if it is missing, has more bytes than `longest` or is not UTF-8."""
    if not file.is_file():
        raise InputError([fault(file, 0, "no such file")])
    with file.open("rb") as opened:
        content = opened.read(longest + 1)
    if len(content) > longest:
        raise InputError([fault(file, 0, f"must have at most {longest} bytes, found more")])
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise InputError([fault(file, line, f"must be UTF-8, found byte 0x{byte:02x}")]) from None


def names_in(template: str, known: Collection[str]) -> list[str]:
    """Lists the known names that stand in braces in the template, each once.

    >>> names_in("{text} {secret} {text:d} {low} {text}", ("text", "low", "high"))
    ['text', 'low']
    """
    return [name for name in dict.fromkeys(NAME.findall(template)) if name in known]


def fill_template(template: str, values: Mapping[str, object]) -> str:
    """Replaces the names in braces by their values. All other braces stay as they are, also those inside a value.

    >>> fill_template('{text} is {low}, {text!r:>9} {"score": 1}', {"text": "{low}", "low": 0})
    '{low} is 0, {text!r:>9} {"score": 1}'
    """
    return NAME.sub(lambda match: str(values.get(match[1], match[0])), template)
