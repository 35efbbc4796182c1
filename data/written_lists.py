"""Parses lists of texts that were written as one text, in JSON."""

import json
import re

QUOTED_LIST = re.compile(r"\s*\[\s*(?:[\"']|\])")  # [laughs] is a text, and so is [1]


def parse_list(text: str) -> list[str] | None:
    """Parses a list of texts in JSON; None for any other text.

    Raises ValueError for a text that begins and ends like a list of quoted texts but is none in JSON, such as a list as
    Python writes it.

    >>> parse_list('["a", "b"]'), parse_list("[laughs]"), parse_list("[]")
    (['a', 'b'], None, [])
    """
    if not QUOTED_LIST.match(text):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list) and all(isinstance(element, str) for element in value):
        return value
    if text.rstrip().endswith("]") or text.lstrip().startswith('["'):
        raise ValueError("must be a list of texts in JSON, or one text")
    return None
