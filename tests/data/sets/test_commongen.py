"""CommonGen and CommonGen-trinity: reading, two rated sets, faults, and the real figures of G-Eval."""

from pathlib import Path

import pytest

from core.faults import SettingFault
from data.sets.commongen import commongen
from tests.data.sets.small_files import write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small copy of the public layout, made from small originals."""
    for part, rows in {
        "train": [("0", "dog run", "A dog runs ."), ("0", "dog run", "dogs run"), ("1", "cat sit", "the cat sits")],
        "dev": [("0", "boy eat", "A boy eats."), ("0", "boy eat", "boys eat")],
    }.items():
        for kind, column in zip(("index", "src_alpha", "tgt"), zip(*rows, strict=True), strict=True):
            write(tmp_path / f"commongen_train/commongen.{part}.{kind}.txt", *column)
    folder = tmp_path / "commongen_trinity"
    write(folder / "commongen_keys.txt", "team, run", "hat, wear")
    for judge, scores in {"": (5, 1), "_t5": (0.5, 0.25), "_vicuna": (0.75, 0.5)}.items():
        for level in ("", "_med", "_bad"):
            first, second = (f"{level or 'good'} one.\t{scores[0]}", f"{level or 'good'} two.\t{scores[1]}")
            write(folder / f"commongen_test{level}{judge}.txt", first, second, "", first, "", "")
    return tmp_path


def test_concepts_and_captions_are_two_turns(root: Path) -> None:
    found = commongen(root)
    expected = [("dog, run", "a dog runs"), ("dog, run", "dogs run"), ("cat, sit", "the cat sits")]
    assert [e.turns for e in found.train] == expected
    (held_out,) = found.held_out
    assert (held_out.id, held_out.text, held_out.group) == ("commongen-dev-0-0", "A boy eats.", "commongen-dev-0")
    assert len(commongen(root, train=2).train) == 2


def test_trinity_is_rated_raw_and_binarized(root: Path) -> None:
    raw, binarized = commongen(root).rated
    assert (raw.name, binarized.name) == ("trinity_raw", "trinity_binarized")
    assert [e.ratings["commonsense"] for e in raw.examples] == [1, 1, 0.5, 0.5, 0, 0, 1, 0.5, 0]
    assert [e.ratings["commonsense"] for e in binarized.examples] == [1, 1, 0, 0, 0, 0, 1, 0, 0]
    assert [e.id for e in raw.examples[5:7]] == ["trinity-0000-bad-1", "trinity-0001-good-0"]
    assert raw.scores["g_eval_flan_t5"].values["published"][5] == 0.25
    assert raw.examples[-1].group == "hat, wear"


def test_a_rated_concept_set_is_not_one_to_train_on(root: Path) -> None:
    write(
        root / "commongen_train/train.jsonl", {"id": "x", "concepts": ["run", "team"], "references": ["the team runs"]}
    )
    with pytest.raises(SettingFault, match="must not be one to train on too, but x-0 are"):
        commongen(root)
