"""Inputs in place of FILE on a command line: files of lines, a file for each system, or a set by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.errors import SettingError, printable
from judge.options import (
    FILE,
    Named,
    Place,
    Strings,
    flag,
)
from judge.registry import build, complete, find_set, read_config

TEXT_FILES = (
    flag("text", Place, "in place of FILE: a file with one text per line"),
    flag(
        "references",
        Strings,
        "a file of references aligned with text, or several",
        (),
    ),
    flag("source", Place, "a file of contexts aligned with text"),
)
SYSTEM_FILES = (
    flag(
        "systems",
        Strings,
        "in place of FILE: a file per system, old=old.txt new=new.txt",
        (),
    ),
)
SET = (
    flag(
        "data",
        Named,
        "in place of FILE: builtin_dialogues and others to audit; pandalm or alpaca_eval; --data.SETTING VALUE sets it",
    ),
)
IN_PLACE = {
    "text": TEXT_FILES,
    "systems": SYSTEM_FILES,
    "data": SET,
}  # of FILE, by flag
HOW = ("text", "references", "source")  # flags that `data.input_file.InputFile` takes, beside `levels`
OPTIONAL = ("pilot",)  # parameters of FILE that a verb does without


def read_inputs(verb: str, parameter: str, takes: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the source that FILE, `--text`, `--systems` or `--data` give; returns it by parameter of the verb.

    `parameter` is the parameter that FILE gives, `takes` has the flags that the verb accepts in place of FILE. Raises
    SettingError and InputError.
    """
    words = given.get(FILE, ())
    named = {name: given[name] for name in takes if name in given}
    file = find_file(f"judge {verb}", words)
    sources = [f"--{name}" for name in named]
    if file is not None:
        sources.insert(0, FILE)
    if len(sources) > 1:
        raise SettingError(f"{sources[0]} and {sources[1]} are two inputs: give one")
    if not sources and parameter not in OPTIONAL:
        raise SettingError(f"judge {verb} needs a file: judge {verb} FILE ...")
    if not sources:
        return {}
    if "data" in named:
        return read_set(
            verb,
            parameter,
            given,
        )
    if "systems" in named:
        without_scores = {"scores": None} if "scores" in given else {}
        return {
            parameter: read_systems(named["systems"], given),
            "columns": None,
            **without_scores,
        }
    if "text" not in takes:
        return {parameter: file}
    from data.input_file import InputFile

    return {parameter: InputFile.of(file, columns=given.get("columns"), **list_how(given)), "columns": None}


def find_file(called: str, words: Sequence[str]) -> str | None:
    """Finds the input file (FILE) among the words before the flags. Raises SettingError if there are several."""
    if len(words) > 1:
        raise SettingError(f"{called} takes one file, but got {', '.join(map(printable, words))}")
    return next(iter(words), None)


def list_how(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the given settings that say how to read a file."""
    return {name: given[name] for name in (*HOW, "levels") if name in given}


def read_systems(systems: Sequence[str], given: Mapping[str, Any]) -> Any:
    """Reads the outputs of the systems, one file each."""
    from data.scored import read_scored

    return read_scored(
        systems=systems,
        scores=given.get("scores"),
        columns=given.get("columns"),
        **list_how(given),
    )


def read_set(verb: str, parameter: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Loads the set that `--data` names, with its settings."""
    named = given["data"]
    if len(named) != 1:
        raise SettingError(f"--data names one set, but got {', '.join(named)}")
    ((name, settings),) = named.items()
    place = "--data."  # before its settings in messages
    config = complete(name, read_config(find_set(name), given.get("seed", 0)), settings, place)
    loaded = build(config, place)
    has_pairs = isinstance(loaded, tuple)
    if verb == "audit" and (has_pairs or not loaded.rated):
        raise SettingError(f"data must hold texts with ratings, but {name} has none")
    if verb == "audit":
        return {parameter: loaded.rated[0]}
    if not has_pairs:
        raise SettingError(f"judge {verb} takes pandalm or alpaca_eval by --data, or a FILE")
    preferences, outputs = loaded
    if outputs is None:
        return {parameter: preferences}
    if "outputs" in given:
        raise SettingError(f"outputs would have no effect, because {name} has its own")
    return {parameter: preferences, "outputs": outputs}
