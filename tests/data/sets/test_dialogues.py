"""Dialogues: lines of utterances, the public sets, and a user's own."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from core.errors import InputError, SettingError
from core.example import Example
from data.download import PUBLIC_FILES
from data.files import write_examples
from data.sets.dialogues import load_dstc9, load_fed, read_utt_lines
from data.sets.own import own_dialogues
from data.sets.public import public_corpus
from tests.data.sets import small_files


def write(path: Path, content: str | bytes) -> Path:
    return small_files.write(path, content, end="")


def test_lines_of_dialogues(tmp_path: Path):
    rated = write(tmp_path / "rated.txt", "Hi!</UTT>Yes.</UTT>2.6666666666666665\r\nx</UTT>y</UTT>1")
    assert [example for _, example in read_utt_lines(rated, "coherence")] == [
        Example("rated-1", turns=("Hi!", "Yes."), ratings={"coherence": 2.6666666666666665}),
        Example("rated-2", turns=("x", "y"), ratings={"coherence": 1.0}),
    ]
    path = write(tmp_path / "talk.txt", b"\xef\xbb\xbfHi! </UTT>a\xe2\x80\xa8b</UTT>\r\nx</UTT>y</UTT>z</UTT>\r\n\r\n")
    assert read_utt_lines(path) == (
        (1, Example("talk-1", turns=("Hi! ", "a\u2028b"))),
        (2, Example("talk-2", turns=("x", "y", "z"))),
    )


FORM = "the line must have the form of its set: "


@pytest.mark.parametrize(
    ("content", "aspect", "expected"),
    [
        ("Hi!</UTT>Yes.", None, ['1: a dialogue needs at least two turns, found ["Hi!"]',
                                  f'1: {FORM}a line without a score must end with </UTT>, found "Yes."']),
        ("a</UTT>b</UTT>\n\nc</UTT>d</UTT>\n", None,
         ['2: an example needs "text" or "turns", found [] in turns', '2: "turns" is needed here, found []']),
        ("a</UTT></UTT>b</UTT>\n", None, ['1: number 2 of "turns" must not be blank, found ""']),
        ("a</UTT>b</UTT>good\nc</UTT>d</UTT>\ne</UTT>f</UTT>1_0\ng</UTT>h</UTT>nan\ni</UTT>j</UTT>inf\n", "rating", [
            f'{line}: {FORM}a finite score is needed after the last </UTT>, found "{found}"'
            for line, found in enumerate(("good", "", "1_0", "nan", "inf"), 1)
        ]),
    ]
)  # fmt: skip
def test_faults_of_lines(tmp_path: Path, content: str, aspect: str | None, expected: list[str]):
    path = write(tmp_path / "talk.txt", content)
    assert small_files.faults_of(lambda: read_utt_lines(path, aspect), path) == expected


def public(root: Path) -> Path:
    """A small copy of the public layout, with the full form of DSTC9 and without published scores."""
    for aspect, score in {"coherence": 1, "overall": 2}.items():
        write(root / f"fed/fed_test_{aspect}.txt", f"f</UTT>g</UTT>{score}\nh</UTT>i</UTT>{score}\n")
        write(root / f"dstc9/dstc9_test_{aspect}_averaged.txt", f"j</UTT></UTT>k</UTT>{score}\n")
    answers = {"coherent": [2, 1], "overall": [5, 10]}
    rows = ({"id": f"fed-00{i}", "system": system, "ratings": answers} for i, system in enumerate(("Meena", "Human")))
    small_files.write(root / "fed/systems_and_raters.jsonl", *rows)
    for i, name in enumerate(sorted(name for name in PUBLIC_FILES if name.startswith("dialogue/"))):
        write(root / name, f"a{i}</UTT>b</UTT>\nc{i}</UTT>d</UTT>\n")
    return root


def test_fed_has_its_systems_and_five_raters(shared_data: Path):
    rated = load_fed(shared_data)
    assert Counter(rated.systems) == {"Mitsuku": 44, "Human": 41, "Meena": 40}
    lines = (shared_data / "fed/fed.jsonl").read_text("utf-8").splitlines()
    for aspect in ("coherence", "overall"):
        ratings = rated.ratings(aspect)
        assert ratings.tolist() == [json.loads(line)[aspect] for line in lines]
        assert rated.raters[aspect].shape == (5, 125)
        np.testing.assert_allclose(rated.raters[aspect].mean(axis=0), ratings, rtol=0, atol=1e-12)


def test_the_systems_of_fed_come_from_the_collections_own_file(tmp_path: Path):
    root = public(tmp_path)
    rated = load_fed(root)
    assert (rated.systems, rated.notes) == (["Meena", "Human"], ())
    assert {aspect: ratings.tolist() for aspect, ratings in rated.raters.items()} == {
        "coherence": [[1, 1], [0.5, 0.5]],
        "overall": [[1, 1], [2, 2]],
    }
    path = root / "fed/systems_and_raters.jsonl"
    path.unlink()
    without = load_fed(root)
    assert (without.systems, without.raters, [e.ratings for e in without.examples]) == (
        None,
        {},
        [e.ratings for e in rated.examples],
    )
    assert "fed_data.json" in without.notes[0]
    assert "download=True" in without.notes[0]
    answers = {
        "Coherent": [2, 2, 1, 2, 2],
        "Error recovery": ["N/A (no errors)", 1, 1, 1, 1],
        "Overall": [3, 1, 2, 3, 4],
    }
    row = {"context": "User: h \nSystem: i", "system": "Mitsuku", "annotations": answers}
    reply = {**row, "response": "System: i", "system": "Human"}
    small_files.write(root / "fed/fed_data.json", [row, reply, {**row, "context": "User: f\nSystem: 'g'"}])
    made = load_fed(root)
    assert made.systems == ["Mitsuku", "Mitsuku"]
    assert made.raters["overall"][:, 0].tolist() == [0.6, 0.2, 0.4, 0.6, 0.8]


def test_every_dialogue_of_fed_needs_its_system(tmp_path: Path):
    path = public(tmp_path) / "fed/systems_and_raters.jsonl"
    write(path, path.read_text("utf-8").partition("\n")[0])
    assert small_files.faults_of(lambda: load_fed(tmp_path), path) == [" cannot be read: KeyError: 'fed-001'"]


def test_a_block_of_dstc9_is_a_system(shared_data: Path):
    rated = load_dstc9(shared_data)
    _, *rows = (shared_data / "dstc9/systems_sample.tsv").read_text("utf-8").splitlines()
    assert [f"{int(e.id.removeprefix('dstc9-'))}\t{e.system}" for e in rated.examples] == rows
    assert sorted(Counter(rated.systems).values()) == [18] * 9 + [19] * 2
    assert "inferred" in rated.notes[0]


def test_full_dstc9_goes_before_the_sample(tmp_path: Path):
    root = public(tmp_path)
    ratings = {"coherence": 1.0, "overall": 2.0}
    expected = (Example("dstc9-0000", turns=("j", "k"), ratings=ratings, system="s00"),)
    assert (load_dstc9(root).name, load_dstc9(root).examples) == ("dstc9", expected)
    write(root / "dstc9/dstc9_sample_coherence.txt", "x</UTT>y</UTT>1\n")
    assert load_dstc9(root).examples == expected
    write(root / "dstc9/deam_scores.tsv", "orig_line\tdeam_score\n0\t0.25\n")
    assert load_dstc9(root).scores["deam"].values["published"].tolist() == [0.25]


def test_the_sample_of_dstc9_needs_its_lines(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    for aspect in ("coherence", "overall"):
        write(tmp_path / f"dstc9_sample_{aspect}.txt", "x</UTT>y</UTT>1\nv</UTT>w</UTT>2\n")
    with pytest.raises(InputError, match=r"deam_scores_sample.tsv: no such file"):
        load_dstc9(tmp_path)
    write(tmp_path / "deam_scores_sample.tsv", "orig_line\tdeam_score\n11\t0.5\n2199\t0.25\n")
    examples = load_dstc9(tmp_path).examples
    assert [(example.id, example.system) for example in examples] == [("dstc9-0011", "s00"), ("dstc9-2199", "s10")]
    assert "dstc9: only a sample of the 2200 dialogues, because dstc9_test_coherence_averaged.txt" in caplog.text
    assert load_dstc9(tmp_path).scores["deam"].values["published"].tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("line\tdeam_score\n0\tx\n1\t2\n", " cannot be read: ValueError: could not convert string to float: 'x'"),
        ("line\tdeam_score\n0\t1\n", " there must be a score for each of the 2 dialogues, found 1"),
    ],
)
def test_faults_of_published_scores(tmp_path: Path, content: str, expected: str):
    path = write(public(tmp_path) / "fed/deam_scores.tsv", content)
    assert small_files.faults_of(lambda: load_fed(tmp_path), path) == [expected]


def test_the_two_files_of_a_rated_set_must_hold_the_same_dialogues(tmp_path: Path):
    path = write(public(tmp_path) / "fed/fed_test_overall.txt", "f</UTT>g</UTT>1\nother</UTT>i</UTT>1\n")
    for content in (path.read_bytes(), "f</UTT>g</UTT>1\n"):
        write(path, content)
        with pytest.raises(InputError, match=r"fed_test_overall.txt: must have the dialogues of fed_test_coherence"):
            load_fed(tmp_path)


def test_nothing_is_fetched_unless_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = (root := public(tmp_path)) / "fed/fed_test_overall.txt"
    aside = path.rename(tmp_path / "aside")
    monkeypatch.setattr("data.download.fetch", lambda file, root: aside.rename(root / file.name))
    with pytest.raises(InputError, match=r"fed_test_overall.txt: no such file"):
        public_corpus("fed", root)
    assert len(public_corpus("fed", root, download=True).rated[0].examples) == 2


def talks(n: int) -> tuple[Example, ...]:
    return tuple(Example(f"e{i}", turns=(f"Number {i}?", "Yes.")) for i in range(n))


@pytest.mark.parametrize("suffix", [".jsonl", ".txt"])
def test_own_dialogues_in_every_form(tmp_path: Path, suffix: str):
    train, rated = tmp_path / f"train{suffix}", tmp_path / f"mine{suffix}"
    good = tuple(Example(f"mine-{i}", turns=(f"R {i}", "No."), ratings={"rating": float(i)}) for i in (1, 2, 3))
    if suffix == ".txt":
        write(train, "".join(f"{'</UTT>'.join(e.turns)}</UTT>\n" for e in talks(20)))
        write(rated, "".join(f"{'</UTT>'.join(e.turns)}</UTT>{e.ratings['rating']}\n" for e in good))
    else:
        write_examples(train, talks(20))
        write_examples(rated, good)
    own = own_dialogues(train, rated_path=rated, held_out_fraction=0.1)
    assert (own.name, own.synthetic, len(own.train), len(own.held_out)) == ("train", False, 18, 2)
    assert [(each.name, each.examples) for each in own.rated] == [("mine", good)]
    assert own_dialogues(train).rated == ()


def test_a_rated_dialogue_to_train_on_is_named(tmp_path: Path):
    train = write(tmp_path / "train.txt", "a</UTT>b</UTT>\nc</UTT>d</UTT>\n")
    rated = write(tmp_path / "rated.txt", "x</UTT>y</UTT>1\nC </UTT>d</UTT>0\n")
    with pytest.raises(SettingError, match="a rated text must not be a training one too, but rated-2 are"):
        own_dialogues(train, rated_path=rated)


def test_one_dialogue_cannot_be_split(tmp_path: Path):
    train = write(tmp_path / "train.txt", "a</UTT>b</UTT>\na</UTT>b</UTT>\n")
    with pytest.raises(InputError, match="at least two different dialogues are needed"):
        own_dialogues(train)


@pytest.mark.parametrize("name", ["convai2_fb", "dailydialog", "fined", "xdaily"])
def test_dialogues_in_another_form_have_one_fault(cases: Path, name: str) -> None:
    path = cases / "59-dialogue-text-files" / f"{name}.txt"
    with pytest.raises(InputError) as error:
        own_dialogues(path)
    (said,) = error.value.faults
    assert said.startswith(f"{path}:1: a .txt file of dialogues has </UTT> after each utterance, found ")
