"""Sets of texts: files, faults, and what an experiment reads of them, with the published counts."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import SettingError
from core.example import Example
from data.corpus import Corpus
from data.sets.attributes import load_labelled
from data.sets.commongen import commongen
from data.sets.ctrleval import ctrleval
from data.sets.own import own_corpus
from data.sets.public import RATED, load_mocha, load_newsroom, public_corpus
from data.sets.songci import load_songci, songci
from tests.data.sets.small_files import faults_of, write

own_texts = partial(own_corpus, requires=("text", "label"))
roc_stories = partial(public_corpus, "mans_roc", plain_stories=True)
newsroom = partial(public_corpus, "newsroom")

MANS: dict[str, Any] = {
    "id": "mans-roc-7-gpt",
    "prompt": "a b .",
    "reference": "c d .",
    "system": "gpt",
    "text": "e f .",
    "ratings": [1, 2, 3],
    "mean_rating": 2.0,
}
SUMMARY = {"text": "s", "coherence": 1, "fluency": 2, "informativeness": 3, "relevance": 4.0, "mean": 2.5}
ARTICLE: dict[str, Any] = {
    "id": "newsroom-1",
    "source": "article",
    "reference": "r",
    "systems": dict.fromkeys(("textrank", "abstractive", "pointer_n", "lede3"), SUMMARY),
}
POEM: dict[str, Any] = {"id": "ci-1", "author": "甲", "cipai": "乙", "lines": ["春花，秋月。", "何时了。"]}


def test_answers_of_mocha_in_its_own_file(tmp_path: Path) -> None:
    answer = {"context": "passage .", "question": "who ?", "reference": "her", "candidate": "she", "score": 4.5,
              "metadata": {"scores": [4, 5], "source": "gpt2"}}  # fmt: skip
    sets = {
        "quoref": {"a": answer, "b": {**answer, "candidate": "him", "metadata": {"scores": [1], "source": "x"}}},
        "drop": {"c": {"context": "p ."}},
    }
    path = write(tmp_path / "dev.json", sets)
    corpus = public_corpus("mocha_quoref", tmp_path)
    assert corpus.rated[0].name == "mocha_quoref"
    assert corpus.rated[0].examples[0] == Example("a", text="she", context="passage . who ?", references=("her",),
                                                  system="gpt2", group="a", ratings={"correctness": 4.5})  # fmt: skip
    assert [(e.text, e.group) for e in corpus.rated[0].examples] == [("she", "a"), ("him", "a")]
    np.testing.assert_array_equal(corpus.rated[0].raters["correctness"], [[4, 1], [5, np.nan]])
    for name, problem in (
        ("drop", '1: "reference" is needed here, found null'),
        ("narrativeqa", ' "narrativeqa" is required, found an object with quoref and drop'),
    ):
        assert faults_of(partial(load_mocha, name, tmp_path), path) == [problem]


def test_stories_have_their_systems_and_five_raters(shared_data: Path) -> None:
    rated = RATED["mans_roc"](shared_data, False)
    assert Counter(rated.systems) == dict.fromkeys(("s2s", "plan_write", "fusion", "gpt", "gpt_kg"), 200)
    assert rated.raters["overall"].shape == (5, 1000)
    np.testing.assert_array_equal(rated.raters["overall"].mean(axis=0), rated.ratings("overall"))
    by_place = rated.raters["overall"].mean(axis=1)  # from 2.1 to 2.9 as sorted at the origin
    assert np.ptp(by_place) < 0.1


def test_the_full_newsroom_goes_before_the_sample(tmp_path: Path) -> None:
    write(tmp_path / "newsroom_sample.jsonl", ARTICLE)
    assert [e.system for e in load_newsroom(tmp_path).examples] == ["textrank", "abstractive", "pointer_n", "lede3"]
    write(tmp_path / "newsroom_more.jsonl", {**ARTICLE, "id": "newsroom-3"})
    assert len(load_newsroom(tmp_path).examples) == 8
    write(tmp_path / "newsroom.jsonl", ARTICLE, {**ARTICLE, "id": "newsroom-2"})
    two = newsroom(tmp_path, systems=["pointer_n", "textrank"]).rated[0].examples
    assert [e.system for e in two] == ["pointer_n", "textrank"] * 2
    with pytest.raises(SettingError, match=r"systems.0. must be 'abstractive', .*, but is 'human'"):
        newsroom(tmp_path, systems=["human"])


def test_poems_with_an_unclear_form_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    odd = [["春花", "秋月"], ["春花，。"], ["，春花。"]]
    write(tmp_path / "songci.jsonl", POEM, *({**POEM, "id": f"ci-{i}", "lines": x} for i, x in enumerate(odd, 2)))
    with caplog.at_level(logging.INFO):
        assert load_songci(tmp_path) == (Example("ci-1", text="春花，秋月。何时了。", prefix="乙", group="乙"),)
    assert "left out 3 poems" in caplog.text


def without(record: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != key}


@pytest.mark.parametrize(
    ("load", "file", "records", "expected"),
    [
        (RATED["mans_roc"], "mans_roc.jsonl", [without(MANS, "prompt"), {**MANS, "id": " "}, MANS, MANS, "[1]", "{"], [
            '1: "prompt" is needed here, found null',
            '2: "id" must not be blank, found " "',
            '4: ids must be unique, but "mans-roc-7-gpt" is the id of line 3 too',
            "5: a line must be a JSON object, found [1]",
            "6: broken JSON at column 2: Expecting property name enclosed in double quotes, found \"\"",
        ]),
        (load_newsroom, "newsroom.jsonl",
         [{**ARTICLE, "systems": {"abstractive": {**SUMMARY, "coherence": [4, 5], "fluency": "x", "relevance": True},
                                     "textrank": 1}}], [
            '1: "coherence" of "ratings" must be a valid number, found [4, 5]',
            '1: "fluency" of "ratings" must be a valid number, found "x"',
            '1: "relevance" of "ratings" must be a valid number, found true',
            "1: the line must have the form of its set: 'int' object is not subscriptable",
        ]),
        (partial(load_labelled, "newsgroups"), "topic_newsgroups.jsonl", [{"text": "t", "label": "x"}], [
            '1: the line must have the form of its set: "label" must be one of computers, politics, religion, science, '
            'found "x"',
        ]),
        (load_songci, "songci.jsonl", [{**POEM, "lines": ["春 花。"]}], [
            '1: the line must have the form of its set: "lines" must hold no spaces, found 春 花。',
        ]),
    ]
)  # fmt: skip
def test_all_faults_of_a_file_at_once(
    tmp_path: Path, load: Callable[[Path], object], file: str, records: list[Any], expected: list[str]
) -> None:
    path = write(tmp_path / file, *records)
    assert faults_of(lambda: load(tmp_path), path) == expected


def test_a_set_to_train_on_may_be_named_alone(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"^training_sets\[0\] must be .*, but is 'squad'$"):
        public_corpus("fed", tmp_path, training_sets="squad")


def test_a_reference_is_no_story_to_train_on(tmp_path: Path) -> None:
    write(tmp_path / "mans_roc.jsonl", MANS)
    write(tmp_path / "roc_plain.txt", "A b .  c d .", "x .", "y .")
    with pytest.raises(ValueError, match="also occur in the training texts: mans-roc-7-gpt"):
        roc_stories(tmp_path)


def test_texts_are_read_with_their_labels_and_prefixes(tmp_path: Path) -> None:
    lines = [{"text": f"Text {i}.", "label": [" 好 评", "sci/tech "][i % 2], "prefix": "Text"} for i in range(20)]
    data = own_texts(write(tmp_path / "mine.jsonl", *lines), held_out_fraction=0.2)
    assert (data.name, data.labels, data.rated, data.synthetic) == ("mine", ("sci/tech", "好 评"), (), False)
    assert (len(data.train), len(data.held_out)) == (16, 4)
    assert {e.text for e in (*data.train, *data.held_out)} == {line["text"] for line in lines}
    assert {(e.label, e.prefix) for e in data.train} == {("sci/tech", "Text"), ("好 评", "Text")}
    renamed = write(tmp_path / "tones.jsonl", *({"text": line["text"], "Tone": line["label"]} for line in lines))
    assert own_texts(renamed, columns={"label": "Tone"}).labels == data.labels


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([{"text": "A"}, {"label": "x"}], ['1: "label" is needed here', '2: an example needs "text" or "turns"']),
        ([{"text": "A", "label": "x"}, {"text": "B", "label": "x "}], [" at least two different labels are needed"]),
        ([{"text": "A", "label": "x\ny"}, {"text": "B", "label": "z"}], ['1: "label" must be one line']),
    ],
)
def test_faults_of_labelled_texts_are_listed_by_line(
    tmp_path: Path, lines: list[dict[str, str]], expected: list[str]
) -> None:
    path = write(tmp_path / "a.jsonl", *lines)
    found = faults_of(lambda: own_texts(path), path)
    assert [fault.split(", found")[0] for fault in found] == expected


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


def test_labels_and_published_scores_of_trinity_are_numbers(root: Path) -> None:
    line: dict[str, Any] = {"id": "t", "concepts": ["hat"], "sentence": "A hat.", "label_raw": 1, "label_binary": "x"}
    scores = {"geval_gpt4": 5, "geval_flan_t5_xxl": "y", "geval_vicuna_7b": None}
    path = write(root / "commongen_trinity/trinity.jsonl", line | scores)
    assert faults_of(lambda: commongen(root), path) == [
        '1: "trinity_binarized" of "ratings" must be a valid number, found "x"',
        '1: "g_eval_flan_t5" of "ratings" must be a valid number, found "y"',
        '1: "g_eval_vicuna" of "ratings" must be a valid number, found "None"',
    ]


def test_a_rated_concept_set_is_not_one_to_train_on(root: Path) -> None:
    write(
        root / "commongen_train/train.jsonl", {"id": "x", "concepts": ["run", "team"], "references": ["the team runs"]}
    )
    with pytest.raises(SettingError, match="must not be a training one too, but x-0 are"):
        commongen(root)


def test_the_papers_own_file_has_its_own_held_out_dialogues(tmp_path: Path) -> None:
    write(tmp_path / "clean_train.txt", *(f"Hi {i}</UTT>Hello {i}</UTT>" for i in range(30)))
    write(tmp_path / "clean_valid.txt", *(f"Bye {i}</UTT>Bye</UTT>" for i in range(3)))
    write(tmp_path / "personachat_valid.txt", *(f"So {i}</UTT>What?</UTT>" for i in range(10)))
    for aspect in ("coherence", "overall"):
        write(tmp_path / f"fed_test_{aspect}.txt", "Hi you</UTT>Hello</UTT>0.5")
    corpus = public_corpus("fed", tmp_path, training_sets="cdm_train")
    assert [len(corpus.train), len(corpus.held_out)] == [30, 3]
    assert {example.group for example in corpus.held_out} == {"clean_valid.txt"}
    both = public_corpus("fed", tmp_path, training_sets=["cdm_train", "persona_chat"])
    assert Counter(example.group for example in both.train) == {"clean_train.txt": 30, "personachat_valid.txt": 9}
    assert Counter(example.group for example in both.held_out) == {"clean_valid.txt": 3, "personachat_valid.txt": 1}


TURNS, TEXT = attrgetter("turns"), attrgetter("text")
PAPER = ["topical_chat", "persona_chat"]


HERE = [*RATED][[*RATED].index("newsroom") :]
HERE = [name for name in HERE if not name.startswith("mocha")]  # MOCHA's own file is placed by hand


@pytest.mark.parametrize(
    ("read", "key", "sizes", "rated"),
    [  # what no two parts share; training and held-out texts; of each rated set: first aspect, texts, inputs, systems
        (partial(public_corpus, HERE, plain_stories=True), TEXT, (3889, 433), {
            "newsroom": ("mean", 252, 36, 7),
            "summeval": ("relevance", 800, 50, 16),
            "semeval_mhpg": ("correctness", 300, 300, 1),
            "narrativeqa_mhpg": ("correctness", 500, 500, 1),
            "msmarco": ("correctness", 1000, 500, 1),
            "avsd": ("correctness", 1000, 444, 1),
            "mans_roc": ("overall", 1000, 200, 5),
        }),
        (commongen, attrgetter("group"), (39069, 991),
         dict.fromkeys(("trinity_raw", "trinity_binarized"), ("commonsense", 4491, 749, 1))),
        (songci, attrgetter("group"), (13527, 1946), {}),
        (partial(ctrleval, part="sentiment"), TEXT, (0, 0), {"ctrleval_sentiment": ("coherence", 360, 30, 4)}),
        (partial(public_corpus, ["fed", "convai2"], training_sets=PAPER, held_out_fraction=0), TURNS, (2846, 0),
         {"fed": ("coherence", 125, 1, 3), "convai2": ("overall", 1200, 1, 1)}),
        (partial(public_corpus, "dstc9", training_sets="daily_dialog"), TURNS, (1471, 164),
         {"dstc9": ("coherence", 200, 1, 11)}),
    ],
)  # fmt: skip
def test_a_set_has_its_published_size_and_shares_nothing(
    shared_data: Path,
    read: Callable[[Path], Corpus],
    key: Callable[[Example], Any],
    sizes: tuple[int, int],
    rated: Mapping[str, tuple[str, int, int, int]],
) -> None:
    found = read(shared_data)
    assert (len(found.train), len(found.held_out), found.synthetic) == (*sizes, False)
    assert set(map(key, found.train)).isdisjoint(map(key, found.held_out))
    for each in found.rated:
        aspect, *counts = rated[each.name]
        groups, systems = ({getattr(e, name) for e in each.examples} for name in ("group", "system"))
        assert [len(each.examples), len(groups), len(systems)] == counts
        assert {next(iter(e.ratings)) for e in each.examples} == {aspect}
    assert [each.name for each in found.rated] == list(rated)
