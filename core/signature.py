"""The signature: one line that says how a score was computed. It is printed with the score."""

import importlib.metadata
from dataclasses import fields
from functools import cache
from typing import Any, Final

PACKAGE: Final = "judging-generated-text"
MODEL_LIBRARIES: Final = ("torch", "transformers")

Setting = str | int | float | bool | None

version = cache(importlib.metadata.version)  # a long file has a signature for each chunk


def signature(name: str, *, libraries: tuple[str, ...] = (), **settings: Setting) -> str:
    """Makes the line `name|setting=value|...|v=version`; sorted names make equal settings give equal lines.

    The installed versions of `libraries` follow as `library=version`. A text may hold `=`: the first one ends the name.

    Raises ValueError for a text with `|` or a line break, for a setting called `v` or like a library, and for a value
    that is not a text, a number, a truth value or None.

    >>> signature("cdm", pooling="average", gamma=0.5).rsplit("|", 1)[0]
    'cdm|gamma=0.5|pooling=average'
    """
    reserved = sorted({"v", *libraries} & set(settings))
    if reserved:
        raise ValueError(f"a setting must not be called {', '.join(reserved)}, but {name!r} has one")
    shown = {key: _shown(key, settings[key]) for key in sorted(settings)}
    shown |= {library: version(library) for library in libraries}
    shown["v"] = version(PACKAGE)
    parts = [f"{key}={value}" for key, value in shown.items()]
    return "|".join([_shown("name", name), *parts])


def join_settings(name: str, settings: Any, **further: Setting) -> str:
    """Makes `name|setting=value|...` of the further values, then of every field of the dataclass `settings`."""
    return join_values(name, **further, **{field.name: getattr(settings, field.name) for field in fields(settings)})


def join_values(name: str, **values: Any) -> str:
    """Makes `name|setting=value|...` of settings, or lists of them."""
    parts = [name]
    for key, value in values.items():
        elements = value if isinstance(value, list | tuple) else [value]
        shown = ",".join(_shown(key, element) for element in elements)
        parts.append(f"{key}={shown}")
    return "|".join(parts)


def _shown(key: str, value: Setting) -> str:
    match value:
        case None | bool():
            return str(value).lower()
        case int():
            return str(value)
        case float():
            return repr(float(value))  # numpy's float is a float with another repr
        case str():
            if "|" in value or len(value.splitlines()) > 1 or value.endswith(("\n", "\r")):
                raise ValueError(f"a setting must not contain | or line breaks, but {key} is {value!r}")
            return value
    raise ValueError(f"a setting must be a text, a number, true, false or None, but {key} is {value!r}")
