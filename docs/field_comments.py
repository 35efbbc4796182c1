"""An extension of the pages of functions: they show the comment of a field, on its line or above it."""

from collections.abc import Sequence
from typing import Any

from griffe import Attribute, Class, Docstring, Extension, Module


class FieldComments(Extension):
    """Uses the comment of each field of a class as the field's docstring."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Describes all fields of a package; griffe calls it once all modules are loaded."""
        for module in pkg.modules.values():
            self.on_package(pkg=module)
        for documented in pkg.classes.values():
            self.describe_fields(documented)

    def describe_fields(self, documented: Class) -> None:
        """Describes the fields of one class."""
        for field in documented.attributes.values():
            self.describe(field)

    def describe(self, field: Attribute) -> None:
        """Sets the docstring of a field that has none."""
        if field.docstring or field.lineno is None or not field.is_public:
            return
        lines = field.module.lines
        last = field.endlineno or field.lineno
        comment = lines[last - 1].partition("  # ")[2]
        if not comment:
            comment = " ".join(read_comment_above(lines, field.lineno))
        if comment:
            field.docstring = Docstring(comment, parent=field)


def read_comment_above(lines: Sequence[str], lineno: int) -> list[str]:
    """Returns the lines of the comment directly above the line number `lineno`; lines are numbered from 1."""
    above: list[str] = []
    for line in reversed(lines[: lineno - 1]):
        text = line.strip()
        if not text.startswith("# "):
            break
        above.append(text.removeprefix("# "))
    above.reverse()
    return above
