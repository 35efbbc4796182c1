"""Originals: what the loaders read is made of small originals of the public form."""

import csv
import json
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest

from core.errors import InputError
from core.example import Example
from data.download import require_file
from data.sets.attributes import load_labelled
from data.sets.dialogues import load_dstc9, load_fed
from data.sets.public import ANSWERS, RATED, load_newsroom, load_training, public_corpus
from data.sets.songci import load_songci
from tests.data.sets.small_files import write


def write_table(path: Path, *rows: list[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def test_stories(tmp_path: Path) -> None:
    written = {"gpt": {"text": "e f .", "score": [1, 2, 3]}, "s2s": {"text": "g .", "score": [5, 5]}}
    stories = {"7": {"prompt": "a b .", "gold_response": "c d .", "gen": written}}
    write(tmp_path / "mans_roc.json", json.dumps(stories))
    write(tmp_path / "reference.txt", "x y . z . ", "a b . c d . ", "x y . z . ", "v . w . ")
    roc = public_corpus("mans_roc", tmp_path, plain_stories=True, held_out_fraction=0)
    assert [(e.text, e.context) for e in roc.train] == [("x y . z .", "x y ."), ("v . w .", "v .")]
    first, second = roc.rated[0].examples
    assert first == Example("mans-roc-7-gpt", text="e f .", context="a b .", references=("c d .",), system="gpt",
                            group="mans-roc-7", ratings={"overall": 2.0})  # fmt: skip
    assert (second.id, second.ratings["overall"]) == ("mans-roc-7-s2s", 5.0)
    assert np.nanmean(roc.rated[0].raters["overall"], axis=0).tolist() == [2, 5]


def test_summaries_come_from_plain_pickles_only(tmp_path: Path) -> None:
    scores = {"coherence": 1.0, "fluency": 2.0, "informativeness": 3.0, "relevance": 4.0, "bert_score": 9.0}
    systems = {name: {"sys_summ": "s", "scores": scores} for name in ("textrank", "abstractive", "pointer_n", "lede3")}
    articles: dict[str, object] = {"1": {"src": "article", "ref_summ": "r", "sys_summs": systems}}
    (tmp_path / "data.pkl").write_bytes(pickle.dumps(articles))
    found = load_newsroom(tmp_path).examples[0]
    assert (found.id, found.text, found.context, found.references) == ("newsroom-1-textrank", "s", "article", ("r",))
    del scores["bert_score"]
    assert found.ratings == {**scores, "mean": 2.5}
    (tmp_path / "data.pkl").write_bytes(pickle.dumps({"1": Path("x")}))
    (tmp_path / "newsroom.jsonl").unlink()
    with pytest.raises(InputError, match="cannot be read: UnpicklingError: the pickle names pathlib"):
        load_newsroom(tmp_path)
    assert not (tmp_path / "newsroom.jsonl").exists()


def test_answers(tmp_path: Path) -> None:
    write_table(tmp_path / "semeval_mhpgm.csv", ["", "question", "answer", "reference1", "reference2", "Bleu1"],
                ["0", "who ?", "she", "anna", "1.0", "0.5"])  # fmt: skip
    asked = [{"id": str(i), "question": "Who ?", "context": passage} for i, passage in enumerate(("Other .", "P ."))]
    correct = [{"id": "0", "references": ["Ben"]}, {"id": "1", "references": ["Anna"]}]
    for kind, rows in {"questions": asked, "answers": correct}.items():
        write(tmp_path / f"mcscript_dev_{kind}.jsonl", *map(json.dumps, rows))
    write_table(tmp_path / "nrqa_mhpgm.csv", ["", "question", "answer", "reference1", "reference2", "scores"],
                ["0", "who ?", "she", "anna", "anna", "0.2"])  # fmt: skip
    write_table(tmp_path / "marco_all.csv", ["question", "answer", "reference1", "scores"],
                ["who ?", "she", "anna", "4.5"], ["why ?", "so", "as", "1"], ["who ?", "he", "ben", "2"])  # fmt: skip
    write_table(tmp_path / "avsd_all.csv", ["question", "answer", "reference1", "reference2", "scores"],
                ["who ?", "she", "anna", "her", "1"])  # fmt: skip
    msmarco = RATED["msmarco"](tmp_path, False).examples
    assert [each.group for each in msmarco] == ["msmarco-0000", "msmarco-0001", "msmarco-0000"]
    found = {rated.name: rated.examples[0] for rated in public_corpus(list(ANSWERS), tmp_path).rated}
    assert {name: (e.id, e.context, e.references, e.system, e.ratings["correctness"]) for name, e in found.items()} == {
        "semeval_mhpg": ("semeval_mhpg-0000", "P . who ?", ("anna",), "mhpg", 1.0),
        "narrativeqa_mhpg": ("narrativeqa_mhpg-0000", "who ?", ("anna",), "mhpg", 0.2),
        "msmarco": ("msmarco-0000", "who ?", ("anna",), None, 4.5),
        "avsd": ("avsd-0000", "who ?", ("anna", "her"), None, 1.0),
    }


def test_songci(tmp_path: Path) -> None:
    good = "春花秋月何时了往事知多少小楼昨夜又东风"

    def poem(tune: str, *lines: str) -> dict[str, object]:
        return {"author": "甲", "paragraphs": lines, "rhythmic": tune}

    first = [poem("乙", f"{good}。"), poem("乙", f"{good}。"), poem("丙・乙", f"{good}，", "人。"), poem("丙", "短。")]
    second = [poem("丙", f"{good}□。"), poem("丙・丁", f"人{good}。"), poem("丙", good)]
    write(tmp_path / "ci.song.0.json", json.dumps(first))
    write(tmp_path / "ci.song.1000.json", json.dumps(second))
    write(tmp_path / "cipai.txt", "乙 戊")
    assert [(e.id, e.group, e.text) for e in load_songci(tmp_path)] == [
        ("ci-00000", "乙", f"{good}。"),
        ("ci-00002", "乙", f"{good}，人。"),
        ("ci-00005", "丙", f"人{good}。"),
    ]


def test_sentiments(tmp_path: Path) -> None:
    write(tmp_path / "test.tsv", "sentence\tlabel", "a fine film . \t1", "it 's dull . \t0")
    write(tmp_path / "rt-polarity.pos", "fine , really . ", "a fine film . ", "fine , really . ")
    write(tmp_path / "rt-polarity.neg", "it's dull . ", "clichés . ")
    assert load_labelled("sst2_dev", tmp_path) == (
        Example("sst2-0000", text="a fine film .", label="positive"),
        Example("sst2-0001", text="it 's dull .", label="negative"),
    )
    assert load_labelled("rt_polarity", tmp_path) == (
        Example("rt-pos-0000", text="fine , really .", label="positive"),
        Example("rt-neg-0001", text="clichés .", label="negative"),
    )


def test_topics(tmp_path: Path) -> None:
    body = " ".join(f"w{i}" for i in range(25))
    post = f"From: me\nSubject: x\n\n> quoted\n{body} a@b.c\n-- \nme"
    for group in ("sci.space", "rec.autos", "alt.atheism"):
        write(tmp_path / "posts/mini_newsgroups" / group / "17", post)
    write(tmp_path / "posts/mini_newsgroups/sci.med/18", "From: me\n\nToo short.")
    with tarfile.open(tmp_path / "newsgroups.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "posts", "IR_TextMining-HEAD")
    assert load_labelled("newsgroups", tmp_path) == (
        Example("ng-alt.atheism-17", text=f"{body} <email>", label="religion", group="alt.atheism"),
        Example("ng-sci.space-17", text=f"{body} <email>", label="science", group="sci.space"),
    )


def test_dialogues_and_published_scores(tmp_path: Path) -> None:
    for aspect, score in {"coherence": 1, "overall": 2}.items():
        write(tmp_path / f"fed/fed_test_{aspect}.txt", f"f</UTT>g</UTT>{score}", f"h</UTT>i</UTT>{score}")
        write(tmp_path / f"dstc9/dstc9_test_{aspect}_averaged.txt", f"j</UTT></UTT>k</UTT>{score}")
    folder = tmp_path / "dialogue"
    write(folder / "clean_valid.txt", *(f"a{i}</UTT>b</UTT>" for i in range(2078)))
    for part in ("test", "validation"):
        write(folder / f"dialogues_{part}.txt", "Hi . __eou__ Hello ! __eou__", "So ? __eou__ Yes . __eou__ ")
    talk = {"content": [{"message": " Hi!\nYou? "}, {"message": "Ünder."}]}
    for part in ("freq", "rare"):
        write(folder / f"test_{part}.json", json.dumps({part: talk, f"{part}2": talk}))
    write(tmp_path / "fed/fed_test_overall_orig_preds.txt", "f g</UTT>0.5", "h i</UTT>1.5e-05")
    write(tmp_path / "dstc9/dstc9_test_coherence_orig_preds.txt", "j k</UTT>0.25")
    topical = load_training("topical_chat", tmp_path)
    assert len(topical) == 1078 + 4
    assert topical[-1].turns == ("Hi! You?", "Ünder.")
    assert [e.turns[0] for e in load_training("persona_chat", tmp_path)] == [f"a{i}" for i in range(1078, 2078)]
    assert [e.turns for e in load_training("daily_dialog", tmp_path)] == [("Hi .", "Hello !"), ("So ?", "Yes .")] * 2
    assert load_fed(tmp_path).scores["deam"].values["published"].tolist() == [0.5, 1.5e-05]
    assert load_dstc9(tmp_path).scores["deam"].values["published"].tolist() == [0.25]


def test_a_file_is_made_where_its_originals_are(tmp_path: Path) -> None:
    folder = tmp_path / "fed"
    with pytest.raises(InputError) as found:
        require_file(tmp_path, "fed/deam_scores.tsv")
    message = str(found.value)
    assert message.startswith(f"{folder}/deam_scores.tsv: no such file. Name the folder")
    assert f"curl -L --create-dirs -o '{folder}/fed_test_overall_orig_preds.txt' 'https://" in message
    write(folder / "fed_test_overall_orig_preds.txt", "f g</UTT>0.5")
    assert require_file(tmp_path, "fed/deam_scores.tsv").read_text() == "line\tdeam_score\n0\t0.5\n"
    assert require_file(folder, "fed/deam_scores.tsv") == folder / "deam_scores.tsv"
