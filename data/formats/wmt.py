"""WMT: folders of outputs, human and metric scores in the layout of mt-metrics-eval, and tables of MQM errors."""

import re
from collections import defaultdict
from pathlib import Path

from data.formats.found import Found, Row, Rows, describe, refuse
from data.numeric import is_missing, to_number
from data.text_files import read_lines

OUTPUTS, HUMAN, METRICS = "system-outputs", "human-scores", "metric-scores"
SEGMENTS = ".seg.score"
# the columns of a table with a row per error that a rater marked in a translation
ERRORS = frozenset({"system", "doc", "rater", "source", "target", "category", "severity"})
WEIGHTS = {"major": 5.0, "minor": 1.0, "neutral": 0.0, "no-error": 0.0, "no error": 0.0}
TAG = re.compile(r"</?v>")


def is_evalset(folder: Path) -> bool:
    """Whether it is such a folder."""
    return (folder / OUTPUTS).is_dir() and (folder / "sources").is_dir()


def read(folder: Path, split: str | None) -> Found:
    """A text per system and segment: `human-scores/*.seg.score` as ratings, `metric-scores/*.seg.score` as scores.

    `split` is the language pair where there are several. References are no systems. WMT's canary line is left out.
    """
    pairs = sorted(each.name for each in (folder / OUTPUTS).iterdir() if each.is_dir())
    pair = pairs[0] if split is None and len(pairs) == 1 else split
    if pair not in pairs:
        raise refuse(folder, 0, f"data.split must be a language pair, one of {', '.join(pairs)}, found {split}")
    sources = _read_lines(folder / "sources" / f"{pair}.txt")
    translated = sorted((folder / "references").glob(f"{pair}.*.txt"))
    references = {_name(file, f"{pair}.", ".txt"): file for file in translated}
    written = {name: _read_lines(file, len(sources)) for name, file in references.items()}
    documents = folder / "documents" / f"{pair}.docs"
    places = _read_lines(documents, len(sources)) if documents.is_file() else [""] * len(sources)
    ratings = {_name(file, f"{pair}.", SEGMENTS): file for file in (folder / HUMAN).glob(f"{pair}.*{SEGMENTS}")}
    scores = {_name(file, "", SEGMENTS): file for file in (folder / METRICS / pair).glob(f"*{SEGMENTS}")}
    rated = {name: _read_scores(file, len(sources)) for name, file in sorted(ratings.items())}
    scored = {name: _read_scores(file, len(sources)) for name, file in sorted(scores.items())}
    texts: list[tuple[int, Row]] = []
    for file in sorted((folder / OUTPUTS / pair).glob("*.txt")):
        if (system := file.stem) not in references:
            for i, text in enumerate(_read_lines(file, len(sources))):
                if "canary" not in places[i]:
                    row: Row = {"id": f"{system}-{i + 1}", "system": system, "group": str(i + 1), "text": text}
                    row["context"], row["references"] = sources[i], [r[i] for r in written.values() if r[i].strip()]
                    known = {name: by[system][i] for name, by in rated.items() if system in by}
                    row["ratings"] = {name: value for name, value in known.items() if value is not None}
                    row["scores"] = {name: by[system][i] for name, by in scored.items() if system in by}
                    texts.append((len(texts) + 1, {**row, "document": places[i].partition("\t")[2]}))
    if not texts:
        raise refuse(folder / OUTPUTS / pair, 0, "the folder needs outputs of systems, SYSTEM.txt, found none")
    return Found.of(f"WMT folder {folder.name}, {pair}", texts)


def _name(
    file: Path,
    before: str,
    after: str,
) -> str:
    return file.name.removeprefix(before).removesuffix(after)


def _read_lines(file: Path, number: int | None = None) -> list[str]:
    lines = [line for _, line in read_lines(file, keep_end=True)]
    if number is not None and len(lines) != number:
        raise refuse(file, 0, f"the file must have {number} lines as the sources, found {len(lines)}")
    return lines


def _read_scores(file: Path, number: int) -> dict[str, list[float | None]]:
    """The scores of each system in the order of lines; None is missing."""
    found: dict[str, list[float | None]] = {}
    for line, text in enumerate(_read_lines(file), start=1):
        system, _, cell = text.rpartition("\t" if "\t" in text else " ")
        if to_number(cell) is None and not is_missing(cell):
            raise refuse(file, line, f"a line must be SYSTEM and SCORE, found {text[:60]!r}")
        found.setdefault(system, []).append(to_number(cell))
    for name, values in found.items():
        if len(values) != number:
            raise refuse(file, 0, f"a system needs a line per segment ({number}), found {len(values)} of {name}")
    return found


def read_errors(path: Path) -> Rows:
    """A text per system and segment, rated `mqm` by each rater: minus the weights of the errors (Freitag et al. 2021).

    Major errors weigh 5, minor ones 1, of punctuation .1; a non-translation 25.
    """
    lines = read_lines(path)
    names = lines[0][1].split("\t")
    segment = next((name for name in ("seg_id", "globalSegId") if name in names), None)
    rows: dict[tuple[str, str], Row] = {}
    for line, text in lines[1:]:
        cells = dict(zip(names, text.split("\t"), strict=False))
        severity, category = cells.get("severity", "").lower(), cells.get("category", "").lower()
        if segment is None or len(cells) < len(ERRORS) or (severity not in WEIGHTS and severity != "hotw-test"):
            known = f"a row needs seg_id or globalSegId and a severity among {', '.join(WEIGHTS)}"
            raise refuse(path, line, f"{known}, found {describe(cells.get('severity'))}")
        if severity == "hotw-test":
            continue  # a planted error that tests the rater
        weight = WEIGHTS[severity]
        if weight and "non-translation" in category:
            weight = 25.0
        elif severity == "minor" and category == "fluency/punctuation":
            weight = 0.1
        system, name = cells["system"], cells[segment]
        plain = {key: TAG.sub("", cells[key]).strip() for key in ("source", "target")}
        new = {"id": f"{system}-{name}", "system": system, "group": name, "ratings": {"mqm": defaultdict(float)}}
        row = rows.setdefault((system, name), {**new, "text": plain["target"], "context": plain["source"]})
        row["ratings"]["mqm"][cells["rater"]] -= weight
    return enumerate(rows.values(), 1)
