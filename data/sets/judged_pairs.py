"""Pairs of outputs that LLM judges compared: PandaLM (Wang et al. 2024), AlpacaEval 2 (Dubois et al. 2024)."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from core.errors import blame_file
from data.columns import freeze_columns
from data.download import find_file, require_file
from data.formats.recognition import Tool, read_tool
from data.formats.tool_file import Row, Rows, list_objects
from data.input_file import InputFile, read_objects
from data.preferences import check_preferences
from data.records import require_none
from data.scored import ScoredFile, read_scored
from data.text_files import read_json, read_json_lines
from meta_eval.preferences import Preferences

PAIRS_FILE = "pandalm/pairs.jsonl"
PEOPLE = "pandalm/testset-v1.json"
JUDGES = {"gpt-3.5-turbo": "gpt_result", "pandalm-7b": "pandalm_result"}  # the file NAME-testset-v1.json, and its key
SIDES = {
    "0": "tie",
    "1": "a",
    "2": "b",
    "Tie": "tie",
    "tie": "tie",
}
VERDICTS = "alpaca_eval/verdicts.csv"
COLUMNS = {
    "group": "instruction",
    "system_a": "model",
    "system_b": "baseline",
    "winner": "judge_prefers_model",
    "length_a": "model_length",
    "length_b": "baseline_length",
}


def load_pandalm(root: Path | str, download: bool = False) -> tuple[Preferences, ScoredFile]:
    """Loads the choices of three people, the verdicts of two judges, and the texts of five models.

    They are read from the three published files, or from `pairs.jsonl`, which joins them. An instruction together with
    its input is one input of the comparison.
    """
    path = find_file(root, PAIRS_FILE) or require_file(root, PEOPLE, download)
    faults: list[str] = []
    if path.name == Path(PAIRS_FILE).name:
        tool_file = read_tool(PANDALM, require_none(read_json_lines(path, faults), faults), path)
    else:
        published = partial(_join_published, _read_verdicts(root, download))
        tool_file = read_tool(PANDALM._replace(read=published), list_objects(read_json(path), path), path)
    texts = InputFile(path, records=[row for _, row in tool_file.texts])
    return check_preferences(path, tool_file.pairs, faults), read_scored(texts)


def _list_pairs(rows: Rows, path: Path) -> Rows:
    """The judgements and the texts of joined rows."""
    for line, row in rows:
        group = f"{row['instruction']}\n\n{row['input']}".strip()
        for person, winner in enumerate(row["people"], start=1):
            judgement = {
                "group": group,
                "system_a": row["system_a"],
                "system_b": row["system_b"],
                "winner": winner,
                "rater": str(person),
                "judges": row["judges"],
            }
            yield line, judgement
        for side in "ab":
            text = str(row[f"text_{side}"])  # one answer is the word true, without quotes
            if not text.strip():
                continue
            answer = {
                "id": f"{row['id']}-{side}",
                "group": group,
                "context": group,
                "system": row[f"system_{side}"],
                "text": text,
            }
            yield line, answer  # of two answers of a system to one instruction the first counts


PANDALM = Tool("PandaLM", "", _list_pairs)


def _read_verdicts(root: Path | str, download: bool) -> dict[str, dict[Any, str | None]]:
    """The verdicts of each judge by the index of the pair."""
    verdicts: dict[str, dict[Any, str | None]] = {}
    for judge, key in JUDGES.items():
        path = require_file(root, f"pandalm/{judge}-testset-v1.json", download)
        with blame_file(path):
            rows = list_objects(read_json(path), path)
            verdicts[judge] = {row["idx"]: SIDES.get(str(row[key])) for _, row in rows}
    return verdicts


def _join_published(
    verdicts: Mapping[str, Mapping[Any, str | None]],
    rows: Rows,
    path: Path,
) -> Rows:
    """The judgements and the texts of the published rows of people, and the verdicts of judges."""

    def join(row: Row) -> Row:
        system_a, system_b = row["cmp_key"].split("_")
        return {
            "id": str(row["idx"]),
            "instruction": row["instruction"],
            "input": row["input"] if isinstance(row["input"], str) else "",  # NaN
            "system_a": system_a,
            "system_b": system_b,
            "text_a": row["response1"],
            "text_b": row["response2"],
            "people": [_read_choice(row, f"annotator{i}") for i in (1, 2, 3)],
            "judges": {judge: by_index[row["idx"]] for judge, by_index in verdicts.items()},
        }

    return _list_pairs(((line, join(row)) for line, row in rows), path)


def _read_choice(row: Row, key: str) -> str:
    """Whom a person chose: a tie, the first or the second."""
    if row[key] not in (0, 1, 2):
        raise ValueError(f"{key} must be 0, 1 or 2, found {row[key]!r}")
    return SIDES[str(row[key])]


def load_alpaca_eval(root: Path | str, download: bool = False) -> tuple[Preferences, None]:
    """Loads a judge's probabilities that a model is better than the baseline, and both texts' lengths in characters."""
    path = require_file(root, VERDICTS, download)
    faults: list[str] = []
    rows = read_objects(InputFile(path), faults)
    compared = ((line, row) for line, row in rows if row["model"] != row["baseline"])
    preferences = check_preferences(path, compared, faults, freeze_columns(COLUMNS))
    return replace(preferences, by_model=True), None
