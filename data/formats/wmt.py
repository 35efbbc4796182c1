"""A folder of WMT outputs, human scores and metric scores in the layout of mt-metrics-eval."""

from pathlib import Path

from data.formats.found import Found, Row, refuse
from data.numeric import is_missing, to_number
from data.text_files import read_lines

OUTPUTS, HUMAN, METRICS = "system-outputs", "human-scores", "metric-scores"
SEGMENTS = ".seg.score"


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
    references = {
        _name(file, f"{pair}.", ".txt"): file for file in sorted((folder / "references").glob(f"{pair}.*.txt"))
    }
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
                    row |= {
                        "context": sources[i],
                        "references": [each[i] for each in written.values() if each[i].strip()],
                    }
                    known = {name: by[system][i] for name, by in rated.items() if system in by}
                    row["ratings"] = {name: value for name, value in known.items() if value is not None}
                    row["scores"] = {name: by[system][i] for name, by in scored.items() if system in by}
                    texts.append((len(texts) + 1, {**row, "document": places[i].partition("\t")[2]}))
    if not texts:
        raise refuse(folder / OUTPUTS / pair, 0, "the folder needs outputs of systems, SYSTEM.txt, found none")
    return Found.of(f"WMT folder {folder.name}, {pair}", texts)


def _name(file: Path, before: str, after: str) -> str:
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
    if wrong := [name for name, values in found.items() if len(values) != number]:
        raise refuse(
            file, 0, f"a system needs a line per segment ({number}), found {len(found[wrong[0]])} of {wrong[0]}"
        )
    return found
