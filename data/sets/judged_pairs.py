"""Pairs of outputs that LLM judges compared: PandaLM (Wang et al. 2024), AlpacaEval 2 (Dubois et al. 2024)."""

from dataclasses import replace
from pathlib import Path

from data.columns import freeze_columns
from data.download import require_file
from data.formats.recognition import Tool, read_tool
from data.formats.tool_file import Rows
from data.input_file import InputFile, read_objects
from data.preferences import check_preferences
from data.records import require_none
from data.scored import ScoredFile, read_scored
from data.text_files import read_json_lines
from meta_eval.preferences import Preferences

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

    An instruction together with its input is one input of the comparison.
    """
    path = require_file(root, "pandalm/pairs.jsonl", download)
    faults: list[str] = []
    tool_file = read_tool(PANDALM, require_none(read_json_lines(path, faults), faults), path)
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


def load_alpaca_eval(root: Path | str, download: bool = False) -> tuple[Preferences, None]:
    """Loads a judge's probabilities that a model is better than the baseline, and both texts' lengths in characters."""
    path = require_file(root, VERDICTS, download)
    faults: list[str] = []
    rows = read_objects(InputFile(path), faults)
    compared = ((line, row) for line, row in rows if row["model"] != row["baseline"])
    preferences = check_preferences(
        path,
        compared,
        faults,
        freeze_columns(COLUMNS),
    )
    return replace(preferences, by_model=True), None
