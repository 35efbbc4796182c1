"""Inspect AI: logs as JSON and as `.eval`, a zip with a file per sample."""

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data.formats.found import REMARK, Found, Name, Row, describe, list_values, refuse, text_of
from data.numeric import is_missing, to_number
from data.records import check_rows, layout
from data.text_files import parse_json

VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}  # correct, incorrect, partial, no answer
MOST_BYTES = (2**24, 100)  # the unpacked size of a zip: at most this, plus this factor times its own size


LOG = layout({"eval": Row, "status": Any}, samples=list[Any])
PARTS = {"id": Name, "input": Any, "output": Row | None}
SAMPLE = layout(
    PARTS,
    epoch=int,
    scores=Row,
    attachments=Row,
    transcript=Row,
)


def read_eval(path: Path) -> Found:
    """The samples in a `.eval` file; nothing is unpacked to the disk."""
    with zipfile.ZipFile(path) as packed:
        files = {each.filename: each for each in packed.infolist()}
        names = [name for name in files if re.fullmatch(r"samples/[^/]+\.json", name)]
        most = MOST_BYTES[0] + MOST_BYTES[1] * path.stat().st_size
        head = "header.json" if "header.json" in files else "_journal/start.json"
        if head not in files:
            raise refuse(path, 0, "an .eval file needs header.json or _journal/start.json: is it an Inspect log?")
        if (size := sum(files[name].file_size for name in (head, *names))) > most:
            raise refuse(path, 0, f"a log of this size must have at most {most} bytes unpacked, found {size}")
        header, *samples = (parse_json(path, packed.read(name)) for name in (head, *names))
    return read({"status": None, **header, "samples": samples} if isinstance(header, dict) else {}, path)


def read(log: Mapping[str, Any], path: Path) -> Found:
    """A text per sample and epoch, in the order of epochs and ids; its input is the sample."""
    check_rows([(0, log)], path, LOG)
    run = log["eval"]
    if not isinstance(model := run.get("model"), str):
        raise refuse(path, 0, f'an Inspect log needs "eval" with "model", found {describe(run)}')
    if not log.get("samples"):
        raise refuse(path, 0, "this Inspect log has no samples (a header alone, or a run that stopped at once)")
    texts = []
    for line, sample in check_rows(enumerate(log["samples"], start=1), path, SAMPLE):
        name, epoch = str(sample["id"]), sample.get("epoch") or 1
        said = _text(list_values((sample["output"] or {}).get("choices"))[:1], sample)
        scores, other = _read_scores(sample)
        row: Row = {"id": f"{name}-{epoch}", "group": name, "system": model, "epoch": epoch, "text": said}
        row |= {"context": _text(sample["input"], sample), "scores": scores}
        if other:
            row[REMARK] = f"scores of {' and '.join(other)} that are lists or words left out"
        targets = sample["target"] if isinstance(sample.get("target"), list) else [sample.get("target")]
        row["references"] = [text for each in targets if (text := (_text(each, sample) or "").strip())]
        texts.append(((epoch, name if isinstance(sample["id"], str) else name.zfill(20)), line, row))
    in_order = sorted(texts, key=lambda each: each[:2])
    return Found.of(f"Inspect log of {run.get('task')}", [(line, row) for _, line, row in in_order])


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
    other: list[str] = []
    for scorer, score in (sample.get("scores") or {}).items():
        value = score.get("value") if isinstance(score, Mapping) else score
        for name, each in (value if isinstance(value, Mapping) else {"": value}).items():
            number = VALUES.get(each) if isinstance(each, str) and each in VALUES else to_number(each)
            called = f"{scorer}/{name}" if name else scorer
            if number is None and not is_missing(each):
                other.append(called)
            else:
                scores[called] = number
    return scores, other
