"""Newsroom: summaries of articles by several systems, rated by people (Grusky et al. 2018).

`root` is the folder that holds `newsroom/` (and `roc_stories/`), or this folder itself.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from core.example import Example
from core.faults import fault, read_all, shown
from core.settings import is_text, listed
from data.download import find_file, require_file
from data.rated import RatedSet
from data.records import NUMBER, OBJECT, TEXT, problems_of, read_records, sound
from data.references import ReferenceData
from data.sets.stories import HELD_OUT_FRACTION, load_roc_plain, split_plain

FULL = "newsroom/newsroom.jsonl"
SAMPLE = "newsroom/newsroom_sample.jsonl"
ASPECTS = ("coherence", "fluency", "informativeness", "relevance")
PAPER_SYSTEMS = ("textrank", "abstractive", "pointer_n")


def newsroom(
    root: Path | str,
    download: bool = False,
    systems: Sequence[str] | None = PAPER_SYSTEMS,
    plain_stories: bool = False,
    held_out_fraction: float = HELD_OUT_FRACTION,
    seed: int = 0,
) -> ReferenceData:
    """Rated summaries (MARS, Tables 3-5).

    Args:
        root: the folder of the public sets.
        download: whether missing files that have a known checksum are fetched into `root`.
        systems: whose summaries are read; None for all seven.
        plain_stories: whether plain ROC stories are read to train a small model on; the set itself has no such texts.
        held_out_fraction: the part of them that is kept for the held-out loss.
        seed: of the choice of that part.

    Raises InputFaults when a file is missing or wrong, DownloadFault when one cannot be fetched.
    """
    stories = [partial(load_roc_plain, root, download)] if plain_stories else []
    rated, *plain = read_all([partial(load_newsroom, root, systems, download), *stories])
    train, held_out = split_plain([story for part in plain for story in part], held_out_fraction, seed)
    return ReferenceData("newsroom", train, held_out, (rated,), synthetic=False)


def load_newsroom(root: Path | str, systems: Sequence[str] | None = PAPER_SYSTEMS, download: bool = False) -> RatedSet:
    """Each summary with its article as `context`, the one human summary, and four ratings of 1 to 5.

    Aspects: the `mean` of coherence, fluency, informativeness and relevance, which MARS goes by, then these four. All
    60 articles where `newsroom.jsonl` is there, else the sample of every tenth.
    """
    if systems is not None:
        listed("systems", systems, "names of systems", is_text)
    path = find_file(root, FULL) or find_file(root, SAMPLE) or require_file(root, FULL, download)
    faults: list[str] = []
    examples: list[Example] = []
    kinds = {"text": TEXT, **dict.fromkeys((*ASPECTS, "mean"), NUMBER)}
    for line, record in read_records(path, {"id": TEXT, "source": TEXT, "reference": TEXT, "systems": OBJECT}, faults):
        written = record["systems"]
        if missing := [name for name in systems or () if name not in written]:
            rule = f'"systems" must have {", ".join(systems or ())}'
            faults.append(
                fault(path, line, f"{rule}, but {', '.join(missing)} is missing among {shown(list(written))}")
            )
        for system in written if systems is None else [name for name in systems if name in written]:
            summary = written[system]
            if not isinstance(summary, dict):
                faults.append(fault(path, line, f"{shown(system)} must be an object, found {shown(summary)}"))
            elif problems := problems_of(summary, kinds):
                faults += [fault(path, line, f"{shown(system)}: {problem}") for problem in problems]
            else:
                examples.append(
                    Example(
                        f"{record['id']}-{system}",
                        text=summary["text"],
                        context=record["source"],
                        references=(record["reference"],),
                        system=system,
                        group=record["id"],
                        ratings={aspect: float(summary[aspect]) for aspect in ("mean", *ASPECTS)},
                    )
                )
    return RatedSet("newsroom", sound(examples, faults), synthetic=False)
