"""Objects by their dotted names."""

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
