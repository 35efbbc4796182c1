"""Objects by their dotted names."""

from importlib import import_module
from typing import Any


def find_object(name: str) -> Any:
    """Finds the object that `MODULE.NAME` names, or an attribute of such an object.

    As `pkgutil.resolve_name`, but where a module is there and cannot be imported, its ImportError is raised.

    >>> find_object("pathlib.Path.cwd").__name__
    'cwd'
    """
    place, *parts = name.split(".")
    found: Any = import_module(place)
    for part in parts:
        place = f"{place}.{part}"
        if not hasattr(found, part):
            import_module(place)
        found = getattr(found, part)
    return found
