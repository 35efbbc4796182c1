"""Inputs in place of FILE on a command line: files of lines, a file for each system, or a set by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import SettingError, printable
from judge.flags import Given

HOW = ("text", "references", "source", "split", "levels")  # flags that `data.input_file.InputFile` takes


@dataclass(frozen=True)
class TextFiles:
    """Files with one text per line: the texts themselves, their references and their sources."""

    # in place of FILE: a file with one text per line
    text: str | None = None
    # a file of references aligned with text, or several
    references: Sequence[str] = ()
    # a file of contexts aligned with text
    source: str | None = None
    # of a folder of WMT with several language pairs: en-de; of a workbook with several sheets: the name of one
    split: str | None = None


@dataclass(frozen=True)
class SystemFiles:
    """The outputs of systems."""

    # in place of FILE: a file per system, old=old.txt new=new.txt
    systems: Sequence[str] = ()


@dataclass(frozen=True)
class SetFiles:
    """A set of `configs/data`."""

    # in place of FILE: builtin_sets, builtin_dialogues and others to audit; pandalm or alpaca_eval with --data.root
    data: str | Mapping[str, Any] | None = None


IN_PLACE = {"text": TextFiles, "systems": SystemFiles, "data": SetFiles}  # of FILE, by flag
OPTIONAL = ("", "pilot")  # parameters of FILE that a verb does without


def read_inputs(verb: str, parameter: str, given: Given, inputs: Sequence[type]) -> dict[str, Any]:
    """Reads the source that FILE, `--text`, `--systems` or `--data` give, by parameter of the verb.

    `parameter` is the parameter that FILE gives; `inputs` are the inputs that the verb accepts in place of FILE. Raises
    SettingError and InputError.
    """
    file = find_file(given, takes_file=bool(parameter))
    instead = [name for name, kind in IN_PLACE.items() if kind in inputs and given.has(name)]
    if verb == "prefer" and instead == ["systems"]:  # beside the preferences of a file
        return read_outputs(given, file)
    sources = [f"--{name}" for name in instead]
    if file is not None:
        sources.insert(0, "FILE")
    if len(sources) > 1:
        raise SettingError(f"{sources[0]} and {sources[1]} are two inputs: give one")
    if not sources and parameter not in OPTIONAL:
        raise SettingError(f"{given.called} needs a file: {given.called} FILE ...")
    if not sources:
        return {}
    if instead == ["data"]:
        return read_set(verb, parameter, given)
    if instead == ["systems"]:
        without_scores = {"scores": None} if "scores" in given.flags else {}
        return {parameter: read_systems(given), "columns": None, **without_scores}
    if TextFiles not in inputs:
        return {parameter: file}
    from data.input_file import InputFile

    return {parameter: InputFile.of(file, columns=given.get("columns"), **list_how(given)), "columns": None}


def find_file(given: Given, takes_file: bool) -> str | None:
    """Finds the input file (FILE) among the words without a flag. Raises SettingError if there are several."""
    if given.others and not takes_file:
        raise SettingError(f"{given.called} takes no file, but got {printable(given.others[0])}")
    if len(given.others) > 1:
        raise SettingError(f"{given.called} takes one file, but got {', '.join(map(printable, given.others))}")
    file = given.others[0] if given.others else None
    if file is not None and "=" in file and not Path(file).exists():
        raise SettingError(f"{printable(file)} is neither a file nor a flag: settings are --NAME VALUE")
    return file


def list_how(given: Given) -> dict[str, Any]:
    """Returns the given settings that say how to read a file."""
    return {name: given.get(name) for name in HOW if name in given.flags and given.has(name)}


def read_systems(given: Given) -> Any:
    """Reads the outputs of the systems, one file each."""
    from data.scored import read_scored

    return read_scored(
        systems=given.get("systems"),
        scores=given.get("scores") if "scores" in given.flags else None,
        columns=given.get("columns"),
        **list_how(given),
    )


def read_outputs(given: Given, file: str | None) -> dict[str, Any]:
    """Reads the outputs of the systems, and the file of preferences if there is one.

    `columns` then belong to the file of preferences.
    """
    columns = given.get("columns") if file is not None else None
    return {"source": file, "outputs": read_systems(given), "scores": None, "columns": columns}


def read_set(verb: str, parameter: str, given: Given) -> dict[str, Any]:
    """Loads the set that `--data` names, with its settings."""
    from judge.sets import load_set

    seed = given.get("seed") if "seed" in given.flags else 0
    loaded = load_set(given.values.get("data"), given.inner("data"), seed)
    has_pairs = isinstance(loaded, tuple)
    if verb == "audit" and has_pairs:
        raise SettingError("data must hold texts: preferences have none alone")
    if verb == "audit":
        return {parameter: list(loaded.rated)}
    if not has_pairs:
        raise SettingError(f"{given.called} takes pandalm or alpaca_eval by --data, or a FILE")
    preferences, outputs = loaded
    if verb == "plan" or outputs is None:
        return {parameter: preferences}
    return {parameter: preferences, "outputs": outputs}
