"""Dialogues: lines of utterances that each end with `</UTT>`, and the published scores of DEAM."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from data.files import UTTERANCE_END


def read_part(folder: Path, start: int, stop: int) -> Iterator[str]:
    """Lines of `clean_valid.txt`, where Topical-Chat comes first and PersonaChat follows."""
    yield from _read_lines(folder / "clean_valid.txt")[start:stop]


def read_topical_chat(folder: Path) -> Iterator[str]:
    """The dialogues of `test_freq.json` and `test_rare.json`."""
    for name in ("test_freq.json", "test_rare.json"):
        for dialogue in json.loads((folder / name).read_text("utf-8")).values():
            turns = (turn["message"].strip().replace("\n", " ") for turn in dialogue["content"])
            yield "".join(f"{turn}{UTTERANCE_END}" for turn in turns)


def read_daily_dialog(folder: Path, original: str) -> Iterator[str]:
    """The dialogues of a file of DailyDialog, where utterances end with `__eou__`."""
    for line in _read_lines(folder / original):
        yield re.sub(r"\s*__eou__\s*", UTTERANCE_END, line, flags=re.ASCII)


def read_deam_scores(folder: Path, original: str, column: str) -> Iterator[str]:
    """The scores at the ends of the lines of a file of predictions, by line number from 0."""
    yield f"{column}\tdeam_score"
    for number, line in enumerate(_read_lines(folder / original)):
        yield f"{number}\t{line.split(UTTERANCE_END)[-1]}"


def _read_lines(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
