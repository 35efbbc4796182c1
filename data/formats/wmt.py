"""WMT: folders in the layout of mt-metrics-eval (outputs, human and metric scores), and tables of MQM errors."""

import re
from collections import defaultdict
from pathlib import Path

from core.errors import setting
from data.formats.tool_file import Row, Rows, ToolFile, describe, refuse
from data.numeric import is_missing, to_number
from data.text_files import read_lines

OUTPUTS = "system-outputs"
HUMAN = "human-scores"
METRICS = "metric-scores"
SEGMENTS = ".seg.score"
# the columns of a table with a row per error that a rater marked in a translation
ERRORS = frozenset({"system", "doc", "rater", "source", "target", "category", "severity"})
WEIGHTS = {
    "major": 5.0,
    "minor": 1.0,
    "neutral": 0.0,
    "no-error": 0.0,
    "no error": 0.0,
}
TEST_OF_RATERS = "hotw-test"  # the severity of planted errors
TAG = re.compile(r"</?v>")


def is_evalset(folder: Path) -> bool:
    """Whether a folder has the layout of mt-metrics-eval."""
    return (folder / OUTPUTS).is_dir() and (folder / "sources").is_dir()


def read(folder: Path, split: str | None) -> ToolFile:
    """Reads one text per system and segment, with ratings and scores.

    Ratings come from `human-scores/*.seg.score`, scores from `metric-scores/*.seg.score`. `split` is the language pair,
    if there are several. References are not systems. WMT adds one line to detect training on its data; this line is
    left out.
    """
    pair = _choose_pair(folder, split)
    sources = _read_lines(folder / "sources" / f"{pair}.txt")
    number = len(sources)
    references = _read_references(folder, pair, number)
    written = list(references.values())
    documents = _read_documents(folder, pair, number)
    rating_files = _name_files(folder / HUMAN, f"{pair}.", SEGMENTS)
    score_files = _name_files(folder / METRICS / pair, "", SEGMENTS)
    ratings = {name: _read_scores(file, number) for name, file in sorted(rating_files.items())}
    scores = {name: _read_scores(file, number) for name, file in sorted(score_files.items())}
    texts: list[tuple[int, Row]] = []
    for file in sorted((folder / OUTPUTS / pair).glob("*.txt")):
        system = file.stem
        if system in references:
            continue
        for i, text in enumerate(_read_lines(file, number)):
            if "canary" in documents[i]:
                continue
            row: Row = {
                "id": f"{system}-{i + 1}",
                "system": system,
                "group": str(i + 1),
                "text": text,
                "context": sources[i],
                "references": [lines[i] for lines in written if lines[i].strip()],
                "ratings": _drop_missing(_pick(ratings, system, i)),
                "scores": _pick(scores, system, i),
                "document": documents[i].partition("\t")[2],
            }
            texts.append((len(texts) + 1, row))
    if not texts:
        raise refuse(folder / OUTPUTS / pair, 0, "the folder needs outputs of systems, SYSTEM.txt, found none")
    return ToolFile.of(f"WMT folder {folder.name}, {pair}", texts)


def _choose_pair(folder: Path, split: str | None) -> str:
    """The language pair: `split`, or the only one."""
    pairs = sorted(child.name for child in (folder / OUTPUTS).iterdir() if child.is_dir())
    pair = pairs[0] if split is None and len(pairs) == 1 else split
    if pair is None or pair not in pairs:
        raise refuse(folder, 0, f"{setting('split')} must be a language pair, one of {', '.join(pairs)}, found {split}")
    return pair


def _read_references(
    folder: Path,
    pair: str,
    number: int,
) -> dict[str, list[str]]:
    """The lines of each human translation, by its name."""
    files = _name_files(folder / "references", f"{pair}.", ".txt")
    return {name: _read_lines(file, number) for name, file in files.items()}


def _read_documents(
    folder: Path,
    pair: str,
    number: int,
) -> list[str]:
    """The domain and the document of each line; empty texts where no file has them."""
    file = folder / "documents" / f"{pair}.docs"
    return _read_lines(file, number) if file.is_file() else [""] * number


def _name_files(
    folder: Path,
    before: str,
    after: str,
) -> dict[str, Path]:
    """The files of a folder by what stands between `before` and `after` in their names."""
    files = sorted(folder.glob(f"{before}*{after}"))
    return {_name(file, before, after): file for file in files}


def _pick(
    values: dict[str, dict[str, list[float | None]]],
    system: str,
    i: int,
) -> dict[str, float | None]:
    """The values of one text by name, of the names that have this system."""
    return {name: by_system[system][i] for name, by_system in values.items() if system in by_system}


def _drop_missing(values: dict[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}


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
    scores: dict[str, list[float | None]] = {}
    for line, text in enumerate(_read_lines(file), start=1):
        separator = "\t" if "\t" in text else " "
        system, _, cell = text.rpartition(separator)
        score = to_number(cell)
        if score is None and not is_missing(cell):
            raise refuse(file, line, f"a line must be SYSTEM and SCORE, found {text[:60]!r}")
        scores.setdefault(system, []).append(score)
    for name, values in scores.items():
        if len(values) != number:
            raise refuse(file, 0, f"a system needs a line per segment ({number}), found {len(values)} of {name}")
    return scores


def read_errors(path: Path) -> Rows:
    """Reads one text per system and segment. Each rater's rating `mqm` is minus the sum of error weights.

    A major error weighs 5, a minor one 1, a minor one of punctuation .1, and a non-translation 25 (Freitag et al.
    2021).
    """
    lines = read_lines(path)
    names = lines[0][1].split("\t")
    segment = next((name for name in ("seg_id", "globalSegId") if name in names), None)
    rows: dict[tuple[str, str], Row] = {}
    for line, text in lines[1:]:
        cells = dict(zip(names, text.split("\t"), strict=False))
        severity = cells.get("severity", "").lower()
        is_known = severity in WEIGHTS or severity == TEST_OF_RATERS
        if segment is None or len(cells) < len(ERRORS) or not is_known:
            known = f"a row needs seg_id or globalSegId and a severity among {', '.join(WEIGHTS)}"
            raise refuse(path, line, f"{known}, found {describe(cells.get('severity'))}")
        if severity == TEST_OF_RATERS:
            continue
        system = cells["system"]
        name = cells[segment]
        if (system, name) not in rows:
            rows[system, name] = {
                "id": f"{system}-{name}",
                "system": system,
                "group": name,
                "ratings": {"mqm": defaultdict(float)},
                "text": TAG.sub("", cells["target"]).strip(),
                "context": TAG.sub("", cells["source"]).strip(),
            }
        by_rater = rows[system, name]["ratings"]["mqm"]
        by_rater[cells["rater"]] -= _weigh(severity, cells["category"].lower())
    return enumerate(rows.values(), 1)


def _weigh(severity: str, category: str) -> float:
    """The weight of an error."""
    weight = WEIGHTS[severity]
    if weight and "non-translation" in category:
        return 25.0
    if severity == "minor" and category == "fluency/punctuation":
        return 0.1
    return weight
