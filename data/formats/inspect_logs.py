"""Inspect AI: logs as JSON and as `.eval`, a zip with a file per sample."""

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data.formats.tool_file import REMARK, Name, Row, ToolFile, describe, list_values, refuse, text_of
from data.numeric import is_missing, to_number
from data.records import check_rows, layout
from data.text_files import parse_json
from data.zip_files import check_unpacked_size

VALUES = {
    "C": 1.0,
    "I": 0.0,
    "P": 0.5,
    "N": 0.0,
}  # correct, incorrect, partial, no answer
SAMPLE_NAME = re.compile(r"samples/[^/]+\.json")

LOG = layout({"eval": Row, "status": Any}, samples=list[Any])
PARTS = {
    "id": Name,
    "input": Any,
    "output": Row | None,
}
SAMPLE = layout(
    PARTS,
    epoch=int,
    scores=Row,
    attachments=Row,
    transcript=Row,
)


def read_eval(path: Path) -> ToolFile:
    """Reads the samples in a `.eval` file; nothing is unpacked to disk."""
    with zipfile.ZipFile(path) as packed:
        sizes = {file.filename: file.file_size for file in packed.infolist()}
        head = "header.json" if "header.json" in sizes else "_journal/start.json"
        if head not in sizes:
            raise refuse(path, 0, "an .eval file needs header.json or _journal/start.json: is it an Inspect log?")
        names = [head, *filter(SAMPLE_NAME.fullmatch, sizes)]
        check_unpacked_size(path, (sizes[name] for name in names))
        header, *samples = (parse_json(path, packed.read(name)) for name in names)
    if not isinstance(header, dict):
        return read({}, path)
    return read(
        {
            "status": None,
            **header,
            "samples": samples,
        },
        path,
    )


def read(log: Mapping[str, Any], path: Path) -> ToolFile:
    """Reads one text per sample and epoch, in the order of epochs and ids.

    The sample is the input (`group`) of its texts.
    """
    check_rows([(0, log)], path, LOG)
    run = log["eval"]
    model = run.get("model")
    if not isinstance(model, str):
        raise refuse(path, 0, f'an Inspect log needs "eval" with "model", found {describe(run)}')
    if not log.get("samples"):
        raise refuse(path, 0, "this Inspect log has no samples (a header alone, or a run that stopped at once)")
    samples = check_rows(enumerate(log["samples"], start=1), path, SAMPLE)
    in_order = sorted(samples, key=_order)
    rows = [(line, _read_sample(sample, model)) for line, sample in in_order]
    return ToolFile.of(f"Inspect log of {run.get('task')}", rows)


def _order(located: tuple[int, Row]) -> tuple[int, str]:
    """Sorts samples by epoch and id; numbers as ids by their value."""
    _, sample = located
    name = sample["id"]
    return _epoch_of(sample), name if isinstance(name, str) else str(name).zfill(20)


def _epoch_of(sample: Row) -> int:
    return sample.get("epoch") or 1


def _read_sample(sample: Row, model: str) -> Row:
    name = str(sample["id"])
    epoch = _epoch_of(sample)
    output = sample["output"] or {}
    choices = list_values(output.get("choices"))
    scores, unread = _read_scores(sample)
    row: Row = {
        "id": f"{name}-{epoch}",
        "group": name,
        "system": model,
        "epoch": epoch,
        "text": _text(choices[:1], sample),
        "context": _text(sample["input"], sample),
        "scores": scores,
    }
    if unread:
        row[REMARK] = f"scores of {' and '.join(unread)} that are lists or words left out"
    target = sample.get("target")
    targets = target if isinstance(target, list) else [target]
    texts = [_text(reference, sample) or "" for reference in targets]
    row["references"] = [text.strip() for text in texts if text.strip()]
    return row


def _text(content: Any, sample: Row) -> str | None:
    """The text of a message or of messages; a reference to an attachment is replaced by it."""
    attached = sample.get("attachments") or (sample.get("transcript") or {}).get("content")
    text = text_of(content)
    if text is None or not isinstance(attached, Mapping):
        return text
    return str(attached.get(text.removeprefix("attachment://"), text))


def _read_scores(sample: Row) -> tuple[dict[str, float | None], list[str]]:
    """The scores by scorer, or `SCORER/NAME` where it gives several, and the scorers that gave lists or words."""
    scores: dict[str, float | None] = {}
    unread: list[str] = []
    for scorer, score in (sample.get("scores") or {}).items():
        given = score.get("value") if isinstance(score, Mapping) else score
        values = given if isinstance(given, Mapping) else {"": given}
        for name, value in values.items():
            label = f"{scorer}/{name}" if name else scorer
            number = _to_score(value)
            if number is None and not is_missing(value):
                unread.append(label)
            else:
                scores[label] = number
    return scores, unread


def _to_score(value: Any) -> float | None:
    if isinstance(value, str) and value in VALUES:
        return VALUES[value]
    return to_number(value)
