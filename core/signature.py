"""The signature: one line that says how a score was computed, to be printed beside it."""

from importlib.metadata import version
from typing import Final

PACKAGE: Final = "judging-generated-text"
MODEL_LIBRARIES: Final = ("torch", "transformers")

Setting = str | int | float | bool | None


def signature(name: str, *, libraries: tuple[str, ...] = (), **settings: Setting) -> str:
    """`name|setting=value|...|v=version`, the settings by name, so that equal settings give equal lines.

    With `libraries`, their installed versions follow as `library=version`; `MODEL_LIBRARIES` where a model is involved.
    A text (a model's name, a fingerprint of the data) may hold `=`: the first one ends the setting's name.

    Raises ValueError for a text with `|` or a line break, for the setting `v` or one named like a library, and for a
    value that is no text, number, truth value or None; importlib.metadata.PackageNotFoundError for a library that is
    not installed.

    >>> signature("cdm", pooling="average", gamma=0.5).rsplit("|", 1)[0]
    'cdm|gamma=0.5|pooling=average'
    """
    reserved = sorted({"v", *libraries} & set(settings))
    if reserved:
        raise ValueError(f"the signature writes {', '.join(reserved)} itself, but {name!r} has it as a setting")
    fields = {key: _shown(key, settings[key]) for key in sorted(settings)}
    fields |= {library: version(library) for library in libraries}
    return "|".join(
        [_shown("name", name), *(f"{key}={value}" for key, value in fields.items()), f"v={version(PACKAGE)}"]
    )


def _shown(key: str, value: Setting) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case float():
            return repr(float(value))  # numpy's float is a float with another repr
        case str():
            if "|" in value or len(value.splitlines()) > 1 or value.endswith(("\n", "\r")):
                raise ValueError(f"a signature is one line with | between its parts, but {key} is {value!r}")
            return value
    raise ValueError(f"a setting must be a text, a number, true, false or None, but {key} is {value!r}")
