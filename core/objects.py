"""Objects by their dotted names, and the values inside nested settings."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any


def find_object(name: str) -> Any:
    """Finds the object that `MODULE.NAME` names, or an attribute of such an object.

    Works as `pkgutil.resolve_name`, but the ImportError of a module that exists and cannot be imported is raised.

    >>> find_object("pathlib.Path.cwd").__name__
    'cwd'
    """
    place, *parts = name.split(".")
    target: Any = import_module(place)
    for part in parts:
        place = f"{place}.{part}"
        if not hasattr(target, part):
            import_module(place)
        target = getattr(target, part)
    return target


def walk(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields `node` and every value inside it, each with its dotted path.

    >>> list(walk({"a": [2]}))
    [('', {'a': [2]}), ('a', [2]), ('a[0]', 2)]
    """
    yield path, node
    if isinstance(node, Mapping):
        start = f"{path}." if path else ""
        for key, value in node.items():
            yield from walk(value, f"{start}{key}")
    elif isinstance(node, list | tuple):
        for number, value in enumerate(node):
            yield from walk(value, f"{path}[{number}]")


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields every value at or below `node`, with its dotted path, except mappings and lists that are not empty."""
    for place, value in walk(node, path):
        has_content = isinstance(value, Mapping | list | tuple) and len(value) > 0
        if not has_content:
            yield place, value
