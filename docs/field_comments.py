"""Pages of functions show what a field means: the comment on its line, or the comment lines above it."""

from typing import Any

from griffe import Attribute, Docstring, Extension, Module


class FieldComments(Extension):
    """Takes the comment of each field of a class as its docstring."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Called once for a package, when all of its modules are loaded."""
        for module in pkg.modules.values():
            self.on_package(pkg=module)
        for found in pkg.classes.values():
            for field in found.attributes.values():
                self.describe(field)

    def describe(self, field: Attribute) -> None:
        """Sets the docstring of a field that has none."""
        if field.docstring or field.lineno is None or not field.is_public:
            return
        lines = field.lines_collection[field.filepath]
        *_, comment = lines[(field.endlineno or field.lineno) - 1].partition("  # ")
        above: list[str] = []
        at = field.lineno - 2
        while lines[at].strip().startswith("# "):
            above.insert(0, lines[at].strip().removeprefix("# "))
            at -= 1
        if text := comment or " ".join(above):
            field.docstring = Docstring(text, parent=field)
