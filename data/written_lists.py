"""Parses lists of texts written as one text: in JSON, or as Python and pandas write them."""

import ast
import json
import re

QUOTED_LIST = re.compile(r"\s*\[\s*(?:[\"']|\])")  # [laughs] is a text, and so is [1]
STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)


def parse_list(text: str) -> list[str] | None:
    """Parses a list of texts in JSON or Python's form; None for any other text.

    Raises ValueError for a text that begins like a list of quoted texts but is not a list, such as a printed numpy
    array.

    >>> parse_list('["a", "b"]'), parse_list("['a', \\"it's\\"]"), parse_list("[laughs]"), parse_list("[]")
    (['a', 'b'], ['a', "it's"], None, [])
    """
    if not QUOTED_LIST.match(text):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        # Python joins texts that stand side by side, as numpy writes them
        is_whole = read is json.loads or len(STRING.findall(text)) == len(value)
        are_texts = isinstance(value, list) and all(isinstance(element, str) for element in value)
        if are_texts and is_whole:
            return value
    if text.rstrip().endswith("]") or text.lstrip().startswith('["'):
        raise ValueError("must be a list of texts in JSON or Python's form, or one text")
    return None
