"""CommonGen and CommonGen-trinity from the files of their repositories."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

LEVELS = {"good": ("", 1.0), "medium": ("_med", 0.5), "bad": ("_bad", 0.0)}  # part of the file name, raw label
JUDGES = {"geval_gpt4": "", "geval_flan_t5_xxl": "_t5", "geval_vicuna_7b": "_vicuna"}


def read_concept_sets(folder: Path, part: str) -> Iterator[dict[str, Any]]:
    """Every concept set of a part (train, dev) with its references."""
    files = (f"commongen.{part}.{kind}.txt" for kind in ("index", "src_alpha", "tgt"))
    columns = [(folder / name).read_text("utf-8").splitlines() for name in files]
    sets: dict[str, dict[str, Any]] = {}
    for index, concepts, sentence in zip(*columns, strict=True):
        found = {"id": f"commongen-{part}-{index}", "concepts": concepts.split(), "references": []}
        sets.setdefault(index, found)["references"].append(sentence)
    yield from sets.values()


def read_trinity(folder: Path) -> Iterator[dict[str, Any]]:
    """Every sentence of CommonGen-trinity with its label and the three scores of G-Eval.

    Block k of a file belongs to line k of the keys; most blocks have two sentences.
    """
    keys = (folder / "commongen_keys.txt").read_text("utf-8").splitlines()
    blocks = {
        (level, judge): _blocks(folder / f"commongen_test{name}{suffix}.txt")
        for level, (name, _) in LEVELS.items()
        for judge, suffix in JUDGES.items()
    }
    for i, concepts in enumerate(keys):
        for level, (_, label) in LEVELS.items():
            scored = [blocks[level, judge][i] for judge in JUDGES]
            for k, rows in enumerate(zip(*scored, strict=True)):
                scores = {judge: float(row.split("\t")[-1]) for judge, row in zip(JUDGES, rows, strict=True)}
                yield {
                    "id": f"trinity-{i:04d}-{level}-{k}",
                    "concepts": concepts.split(", "),
                    "label_raw": label,
                    "label_binary": float(label == 1.0),
                    "sentence": rows[0].split("\t")[0],
                    **scores,
                }


def _blocks(path: Path) -> list[list[str]]:
    return [block.splitlines() for block in path.read_text("utf-8").strip().split("\n\n")]
